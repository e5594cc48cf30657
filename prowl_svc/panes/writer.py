"""Input to one terminal: a bounded queue that is written when the program reads (terminal.md §3.2)."""

import asyncio
import os
from collections import deque

from prowl_svc.model.errors import Code, ProwlError

__all__ = ["MAX_QUEUED", "Writer"]

MAX_QUEUED = 1 << 20
"""Bytes of input that wait for a program; more is refused."""
MAX_ANSWERS_QUEUED = 1 << 16
"""Answers to queries are dropped while more than this waits: the program does not read them."""


class Writer:
    """The one writer of a non-blocking descriptor; keeps the order of what it is given."""

    def __init__(self, loop: asyncio.AbstractEventLoop, descriptor: int) -> None:
        self._loop = loop
        self._descriptor = descriptor
        self._queue: deque[bytes] = deque()
        self._waiting = False
        self._closed = False
        self._empty = asyncio.Event()
        self._empty.set()
        self.queued = 0
        """Bytes that wait."""
        self.dropped_answers = 0
        """Bytes of answers that were dropped."""

    def write(self, data: bytes) -> None:
        """Write all of ``data`` or, when too much waits or the terminal is gone, none: raises SEND_FAILED."""
        if self._closed:
            raise ProwlError(Code.SEND_FAILED, "The pane's program has ended.")
        if self.queued + len(data) > MAX_QUEUED:
            raise ProwlError(Code.SEND_FAILED, "The program in the pane does not read its input; try again later.")
        self._push(data)

    def answer(self, data: bytes) -> None:
        """Write an answer of the terminal, or drop it when the program does not read."""
        if self._closed or self.queued + len(data) > MAX_ANSWERS_QUEUED:
            self.dropped_answers += len(data)
        else:
            self._push(data)

    async def drained(self) -> None:
        """Wait until the program's terminal took everything; raises SEND_FAILED when it went away instead."""
        await self._empty.wait()
        if self._closed and self.queued:
            raise ProwlError(Code.SEND_FAILED, "The pane's program ended before it read the input.")

    def close(self) -> None:
        """Stop; the caller may close the descriptor now."""
        self._closed = True
        self._listen(False)
        self._queue.clear()
        self._empty.set()

    def _push(self, data: bytes) -> None:
        if data:
            self._queue.append(data)
            self.queued += len(data)
            if not self._waiting:
                self._flush()

    def _listen(self, on: bool) -> None:
        if on and not self._waiting:
            self._loop.add_writer(self._descriptor, self._flush)
        elif not on and self._waiting:
            self._loop.remove_writer(self._descriptor)
        self._waiting = on

    def _flush(self) -> None:
        try:
            while self._queue:
                data = self._queue[0]
                written = os.write(self._descriptor, data)
                self.queued -= written
                if written < len(data):
                    self._queue[0] = data[written:]
                else:
                    self._queue.popleft()
        except (BlockingIOError, InterruptedError):
            self._empty.clear()
            self._listen(True)
        except OSError:
            self.close()
        else:
            self._listen(False)
            self._empty.set()
