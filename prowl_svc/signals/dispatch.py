"""One dispatched task: its record, and every change that may happen to it (signals.md §4.1, §4.2, §4.6)."""

from dataclasses import dataclass, field, replace
from enum import StrEnum

from prowl_svc.model.errors import Code, ProwlError
from prowl_svc.model.observation import SignalKind

__all__ = [
    "COALESCE_S",
    "Candidate",
    "DispatchBinding",
    "DispatchEntry",
    "DispatchOutcome",
    "DispatchRecord",
    "DispatchState",
    "GoneReason",
    "abandon",
    "commit",
    "complete",
    "gone",
    "on_activity",
    "on_closed",
    "on_signal",
    "verdict",
]

COALESCE_S = 0.3


class DispatchState(StrEnum):
    """State of a dispatch; all but ``PENDING`` are final."""

    PENDING = "pending"
    COMPLETED = "completed"
    GONE = "gone"
    ABANDONED = "abandoned"


class DispatchOutcome(StrEnum):
    """The worker's own verdict."""

    SUCCEEDED = "succeeded"
    FAILED = "failed"


class GoneReason(StrEnum):
    """Why a task lost its worker."""

    SESSION_END = "session_end"
    SURFACE_CLOSED = "surface_closed"


@dataclass(frozen=True, slots=True)
class DispatchRecord:
    """The public record; the fields of a state are set in that state alone. Times are wall-clock nanoseconds."""

    id: str
    created_at: int
    state: DispatchState = DispatchState.PENDING
    outcome: DispatchOutcome | None = None
    summary: str | None = None
    completed_at: int | None = None
    gone_at: int | None = None
    gone_reason: GoneReason | None = None
    abandoned_at: int | None = None
    reason: str | None = None


@dataclass(frozen=True, slots=True)
class DispatchBinding:
    """Where a task was given: the pane, the target as it was then (opaque here), and the evidence epoch."""

    surface: str
    epoch: str
    target: bytes = field(default=b"", repr=False)


@dataclass(frozen=True, slots=True)
class Candidate:
    """What will be committed at ``due`` (monotonic seconds) unless a completion comes first.

    Without a reason it is the finding that the turn ended without a completion.
    """

    due: float
    reason: GoneReason | None = None


@dataclass(frozen=True, slots=True)
class DispatchEntry:
    """A record with what is kept beside it; ``evidence`` is a committed needs-input or turn-ended."""

    record: DispatchRecord
    binding: DispatchBinding | None = None
    evidence: SignalKind | None = None
    candidate: Candidate | None = None

    @property
    def pending(self) -> bool:
        """Whether the record may still change."""
        return self.record.state is DispatchState.PENDING


def on_signal(entry: DispatchEntry, kind: SignalKind, now: float) -> DispatchEntry:
    """Take in a signal that is bound to the entry's pane and epoch (§4.6)."""
    if not entry.pending:
        return entry
    if kind is SignalKind.NEEDS_INPUT:
        return replace(_without_incomplete(entry), evidence=kind)
    if kind is SignalKind.TURN_ENDED:
        return entry if entry.candidate else replace(entry, candidate=Candidate(now + COALESCE_S))
    if kind is SignalKind.SESSION_END:
        return replace(_going(entry, GoneReason.SESSION_END, now), evidence=None)
    return on_activity(entry)


def on_activity(entry: DispatchEntry) -> DispatchEntry:
    """The agent goes on: a turn's end and stored evidence are void; what is going stays so."""
    return replace(_without_incomplete(entry), evidence=None) if entry.pending else entry


def on_closed(entry: DispatchEntry, now: float) -> DispatchEntry:
    """The entry's pane closed, whatever the epoch."""
    return _going(entry, GoneReason.SURFACE_CLOSED, now) if entry.pending else entry


def _without_incomplete(entry: DispatchEntry) -> DispatchEntry:
    incomplete = entry.candidate is not None and entry.candidate.reason is None
    return replace(entry, candidate=None) if incomplete else entry


def _going(entry: DispatchEntry, reason: GoneReason, now: float) -> DispatchEntry:
    """Schedule the loss; a turn's end that is scheduled already is upgraded and keeps its time."""
    held = entry.candidate
    if held is None:
        return replace(entry, candidate=Candidate(now + COALESCE_S, reason))
    return entry if held.reason is not None else replace(entry, candidate=Candidate(held.due, reason))


def commit(entry: DispatchEntry, now: float, now_ns: int) -> DispatchEntry:
    """Make a due candidate true: a lost record is final, an ended turn leaves the record pending."""
    candidate = entry.candidate
    if not entry.pending or candidate is None or now < candidate.due:
        return entry
    if candidate.reason is None:
        return replace(entry, candidate=None, evidence=SignalKind.TURN_ENDED)
    return gone(entry, candidate.reason, now_ns)


def gone(entry: DispatchEntry, reason: GoneReason, now_ns: int) -> DispatchEntry:
    """End a pending entry without an outcome."""
    record = replace(entry.record, state=DispatchState.GONE, gone_at=now_ns, gone_reason=reason)
    return DispatchEntry(record, entry.binding)


def complete(entry: DispatchEntry, outcome: DispatchOutcome, summary: str, now_ns: int) -> tuple[DispatchEntry, bool]:
    """Complete a pending entry; tell whether the same completion had been recorded before (§4.2).

    Raises DISPATCH_ALREADY_COMPLETED for another completion and DISPATCH_ALREADY_TERMINAL for a lost or abandoned one.
    """
    record = entry.record
    if record.state is DispatchState.COMPLETED:
        if (record.outcome, record.summary) == (outcome, summary):
            return entry, True
        raise ProwlError(Code.DISPATCH_ALREADY_COMPLETED, "The dispatch was completed with another result.")
    if not entry.pending:
        raise _terminal(record)
    record = replace(record, state=DispatchState.COMPLETED, outcome=outcome, summary=summary, completed_at=now_ns)
    return DispatchEntry(record, entry.binding), False


def abandon(entry: DispatchEntry, reason: str, now_ns: int) -> tuple[DispatchEntry, bool]:
    """Give a pending entry up; tell whether it had been given up for the same reason before (§4.2).

    Raises DISPATCH_ALREADY_TERMINAL for anything else.
    """
    record = entry.record
    if record.state is DispatchState.ABANDONED and record.reason == reason:
        return entry, True
    if not entry.pending:
        raise _terminal(record)
    record = replace(record, state=DispatchState.ABANDONED, abandoned_at=now_ns, reason=reason)
    return DispatchEntry(record, entry.binding), False


def _terminal(record: DispatchRecord) -> ProwlError:
    return ProwlError(Code.DISPATCH_ALREADY_TERMINAL, f"The dispatch is {record.state} already.")


def verdict(entry: DispatchEntry) -> Code | DispatchRecord | None:
    """Return what a wait for the receipt gets now: the receipt, the code of a failure, or None to go on (§3.7)."""
    record = entry.record
    if record.state is DispatchState.COMPLETED:
        return record if record.outcome is DispatchOutcome.SUCCEEDED else Code.DISPATCH_FAILED
    if record.state is DispatchState.ABANDONED:
        return Code.DISPATCH_ABANDONED
    if record.state is DispatchState.GONE:
        return Code.AGENT_GONE
    if entry.evidence is SignalKind.NEEDS_INPUT:
        return Code.DISPATCH_NEEDS_INPUT
    return Code.DISPATCH_INCOMPLETE if entry.evidence is SignalKind.TURN_ENDED else None
