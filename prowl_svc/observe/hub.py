"""Per-pane multicast of encoded events: bounded observers, shared bytes, explicit overflow (signals.md §1).

The hub knows bytes and plain values. An event is encoded once and kept once; an observer knows how far it has read.
What an observer has not taken yet is handed over joined, since a message costs far more than a byte.
"""

import asyncio
from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import chain, islice
from typing import Protocol
from weakref import WeakValueDictionary

from prowl_svc.model.observation import Closed, ObserveEvent, Snapshot

__all__ = ["CAPACITY", "JOIN_LIMIT", "Hub", "Observer", "Overflow", "Pace"]

CAPACITY = 64
JOIN_LIMIT = 32 * 1024
_MEMO_LIMIT = 8
_BURST = 0.8  # of the capacity: with so many events pending nobody rests, so that pacing makes no observer overflow
_CROWD = 32
_REST = 6.0  # times the first half of a round; the other half comes while the messages leave
_REST_MAX_S = 0.25


class Pace(Protocol):
    """Time for pacing; an asyncio loop is one."""

    def time(self) -> float:
        """Return monotonic seconds."""
        ...

    def call_soon(self, callback: Callable[[], None], /) -> object:
        """Call back after what is due already."""
        ...

    def call_later(self, delay: float, callback: Callable[[], None], /) -> asyncio.TimerHandle:
        """Call back after so many seconds."""
        ...


@dataclass(frozen=True, slots=True)
class Overflow:
    """Why a stream broke off: the revision of the first event it lost and the pane's current one."""

    first_lost: int
    current: int


class _Topic:
    """The observers of one pane, its last events, the number of them that were published, and joins of recent ranges.

    No observer overflows before ``full_at`` events were published. ``told`` is the number of the last event that
    waiting observers were woken for; they rest until ``rested``.
    """

    __slots__ = (
        "__weakref__",
        "full_at",
        "joins",
        "log",
        "observers",
        "rested",
        "revision",
        "sequence",
        "snapshot",
        "timer",
        "told",
    )

    def __init__(self, capacity: int) -> None:
        self.observers: dict[Observer, None] = {}
        self.log: deque[bytes] = deque(maxlen=capacity)
        self.sequence = 0
        self.full_at: float = 0
        self.revision = 0
        self.joins: dict[tuple[int, int], tuple[bytes, bytes, int]] = {}
        self.snapshot: tuple[Snapshot, bytes] | None = None
        self.timer: asyncio.TimerHandle | None = None
        self.told = 0
        self.rested = 0.0

    def since(self, number: int) -> Iterator[bytes]:
        """Return the events after the first ``number`` ones; they must still be in the log."""
        return islice(self.log, len(self.log) - (self.sequence - number), None)

    def add(self, chunk: bytes, revision: int) -> None:
        """Append an event; an observer that has no room for it overflows."""
        if self.sequence >= self.full_at:
            for late in [observer for observer in self.observers if observer.full_at <= self.sequence]:
                late._overflow(revision)
            self.full_at = min((observer.full_at for observer in self.observers), default=0)
        self.log.append(chunk)
        self.sequence += 1


class Observer:
    """One subscription: an async iterator of joined batches of encoded events, to be closed in a ``finally``.

    Iteration ends after the closing event, after an overflow, or when the service stops; ``overflow`` and
    ``interrupted`` then tell which. One task reads an observer.
    """

    __slots__ = ("_end", "_greeted", "_interrupted", "_lost", "_next", "_own", "_topic", "_waiter")

    def __init__(self, topic: _Topic, *chunks: bytes, end: bool = False) -> None:
        self._topic = topic
        # What comes before the log, and after the end of the subscription all there is.
        self._own: deque[bytes] = deque(chunks)
        self._next = topic.sequence
        self._lost: int | None = None
        self._greeted = False
        self._interrupted = False
        self._end = end
        self._waiter: asyncio.Future[None] | None = None

    @property
    def overflow(self) -> Overflow | None:
        """What was lost, once an event did not fit; the pane's current revision is read when asked."""
        return None if self._lost is None else Overflow(self._lost, self._topic.revision)

    @property
    def interrupted(self) -> bool:
        """Whether the service ended the stream while the pane was still open."""
        return self._interrupted

    @property
    def undelivered(self) -> int:
        """How many events wait to be taken."""
        return len(self._own) + (0 if self._end else self._topic.sequence - self._next)

    @property
    def full_at(self) -> int:
        """How many events the pane will have had when there is no room for a further one."""
        capacity = self._topic.log.maxlen
        assert capacity is not None
        return self._next + capacity - len(self._own)

    def __aiter__(self) -> "Observer":
        """Return itself."""
        return self

    async def __anext__(self) -> bytes:
        """Return the pending events as one message body of at most about 32 KiB, waiting for the first."""
        while not self.undelivered or self._resting:
            if self._end:
                raise StopAsyncIteration
            self._waiter = asyncio.get_running_loop().create_future()
            try:
                await self._waiter
            finally:
                self._waiter = None
        return self._take()

    @property
    def _resting(self) -> bool:
        """Whether what is pending is to wait for the next round: never the snapshot, and never the last words."""
        return self._greeted and self._topic.timer is not None and not self._end

    def close(self) -> None:
        """Leave the pane and let go of what is held; closing twice is harmless."""
        self._finish()
        self._own.clear()

    def _take(self) -> bytes:
        # Observers of one pane hold the same events in the same order, so a range of numbers names the bytes; only
        # the snapshot in front may be another, which its identity tells.
        self._greeted = True
        topic, own, pending = self._topic, self._own, self.undelivered
        head = own[0] if own else next(topic.since(self._next))
        joins, key = topic.joins, (self._next - len(own), pending)
        held = joins.get(key)
        if held is None or held[0] is not head:
            if len(joins) >= _MEMO_LIMIT:
                joins.clear()
            chunks = list(own if self._end else chain(own, topic.since(self._next)))
            held = joins[key] = (head, *_join(chunks))
        _, body, count = held
        first = min(count, len(own))
        if first == len(own):
            own.clear()
        else:
            for _ in range(first):
                own.popleft()
        self._next += count - first
        return body

    def _overflow(self, revision: int) -> None:
        self._lost = revision
        self._finish()

    def _interrupt(self) -> None:
        self._interrupted = True
        self._finish()

    def _finish(self) -> None:
        if not self._end:
            # The log goes on without it.
            self._own.extend(self._topic.since(self._next))
            self._next = self._topic.sequence
            self._end = True
            self._topic.observers.pop(self, None)
        self._wake()

    def _wake(self) -> None:
        if self._waiter is not None and not self._waiter.done():
            self._waiter.set_result(None)


