"""Condition waits: one small machine that judges the pane's record at each event or tick (signals.md §3).

``driver.until_answered(records, surface, machine.step, …)`` runs one.
"""

from dataclasses import dataclass
from enum import StrEnum

from prowl_svc.model.errors import Code
from prowl_svc.model.observation import AgentEntry, Confidence, Signal, SignalKind
from prowl_svc.model.state import NO_RULE_MATCHED
from prowl_svc.signals.surface import VERIFIED_LIVE, SurfaceRecord

__all__ = [
    "GRACE_S",
    "IDLE_REASONS",
    "STABLE_S",
    "Condition",
    "Failed",
    "Matched",
    "MinConfidence",
    "Observation",
    "Outcome",
    "Stabiliser",
    "WaitMachine",
    "detector_observation",
    "exact_idle_level",
    "fallback_allowed",
    "normalised_state",
    "reports",
]

STABLE_S = 2.0
GRACE_S = 10.0

IDLE_REASONS = frozenset({"log.turnEnded", "native.idle", "osc.idle", "osc.done", "osc.error"})
"""Decisions that are idle evidence even while the screen matches no rule (providers.md §4)."""


class Condition(StrEnum):
    """What a wait waits for."""

    IDLE = "idle"
    BLOCKED = "blocked"
    CHANGED = "changed"
    EXIT = "exit"


class MinConfidence(StrEnum):
    """Which evidence may answer; ``AUTO`` allows a heuristic answer where no verified channel covers the condition."""

    AUTO = "auto"
    EXACT = "exact"
    HIGH = "high"
    HEURISTIC = "heuristic"

    def accepts(self, confidence: Confidence) -> bool:
        """Tell whether a signal of this confidence may answer."""
        if self is MinConfidence.HEURISTIC:
            return True
        if self is MinConfidence.EXACT:
            return confidence is Confidence.EXACT
        return confidence in (Confidence.EXACT, Confidence.HIGH)


_KIND = {
    Condition.IDLE: SignalKind.TURN_ENDED,
    Condition.BLOCKED: SignalKind.NEEDS_INPUT,
    Condition.EXIT: SignalKind.SESSION_END,
}


@dataclass(frozen=True, slots=True)
class Observation:
    """What answered a wait, or the detector's last view; ``at`` is wall-clock nanoseconds."""

    status: str
    raw_state: str
    source: str
    confidence: Confidence
    at: int
    revision: int


@dataclass(frozen=True, slots=True)
class Matched:
    """The condition holds; ``waited`` is seconds since the wait began."""

    observation: Observation
    waited: float


@dataclass(frozen=True, slots=True)
class Failed:
    """The wait ended without its condition: AGENT_GONE, AGENT_NOT_FOUND or WAIT_TIMEOUT."""

    code: Code
    waited: float
    observation: Observation | None = None


Outcome = Matched | Failed


def normalised_state(record: SurfaceRecord | None) -> str:
    """Return the detector's state as waits read it (signals.md §3.3); None stands for a pane that is not live."""
    if record is None:
        return "gone"
    agent = record.agent
    if agent is None:
        return "absent"
    idle = agent.status.value in ("idle", "done")
    if idle and agent.screen_reason == NO_RULE_MATCHED and agent.detection_reason not in IDLE_REASONS:
        return "unknown"
    return agent.status.value


def reports(record: SurfaceRecord | None, condition: Condition) -> bool:
    """Tell whether the detector by itself says idle, blocked or gone."""
    state = normalised_state(record)
    if condition is Condition.IDLE:
        return state in ("idle", "done")
    if condition is Condition.BLOCKED:
        return state == "blocked"
    return condition is Condition.EXIT and state in ("gone", "absent")


def detector_observation(record: SurfaceRecord | None, now_ns: int) -> Observation:
    """Return the detector's present view; its source is ``detection``, or ``surface`` for a closed pane."""
    if record is None:
        return Observation("done", "gone", "surface", Confidence.EXACT, now_ns, 0)
    status, raw = _view(record.agent, "done")
    return Observation(status, raw, "detection", Confidence.HEURISTIC, now_ns, record.revision)


def _view(agent: AgentEntry | None, fallback: str) -> tuple[str, str]:
    return (fallback, "gone") if agent is None else (agent.status.value, agent.raw_state.value)


def exact_idle_level(record: SurfaceRecord, minimum: MinConfidence, armed: Signal | None) -> Signal | None:
    """Return the turn-ended level that proves idle: fresh, or corroborated if it predates arming; work vetoes it."""
    return None if _outstanding(record) else _level(record, Condition.IDLE, minimum, armed)


def _outstanding(record: SurfaceRecord) -> bool:
    return record.agent is not None and record.agent.outstanding


