"""Facts: what evidence tells the state machine, one frozen value each (providers.md §1.1)."""

from dataclasses import dataclass

from prowl_svc.model.state import Detection, RawState

__all__ = [
    "ChildEnded",
    "ChildScheduled",
    "ChildStarted",
    "Fact",
    "Interaction",
    "InventoryFact",
    "NativeFact",
    "ProgramFact",
    "ProgramSummary",
    "ProviderFact",
    "ScreenFact",
    "Suspended",
    "Tick",
    "TurnEnded",
    "TurnStarted",
    "Unavailable",
]


@dataclass(frozen=True, slots=True)
class ScreenFact:
    """A classified screen; ``content`` identifies the whole active text of a Blocked screen and is None otherwise."""

    detection: Detection
    content: str | None = None


@dataclass(frozen=True, slots=True)
class NativeFact:
    """An accepted snapshot of Claude's registry; ``updated`` is its statusUpdatedAt in milliseconds (§3)."""

    session: str
    state: RawState
    updated: float


@dataclass(frozen=True, slots=True)
class InventoryFact:
    """The root sessions that the Codex process writes now: first of every successful sample (§2)."""

    roots: frozenset[str]


@dataclass(frozen=True, slots=True)
class TurnStarted:
    """A main turn opened."""

    root: str
    turn: str


@dataclass(frozen=True, slots=True)
class TurnEnded:
    """A main turn completed or was aborted."""

    root: str
    turn: str


@dataclass(frozen=True, slots=True)
class ChildStarted:
    """A child's own file says that its work began; ``work`` is the child's turn id."""

    root: str
    child: str
    work: str


@dataclass(frozen=True, slots=True)
class ChildScheduled:
    """The parent says that a child will work; ``work`` is a provisional id, ``pending:…``."""

    root: str
    child: str
    work: str


@dataclass(frozen=True, slots=True)
class ChildEnded:
    """A child's work ended, by its own file or by the parent's notice."""

    root: str
    child: str
    work: str


@dataclass(frozen=True, slots=True)
class Suspended:
    """File evidence cannot be read for now: knowledge stays, authority goes."""


@dataclass(frozen=True, slots=True)
class Unavailable:
    """Continuity of file evidence is lost: knowledge and authority go."""


@dataclass(frozen=True, slots=True)
class Interaction:
    """A key press, paste or sent text for the pane."""


@dataclass(frozen=True, slots=True)
class Tick:
    """The end of an observation: nothing new but the time."""


@dataclass(frozen=True, slots=True)
class ProgramSummary:
    """What the eligible OSC 7501 records of a pane say together (program-status.md §5).

    ``state`` is working, blocked or idle and ``reason`` an ``osc.*`` id; ``completed`` is set for a root that says done
    or error. ``revision`` is the record store's counter: an equal or older one is ignored.
    """

    state: RawState
    reason: str
    revision: int
    completed: bool = False


@dataclass(frozen=True, slots=True)
class ProgramFact:
    """OSC 7501 evidence changed; None when there is none any more."""

    summary: ProgramSummary | None


ProviderFact = (
    NativeFact
    | InventoryFact
    | TurnStarted
    | TurnEnded
    | ChildStarted
    | ChildScheduled
    | ChildEnded
    | Suspended
    | Unavailable
)
"""What a file provider may say."""

Fact = ScreenFact | ProviderFact | ProgramFact | Interaction | Tick
