"""Fair reading of many terminals on one event loop (terminal.md §3.2).

A terminal with output waits in a queue; one turn of the loop serves the queue for a few milliseconds and then lets
everything else run. Those that just became readable come before those that already had a share, so a flood in one
pane delays neither another pane nor the service. A terminal that is not served is not read: its program waits.

The kernel gives a terminal's output in pieces of 4 KiB, and a read may wait until a busy machine has moved the next
one. So what a flood wrote is read by a thread, a bounded amount at a time, and only fed here.
"""

import asyncio
import os
from collections import deque
from collections.abc import Callable
from concurrent.futures import Executor, ThreadPoolExecutor
from functools import cached_property

from prowl_svc._fast.reads import read_many

__all__ = ["ReadScheduler", "Source"]

READ_SIZE = 65536
TURN = 0.0005
"""Seconds of one turn."""
SHARE = 0.0005
"""Seconds that one terminal may take of a turn before it goes to the end of the queue."""
FLOOD = 1 << 18
"""Bytes without a pause that make a flood."""
BATCH = 1 << 18
"""Bytes of a flood that are read at once."""
SMALLEST_PIECE = 256
LARGEST_PIECE = READ_SIZE
_SLOW_PIECE = 0.0003
_QUICK_PIECE = 0.0001


class Source:
    """One terminal to be read.

    ``feed`` takes a piece of output at once, in order; ``served`` is called after some pieces, before anything else
    runs; ``ended`` is called once, at the end of output, and nothing is called after it or after ``stop``.
    """

    def __init__(
        self,
        scheduler: "ReadScheduler",
        descriptor: int,
        feed: Callable[[bytes], None],
        served: Callable[[], None],
        ended: Callable[[], None],
    ) -> None:
        self._scheduler = scheduler
        self._descriptor = descriptor
        self._feed = feed
        self._served = served
        self._ended = ended
        self._pending = b""
        self._position = 0
        self._piece = SMALLEST_PIECE
        self._listening = False
        self._stopped = False
        self._unbroken = 0
        self._after: str | None = None
        self._fetching = False

    def start(self) -> None:
        """Begin to read."""
        self._listen(True)

    def stop(self) -> None:
        """Stop for good; the caller may close the descriptor now."""
        self._stopped = True
        self._listen(False)
        self._pending = b""

    def drain(self) -> None:
        """Read what is there although nothing announced it; used when the program has ended."""
        if not self._stopped and self._listening:
            self._ready()

    def _listen(self, on: bool) -> None:
        if on and not self._listening and not self._stopped:
            self._scheduler.loop.add_reader(self._descriptor, self._ready)
        elif not on and self._listening:
            self._scheduler.loop.remove_reader(self._descriptor)
        self._listening = on and not self._stopped

    def _ready(self) -> None:
        self._listen(False)
        self._scheduler.enqueue(self)

    def serve(self, until: float) -> bool:
        """Feed pieces until the time is over; tell whether there is more to do."""
        if self._stopped:
            return False
        clock = self._scheduler.loop.time
        fed = ended = False
        more = True
        while more and not self._stopped:
            if self._position >= len(self._pending) and (state := self._more()) != "data":
                ended = state == "end"
                more = False
                break
            began = clock()
            self._take()
            fed = True
            now = clock()
            self._adapt(now - began)
            if now >= until:
                break
        if fed and not self._stopped:
            self._served()
        if self._stopped:
            return False
        if ended:
            self.stop()
            self._ended()
        elif not more and not self._fetching:
            self._listen(True)
        return more

    def _take(self) -> None:
        piece = self._pending[self._position : self._position + self._piece]
        self._position += len(piece)
        self._feed(piece)

    def _adapt(self, seconds: float) -> None:
        if seconds > _SLOW_PIECE:
            self._piece = max(SMALLEST_PIECE, self._piece // 2)
        elif seconds < _QUICK_PIECE:
            self._piece = min(LARGEST_PIECE, self._piece * 2)

    def _more(self) -> str:
        self._pending, self._position = b"", 0
        after, self._after = self._after, None
        if after is None or after == "data":
            if self._unbroken >= FLOOD and self._fetch():
                return "later"
            self._pending, after = _read(self._descriptor)
        self._unbroken = self._unbroken + len(self._pending) if after == "data" else 0
        return after

    def _fetch(self) -> bool:
        """Let a thread read; it has a descriptor of its own, since this one's number may mean another file by then."""
        try:
            descriptor = os.dup(self._descriptor)
        except OSError:
            return False
        self._fetching = True
        reading = self._scheduler.loop.run_in_executor(self._scheduler.threads, _read_batch, descriptor)
        reading.add_done_callback(self._fetched)
        return True

    def _fetched(self, reading: "asyncio.Future[tuple[bytes, str]]") -> None:
        self._fetching = False
        if not self._stopped and not reading.cancelled():
            self._pending, self._after = reading.result()
            self._scheduler.enqueue(self, busy=True)


def _read(descriptor: int) -> tuple[bytes, str]:
    """Read once: some bytes and "data", or "nothing" yet, or the "end"."""
    try:
        data = os.read(descriptor, READ_SIZE)
    except (BlockingIOError, InterruptedError):
        return b"", "nothing"
    except OSError:  # EIO: the last program closed the terminal, and everything it wrote was read
        return b"", "end"
    return data, "data" if data else "end"


def _read_batch(descriptor: int) -> tuple[bytes, str]:
    """Read much, and tell what is to be found after it; closes the descriptor."""
    try:
        return read_many(descriptor, BATCH)
    finally:
        os.close(descriptor)


class ReadScheduler:
    """Serves the sources of one loop, a turn at a time."""

    def __init__(self, loop: asyncio.AbstractEventLoop, *, turn: float = TURN, share: float = SHARE) -> None:
        self.loop = loop
        self._turn = turn
        self._share = share
        self._fresh: deque[Source] = deque()
        self._busy: deque[Source] = deque()
        self._scheduled = False
        self._owed = False

    def source(
        self, descriptor: int, feed: Callable[[bytes], None], served: Callable[[], None], ended: Callable[[], None]
    ) -> Source:
        """Make a source of this scheduler for a non-blocking descriptor."""
        return Source(self, descriptor, feed, served, ended)

    @cached_property
    def threads(self) -> Executor:
        """What floods are read by."""
        return ThreadPoolExecutor(2, thread_name_prefix="pane-reader")

    def enqueue(self, source: Source, *, busy: bool = False) -> None:
        """Serve ``source`` soon; a busy one after those that just became readable."""
        (self._busy if busy else self._fresh).append(source)
        self._schedule()

    def _schedule(self) -> None:
        if not self._scheduled:
            self._scheduled = True
            self.loop.call_soon(self._run)

    def _run(self) -> None:
        self._scheduled = False
        now = self.loop.time()
        end = now + self._turn
        # The busy ones get at least one share in two turns, however many others keep becoming readable.
        owed, self._owed = self._owed, bool(self._busy)
        while (self._fresh or self._busy) and now < end:
            from_busy = bool(self._busy) and (owed or not self._fresh)
            source = (self._busy if from_busy else self._fresh).popleft()
            if from_busy:
                owed = self._owed = False
            try:
                more = source.serve(min(now + self._share, end))
            except Exception as error:  # one pane's fault must not stop the others
                self.loop.call_exception_handler({"message": "A pane's output was not handled.", "exception": error})
                more = True
            if more:
                self._busy.append(source)
            now = self.loop.time()
        if self._fresh or self._busy:
            self._schedule()
