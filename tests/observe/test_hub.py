"""The observation hub: order, atomic snapshots, bounds, shared bytes, ends."""

import asyncio
from collections.abc import Callable

from hypothesis import given
from hypothesis import strategies as st

from prowl_svc.model.agents import Agent
from prowl_svc.model.observation import AgentEntry, Changed, Closed, ObserveEvent, Removed, Snapshot
from prowl_svc.model.state import DisplayState, RawState
from prowl_svc.observe.hub import JOIN_LIMIT, Hub, Observer

ENTRY = AgentEntry(Agent.CLAUDE, DisplayState.WORKING, RawState.WORKING, last_changed_at=1)


def encode(event: ObserveEvent) -> bytes:
    return f"{type(event).__name__}:{event.revision};".encode()


def snapshot(revision: int = 0) -> Snapshot:
    return Snapshot(agent=None, latest_signal=None, revision=revision)


async def drain(observer: Observer) -> list[str]:
    """All events until the stream ends, one string each."""
    async with asyncio.timeout(5):  # a stream that never ends must fail the test, not hold it up
        text = b"".join([batch async for batch in observer]).decode()
    return text.split(";")[:-1]


async def test_snapshot_comes_first_then_every_event_in_order() -> None:
    """An observer gets its snapshot, then each event in publication order, then the normal end."""
    hub = Hub(encode)
    observer = hub.subscribe("p", snapshot(7))
    hub.publish("p", Changed(ENTRY, 8))
    hub.publish("p", Removed(9))
    hub.publish("p", Closed(9))
    assert ["Snapshot:7", "Changed:8", "Removed:9", "Closed:9"] == await drain(observer)
    assert observer.overflow is None
    assert not observer.interrupted


async def test_pending_events_arrive_as_one_message() -> None:
    """Everything that waits for an observer is handed over joined."""
    hub = Hub(encode)
    observer = hub.subscribe("p", snapshot())
    hub.publish("p", Changed(ENTRY, 1))
    assert b"Snapshot:0;Changed:1;" == await anext(observer)


async def test_a_snapshot_is_never_taken_for_an_event_that_another_holds() -> None:
    """Observers that came before and after an event each get their own first bytes, whoever reads first."""
    for late_first in (True, False):
        hub = Hub(encode)
        early = hub.subscribe("p", snapshot())
        await anext(early)
        hub.publish("p", Removed(1))
        late = hub.subscribe("p", snapshot(1))
        readers = [late, early] if late_first else [early, late]
        got = {id(reader): await anext(reader) for reader in readers}
        assert [b"Removed:1;", b"Snapshot:1;"] == [got[id(early)], got[id(late)]]


async def test_two_observers_are_independent() -> None:
    """What one observer takes or loses does not touch the other."""
    hub = Hub(encode, capacity=2)
    slow, fast = hub.subscribe("p", snapshot()), hub.subscribe("p", snapshot())
    seen = []
    for revision in range(1, 6):
        seen.append(await anext(fast))
        hub.publish("p", Removed(revision))
    assert [b"Snapshot:0;", b"Removed:1;", b"Removed:2;", b"Removed:3;", b"Removed:4;"] == seen
    assert ["Snapshot:0", "Removed:1"] == await drain(slow)
    assert slow.overflow is not None
    assert fast.overflow is None


async def test_each_overflows_at_its_own_time() -> None:
    """Observers that stand at different places overflow one after the other, each when it holds the limit."""
    hub = Hub(encode, capacity=6)
    observers, lost = [], []
    for revision in range(12):
        if revision in (0, 2, 4):
            observers.append(hub.subscribe("p", snapshot(revision)))
        hub.publish("p", Removed(revision + 1))
        lost.append([observer.overflow is not None for observer in observers])
    first = [next(number for number, row in enumerate(lost) if row[index : index + 1] == [True]) for index in range(3)]
    assert [5, 7, 9] == first
    for observer, start in zip(observers, (0, 2, 4), strict=True):
        assert [f"Snapshot:{start}", *(f"Removed:{start + more}" for more in range(1, 6))] == await drain(observer)


