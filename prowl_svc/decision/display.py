"""What a person sees: display state, seen and unseen, last change (providers.md §5)."""

from collections.abc import Iterable
from dataclasses import dataclass, replace

from prowl_svc.model.agents import Agent
from prowl_svc.model.state import Decision, DisplayState, RawState

__all__ = ["Attention", "acknowledge", "busy", "display", "observe", "settle", "viewed"]

_COMPLETED = frozenset({"osc.done", "osc.error"})


def display(state: RawState, seen: bool) -> DisplayState:
    """Map a decision's state: idle is Done until seen, unknown shows as Idle."""
    match state:
        case RawState.WORKING:
            return DisplayState.WORKING
        case RawState.BLOCKED:
            return DisplayState.BLOCKED
        case RawState.IDLE if not seen:
            return DisplayState.DONE
        case _:
            return DisplayState.IDLE


def busy(shown: DisplayState | None) -> bool:
    """Tell whether an agent shown so counts as running; None is a pane without an agent."""
    return shown in (DisplayState.WORKING, DisplayState.BLOCKED)


def viewed(claims: Iterable[bool | None]) -> bool:
    """Tell whether any host or viewer says that a person looks at the pane now; None, not known, is not viewed."""
    return any(claim is True for claim in claims)


@dataclass(frozen=True, slots=True)
class Attention:
    """What is published of one pane's agent; ``Attention()`` is a pane without one.

    ``changed_at`` is the wall time in nanoseconds of the last change of agent or state, or of the acknowledgement.
    ``completed`` tells that the program itself reported the end of its work.
    """

    agent: Agent | None = None
    state: RawState = RawState.UNKNOWN
    seen: bool = True
    changed_at: int = 0
    completed: bool = False

    @property
    def shown(self) -> DisplayState | None:
        """The display state, or None without an agent."""
        return None if self.agent is None else display(self.state, self.seen)

    @property
    def listed(self) -> bool:
        """Whether the pane has a roster row: an agent whose state is known."""
        return self.agent is not None and self.state is not RawState.UNKNOWN


def observe(before: Attention, agent: Agent | None, decision: Decision, is_viewed: bool, now: int) -> Attention:
    """Publish a decision at wall time ``now`` (nanoseconds); ``agent`` None releases the pane and resets it."""
    if agent is None:
        return before if before.agent is None else Attention(changed_at=now)
    # Another agent starts afresh: the end of its predecessor's work is not its own completion.
    last = before if before.agent is agent else Attention(changed_at=before.changed_at)
    completed = decision.state is RawState.IDLE and decision.reason in _COMPLETED
    ended = last.state in (RawState.WORKING, RawState.BLOCKED) and decision.state is RawState.IDLE
    seen = is_viewed or (last.seen and not ended and not (completed and not last.completed))
    changed = before.agent is not agent or last.state is not decision.state or (seen and not last.seen)
    return Attention(agent, decision.state, seen, now if changed else last.changed_at, completed)


def acknowledge(before: Attention, is_viewed: bool, now: int) -> Attention:
    """Mark an unseen completion as read when the pane gets the focus while it is viewed."""
    if before.seen or not is_viewed:
        return before
    return replace(before, seen=True, changed_at=now)


def settle(
    started: Attention, current: Attention, agent: Agent | None, decision: Decision, *, is_viewed: bool, now: int
) -> Attention | None:
    """Publish a result that waited for something since ``started`` was current (providers.md §1.5).

    An acknowledgement made meanwhile is kept; None when anything else changed, and the result is to be discarded.
    """
    if replace(current, seen=started.seen, changed_at=started.changed_at) != started:
        return None
    return observe(current, agent, decision, is_viewed, now)
