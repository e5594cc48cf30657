"""One timer for all panes: calls each when it asked to be called, those that are due about then together."""

import asyncio
from collections.abc import Callable

__all__ = ["EARLY", "Pulse"]

EARLY = 0.1
"""Seconds that a call which may come early is made before its time, to share a wake-up with others."""


class Pulse:
    """The next call of every caller that named one; used on one event loop."""

    def __init__(self) -> None:
        self._calls: dict[Callable[[], float | None], tuple[float, float]] = {}
        self._timer: asyncio.TimerHandle | None = None

    def at(self, call: Callable[[], float | None], delay: float, *, early: bool = False) -> None:
        """Call back once after ``delay`` seconds, or up to ``EARLY`` before; replaces the caller's last request.

        A call that returns seconds is made again after these, or a little before.
        """
        loop = asyncio.get_running_loop()
        due = loop.time() + max(0.0, delay)
        self._calls[call] = (due, due - EARLY if early else due)
        if self._timer is None or due < self._timer.when():
            self._arm(loop, due)

    def forget(self, call: Callable[[], float | None]) -> None:
        """Drop the caller's request; without one nothing happens."""
        self._calls.pop(call, None)

    def _arm(self, loop: asyncio.AbstractEventLoop, due: float) -> None:
        if self._timer is not None:
            self._timer.cancel()
        self._timer = loop.call_at(due, self._fire)

    def _fire(self) -> None:
        self._timer = None
        loop = asyncio.get_running_loop()
        now = loop.time()
        for call in [call for call, (_, earliest) in self._calls.items() if earliest <= now]:
            if self._calls.pop(call, None) is None:
                continue
            try:
                again = call()
            except Exception as error:  # one pane's fault must not stop the others
                loop.call_exception_handler({"message": "A pane could not be called.", "exception": error})
            else:
                if again is not None:
                    self._calls[call] = (now + again, now + again - EARLY)
        due = min((due for due, _ in self._calls.values()), default=None)
        if due is not None and (self._timer is None or due < self._timer.when()):
            self._arm(loop, due)
