"""What observers see: roster entries, signals, and the events of the observation stream (signals.md §1, §2.1)."""

from dataclasses import dataclass
from enum import StrEnum

from prowl_svc.model.agents import Agent
from prowl_svc.model.state import DisplayState, RawState, Style

__all__ = [
    "AgentEntry",
    "Binding",
    "Changed",
    "Closed",
    "Confidence",
    "ObserveEvent",
    "Removed",
    "SessionConfidence",
    "SessionRef",
    "Signal",
    "SignalKind",
    "SignalRecorded",
    "Snapshot",
]


class SessionConfidence(StrEnum):
    """How sure a session attribution is; ``MEDIUM`` is a guess that never binds evidence (signals.md §2.5)."""

    EXACT = "exact"
    HIGH = "high"
    MEDIUM = "medium"


@dataclass(frozen=True, slots=True)
class SessionRef:
    """The public session of an agent row: id, transcript path if known, and how it was attributed (providers.md §8)."""

    id: str
    path: str | None
    confidence: SessionConfidence
    source: str

    @property
    def trusted(self) -> str | None:
        """The id when the attribution may take part in epochs (exact or high), else None."""
        return None if self.confidence is SessionConfidence.MEDIUM else self.id


@dataclass(frozen=True, slots=True)
class AgentEntry:
    """The roster row of a detected agent (signals.md §7.4); two equal entries are one and the same news.

    ``last_changed_at`` is wall-clock nanoseconds of the last change of the display status, or of its acknowledgement.
    ``outstanding`` tells that the state decision knows of open work, which vetoes idle waits (signals.md §3.4).
    ``icon`` is the matched process name.
    """

    agent: Agent
    status: DisplayState
    raw_state: RawState
    last_changed_at: int
    detection_reason: str | None = None
    screen_reason: str | None = None
    style: Style | None = None
    seen: bool = True
    outstanding: bool = False
    session: SessionRef | None = None
    title: str = ""
    icon: str = ""


class SignalKind(StrEnum):
    """The event of a signal; ``TURN_ENDED`` means that one interaction ended, never that a task is done."""

    TURN_ENDED = "turn-ended"
    NEEDS_INPUT = "needs-input"
    SESSION_START = "session-start"
    SESSION_END = "session-end"
    PROGRESS = "progress"

    @property
    def terminal(self) -> bool:
        """Whether the event sets the active level that waits read (signals.md §2.7)."""
        return self in (SignalKind.TURN_ENDED, SignalKind.NEEDS_INPUT, SignalKind.SESSION_END)


class Confidence(StrEnum):
    """How much a signal or an observation proves."""

    EXACT = "exact"
    HIGH = "high"
    HEURISTIC = "heuristic"


class Binding(StrEnum):
    """Whether a signal counts as evidence for the pane's current agent (signals.md §2.6)."""

    CURRENT = "current"
    UNBOUND = "unbound"
    STALE = "stale"


@dataclass(frozen=True, slots=True)
class Signal:
    """One reported event (signals.md §2.1).

    ``at`` is the time of receipt in wall-clock nanoseconds, never the sender's clock. ``claimed_origin`` is the
    caller's own word and never adds trust. ``native_event`` is set for hook sources only and is not public.
    """

    kind: SignalKind
    source: str
    confidence: Confidence
    at: int
    progress: int | None = None
    session_id: str | None = None
    detail: str | None = None
    claimed_origin: str | None = None
    native_event: str | None = None


@dataclass(frozen=True, slots=True)
class Snapshot:
    """The first event of every subscription: what is known now, at this revision."""

    agent: AgentEntry | None
    latest_signal: Signal | None
    revision: int
    latest_binding: Binding | None = None


@dataclass(frozen=True, slots=True)
class Changed:
    """The agent's entry is now this one; the first appearance of an agent is a change too."""

    agent: AgentEntry
    revision: int


@dataclass(frozen=True, slots=True)
class Removed:
    """The detector lost the agent; the stream goes on."""

    revision: int


@dataclass(frozen=True, slots=True)
class SignalRecorded:
    """A signal was recorded, whatever its binding."""

    signal: Signal
    binding: Binding
    revision: int


@dataclass(frozen=True, slots=True)
class Closed:
    """The pane closed; the stream ends normally after this. ``revision`` is the last one."""

    revision: int


ObserveEvent = Snapshot | Changed | Removed | SignalRecorded | Closed
