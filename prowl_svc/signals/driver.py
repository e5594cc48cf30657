"""Drives a pane's judge: asks it on each event of the pane, at the time it names, and at least every 200 ms."""

import asyncio
from collections.abc import Callable
from typing import Protocol, TypeVar

from prowl_svc.signals.records import Records
from prowl_svc.signals.surface import SurfaceRecord

__all__ = ["POLL_S", "Judge", "Schedule", "Timer", "until_answered"]

POLL_S = 0.2

T = TypeVar("T")

Judge = Callable[[SurfaceRecord | None, float, int], T | float]
"""Judges a pane (None once it closed) at a monotonic and a wall-clock time: an answer, or when to ask again at last."""


class Timer(Protocol):
    """A scheduled call."""

    def cancel(self) -> None:
        """Forget the call."""
        ...


Schedule = Callable[[float, Callable[[], None]], Timer]
"""Calls a function after so many seconds, as a loop's ``call_later`` does."""


async def until_answered(
    records: Records,
    surface: str,
    judge: Judge[T],
    *,
    clock: Callable[[], float],
    now_ns: Callable[[], int],
    schedule: Schedule | None = None,
) -> T:
    """Ask ``judge`` until it answers with anything but a time (signals.md §3.2).

    ``clock`` is the judge's own monotonic clock, on which ``schedule`` (the loop's ``call_later`` by default) runs.
    Cancellation frees everything at once.
    """
    loop = asyncio.get_running_loop()
    schedule = schedule if schedule is not None else loop.call_later
    found: asyncio.Future[T] = loop.create_future()
    timer: Timer | None = None

    def ask(record: SurfaceRecord | None) -> float | None:
        """Return the next deadline, or None once the answer is there."""
        if found.done():
            return None
        answer = judge(record, clock(), now_ns())
        if isinstance(answer, float):
            return answer
        found.set_result(answer)
        return None

    def poll() -> None:
        nonlocal timer
        due = ask(records.read(surface))
        if due is not None:
            timer = schedule(max(0.0, min(due - clock(), POLL_S)), poll)

    stop = records.listen(surface, ask)
    try:
        poll()
        return await found
    finally:
        stop()
        if timer is not None:
            timer.cancel()