async def test_other_panes_events_do_not_arrive() -> None:
    """A pane's events go to that pane's observers alone."""
    hub = Hub(encode)
    observer = hub.subscribe("p", snapshot())
    hub.publish("q", Removed(5))
    hub.publish("p", Closed(0))
    assert ["Snapshot:0", "Closed:0"] == await drain(observer)


async def test_overflow_delivers_what_is_held_then_names_the_loss() -> None:
    """The 65th undelivered event ends the stream after the 64 oldest, with the first lost and the current revision."""
    hub = Hub(encode)
    observer = hub.subscribe("p", snapshot())
    for revision in range(1, 101):
        hub.publish("p", Removed(revision))
    assert 0 == hub.subscriber_count("p")
    assert ["Snapshot:0", *(f"Removed:{revision}" for revision in range(1, 64))] == await drain(observer)
    assert observer.overflow is not None
    assert (64, 100) == (observer.overflow.first_lost, observer.overflow.current)


async def test_s9_overflow_then_resubscription() -> None:
    """With capacity 1 the snapshot fills the buffer, the next event overflows, and a new snapshot is newer."""
    hub = Hub(encode, capacity=1)
    observer = hub.subscribe("p", snapshot())
    hub.publish("p", Removed(1))
    assert ["Snapshot:0"] == await drain(observer)
    assert observer.overflow is not None
    assert b"Snapshot:1;" == await anext(hub.subscribe("p", snapshot(1)))


async def test_dropped_close_is_an_overflow_too() -> None:
    """A close that does not fit ends the stream with overflow, not with a normal end."""
    hub = Hub(encode, capacity=1)
    observer = hub.subscribe("p", snapshot())
    hub.publish("p", Closed(0))
    assert ["Snapshot:0"] == await drain(observer)
    assert observer.overflow is not None
    assert 0 == hub.subscriber_count("p")


async def test_absent_pane_yields_a_finite_stream_and_registers_nothing() -> None:
    """An unknown pane's stream is the empty snapshot and the close, both at revision 0."""
    hub = Hub(encode)
    observer = hub.absent()
    assert ["Snapshot:0", "Closed:0"] == await drain(observer)
    assert 0 == hub.subscriber_count("p")


async def test_cancelled_reader_returns_the_count_to_baseline() -> None:
    """A reader that is cancelled while it waits leaves nothing behind once it closed its observer."""
    hub = Hub(encode)
    reading = asyncio.Event()

    async def read() -> None:
        observer = hub.subscribe("p", snapshot())
        try:
            async for _ in observer:
                reading.set()
        finally:
            observer.close()

    task = asyncio.create_task(read())
    await reading.wait()
    assert 1 == hub.subscriber_count("p")
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)
    assert 0 == hub.subscriber_count("p")


async def test_waiting_observer_wakes_on_the_event() -> None:
    """An observer that waits gets the event without any further event."""
    hub = Hub(encode)
    observer = hub.subscribe("p", snapshot())
    await anext(observer)
    waiting = asyncio.ensure_future(anext(observer))
    await asyncio.sleep(0)
    hub.publish("p", Removed(1))
    assert b"Removed:1;" == await waiting


async def test_events_are_encoded_once_and_shared() -> None:
    """However many observers there are, an event is encoded once and they hold the same bytes object."""
    encoded: list[ObserveEvent] = []

    def count(event: ObserveEvent) -> bytes:
        encoded.append(event)
        return encode(event)

    hub = Hub(count)
    observers = [hub.subscribe("p", snapshot()) for _ in range(10)]
    hub.publish("p", Removed(1))
    hub.publish("p", Removed(2))
    batches = [await anext(observer) for observer in observers]
    assert [Snapshot, Removed, Removed] == [type(event) for event in encoded]
    assert 1 == len({id(batch) for batch in batches})


