"""The cadence: when a pane is scanned next."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from prowl_svc.decision.schedule import (
    Due,
    Mode,
    Schedule,
    deadline,
    glanced,
    looked,
    output,
    poll,
    scanned,
    wake,
    withdrawn,
)


def due(schedule: Schedule, now: float) -> Due:
    return poll(schedule, now)[1]


def test_cold_pane_costs_nothing():
    """A pane without input or output has no deadline."""
    assert deadline(Schedule()) is None
    assert Due.NOTHING is due(Schedule(), 1e9)


def test_warm_window():
    """A wake scans at once, then every 2 s until 30 s have passed, and then the pane is cold."""
    schedule, times, now = wake(Schedule(), 100.0), [], 100.0
    while (at := deadline(schedule)) is not None:
        now = at
        schedule, what = poll(schedule, now)
        if what is Due.SCAN:
            times.append(now)
            schedule = scanned(schedule, now, present=False)

    assert [100.0 + 2 * n for n in range(15)] == times
    assert (130.0, Mode.COLD) == (now, schedule.mode)


def test_a_late_scan_is_made_before_the_pane_goes_cold():
    """What was due within the window is not forgotten because the loop was busy at its end."""
    schedule = output(scanned(wake(Schedule(), 0.0), 0.0, present=False), 29.9)
    assert Due.SCAN is poll(schedule, 31.0)[1]
    schedule = scanned(schedule, 31.0, present=False)
    assert (Mode.COLD, Due.NOTHING) == ((after := poll(schedule, 31.0))[0].mode, after[1])


def test_scan_without_agent_does_not_extend():
    """An empty scan keeps the window; another wake extends it."""
    schedule = scanned(wake(Schedule(), 0.0), 0.0, present=False)
    assert 30.0 == schedule.warm_until
    assert 35.0 == wake(schedule, 5.0).warm_until


def test_active_and_lost():
    """An agent makes the pane active at 300 ms; losing it leaves a fresh warm window."""
    schedule = scanned(wake(Schedule(), 0.0), 0.0, present=True)
    assert (Mode.ACTIVE, 0.3) == (schedule.mode, deadline(schedule))
    assert schedule == wake(schedule, 0.1)
    lost = scanned(schedule, 50.0, present=False)
    assert (Mode.WARM, 80.0, 52.0) == (lost.mode, lost.warm_until, deadline(lost))


def test_output_scans_at_once_and_coalesces():
    """Output makes an active pane due now, but not again right after a scan."""
    schedule = scanned(wake(Schedule(), 0.0), 0.0, present=True)
    assert Due.SCAN is due(output(schedule, 0.1), 0.1)
    again = output(scanned(schedule, 0.1, present=True), 0.101)
    assert Due.NOTHING is due(again, 0.101)
    assert pytest.approx(0.13) == deadline(again)


def test_a_glance_is_a_scan_that_delays_no_output():
    """After a glance the next look is an interval away, and output right behind it is scanned at once."""
    schedule = glanced(scanned(wake(Schedule(), 0.0), 0.0, present=True), 0.29)
    assert 0.59 == pytest.approx(deadline(schedule))
    assert 0.295 == deadline(output(schedule, 0.295))


def test_cold_output_only_looks():
    """Output on a cold pane asks for one look at the group in 300 ms, and a changed group wakes it."""
    schedule = output(Schedule(), 10.0)
    assert Due.LOOK is due(schedule, 10.0)
    quiet = looked(schedule, 10.0, changed=False)
    assert deadline(quiet) is None
    assert 10.3 == deadline(output(quiet, 10.1))
    woken = looked(schedule, 10.0, changed=True)
    assert (Mode.WARM, Due.SCAN) == (woken.mode, due(woken, 10.0))


def test_pushed_has_no_timer():
    """While a program pushes its state only events scan; withdrawal scans at once."""
    schedule = scanned(wake(Schedule(), 0.0), 0.0, present=True, pushed=True)
    assert (Mode.PUSHED, None) == (schedule.mode, deadline(schedule))
    assert Due.SCAN is due(output(schedule, 5.0), 5.0)
    back = withdrawn(schedule, 6.0)
    assert (Mode.ACTIVE, Due.SCAN) == (back.mode, due(back, 6.0))
    missed = scanned(schedule, 7.0, present=True, pushed=False)
    assert (Mode.ACTIVE, 7.3) == (missed.mode, deadline(missed))


@given(
    st.lists(
        st.tuples(st.sampled_from(["wake", "output", "present", "absent", "pushed", "withdrawn"]), st.floats(0, 9))
    )
)
def test_active_is_never_later_than_its_cadence(events):
    """Whatever happens, an active pane is due within 300 ms of its last scan and a warm one within 2 s."""
    schedule, now = Schedule(), 0.0
    for event, wait in events:
        now += wait
        schedule = poll(schedule, now)[0]
        match event:
            case "wake":
                schedule = wake(schedule, now)
            case "output":
                schedule = output(schedule, now)
            case "withdrawn":
                schedule = withdrawn(schedule, now)
            case _:
                schedule = scanned(schedule, now, event != "absent", event == "pushed")
        limit = {Mode.ACTIVE: 0.3, Mode.WARM: 2.0}.get(schedule.mode)
        if limit is not None:
            assert schedule.scan_at is not None
            assert schedule.scan_at <= max(now, schedule.last_scan + limit)
        else:
            assert schedule.mode is not Mode.COLD or schedule.scan_at is None
