"""Split a terminal byte stream into text, controls and sequences as a VT500 parser does, cut anywhere.

Interpreted; the pyte screen and the attach filter use it. It never raises, keeps at most one bounded string, and what
is malformed gives no token and no text. 8-bit C1 controls are not honoured, as in every UTF-8 terminal.
"""

import codecs
import re
from enum import IntEnum
from typing import NamedTuple

from prowl_svc.terminal.osc import MAX_OSC

__all__ = ["HAS_SUBPARAMETERS", "Control", "ControlSequence", "Escape", "Scanner", "String", "Text", "Token"]

HAS_SUBPARAMETERS = -1
"""Stands for a parameter with ``:`` sub-parameters: none that we act on has any."""

_MAX_SEQUENCE = 256
_MAX_PARAMS = 32
_MAX_PARAM = 65535
_ESC, _CAN, _SUB, _BEL, _DEL = 0x1B, 0x18, 0x1A, 0x07, 0x7F


class Text(NamedTuple):
    """Decoded printable text; a run may come in any number of pieces."""

    text: str


class Control(NamedTuple):
    """A C0 control outside strings."""

    end: int
    code: int


class Escape(NamedTuple):
    """``ESC`` intermediates final."""

    end: int
    intermediates: bytes
    final: bytes


class ControlSequence(NamedTuple):
    """``CSI``: a private prefix of ``<=>?`` or none, parameters with 0 for omitted ones, intermediates and final."""

    start: int
    end: int
    prefix: bytes
    params: tuple[int, ...]
    intermediates: bytes
    final: bytes

    def param(self, index: int, default: int = 0) -> int:
        """Return parameter ``index``; omitted, 0 and sub-parametered ones give ``default``."""
        value = self.params[index] if index < len(self.params) else 0
        return value if value > 0 else default


class String(NamedTuple):
    r"""A complete OSC, DCS or APC string; ``kind`` is its introducer ``]``, ``P`` or ``_``."""

    start: int
    end: int
    kind: bytes
    body: bytes
    terminator: bytes


Token = Text | Control | Escape | ControlSequence | String


class _State(IntEnum):
    GROUND = 0
    ESCAPE = 1
    CSI = 2
    STRING = 3
    STRING_ESCAPE = 4


_TEXT = re.compile(rb"[^\x00-\x1f\x7f]+")
_FAST_CSI = re.compile(rb"\x1b\[([<-?]?)([0-9;:]{0,200})([ -/]{0,8})([@-~])")
_CSI_BODY = re.compile(rb"([<-?]?)([0-9;:]*)([ -/]*)")
_CSI_RUN = re.compile(rb"[ -?]*")
_STRING_RUN = {
    kind: re.compile(rb"[^\x07\x18\x1a\x1b]*" if kind == b"]" else rb"[^\x18\x1a\x1b]*")
    for kind in (b"]", b"P", b"_", b"^", b"X")
}


