"""The running indicator: OSC 9;4 with its expiry, and the busy bit of panes and worktrees (providers.md §6)."""

from collections.abc import Iterable
from dataclasses import dataclass, replace

from prowl_svc.decision.display import busy
from prowl_svc.model.state import DisplayState
from prowl_svc.model.terminal import Progress, ProgressState

__all__ = [
    "MIN_GAP",
    "STALE_AFTER",
    "STALE_CHECK",
    "Indicator",
    "blocked",
    "clear",
    "expire",
    "next_wake",
    "pane_busy",
    "report",
    "take",
    "worktree_busy",
]

STALE_AFTER = 15.0
STALE_CHECK = 1.0
MIN_GAP = 0.05
"""Seconds between two updates that observers get; the first of a burst goes out at once."""


@dataclass(frozen=True, slots=True)
class Indicator:
    """One pane's progress: the current value, when it was last reported, and what observers were told last.

    ``state`` is None when nothing runs. Times are monotonic seconds.
    """

    state: ProgressState | None = None
    percent: int | None = None
    reported_at: float = float("-inf")
    told: tuple[ProgressState | None, int | None] = (None, None)
    told_at: float = float("-inf")

    @property
    def running(self) -> bool:
        """Whether the pane counts as running: set, indeterminate, paused or in error."""
        return self.state is not None


def report(before: Indicator, event: Progress, now: float) -> Indicator:
    """Apply one OSC 9;4; remove clears at once, an identical value only refreshes the stale timer."""
    if event.state is ProgressState.REMOVE:
        return clear(before)
    return replace(before, state=event.state, percent=event.percent, reported_at=now)


def clear(before: Indicator) -> Indicator:
    """Drop the progress: a prompt mark, a reset, or another foreground program."""
    return replace(before, state=None, percent=None)


def expire(before: Indicator, now: float) -> Indicator:
    """Clear progress that was not reported for 15 s."""
    return clear(before) if before.running and now - before.reported_at >= STALE_AFTER else before


def take(before: Indicator, now: float) -> tuple[Indicator, bool]:
    """Return the indicator and whether observers are to be told its value now: leading edge, then one per 50 ms."""
    value = (before.state, before.percent)
    if value == before.told or now - before.told_at < MIN_GAP:
        return before, False
    return replace(before, told=value, told_at=now), True


def next_wake(indicator: Indicator, now: float) -> float | None:
    """Return when ``expire`` or ``take`` may have something to do next, or None."""
    if (indicator.state, indicator.percent) != indicator.told:
        return max(now, indicator.told_at + MIN_GAP)
    return now + STALE_CHECK if indicator.running else None


def pane_busy(running: bool, shown: DisplayState | None) -> bool:
    """Tell whether a pane is busy: a command reports progress, or its agent is Working or Blocked."""
    return running or busy(shown)


def blocked(shown: Iterable[DisplayState | None]) -> bool:
    """Tell whether any agent of a group is Blocked; followed apart from the busy bit, which it does not change."""
    return DisplayState.BLOCKED in shown


def worktree_busy(panes: Iterable[bool]) -> bool:
    """Merge the panes of a worktree into the one bit that ``task.status`` shows as running."""
    return any(panes)