def _join(pending: list[bytes]) -> tuple[bytes, int]:
    """Return the first of the chunks as one body of at most about 32 KiB, and how many these are."""
    count = size = 0
    for chunk in pending:
        if count and size + len(chunk) > JOIN_LIMIT:
            break
        size += len(chunk)
        count += 1
    return (pending[0] if count == 1 else b"".join(islice(pending, count))), count


class Hub:
    """Gives each observer of a pane every event of that pane, once, in order, or tells it that one was lost.

    ``encode`` turns an event into a tagged, length-prefixed element of the message's repeated events field, so that
    joined chunks are a valid message. ``capacity`` is how many events may wait for one observer (at least 1).
    All methods run on the owner's loop and none of them waits.

    A message to each of many observers costs far more than the event, so with a ``pace`` a pane with a crowd of them
    rests after each round, at most a quarter of a second, and what comes meanwhile goes out together: a program that
    reports one event after the other would else cause a round with each. A first event never waits.
    """

    def __init__(
        self, encode: Callable[[ObserveEvent], bytes], capacity: int = CAPACITY, pace: Pace | None = None
    ) -> None:
        self._encode = encode
        self._capacity = max(1, capacity)
        self._pace = pace
        self._burst = max(1, int(self._capacity * _BURST))
        # A topic lives as long as an observer holds it, even one that overflowed and still delivers.
        self._topics: WeakValueDictionary[str, _Topic] = WeakValueDictionary()

    def subscribe(self, surface: str, snapshot: Snapshot) -> Observer:
        """Register an observer of ``surface`` that starts with ``snapshot``, which must be the owner's present view."""
        topic = self._topics.get(surface)
        if topic is None:
            topic = self._topics[surface] = _Topic(self._capacity)
        topic.revision = snapshot.revision
        if topic.snapshot is None or topic.snapshot[0] != snapshot:
            topic.snapshot = (snapshot, self._encode(snapshot))
        observer = Observer(topic, topic.snapshot[1])
        topic.full_at = min(topic.full_at, observer.full_at) if topic.observers else observer.full_at
        topic.observers[observer] = None
        return observer

    def absent(self) -> Observer:
        """Return the finite stream of a pane that is not live: an empty snapshot at revision 0, then closed."""
        empty = Snapshot(agent=None, latest_signal=None, revision=0)
        return Observer(_Topic(self._capacity), self._encode(empty), self._encode(Closed(0)), end=True)

    def publish(self, surface: str, event: ObserveEvent) -> None:
        """Hand ``event`` to every observer of ``surface``; a ``Closed`` event is the last one and ends the streams."""
        topic = self._topics.get(surface)
        if topic is None:
            return
        topic.revision = event.revision
        if topic.observers:
            topic.add(self._encode(event), event.revision)
            self._tell(topic)
        if isinstance(event, Closed):
            for observer in tuple(topic.observers):
                observer._finish()
            self._topics.pop(surface, None)

    def _tell(self, topic: _Topic) -> None:
        """Wake the waiting observers now, or once they have rested."""
        if self._pace is not None and topic.sequence - topic.told < self._burst:
            if topic.timer is not None:
                return
            wait = topic.rested - self._pace.time()
            if wait > 0:
                topic.timer = self._pace.call_later(wait, lambda: self._wake(topic))
                return
        self._wake(topic)

    def _wake(self, topic: _Topic) -> None:
        if topic.timer is not None:
            topic.timer.cancel()
            topic.timer = None
        topic.told = topic.sequence
        topic.rested = 0.0  # else an event just after this round would hold it up, if the crowd is none any more
        for observer in topic.observers:
            observer._wake()
        if self._pace is not None and len(topic.observers) >= _CROWD:
            began = topic.rested = self._pace.time()
            self._pace.call_soon(lambda: self._rest(topic, began))

    def _rest(self, topic: _Topic, began: float) -> None:
        """Every observer has taken its message: the next round may begin when the loop had time for other things."""
        assert self._pace is not None
        now = self._pace.time()
        topic.rested = now + min(_REST_MAX_S, _REST * (now - began))

    def end_all(self) -> None:
        """End every stream after what it holds, as the service stops; observers then read ``interrupted``."""
        for topic in list(self._topics.values()):
            for observer in tuple(topic.observers):
                observer._interrupt()

    def subscriber_count(self, surface: str) -> int:
        """Return how many observers of ``surface`` would get its next event."""
        topic = self._topics.get(surface)
        return len(topic.observers) if topic is not None else 0

    @property
    def observer_count(self) -> int:
        """How many observers there are on all panes together."""
        return sum(len(topic.observers) for topic in self._topics.values())