async def test_joins_of_a_late_observer_begin_with_its_own_snapshot() -> None:
    """An observer that came later never gets another's join, even where their positions agree."""
    hub = Hub(encode)
    early = hub.subscribe("p", snapshot())
    await anext(early)
    hub.publish("p", Removed(1))
    late = hub.subscribe("p", snapshot(1))
    hub.publish("p", Removed(2))
    assert b"Removed:1;Removed:2;" == await anext(early)
    assert b"Snapshot:1;Removed:2;" == await anext(late)


class Clock:
    """A pace whose time stands still until it is moved, but for ``round`` seconds that each round takes."""

    round = 0.04

    class Handle:
        def __init__(self) -> None:
            self.live = True

        def cancel(self) -> None:
            self.live = False

    def __init__(self) -> None:
        self.now = 100.0
        self.calls: list[tuple[float, Callable[[], None], Clock.Handle]] = []

    def time(self) -> float:
        return self.now

    def call_soon(self, callback: Callable[[], None], /) -> None:
        asyncio.get_running_loop().call_soon(lambda: (setattr(self, "now", self.now + self.round), callback()))

    def call_later(self, delay: float, callback: Callable[[], None], /) -> "Clock.Handle":
        self.calls.append((self.now + delay, callback, handle := self.Handle()))
        return handle

    def move(self, seconds: float) -> None:
        self.now += seconds
        due = [(callback, handle) for when, callback, handle in self.calls if when <= self.now + 1e-9]
        self.calls = [call for call in self.calls if call[0] > self.now + 1e-9]
        for callback, handle in due:
            if handle.live:
                callback()


async def crowd(count: int) -> tuple[Hub, Clock, list[list[str]], list["asyncio.Task[None]"]]:
    """A paced hub with so many waiting observers, what each was handed, one string a message, and their readers."""
    clock = Clock()
    hub = Hub(encode, pace=clock)  # type: ignore[arg-type]
    handed: list[list[str]] = [[] for _ in range(count)]

    async def read(observer: Observer, into: list[str]) -> None:
        async for batch in observer:
            into.append(batch.decode())

    readers = [asyncio.create_task(read(hub.subscribe("p", snapshot()), into)) for into in handed]
    await asyncio.sleep(0)
    for into in handed:
        into.clear()
    return hub, clock, handed, readers


async def publish(hub: Hub, *revisions: int) -> None:
    """Publish one removal after the other, with time for observers in between."""
    for revision in revisions:
        hub.publish("p", Removed(revision))
        await asyncio.sleep(0)


async def test_few_observers_are_told_of_each_event_at_once() -> None:
    """With ten observers nobody rests."""
    hub, _, handed, _ = await crowd(10)
    await publish(hub, 1, 2)
    assert [["Removed:1;", "Removed:2;"]] * 10 == handed


async def test_a_crowd_rests_between_rounds() -> None:
    """A thousand observers get the first event at once, and what comes until they have rested together."""
    hub, clock, handed, _ = await crowd(1000)
    await publish(hub, 1, 2, 3)
    clock.move(0.239)
    await asyncio.sleep(0)
    assert [["Removed:1;"]] * 1000 == handed
    clock.move(0.001)
    await asyncio.sleep(0)
    assert [["Removed:1;", "Removed:2;Removed:3;"]] * 1000 == handed
    await publish(hub)
    clock.move(0.25)
    await publish(hub, 4)
    await asyncio.sleep(0)
    assert "Removed:4;" == handed[0][-1]


async def test_a_burst_does_not_wait_for_the_rest_to_end() -> None:
    """Pacing never lets so much pile up that an observer which is quick would overflow."""
    hub, _, handed, readers = await crowd(1000)
    await publish(hub, *range(1, 101))
    hub.publish("p", Closed(100))
    await asyncio.gather(*readers)
    text = "".join(handed[-1])
    assert "".join(f"Removed:{revision};" for revision in range(1, 101)) + "Closed:100;" == text
    assert len(handed[-1]) < 10


