"""A pane's raw output for attached terminals: each has its own bounded queue, and loses nothing silently."""

import asyncio
from collections import deque
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass

from prowl_svc.terminal.passthrough import QueryFilter, incomplete_tail

__all__ = ["MAX_QUEUED", "Attachment", "Lost", "OutputTap"]

MAX_QUEUED = 1 << 20
"""Bytes that wait for one attached terminal."""


@dataclass(frozen=True, slots=True)
class Lost:
    """The attached terminal was too slow: ``count`` bytes were dropped, a redraw follows."""

    count: int


class Attachment(AsyncIterator[bytes | Lost]):
    """One attached terminal: iterate for output, the first item redraws the screen; ends when the pane does."""

    def __init__(self, tap: "OutputTap", redraw: Callable[[], bytes], limit: int) -> None:
        self._tap = tap
        self._redraw = redraw
        self._limit = limit
        self._queue: deque[bytes] = deque([redraw()])
        self._size = 0
        self._lost = 0
        self._ended = False
        self._wake = asyncio.Event()

    def put(self, data: bytes) -> None:
        """Queue output; beyond the limit everything that waits is dropped and counted."""
        if self._lost or self._size + len(data) > self._limit:
            self._lost += self._size + len(data)
            self._queue.clear()
            self._size = 0
        else:
            self._queue.append(data)
            self._size += len(data)
        self._wake.set()

    def end(self) -> None:
        """No more output will come; what waits is still given."""
        self._ended = True
        self._wake.set()

    def close(self) -> None:
        """The terminal went away."""
        self._tap.remove(self)
        self._queue.clear()
        self.end()

    async def __anext__(self) -> bytes | Lost:
        """Return the next output, joined; or what was lost, once, before the redraw."""
        while not self._queue and not self._lost:
            if self._ended:
                raise StopAsyncIteration
            self._wake.clear()
            await self._wake.wait()
        if self._lost:
            lost, self._lost = self._lost, 0
            self._queue.append(self._redraw())
            return Lost(lost)
        data = b"".join(self._queue)
        self._queue.clear()
        self._size = 0
        return data


class OutputTap:
    """Hands a pane's output to its attachments; costs nothing while there are none."""

    def __init__(self, redraw: Callable[[], bytes]) -> None:
        self._redraw = redraw
        self._attachments: list[Attachment] = []
        self._filter = QueryFilter()
        self._last = b""
        self._ended = False

    def __len__(self) -> int:
        return len(self._attachments)

    def write(self, data: bytes) -> None:
        """Hand on what the program wrote, after the screen took it."""
        self._last = data
        if self._attachments and (shown := self._filter.feed(data)):
            for attachment in self._attachments:
                attachment.put(shown)

    def attach(self, limit: int = MAX_QUEUED) -> Attachment:
        """Add a terminal; its output goes on exactly where the redraw ends."""
        if not self._attachments:
            self._filter = QueryFilter(incomplete_tail(self._last))
        attachment = Attachment(self, self._redraw, limit)
        if self._ended:
            attachment.end()
        else:
            self._attachments.append(attachment)
        return attachment

    def remove(self, attachment: Attachment) -> None:
        """Forget a terminal; unknown ones are ignored."""
        if attachment in self._attachments:
            self._attachments.remove(attachment)

    def end(self) -> None:
        """The pane ended."""
        self._ended = True
        for attachment in self._attachments:
            attachment.end()
        self._attachments.clear()
