r"""What a headless host answers to the queries of a terminal program (terminal.md §1.4).

Pure: state values in, the bytes to write back out; ``b""`` where silence is the answer. Both terminal engines use it,
and the one writer of a pane sends the answers in the order in which the queries came.
"""

import re
from collections.abc import Callable, Sequence
from typing import Protocol

__all__ = [
    "CELL_HEIGHT",
    "CELL_WIDTH",
    "FOCUS_IN",
    "FOCUS_OUT",
    "KNOWN_MODES",
    "KittyStack",
    "QueryState",
    "apc_answer",
    "csi_answer",
    "dcs_answer",
    "osc_answer",
]

FOCUS_IN = b"\x1b[I"
FOCUS_OUT = b"\x1b[O"
CELL_WIDTH = 10
CELL_HEIGHT = 20

KNOWN_MODES = frozenset({1, 6, 7, 25, 1000, 1001, 1002, 1003, 1004, 1005, 1006, 1049, 2004, 2026, 2031})
"""DEC private modes that DECRQM calls set or reset; 1016, 2027 and every other are unknown to it."""

_NAME = b"prowl(0.1)"  # never the name of a terminal whose images or progress bars programs would turn on
_ST = b"\x1b\\"
_FOREGROUND = (0xD8, 0xD8, 0xD8)
_BACKGROUND = (0x18, 0x18, 0x18)
_BASE_COLORS = (
    (0x18, 0x18, 0x18),
    (0xCC, 0x66, 0x66),
    (0xB5, 0xBD, 0x68),
    (0xF0, 0xC6, 0x74),
    (0x81, 0xA2, 0xBE),
    (0xB2, 0x94, 0xBB),
    (0x8A, 0xBE, 0xB7),
    (0xC5, 0xC8, 0xC6),
    (0x66, 0x66, 0x66),
    (0xD5, 0x4E, 0x53),
    (0xB9, 0xCA, 0x4A),
    (0xE7, 0xC5, 0x47),
    (0x7A, 0xA6, 0xDA),
    (0xC3, 0x97, 0xD8),
    (0x70, 0xC0, 0xB1),
    (0xEA, 0xEA, 0xEA),
)
_DYNAMIC_COLORS = {10: _FOREGROUND, 11: _BACKGROUND, 12: _FOREGROUND}
_MAX_COLOR_QUERIES = 256
_MAX_KITTY_STACK = 16


class QueryState(Protocol):
    """The live values that answers tell; an engine offers them itself."""

    @property
    def columns(self) -> int:
        """Width in cells."""
        ...

    @property
    def rows(self) -> int:
        """Height in cells."""
        ...

    def mode(self, number: int) -> bool:
        """Tell whether DEC private mode ``number`` is set."""
        ...

    def ansi_mode(self, number: int) -> bool | None:
        """Tell whether ANSI mode ``number`` is set, None when it is unknown."""
        ...

    @property
    def report_position(self) -> tuple[int, int]:
        """One-based row and column for cursor reports, relative to the margins in origin mode."""
        ...

    @property
    def kitty_flags(self) -> int:
        """The kitty keyboard flags in force on the screen in use."""
        ...


class KittyStack:
    """The kitty keyboard flags of one screen: current value and at most 16 saved ones, the oldest dropped."""

    def __init__(self) -> None:
        self.flags = 0
        self._saved: list[int] = []

    def push(self, flags: int) -> None:
        """``CSI > flags u``."""
        self._saved.append(self.flags)
        del self._saved[:-_MAX_KITTY_STACK]
        self.flags = flags & 31

    def pop(self, count: int) -> None:
        """``CSI < count u``; popping more than was pushed leaves no flags."""
        for _ in range(min(max(count, 1), _MAX_KITTY_STACK + 1)):
            self.flags = self._saved.pop() if self._saved else 0

    def assign(self, flags: int, how: int) -> None:
        """``CSI = flags ; how u``: 1 sets all, 2 adds, 3 removes."""
        if how == 1:
            self.flags = flags & 31
        elif how == 2:
            self.flags |= flags & 31
        elif how == 3:
            self.flags &= ~flags

    def reset(self) -> None:
        """Forget everything, as a hard reset does."""
        self.flags = 0
        self._saved.clear()


def csi_answer(prefix: bytes, params: Sequence[int], intermediates: bytes, final: bytes, state: QueryState) -> bytes:
    """Answer a control sequence; ``prefix`` is one of ``< = > ?`` or empty, an omitted parameter is 0."""
    handler = _CSI.get((prefix, intermediates, final))
    return handler(params[0] if params else 0, state) if handler else b""


