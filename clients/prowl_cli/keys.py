"""What a terminal sends, taken apart: what is typed, what only the client should see, and what nobody asked for.

Pure: bytes in, events out. The terminal of an attached client reports its focus, and answers questions that the pane's
program asked its screen; both arrive among the keys.
"""

import re
from dataclasses import dataclass

__all__ = ["Answer", "Detach", "Focus", "InputFilter", "detach_patterns"]


@dataclass(frozen=True, slots=True)
class Focus:
    """The client's terminal gained or lost the focus."""

    focused: bool


@dataclass(frozen=True, slots=True)
class Answer:
    """The client's terminal answered what the client itself may have asked: DA1 or the support of OSC 7501."""

    data: bytes


@dataclass(frozen=True, slots=True)
class Detach:
    """The detach key was pressed."""


_PASTE_START, _PASTE_END = b"\x1b[200~", b"\x1b[201~"

# Answers of the terminal to questions of the program: the service has answered those already.
_ANSWER = re.compile(
    rb"\x1b\[[?>=][\d;]*c"  # device attributes
    rb"|\x1b\[\??[\d;]+\$y"  # mode reports
    rb"|\x1b\[\?[\d;]*[nu]"  # status reports, keyboard flags
    rb"|\x1b\[0n"
    rb"|\x1b\[(?!1;)\d+;\d+R"  # cursor position; with row 1 it cannot be told from a modified F3
    rb"|\x1b\[[468];\d+;\d+t"  # sizes
    rb"|\x1b\](?:4|10|11|12|52|7501)(?:;[^\x07\x1b]*)?(?:\x07|\x1b\\)"
    rb"|\x1b[P_][^\x1b\x07]*(?:\x1b\\|\x07)"
)
_OURS = re.compile(rb"\x1b\[\?[\d;]*c|\x1b\]7501;")
_BEGUN = re.compile(rb"\x1b(?:\[[?>=]|\]\d|[P_].)", re.DOTALL)
_PARTIAL = re.compile(rb"\x1b(?:\[[<-?]?[\d;:]*\$?|\][^\x07\x1b]*\x1b?|[P_][^\x1b\x07]*\x1b?)?$")
_MAX_PARTIAL = 4096


def detach_patterns(key: str) -> tuple[bytes, ...]:
    """Return all byte forms of a detach key ``ctrl-X``; raises ValueError for another form.

    Beside the control byte there are the forms of the kitty and xterm keyboard modes, which a program may switch on.
    """
    name = key.strip().lower().replace("control-", "ctrl-").replace("^", "ctrl-")
    char = name.removeprefix("ctrl-")
    if len(char) != 1 or not name.startswith("ctrl-") or not ("a" <= char <= "z" or char in "\\]^_@ "):
        raise ValueError(f"use ctrl- and a letter or one of \\ ] _, not {key!r}")
    code = ord(char)
    control = 0 if char in "@ " else ord(char.upper()) & 0x1F
    return (
        bytes([control]),
        f"\x1b[{code};5u".encode(),
        f"\x1b[{code};5:1u".encode(),
        f"\x1b[27;5;{code}~".encode(),
    )


class InputFilter:
    """Splits the input stream; give it bytes in any split, and call ``flush`` when nothing followed for a moment.

    Text inside a bracketed paste is never interpreted.
    """

    def __init__(self, detach: tuple[bytes, ...]) -> None:
        self._detach = detach
        self._held = b""
        self._pasting = False

    @property
    def holding(self) -> bool:
        """Whether bytes are held back that may be the start of a sequence."""
        return bool(self._held)

    @property
    def answering(self) -> bool:
        """Whether what is held back is the start of an answer, which no key begins like."""
        return _BEGUN.match(self._held) is not None

    def feed(self, data: bytes) -> list[bytes | Focus | Detach | Answer]:
        """Return what is complete, in order."""
        return self._split(self._held + data, final=False)

    def flush(self) -> list[bytes | Focus | Detach | Answer]:
        """Return what was held back: it was a key after all, such as a lone Escape."""
        return self._split(self._held, final=True)

    def _split(self, data: bytes, *, final: bool) -> list[bytes | Focus | Detach | Answer]:
        self._held = b""
        out: list[bytes | Focus | Detach | Answer] = []
        typed = bytearray()
        at = 0

        def push(event: Focus | Detach | Answer) -> None:
            if typed:
                out.append(bytes(typed))
                typed.clear()
            out.append(event)

        while at < len(data):
            if self._pasting:
                end = data.find(_PASTE_END, at)
                if end < 0:
                    keep = 0 if final else _overlap(data, at)
                    typed += data[at : len(data) - keep]
                    self._held = data[len(data) - keep :]
                    break
                typed += data[at : end + len(_PASTE_END)]
                at = end + len(_PASTE_END)
                self._pasting = False
                continue
            pattern = next((form for form in self._detach if data.startswith(form, at)), None)
            if pattern is not None:
                push(Detach())
                at += len(pattern)
                continue
            if data[at] != 0x1B:
                typed.append(data[at])
                at += 1
                continue
            if data.startswith((b"\x1b[I", b"\x1b[O"), at):
                push(Focus(data[at + 2] == ord("I")))
                at += 3
                continue
            if data.startswith(_PASTE_START, at):
                self._pasting = True
                typed += _PASTE_START
                at += len(_PASTE_START)
                continue
            answer = _ANSWER.match(data, at)
            if answer is not None:
                if _OURS.match(data, at):
                    push(Answer(answer[0]))
                at = answer.end()
                continue
            if not final and len(data) - at <= _MAX_PARTIAL and _PARTIAL.match(data, at):
                self._held = data[at:]
                break
            typed.append(0x1B)
            at += 1
        if typed:
            out.append(bytes(typed))
        return out


def _overlap(data: bytes, at: int) -> int:
    """Return how many last bytes of ``data[at:]`` may begin the end of a paste."""
    for size in range(min(len(_PASTE_END) - 1, len(data) - at), 0, -1):
        if data.endswith(_PASTE_END[:size]):
            return size
    return 0