class Scanner:
    """The state between two pieces of one stream."""

    def __init__(self) -> None:
        self.offset = 0
        """Bytes taken so far."""
        self._state = _State.GROUND
        self._start = 0
        self._kind = b""
        self._buffer = bytearray()
        self._overlong = False
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self._partial = False

    @property
    def ground(self) -> bool:
        """Whether the stream stands between sequences and characters."""
        return self._state is _State.GROUND and not self._partial

    @property
    def begun(self) -> int | None:
        """Offset at which the unfinished sequence began, None between sequences."""
        return None if self._state is _State.GROUND else self._start

    def feed(self, data: bytes) -> list[Token]:
        """Take bytes and return what completed in them, in stream order."""
        tokens: list[Token] = []
        position = 0
        while position < len(data):
            if self._state is _State.GROUND:
                position = self._ground(data, position, tokens)
            elif self._state is _State.STRING:
                position = self._string(data, position, tokens)
            elif self._state is _State.CSI:
                position = self._csi(data, position, tokens)
            elif self._state is _State.ESCAPE:
                position = self._escape(data, position, tokens)
            else:
                position = self._string_escape(data, position, tokens)
        self.offset += len(data)
        return tokens

    def _ground(self, data: bytes, position: int, tokens: list[Token]) -> int:
        if match := _TEXT.match(data, position):
            position = match.end()
            if text := self._decode(match[0]):
                tokens.append(Text(text))
            return position
        if self._partial:
            self._partial = False
            tokens.append(Text(self._decoder.decode(b"", True)))
        if match := _FAST_CSI.match(data, position):
            tokens.append(_sequence(self.offset + position, self.offset + match.end(), match))
            return match.end()
        byte = data[position]
        if byte == _ESC:
            self._begin(_State.ESCAPE, self.offset + position)
        elif byte != _DEL:
            tokens.append(Control(self.offset + position + 1, byte))
        return position + 1

    def _decode(self, run: bytes) -> str:
        if not self._partial and run[-1] < 0x80:
            return run.decode("utf-8", "replace")
        text = self._decoder.decode(run)
        self._partial = bool(self._decoder.getstate()[0])
        return text

    def _begin(self, state: _State, start: int) -> None:
        self._state = state
        self._start = start
        self._buffer.clear()
        self._overlong = False

    def _common(self, data: bytes, position: int, tokens: list[Token]) -> bool:
        """Take a control inside ESC or CSI: executed at once, or ending the sequence; tell whether it was one."""
        byte = data[position]
        if byte == _ESC:
            self._begin(_State.ESCAPE, self.offset + position)
        elif byte in (_CAN, _SUB):
            self._state = _State.GROUND
        elif byte < 0x20:
            tokens.append(Control(self.offset + position + 1, byte))
        else:
            return byte == _DEL
        return True

    def _escape(self, data: bytes, position: int, tokens: list[Token]) -> int:
        byte = data[position]
        if self._common(data, position, tokens):
            return position + 1
        if byte >= 0x80:
            self._state = _State.GROUND
            return position
        final = data[position : position + 1]
        if byte < 0x30:
            self._append(final, _MAX_SEQUENCE)
        elif not self._buffer and not self._overlong and final == b"[":
            self._begin(_State.CSI, self._start)
        elif not self._buffer and not self._overlong and final in _STRING_RUN:
            self._begin(_State.STRING, self._start)
            self._kind = final
        else:
            self._state = _State.GROUND
            if not self._overlong:
                tokens.append(Escape(self.offset + position + 1, bytes(self._buffer), final))
        return position + 1

    def _csi(self, data: bytes, position: int, tokens: list[Token]) -> int:
        match = _CSI_RUN.match(data, position)
        if match and match.end() > position:
            self._append(match[0], _MAX_SEQUENCE)
            return match.end()
        if self._common(data, position, tokens):
            return position + 1
        self._state = _State.GROUND
        if data[position] >= 0x80:
            return position
        body = None if self._overlong else _CSI_BODY.fullmatch(bytes(self._buffer))
        if body:
            final = data[position : position + 1]
            tokens.append(_sequence(self._start, self.offset + position + 1, body, final))
        return position + 1

    def _string(self, data: bytes, position: int, tokens: list[Token]) -> int:
        match = _STRING_RUN[self._kind].match(data, position)
        if match and match.end() > position:
            if self._kind in (b"]", b"P", b"_"):
                self._append(match[0], MAX_OSC)
            return match.end()
        byte = data[position]
        if byte == _ESC:
            self._state = _State.STRING_ESCAPE
        else:
            self._state = _State.GROUND
            if byte == _BEL:
                self._finish(self.offset + position + 1, b"\x07", tokens)
        return position + 1

    def _string_escape(self, data: bytes, position: int, tokens: list[Token]) -> int:
        byte = data[position]
        if byte == 0x5C:
            self._state = _State.GROUND
            self._finish(self.offset + position + 1, b"\x1b\\", tokens)
            return position + 1
        if byte == _ESC and self._kind == b"P":
            # Multiplexer passthrough doubles each ESC: what it wraps is payload, not a sequence for us.
            self._state = _State.STRING
            self._append(b"\x1b", MAX_OSC)
            return position + 1
        # The string is aborted, and the escape that did it begins a sequence of its own.
        self._begin(_State.ESCAPE, self.offset + position - 1)
        return position

    def _append(self, run: bytes, limit: int) -> None:
        if len(self._buffer) + len(run) > limit:
            self._overlong = True
        else:
            self._buffer += run

    def _finish(self, end: int, terminator: bytes, tokens: list[Token]) -> None:
        if not self._overlong and self._kind in (b"]", b"P", b"_"):
            tokens.append(String(self._start, end, self._kind, bytes(self._buffer), terminator))
        self._buffer.clear()


def _sequence(start: int, end: int, match: re.Match[bytes], final: bytes | None = None) -> ControlSequence:
    params: tuple[int, ...] = ()
    if raw := match[2]:
        params = tuple(map(_param, raw.split(b";", _MAX_PARAMS)[:_MAX_PARAMS]))
    return ControlSequence(start, end, match[1], params, match[3], final or match[4])


def _param(field: bytes) -> int:
    if not field:
        return 0
    if b":" in field:
        return HAS_SUBPARAMETERS
    return min(int(field), _MAX_PARAM)