def osc_answer(body: bytes, terminator: bytes) -> bytes:
    """Answer colour queries (OSC 4, 10, 11, 12) with the fixed dark palette and the query's own terminator."""
    number, _, rest = body.partition(b";")
    fields = rest.split(b";")[: 2 * _MAX_COLOR_QUERIES]
    parts: list[bytes] = []
    if number == b"4":
        for index, value in zip(fields[::2], fields[1::2], strict=False):
            if value == b"?" and index.isdigit() and len(index) <= 3 and int(index) < 256:
                parts.append(b"\x1b]4;%d;%b%b" % (int(index), _rgb(_palette(int(index))), terminator))
    elif number in (b"10", b"11", b"12"):
        for position, value in enumerate(fields, int(number)):
            color = _DYNAMIC_COLORS.get(position)
            if value == b"?" and color:
                parts.append(b"\x1b]%d;%b%b" % (position, _rgb(color), terminator))
    return b"".join(parts)


def dcs_answer(payload: bytes) -> bytes:
    """Answer XTGETTCAP (``+q…``) and DECRQSS (``$q…``): nothing is known."""
    if payload.startswith(b"+q"):
        return b"\x1bP0+r" + _ST
    if payload.startswith(b"$q"):
        return b"\x1bP0$r" + _ST
    return b""


def apc_answer(payload: bytes) -> bytes:
    """Answer a kitty graphics query (``Ga=q…``): not supported, unless it asks for no failures."""
    control, _, _ = payload[:512].partition(b";")
    if not control.startswith(b"G"):
        return b""
    keys = dict(pair.partition(b"=")[::2] for pair in control[1:].split(b","))
    number = keys.get(b"i", b"")
    if keys.get(b"a") != b"q" or keys.get(b"q") == b"2" or not re.fullmatch(rb"[0-9]{1,10}", number):
        return b""
    return b"\x1b_Gi=%b;ENOTSUP:graphics are not supported" % number + _ST


def _rgb(color: tuple[int, int, int]) -> bytes:
    return b"rgb:" + b"/".join(b"%02x%02x" % (part, part) for part in color)


def _palette(index: int) -> tuple[int, int, int]:
    """Return xterm's colour ``index``: 16 base colours of ours, the 6x6x6 cube, the grey ramp."""
    if index < 16:
        return _BASE_COLORS[index]
    if index >= 232:
        level = 8 + 10 * (index - 232)
        return level, level, level
    red, green, blue = (0 if part == 0 else 55 + 40 * part for part in _cube(index - 16))
    return red, green, blue


def _cube(index: int) -> tuple[int, int, int]:
    return index // 36, index // 6 % 6, index % 6


def _device_attributes(param: int, _: QueryState) -> bytes:
    return b"\x1b[?62;22c" if param == 0 else b""


def _secondary_attributes(param: int, _: QueryState) -> bytes:
    return b"\x1b[>1;10;0c" if param == 0 else b""


def _version(param: int, _: QueryState) -> bytes:
    return b"\x1bP>|" + _NAME + _ST if param == 0 else b""


def _status_report(param: int, state: QueryState) -> bytes:
    if param == 5:
        return b"\x1b[0n"
    return b"\x1b[%d;%dR" % state.report_position if param == 6 else b""


def _private_report(param: int, state: QueryState) -> bytes:
    if param == 6:
        return b"\x1b[?%d;%dR" % state.report_position
    return b"\x1b[?997;1n" if param == 996 else b""


def _kitty_flags(_: int, state: QueryState) -> bytes:
    return b"\x1b[?%du" % state.kitty_flags


def _private_mode(param: int, state: QueryState) -> bytes:
    value = (1 if state.mode(param) else 2) if param in KNOWN_MODES else 0
    return b"\x1b[?%d;%d$y" % (param, value)


def _ansi_mode(param: int, state: QueryState) -> bytes:
    value = {True: 1, False: 2, None: 0}[state.ansi_mode(param)]
    return b"\x1b[%d;%d$y" % (param, value)


def _window_report(param: int, state: QueryState) -> bytes:
    if param == 14:
        return b"\x1b[4;%d;%dt" % (state.rows * CELL_HEIGHT, state.columns * CELL_WIDTH)
    if param == 16:
        return b"\x1b[6;%d;%dt" % (CELL_HEIGHT, CELL_WIDTH)
    return b"\x1b[8;%d;%dt" % (state.rows, state.columns) if param == 18 else b""


_CSI: dict[tuple[bytes, bytes, bytes], Callable[[int, QueryState], bytes]] = {
    (b"", b"", b"c"): _device_attributes,
    (b">", b"", b"c"): _secondary_attributes,
    (b">", b"", b"q"): _version,
    (b"", b"", b"n"): _status_report,
    (b"?", b"", b"n"): _private_report,
    (b"?", b"", b"u"): _kitty_flags,
    (b"?", b"$", b"p"): _private_mode,
    (b"", b"$", b"p"): _ansi_mode,
    (b"", b"", b"t"): _window_report,
}
