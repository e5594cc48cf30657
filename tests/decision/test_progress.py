"""The running indicator."""

import pytest

from prowl_svc.decision.progress import (
    Indicator,
    blocked,
    clear,
    expire,
    next_wake,
    pane_busy,
    report,
    take,
    worktree_busy,
)
from prowl_svc.model.state import DisplayState
from prowl_svc.model.terminal import Progress, ProgressState


def progress(state: ProgressState, percent: int | None = None) -> Progress:
    return Progress(0, state, percent)


@pytest.mark.parametrize("state", [s for s in ProgressState if s is not ProgressState.REMOVE])
def test_running_until_stale(state):
    """Every reported state but remove runs, and ends 15 s after its last report."""
    indicator = report(Indicator(), progress(state), 100.0)

    assert indicator.running
    assert expire(indicator, 114.999).running
    assert not expire(indicator, 115.0).running


def test_repeat_refreshes_only_the_timer():
    """An identical value keeps the pane running and tells nobody."""
    indicator, told = take(report(Indicator(), progress(ProgressState.SET, 5), 0.0), 0.0)
    assert told
    indicator = report(indicator, progress(ProgressState.SET, 5), 14.0)
    assert (indicator, False) == take(indicator, 14.0)
    assert expire(indicator, 20.0).running


def test_remove_and_clear_stop_at_once():
    """Remove, a prompt or another program end it."""
    indicator = report(Indicator(), progress(ProgressState.INDETERMINATE), 0.0)

    assert not report(indicator, progress(ProgressState.REMOVE), 1.0).running
    assert not clear(indicator).running


def test_updates_are_leading_edge_then_paced():
    """The first value goes out at once, the next after 50 ms with the newest value."""
    indicator, told = take(report(Indicator(), progress(ProgressState.SET, 1), 1.0), 1.0)
    assert told
    indicator = report(report(indicator, progress(ProgressState.SET, 2), 1.01), progress(ProgressState.SET, 3), 1.02)
    assert (indicator, False) == take(indicator, 1.02)
    assert pytest.approx(1.05) == next_wake(indicator, 1.02)
    indicator, told = take(indicator, 1.06)
    assert (True, 3) == (told, indicator.told[1])


def test_quiet_indicator_needs_no_timer():
    """Without progress nothing is checked; with it once a second."""
    assert next_wake(Indicator(), 5.0) is None
    indicator, _ = take(report(Indicator(), progress(ProgressState.PAUSE), 5.0), 5.0)
    assert 6.0 == next_wake(indicator, 5.0)


def test_busy_bits():
    """Progress or a working or blocked agent makes pane and worktree busy; blocked is told apart."""
    panes = [pane_busy(False, DisplayState.DONE), pane_busy(False, None), pane_busy(False, DisplayState.BLOCKED)]

    assert [False, False, True] == panes
    assert pane_busy(True, None)
    assert (True, False) == (worktree_busy(panes), worktree_busy([]))
    assert (True, False) == (blocked([None, DisplayState.BLOCKED]), blocked([DisplayState.WORKING]))
