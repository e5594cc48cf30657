"""Side channels of a terminal byte stream: what a program says beside its text (terminal.md §1.1)."""

from dataclasses import dataclass
from enum import StrEnum

__all__ = [
    "Bell",
    "CursorPosition",
    "ModeChange",
    "Notification",
    "ProgramStatus",
    "Progress",
    "ProgressState",
    "PromptMark",
    "Reset",
    "SideEvent",
    "StatusQuery",
    "TabStatus",
    "Title",
    "WorkingDirectory",
]


@dataclass(frozen=True, slots=True)
class SideEvent:
    """Base of all side-channel events; ``offset`` is the stream position in bytes just after the sequence."""

    offset: int


@dataclass(frozen=True, slots=True)
class Title(SideEvent):
    """OSC 0 or 2, or a title that XTWINOPS 23 t restored."""

    text: str


@dataclass(frozen=True, slots=True)
class WorkingDirectory(SideEvent):
    """OSC 7, OSC 9;9 or OSC 1337;CurrentDir: the raw value, a candidate only."""

    value: str


@dataclass(frozen=True, slots=True)
class Notification(SideEvent):
    """OSC 9 text, OSC 777 notify or a completed OSC 99; ``source`` is ``9``, ``777`` or ``99``."""

    source: str
    title: str
    body: str


class ProgressState(StrEnum):
    """The states of OSC 9;4 (providers.md §6)."""

    REMOVE = "remove"
    SET = "set"
    ERROR = "error"
    INDETERMINATE = "indeterminate"
    PAUSE = "pause"


@dataclass(frozen=True, slots=True)
class Progress(SideEvent):
    """OSC 9;4; ``percent`` is 0 to 100 or None."""

    state: ProgressState
    percent: int | None


@dataclass(frozen=True, slots=True)
class PromptMark(SideEvent):
    """OSC 133 (or 633) A, B, C or D; ``exit_code`` only with D."""

    mark: str
    exit_code: int | None = None


@dataclass(frozen=True, slots=True)
class ProgramStatus(SideEvent):
    """OSC 7501 report: the body after ``7501;`` as received, at most 4096 bytes, unparsed."""

    body: bytes


@dataclass(frozen=True, slots=True)
class StatusQuery(SideEvent):
    """OSC 7501;? — a program asks whether reports are consumed; ``terminator`` is the one it used."""

    terminator: bytes


@dataclass(frozen=True, slots=True)
class TabStatus(SideEvent):
    """OSC 21337: the raw body."""

    body: str


@dataclass(frozen=True, slots=True)
class Bell(SideEvent):
    """BEL outside a string."""


@dataclass(frozen=True, slots=True)
class ModeChange(SideEvent):
    """A DEC private mode was set or reset (alternate screen, focus reporting, bracketed paste …), changed or not.

    Modes that are part of drawing every frame (7, 12, 25, 2026) give none: ask the screen.
    """

    mode: int
    on: bool


@dataclass(frozen=True, slots=True)
class Reset(SideEvent):
    """RIS (``hard``) or DECSTR."""

    hard: bool


@dataclass(frozen=True, slots=True)
class CursorPosition:
    """Zero-based cursor cell and whether the cursor is shown."""

    row: int
    column: int
    visible: bool = True