async def test_those_who_are_left_of_a_crowd_are_told_of_each_event_at_once() -> None:
    """A rest that a crowd began neither holds up the few who stay after it nor makes them overflow."""
    hub, _, handed, _ = await crowd(31)
    last = hub.subscribe("p", snapshot())
    await publish(hub, 1, 2)
    last.close()
    for revision in range(3, 101, 2):
        hub.publish("p", Removed(revision))
        await publish(hub, revision + 1)
    await publish(hub, 101)
    assert "".join(f"Removed:{revision};" for revision in range(1, 102)) == "".join(handed[0])
    assert "Removed:101;" == handed[0][-1]


async def test_event_without_observers_is_not_encoded() -> None:
    """A pane nobody observes costs no encoding."""

    def refuse(event: ObserveEvent) -> bytes:
        raise AssertionError(event)

    Hub(refuse).publish("p", Removed(1))


async def test_batches_are_capped() -> None:
    """A joined batch stays within the cap, and one event larger than the cap still travels."""
    sizes = iter([10, JOIN_LIMIT + 5, JOIN_LIMIT - 8, 8, 1])
    hub = Hub(lambda event: b"x" * next(sizes))
    observer = hub.subscribe("p", snapshot())
    for revision in range(1, 5):
        hub.publish("p", Removed(revision))
    lengths = [len(await anext(observer)) for _ in range(4)]
    assert [10, JOIN_LIMIT + 5, JOIN_LIMIT, 1] == lengths


async def test_stop_ends_every_stream_after_what_it_holds() -> None:
    """When the service stops, observers get what they hold and can tell the stop from a close."""
    hub = Hub(encode)
    observer = hub.subscribe("p", snapshot())
    hub.publish("p", Removed(1))
    hub.end_all()
    assert ["Snapshot:0", "Removed:1"] == await drain(observer)
    assert observer.interrupted
    assert observer.overflow is None
    assert 0 == hub.subscriber_count("p")


async def test_stream_after_close_starts_anew() -> None:
    """A subscription made after a pane's close gets nothing of the old stream."""
    hub = Hub(encode)
    old = hub.subscribe("p", snapshot())
    hub.publish("p", Closed(3))
    new = hub.subscribe("p", snapshot())
    hub.publish("p", Removed(1))
    hub.publish("p", Closed(1))
    assert ["Snapshot:0", "Closed:3"] == await drain(old)
    assert ["Snapshot:0", "Removed:1", "Closed:1"] == await drain(new)


@given(
    st.lists(
        st.one_of(st.just("publish"), st.just("join"), st.tuples(st.just("take"), st.integers(0, 5))), max_size=60
    ),
    st.integers(1, 5),
)
def test_every_observer_sees_a_gapless_prefix(steps: list[str | tuple[str, int]], capacity: int) -> None:
    """Under any interleaving an observer sees consecutive revisions from its snapshot on, up to its loss or now."""

    async def run() -> None:
        hub, revision = Hub(encode, capacity), 0
        observers: list[tuple[Observer, int, list[bytes]]] = []
        for step in steps:
            if step == "publish":
                revision += 1
                full = [
                    observer.overflow is not None or observer.undelivered == capacity for observer, _, _ in observers
                ]
                hub.publish("p", Removed(revision))
                assert full == [observer.overflow is not None for observer, _, _ in observers]
            elif step == "join":
                observers.append((hub.subscribe("p", snapshot(revision)), revision, []))
            elif observers:
                observer, _, seen = observers[int(step[1]) % len(observers)]
                if observer.undelivered:
                    seen.append(await anext(observer))
        hub.end_all()
        for observer, start, seen in observers:
            text = (b"".join(seen) + ";".join([*await drain(observer), ""]).encode()).decode()
            got = [int(event.split(":")[1]) for event in text.split(";")[:-1]]
            end = observer.overflow.first_lost - 1 if observer.overflow else revision
            assert list(range(start, end + 1)) == got
            assert observer.overflow is None or observer.overflow.current == revision

    asyncio.run(run())
