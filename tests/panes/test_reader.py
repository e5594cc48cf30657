"""Fairness of reading, on a loop whose time is the test's."""

import asyncio
import contextlib
import fcntl
import os
import random
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any, cast

import pytest

from prowl_svc.panes.reader import BATCH, FLOOD, ReadScheduler, Source


class Loop:
    """A loop by hand: time moves when output is handled, and a turn runs when the test says so."""

    def __init__(self) -> None:
        self.now = 0.0
        self.soon: list[Callable[[], None]] = []
        self.readers: dict[int, Callable[[], None]] = {}
        self.reports: list[dict[str, object]] = []

    def time(self) -> float:
        return self.now

    def call_soon(self, call: Callable[[], None]) -> None:
        self.soon.append(call)

    def add_reader(self, descriptor: int, call: Callable[[], None]) -> None:
        self.readers[descriptor] = call

    def remove_reader(self, descriptor: int) -> None:
        del self.readers[descriptor]

    def call_exception_handler(self, context: dict[str, object]) -> None:
        self.reports.append(context)

    def turn(self) -> None:
        calls, self.soon = self.soon, []
        for call in calls:
            call()


class Desk:
    """Sources on pipes; ``log`` tells who was served how much, each byte takes ``cost`` seconds."""

    def __init__(self, cost: float) -> None:
        self.loop = Loop()
        self.scheduler = ReadScheduler(cast(asyncio.AbstractEventLoop, self.loop), turn=0.003, share=0.0015)
        self.cost = cost
        self.log: list[tuple[str, int]] = []
        self.pipes: dict[str, tuple[int, int]] = {}

    def source(self, name: str, data: bytes, served: Callable[[], None] = lambda: None) -> Source:
        reading, writing = os.pipe()
        os.set_blocking(reading, False)
        os.write(writing, data)
        self.pipes[name] = reading, writing

        def feed(piece: bytes) -> None:
            self.log.append((name, len(piece)))
            self.loop.now += self.cost * len(piece)

        source = self.scheduler.source(reading, feed, served, lambda: self.log.append((name, -1)))
        source.start()
        return source

    def ready(self, name: str) -> None:
        self.loop.readers[self.pipes[name][0]]()

    def taken(self, name: str) -> int:
        return sum(size for who, size in self.log if who == name and size > 0)

    def close(self) -> None:
        for reading, writing in self.pipes.values():
            os.close(reading)
            os.close(writing)


@pytest.fixture
def slow() -> Iterator[Desk]:
    desk = Desk(1e-6)
    yield desk
    desk.close()


def test_a_turn_is_short(slow: Desk) -> None:
    """A flood gets its share of a turn and the loop is given back; nothing is lost or reordered."""
    slow.source("flood", bytes(50_000))
    slow.ready("flood")
    turns = 0
    while slow.loop.soon:
        before = slow.loop.now
        slow.loop.turn()
        turns += 1
        assert slow.loop.now - before < 0.003 + 256 * 1e-6
    assert 50_000 == slow.taken("flood")
    assert turns >= 15
    assert slow.pipes["flood"][0] in slow.loop.readers


def test_newcomers_come_first(slow: Desk) -> None:
    """What just became readable is served before what floods already."""
    for name in ("a", "b"):
        slow.source(name, bytes(60_000))
        slow.ready(name)
    slow.loop.turn()
    slow.loop.turn()
    slow.source("quiet", b"x")
    slow.ready("quiet")
    served = len(slow.log)
    slow.loop.turn()
    # One share is owed to the flood every other turn, so at most that stands before it.
    names = [name for name, _ in slow.log[served:]]
    assert "quiet" in names
    assert len(set(names[: names.index("quiet")])) <= 1


def test_floods_are_not_starved(slow: Desk) -> None:
    """However many others become readable again and again, a flood gets its turn."""
    slow.source("flood", bytes(60_000))
    slow.ready("flood")
    slow.loop.turn()
    others = [f"other {number}" for number in range(8)]
    for name in others:
        slow.source(name, bytes(300))
    for _ in range(6):
        before = slow.taken("flood")
        for _ in range(6):
            for name in others:
                if slow.pipes[name][0] in slow.loop.readers:
                    os.write(slow.pipes[name][1], bytes(500))
                    slow.ready(name)
            slow.loop.turn()
        assert slow.taken("flood") > before


def test_quick_output_is_fed_in_large_pieces() -> None:
    """Pieces grow where feeding is cheap."""
    desk = Desk(1e-12)
    desk.source("quick", bytes(60_000))
    desk.ready("quick")
    desk.loop.turn()
    assert [256, 512, 1024, 2048, 4096] == [size for _, size in desk.log[:5]]
    desk.close()


