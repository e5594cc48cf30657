"""One timer for all panes, on a loop whose time is the test's."""

import asyncio
from collections.abc import Callable, Iterator

import pytest

from prowl_svc.watch.pulse import EARLY, Pulse


class Timer:
    def __init__(self, loop: "Loop", when: float, call: Callable[[], None]) -> None:
        self.loop, self.at, self.call = loop, when, call

    def when(self) -> float:
        return self.at

    def cancel(self) -> None:
        self.loop.timers.remove(self)


class Loop:
    """Time moves from timer to timer; ``wakes`` counts them."""

    def __init__(self) -> None:
        self.now = 100.0
        self.wakes = 0
        self.timers: list[Timer] = []
        self.reports: list[dict[str, object]] = []

    def time(self) -> float:
        return self.now

    def call_at(self, when: float, call: Callable[[], None]) -> Timer:
        self.timers.append(Timer(self, when, call))
        return self.timers[-1]

    def call_exception_handler(self, context: dict[str, object]) -> None:
        self.reports.append(context)

    def run(self, seconds: float) -> None:
        until = self.now + seconds
        while due := [timer for timer in self.timers if timer.at <= until]:
            timer = min(due, key=Timer.when)
            self.timers.remove(timer)
            self.now = max(self.now, timer.at)
            self.wakes += 1
            timer.call()
        self.now = until


@pytest.fixture
def loop(monkeypatch: pytest.MonkeyPatch) -> Iterator[Loop]:
    loop = Loop()
    monkeypatch.setattr(asyncio, "get_running_loop", lambda: loop)
    return loop


def test_calls_come_at_their_times(loop: Loop) -> None:
    """Each caller is called once, when it asked, in order of time; a later request replaces the earlier one."""
    pulse, told = Pulse(), []
    pulse.at(lambda: told.append(("slow", loop.now - 100)), 2.0)

    def quick() -> None:
        told.append(("quick", loop.now - 100))

    pulse.at(quick, 5.0)
    pulse.at(quick, 1.0)
    loop.run(10)
    assert [("quick", 1.0), ("slow", 2.0)] == told
    assert [] == loop.timers


def test_early_ones_share_a_wake(loop: Loop) -> None:
    """Callers that may come early come together, and stay together when they ask for the same time again."""
    pulse, times = Pulse(), []

    def caller() -> Callable[[], float]:
        def call() -> float:
            times.append(loop.now)
            return 0.3

        return call

    for number in range(10):
        pulse.at(caller(), 0.3 + number * EARLY / 10, early=True)
    loop.run(3.05)
    assert 10 == loop.wakes
    assert 100 == len(times)


def test_never_later_and_never_early_unless_allowed(loop: Loop) -> None:
    """A caller that asks for an exact time is not called with one that is due just before."""
    pulse, told = Pulse(), []
    pulse.at(lambda: told.append(("first", loop.now)), 1.0)
    pulse.at(lambda: told.append(("exact", loop.now)), 1.0 + EARLY / 2)
    loop.run(5)
    assert [("first", 101.0), ("exact", 101.0 + EARLY / 2)] == told


def test_forgotten_and_failing_callers(loop: Loop) -> None:
    """A caller that left is not called, and one that fails is reported and keeps nobody else from its call."""
    pulse, told = Pulse(), []

    def gone() -> None:
        told.append("gone")

    pulse.at(gone, 1.0)
    pulse.at(lambda: 1 / 0, 1.0)
    pulse.at(lambda: told.append("here"), 1.0)
    pulse.forget(gone)
    pulse.forget(gone)
    loop.run(2)
    assert ["here"] == told
    assert [ZeroDivisionError] == [type(report["exception"]) for report in loop.reports]