def _level(record: SurfaceRecord, condition: Condition, minimum: MinConfidence, armed: Signal | None) -> Signal | None:
    level = record.active_terminal
    if level is None or level.kind is not _KIND[condition] or not minimum.accepts(level.confidence):
        return None
    if condition is not Condition.EXIT and level == armed and not reports(record, condition):
        return None
    return level


def fallback_allowed(record: SurfaceRecord | None, condition: Condition, minimum: MinConfidence) -> bool:
    """Tell whether the detector alone may answer (signals.md §3.5)."""
    if minimum is not MinConfidence.AUTO:
        return minimum is MinConfidence.HEURISTIC
    if record is None:
        return True
    verified = [channel.events for channel in record.channels.values() if channel.state == VERIFIED_LIVE]
    kind = _KIND.get(condition)
    if not any(kind is None or kind in events for events in verified):
        return True
    return condition in (Condition.IDLE, Condition.BLOCKED) and record.active_terminal is None


class Stabiliser:
    """Lets a candidate through once it was the same for two seconds of waiting."""

    __slots__ = ("_candidate", "_since")

    def __init__(self) -> None:
        self._candidate: str | None = None
        self._since = 0.0

    def settled(self, candidate: str | None, now: float) -> bool:
        """Take the present candidate in; None and any other string start over."""
        if candidate is None or candidate != self._candidate:
            self._candidate, self._since = candidate, now
            return False
        return now >= self._since + STABLE_S

    @property
    def due(self) -> float | None:
        """When the present candidate will have settled."""
        return None if self._candidate is None else self._since + STABLE_S


@dataclass(frozen=True, slots=True)
class _Baseline:
    revision: int
    latest_current: Signal | None
    active_terminal: Signal | None
    state: str


class WaitMachine:
    """One condition wait that began at ``started``; times are float seconds of one monotonic clock."""

    __slots__ = ("_baseline", "_condition", "_minimum", "_stabiliser", "_started", "_timeout")

    def __init__(self, condition: Condition, minimum: MinConfidence, timeout: float, started: float) -> None:
        self._condition = condition
        self._minimum = minimum
        self._timeout = timeout
        self._started = started
        self._baseline: _Baseline | None = None
        self._stabiliser = Stabiliser()

    def step(self, record: SurfaceRecord | None, now: float, now_ns: int) -> Outcome | float:
        """Judge the pane as it is now: an outcome, or the time by which to ask again if nothing happens.

        ``record`` is None when the pane is not live; ``now_ns`` is the wall clock, for observations.
        """
        waited = now - self._started
        if record is None and self._condition is not Condition.EXIT:
            return Failed(Code.AGENT_GONE, waited, detector_observation(None, now_ns))
        if self._baseline is None:
            if record is not None and record.agent is None and self._condition is not Condition.EXIT:
                budget = min(self._timeout, GRACE_S)
                return Failed(Code.AGENT_NOT_FOUND, waited) if waited >= budget else self._started + budget
            self._baseline = _baseline(record)
        found = self._exact(record, self._baseline, now_ns)
        if found is None and self._stabiliser.settled(self._candidate(record, self._baseline), now):
            found = detector_observation(record, now_ns)
        if found is not None:
            return Matched(found, waited)
        if waited >= self._timeout:
            return Failed(Code.WAIT_TIMEOUT, waited, detector_observation(record, now_ns))
        end = self._started + self._timeout
        due = self._stabiliser.due
        return end if due is None else min(end, due)

    def _exact(self, record: SurfaceRecord | None, baseline: _Baseline, now_ns: int) -> Observation | None:
        if record is None:
            return detector_observation(None, now_ns)
        if self._condition is Condition.CHANGED:
            found = record.latest_current
            if (
                record.revision <= baseline.revision
                or found == baseline.latest_current
                or (found is not None and not self._minimum.accepts(found.confidence))
            ):
                found = None
        elif self._condition is Condition.IDLE:
            found = exact_idle_level(record, self._minimum, baseline.active_terminal)
        else:
            found = _level(record, self._condition, self._minimum, baseline.active_terminal)
        if found is None:
            return None
        status, raw = _view(record.agent, "blocked" if self._condition is Condition.BLOCKED else "done")
        return Observation(status, raw, found.source, found.confidence, found.at, record.revision)

    def _candidate(self, record: SurfaceRecord | None, baseline: _Baseline) -> str | None:
        if not fallback_allowed(record, self._condition, self._minimum):
            return None
        state = normalised_state(record)
        if self._condition is Condition.CHANGED:
            moved = record is not None and record.revision > baseline.revision
            return state if moved and state != baseline.state else None
        if self._condition is Condition.IDLE and record is not None and _outstanding(record):
            return None
        return state if reports(record, self._condition) else None


def _baseline(record: SurfaceRecord | None) -> _Baseline:
    state = normalised_state(record)
    if record is None:
        return _Baseline(0, None, None, state)
    return _Baseline(record.revision, record.latest_current, record.active_terminal, state)
