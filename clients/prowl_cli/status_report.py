"""What an attachment tells the terminal around it of the pane's agent, as OSC 7501 (program-status.md §1-4, §6).

The terminal is asked once, when there is first something to tell; DA1 follows the question, and its answer first means
that the terminal does not take reports. The record is the root one. Its ``app`` is ``prowl``: the state is the agent's,
but an agent's declared name would claim to be that agent. Its title is the agent's name; nothing else is told, since
what an agent or its screen says is private. It is cleared when the agent leaves and when the attachment ends.

Reports of the program inside are for the service, the terminal that answered its question; they are never passed on,
whether or not we report. Otherwise two writers would share the root record, a late attachment would show nothing, and
a terminal that never said so would get them. A prompt mark or reset of the program passes, and makes the terminal drop
records: ours is sent again right behind it.

Pure: bytes and states in, bytes to write out.
"""

import base64
import re
from collections.abc import Mapping

__all__ = ["CLEAR", "QUERY", "StatusReport", "encode", "wanted"]

QUERY = b"\x1b]7501;?\x1b\\\x1b[c"
"""The question, and the one that every terminal answers."""

CLEAR = b"\x1b]7501;state=clear\x1b\\"

_STATES = frozenset({"idle", "working", "done", "blocked"})
_MAX_TITLE = 192  # bytes
_MAX_HELD = 16384
_WORDS = {"1": True, "true": True, "on": True, "yes": True, "0": False, "false": False, "off": False, "no": False}
_SILENT = ("", "dumb", "linux")
"""Terminals that print sequences which they do not know."""

_REPORT = re.compile(rb"\x1b\]7501;[^\x07\x1b]*(?:\x07|\x1b\\)")
_DROPS = re.compile(rb"\x1b\]133;A(?:;[^\x07\x1b]*)?(?:\x07|\x1b\\)|\x1bc")
_STRINGS = (b"]", b"P", b"_", b"^", b"X")
_STRING_END = re.compile(rb"[\x07\x18\x1a]|\x1b[^\x1b]", re.DOTALL)
_FINISHED = re.compile(rb"\x1b(?:\[[^\x18\x1a\x40-\x7e]*[\x18\x1a\x40-\x7e]|[ -/]*[^ -/\x1b\[\]P_^X])", re.DOTALL)
_PART_OF_A_CHARACTER = re.compile(rb"(?:[\xc2-\xdf]|[\xe0-\xef][\x80-\xbf]?|[\xf0-\xf4][\x80-\xbf]{0,2})\Z")


def wanted(option: bool | None, environ: Mapping[str, str]) -> bool | None:
    """Tell whether to report: by the command's option, else ``PROWL_REPORT_STATUS``; None leaves it to the service."""
    if environ.get("TERM", "") in _SILENT:
        return False
    return option if option is not None else _WORDS.get(environ.get("PROWL_REPORT_STATUS", "").strip().lower())


def encode(state: str, name: str) -> bytes:
    """Return the report of an agent's state; a state that the protocol does not have is ``clear``."""
    if state not in _STATES:
        return CLEAR
    plain = "".join(char for char in name if char.isprintable()).encode("utf-8", "ignore")
    while len(plain) > _MAX_TITLE:
        plain = plain.decode("utf-8")[:-1].encode("utf-8")
    title = b":title=" + base64.b64encode(plain) if plain else b""
    return b"\x1b]7501;state=" + state.encode() + b":app=prowl" + title + b"\x1b\\"


class StatusReport:
    """The dialogue with the terminal and what passes to it; every method returns what to write now.

    Nothing of ours is written into the middle of a sequence or a character of the program's output.
    """

    def __init__(self) -> None:
        self._asked = False
        self._waiting = False
        self._supported: bool | None = None
        self._record = CLEAR
        self._told = CLEAR
        self._held = b""
        self._inside = False  # an overlong string passes

    @property
    def waiting(self) -> bool:
        """Whether an answer of the terminal is still to come; DA1's is the last."""
        return self._waiting

    def shows(self, record: bytes) -> bytes:
        """The pane's state is now what ``record`` (see ``encode``) says."""
        self._record = record
        return self._due()

    def answered(self, answer: bytes) -> bytes:
        """The terminal sent an answer of its own: the one to the question, or to DA1."""
        if not self._waiting:
            return b""
        reply = answer.startswith(b"\x1b]7501;")
        self._waiting = reply
        if self._supported is None:
            self._supported = reply
        return self._due()

    def passing(self, data: bytes) -> bytes:
        """The program wrote ``data``, in any split: what of it is for the terminal, with what must follow it."""
        data = self._held + data
        self._held = b""
        start = 0
        if self._inside:
            end = _STRING_END.search(data)
            if end is None:
                start = len(data) - data.endswith(b"\x1b")
                self._held = data[start:]
                return data[:start]
            start = end.end() if data[end.start()] != 0x1B else end.start()
            self._inside = False
        cut = _whole(data, start)
        self._inside = len(data) - cut > _MAX_HELD
        if not self._inside:
            self._held = data[cut:]
            data = data[:cut]
        if b"\x1b]7501;" in data:
            data = _REPORT.sub(b"", data)
        if self._told != CLEAR and _DROPS.search(data):
            self._told = CLEAR
        return data + self._due()

    def ends(self) -> bytes:
        """The attachment ends."""
        told, self._told, self._record = self._told, CLEAR, CLEAR
        if told == CLEAR:
            return b""
        # In the middle of a string of the program the terminator ends that string first.
        return (b"\x1b\\" if self._inside else b"") + CLEAR

    def _due(self) -> bytes:
        if self._inside or self._record == self._told:
            return b""
        if not self._asked:
            self._asked = self._waiting = True
            return QUERY
        if not self._supported:
            return b""
        self._told = self._record
        return self._record


def _whole(data: bytes, start: int) -> int:
    """Return the end of what is complete in ``data``: neither a sequence nor a character is cut there."""
    end = len(data)
    if part := _PART_OF_A_CHARACTER.search(data, max(start, end - 3)):
        end = part.start()
    # The sequence that the data ends in begins at one of the last two escapes: a string's terminator may be cut.
    cut, before = end, end
    for _ in range(2):
        at = data.rfind(b"\x1b", start, before)
        if at < 0:
            break
        if data[at + 1 : at + 2] in _STRINGS:
            ended = _STRING_END.search(data, at + 2, before)
            if ended is None:
                cut = at
            break
        if _FINISHED.match(data, at, end):
            break
        cut = before = at
    return cut