def test_end_is_told_once_after_everything(slow: Desk) -> None:
    """The end of output comes after the last piece, and a stopped source says nothing more."""
    source = slow.source("a", b"abc")
    os.close(slow.pipes["a"][1])
    slow.pipes["a"] = slow.pipes["a"][0], os.open(os.devnull, os.O_RDONLY)
    slow.ready("a")
    slow.loop.turn()
    assert [("a", 3), ("a", -1)] == slow.log
    source.drain()
    slow.loop.turn()
    assert [("a", 3), ("a", -1)] == slow.log
    assert {} == slow.loop.readers


def test_drain_reads_without_being_asked(slow: Desk) -> None:
    """Draining serves a source that nothing announced."""
    source = slow.source("a", b"abc")
    source.drain()
    source.drain()
    slow.loop.turn()
    assert [("a", 3)] == slow.log


def test_stop_while_served(slow: Desk) -> None:
    """A source that is stopped from its own callback is never touched again."""
    source = slow.source("a", bytes(9000), served=lambda: source.stop())  # noqa: PLW0108 - it is bound later
    slow.ready("a")
    while slow.loop.soon:
        slow.loop.turn()
    assert slow.taken("a") < 9000
    assert {} == slow.loop.readers


def test_fault_is_reported_and_reading_goes_on(slow: Desk) -> None:
    """A callback that raises is reported, and its source and the others are still read."""

    def fail() -> None:
        raise RuntimeError

    slow.source("bad", bytes(9000), served=fail)
    slow.source("good", bytes(9000))
    slow.ready("bad")
    slow.ready("good")
    while slow.loop.soon:
        slow.loop.turn()
    assert [9000, 9000] == [slow.taken(name) for name in ("bad", "good")]
    assert slow.loop.reports


def writer(data: bytes) -> tuple[int, threading.Thread]:
    """A pipe's reading end with as much in it as makes a flood, and a thread that writes the rest and closes it."""
    reading, writing = os.pipe()
    fcntl.fcntl(writing, fcntl.F_SETPIPE_SZ, 2 * FLOOD)
    os.set_blocking(reading, False)
    os.set_blocking(writing, False)
    view = memoryview(data)
    with contextlib.suppress(BlockingIOError):
        while view:
            view = view[os.write(writing, view) :]
    os.set_blocking(writing, True)

    def write() -> None:
        rest = view
        with contextlib.suppress(BrokenPipeError):
            while rest:
                rest = rest[os.write(writing, rest) :]
        os.close(writing)

    thread = threading.Thread(target=write)
    thread.start()
    return reading, thread


async def test_a_flood_that_a_thread_reads_is_whole_and_in_order() -> None:
    """Far more than what makes a flood arrives as it was written, then its end, once."""
    data = random.Random(5).randbytes(FLOOD + 3 * BATCH + 12_345)
    reading, thread = writer(data)
    taken, ended = bytearray(), asyncio.Event()
    scheduler = ReadScheduler(asyncio.get_running_loop())
    scheduler.source(reading, taken.extend, lambda: None, ended.set).start()
    async with asyncio.timeout(20):
        await ended.wait()
    thread.join()
    assert data == bytes(taken)
    assert "threads" in vars(scheduler)
    os.close(reading)


async def test_little_output_needs_no_thread() -> None:
    """What makes no flood is read where it is fed."""
    reading, thread = writer(bytes(FLOOD // 2))
    ended = asyncio.Event()
    scheduler = ReadScheduler(asyncio.get_running_loop())
    scheduler.source(reading, lambda data: None, lambda: None, ended.set).start()
    async with asyncio.timeout(20):
        await ended.wait()
    thread.join()
    assert "threads" not in vars(scheduler)
    os.close(reading)


async def test_a_flood_is_stopped_while_a_thread_reads() -> None:
    """Nothing more is told, and no descriptor stays open."""
    before = len(os.listdir("/proc/self/fd"))
    reading, thread = writer(bytes(64 * BATCH))
    scheduler = ReadScheduler(asyncio.get_running_loop())
    told: list[int] = []
    fetching = asyncio.Event()

    class Threads(ThreadPoolExecutor):
        def submit(self, *args: Any, **kwargs: Any) -> Any:
            fetching.set()
            return super().submit(*args, **kwargs)

    scheduler.threads = threads = Threads(1)
    source = scheduler.source(reading, lambda data: told.append(len(data)), lambda: None, lambda: told.append(-1))
    source.start()
    async with asyncio.timeout(20):
        await fetching.wait()
        source.stop()
        os.close(reading)
        count = len(told)
        await asyncio.to_thread(threads.shutdown)
        await asyncio.to_thread(thread.join)
    await asyncio.sleep(0)
    assert count == len(told)
    assert -1 not in told
    assert before == len(os.listdir("/proc/self/fd"))
