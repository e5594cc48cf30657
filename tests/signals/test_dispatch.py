"""Dispatches: the store's rules, the 300 ms window, evidence by epoch, and receipts."""

import asyncio
import contextlib
from collections.abc import Callable

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from prowl_svc.model.errors import Code, ProwlError
from prowl_svc.model.observation import SignalKind
from prowl_svc.signals.dispatch import DispatchBinding, DispatchOutcome, DispatchRecord, DispatchState, GoneReason
from prowl_svc.signals.dispatches import Dispatches, Lost, Receipt, wait_for_receipt
from tests.signals.world import PANE, World

OK, FAILED = DispatchOutcome.SUCCEEDED, DispatchOutcome.FAILED


class Clock:
    """A clock with timers, moved by hand."""

    class Timer:
        def __init__(self, due: float, call: Callable[[], None]) -> None:
            self.due, self.call, self.live = due, call, True

        def cancel(self) -> None:
            self.live = False

    def __init__(self) -> None:
        self.now = 100.0
        self.timers: list[Clock.Timer] = []

    def schedule(self, delay: float, call: Callable[[], None]) -> "Clock.Timer":
        timer = self.Timer(self.now + delay, call)
        self.timers.append(timer)
        return timer

    def move(self, seconds: float) -> None:
        """Let time pass and run what is due on the way."""
        end = self.now + seconds
        while due := [timer for timer in self.timers if timer.live and timer.due <= end + 1e-9]:
            timer = min(due, key=lambda one: one.due)
            self.now, timer.live = max(self.now, timer.due), False
            timer.call()
        self.now = end

    @property
    def armed(self) -> int:
        return sum(timer.live for timer in self.timers)


class Desk:
    """A store with a hand-moved clock and ids d1, d2, …"""

    def __init__(self, capacity: int = 256) -> None:
        self.clock = Clock()
        self.count = 0
        self.store = Dispatches(
            clock=lambda: self.clock.now,
            now_ns=lambda: int(self.clock.now * 10**9),
            schedule=self.clock.schedule,
            capacity=capacity,
            new_id=self.name,
        )

    def name(self) -> str:
        self.count += 1
        return f"d{self.count}"

    def given(self, surface: str = PANE, epoch: str = "e1") -> str:
        """Issue and bind a dispatch; return its id."""
        record = self.store.issue()
        self.store.bind(record.id, DispatchBinding(surface, epoch, b"target"))
        return record.id

    def record(self, dispatch_id: str) -> DispatchRecord:
        entry = self.store.find(dispatch_id)
        assert entry is not None
        return entry.record

    def evidence(self, kind: str, epoch: str = "e1") -> None:
        self.store.evidence(PANE, epoch, SignalKind(kind))

    def wait(self, dispatch_id: str, timeout: float = 600.0) -> "asyncio.Task[Receipt | Lost]":
        return asyncio.create_task(
            wait_for_receipt(
                self.store, dispatch_id, timeout, clock=lambda: self.clock.now, schedule=self.clock.schedule
            )
        )


def code_of(call: Callable[[], object]) -> Code:
    with pytest.raises(ProwlError) as error:
        call()
    return error.value.code


async def lost(task: "asyncio.Task[Receipt | Lost]") -> Code:
    async with asyncio.timeout(5):  # the clock is moved by hand: a wait that nothing ends would last for ever
        answer = await task
    assert isinstance(answer, Lost)
    return answer.code


def test_issue_bind_complete() -> None:
    """A bound dispatch is completed by its pane and keeps outcome, summary and times."""
    desk = Desk()
    given = desk.given()
    assert given == getattr(desk.store.pending(PANE), "id", None)
    desk.clock.move(5)
    settled = desk.store.complete(PANE, OK, "done")
    assert not settled.replayed
    assert settled.binding == DispatchBinding(PANE, "e1", b"target")
    assert (
        DispatchRecord(
            given, 100 * 10**9, DispatchState.COMPLETED, outcome=OK, summary="done", completed_at=105 * 10**9
        )
        == settled.record
    )
    assert desk.store.pending(PANE) is None


def test_replay_and_conflict() -> None:
    """The same completion again is a replay, another one a conflict, and the receipt never changes."""
    desk = Desk()
    desk.given()
    first = desk.store.complete(PANE, OK, "done")
    again = desk.store.complete(PANE, OK, "done")
    assert (True, first.record) == (again.replayed, again.record)
    assert Code.DISPATCH_ALREADY_COMPLETED is code_of(lambda: desk.store.complete(PANE, OK, "other"))
    assert Code.DISPATCH_ALREADY_COMPLETED is code_of(lambda: desk.store.complete(PANE, FAILED, "done"))
    assert first.record == desk.record(first.record.id)


def test_completion_picks_the_pending_then_the_latest() -> None:
    """The pane's pending record is completed even when a newer one of it is final; without one the latest answers."""
    desk = Desk()
    desk.given()
    desk.store.complete(PANE, OK, "first")
    second = desk.given()
    assert second == desk.store.complete(PANE, OK, "second").record.id
    assert desk.store.complete(PANE, OK, "second").replayed
    assert Code.DISPATCH_ALREADY_COMPLETED is code_of(lambda: desk.store.complete(PANE, OK, "first"))


def test_pending_record_wins_over_one_issued_later() -> None:
    """A record that was issued first and bound last is the pane's pending one and is completed."""
    desk = Desk()
    early = desk.store.issue().id
    desk.given()
    desk.store.complete(PANE, OK, "later one")
    desk.store.bind(early, DispatchBinding(PANE, "e1"))
    assert early == desk.store.complete(PANE, OK, "done").record.id


def test_pane_that_never_held_a_dispatch() -> None:
    """There is nothing to complete in a pane that never held a dispatch."""
    assert Code.DISPATCH_NOT_FOUND is code_of(lambda: Desk().store.complete(PANE, OK, "x"))


def test_completion_by_id_checks_the_pane() -> None:
    """A completion by id must come from the pane that the dispatch is bound to."""
    desk = Desk()
    given = desk.given()
    assert Code.DISPATCH_SOURCE_MISMATCH is code_of(lambda: desk.store.complete_by_id(given, "other", OK, "x"))
    assert Code.DISPATCH_NOT_FOUND is code_of(lambda: desk.store.complete_by_id("d9", PANE, OK, "x"))
    assert not desk.store.complete_by_id(given, PANE, OK, "x").replayed


def test_abandon_replay_and_refusal() -> None:
    """Abandoning twice for the same reason is a replay; anything else about a final record is refused."""
    desk = Desk()
    given = desk.given()
    assert DispatchState.ABANDONED is desk.store.abandon(given, "late").record.state
    assert desk.store.abandon(given, "late").replayed
    assert Code.DISPATCH_ALREADY_TERMINAL is code_of(lambda: desk.store.abandon(given, "other"))
    assert Code.DISPATCH_ALREADY_TERMINAL is code_of(lambda: desk.store.complete(PANE, OK, "x"))
    assert Code.DISPATCH_NOT_FOUND is code_of(lambda: desk.store.abandon("d9", "late"))


def test_one_pending_record_per_surface() -> None:
    """A pane with a pending record takes no second one and the refusal carries the record."""
    desk = Desk()
    first = desk.given()
    second = desk.store.issue()
    with pytest.raises(ProwlError) as error:
        desk.store.bind(second.id, DispatchBinding(PANE, "e2"))
    assert Code.DISPATCH_PENDING is error.value.code
    assert {"record": desk.record(first)} == error.value.details


def test_binding_is_idempotent_and_final() -> None:
    """The identical binding is harmless, another one is refused."""
    desk = Desk()
    given = desk.given()
    desk.store.bind(given, DispatchBinding(PANE, "e1", b"target"))
    assert Code.DISPATCH_FAILED is code_of(lambda: desk.store.bind(given, DispatchBinding("other", "e1")))
    desk.store.abandon(given, "x")
    assert Code.DISPATCH_FAILED is code_of(lambda: desk.store.bind(given, DispatchBinding(PANE, "e2")))


def test_capacity_and_eviction_order() -> None:
    """At capacity the oldest final record makes room; pending ones never do, and then there is no more room."""
    desk = Desk(capacity=3)
    oldest, middle, newest = (desk.given(f"pane{number}") for number in range(3))
    assert Code.DISPATCH_CAPACITY_EXCEEDED is code_of(desk.store.issue)
    desk.store.abandon(newest, "x")
    desk.store.abandon(middle, "x")
    issued = desk.store.issue()
    assert [oldest, newest, issued.id] == [entry.record.id for entry in desk.store.entries()]


def test_cancelled_issuance_leaks_nothing() -> None:
    """A dispatch whose delivery failed is gone and its pane is free; a final one is not taken back."""
    desk = Desk()
    desk.store.cancel(desk.given())
    assert desk.store.entries() == ()
    given = desk.given()
    desk.store.complete(PANE, OK, "x")
    desk.store.cancel(given)
    assert DispatchState.COMPLETED is desk.record(given).state


async def test_completion_inside_the_window_wins() -> None:
    """A completion within 300 ms after the turn ended is the answer, and no timer is left."""
    desk = Desk()
    waiting = desk.wait(given := desk.given())
    await asyncio.sleep(0)
    desk.evidence("turn-ended")
    desk.clock.move(0.29)
    desk.store.complete(PANE, OK, "done")
    answer = await waiting
    assert isinstance(answer, Receipt)
    assert desk.record(given) == answer.entry.record
    assert desk.clock.armed == 0


async def test_turn_ended_without_completion_is_incomplete() -> None:
    """300 ms after the turn ended the waiter is told, and the record stays pending for a wait to be armed again."""
    desk = Desk()
    waiting = desk.wait(given := desk.given())
    await asyncio.sleep(0)
    desk.evidence("turn-ended")
    desk.clock.move(0.29)
    assert not waiting.done()
    desk.clock.move(0.02)
    assert Code.DISPATCH_INCOMPLETE is await lost(waiting)
    assert DispatchState.PENDING is desk.record(given).state
    assert Code.DISPATCH_INCOMPLETE is await lost(desk.wait(given))
    assert not desk.store.complete(PANE, OK, "late but fine").replayed


async def test_session_end_is_gone_after_the_window() -> None:
    """300 ms after the session ended the record is lost for good."""
    desk = Desk()
    waiting = desk.wait(given := desk.given())
    await asyncio.sleep(0)
    desk.evidence("session-end")
    desk.clock.move(0.31)
    assert Code.AGENT_GONE is await lost(waiting)
    assert (desk.record(given).state, desk.record(given).gone_reason) == (DispatchState.GONE, GoneReason.SESSION_END)
    assert Code.DISPATCH_ALREADY_TERMINAL is code_of(lambda: desk.store.complete(PANE, OK, "x"))


def test_upgrade_of_incomplete_to_gone_keeps_the_deadline() -> None:
    """A session end after a turn end is committed when the turn end would have been."""
    desk = Desk()
    given = desk.given()
    desk.evidence("turn-ended")
    desk.clock.move(0.2)
    desk.evidence("session-end")
    desk.clock.move(0.11)
    assert DispatchState.GONE is desk.record(given).state


def test_scheduled_candidate_is_not_moved_by_later_ones() -> None:
    """Further turn ends do not extend the window, and a second loss does not change the reason."""
    desk = Desk()
    given = desk.given()
    desk.evidence("session-end")
    desk.clock.move(0.2)
    desk.evidence("turn-ended")
    desk.store.surface_closed(PANE)
    desk.clock.move(0.11)
    assert GoneReason.SESSION_END is desk.record(given).gone_reason


@pytest.mark.parametrize("news", ["session-start", "progress", "activity"])
async def test_activity_cancels_incomplete(news: str) -> None:
    """Activity within the window means that the turn goes on; what was stored before is void too."""
    desk = Desk()
    given = desk.given()
    desk.evidence("turn-ended")
    if news == "activity":
        desk.store.activity(PANE, "e1")
    else:
        desk.evidence(news)
    desk.clock.move(1)
    waiting = desk.wait(given)
    await asyncio.sleep(0)
    assert not waiting.done()
    desk.evidence("needs-input")
    assert Code.DISPATCH_NEEDS_INPUT is await lost(waiting)
    desk.store.activity(PANE, "e1")
    waiting = desk.wait(given, 1.0)
    await asyncio.sleep(0)
    desk.clock.move(1)
    assert Code.WAIT_TIMEOUT is await lost(waiting)


def test_activity_does_not_bring_back_what_is_going() -> None:
    """A scheduled loss is not cancelled by activity."""
    desk = Desk()
    given = desk.given()
    desk.store.surface_closed(PANE)
    desk.store.activity(PANE, "e1")
    desk.evidence("needs-input")
    desk.clock.move(0.31)
    assert DispatchState.GONE is desk.record(given).state


async def test_needs_input_is_told_at_once_and_replayed_to_a_late_waiter() -> None:
    """Every waiter hears of needs-input, also one that comes later; the record stays pending."""
    desk = Desk()
    given = desk.given()
    early = desk.wait(given)
    await asyncio.sleep(0)
    desk.evidence("turn-ended")
    desk.evidence("needs-input")
    assert Code.DISPATCH_NEEDS_INPUT is await lost(early)
    assert Code.DISPATCH_NEEDS_INPUT is await lost(desk.wait(given))
    desk.clock.move(1)
    assert SignalKind.NEEDS_INPUT is getattr(desk.store.find(given), "evidence", None)


def test_evidence_of_another_epoch_is_ignored() -> None:
    """Signals of a later epoch say nothing of a task that was given in an earlier one."""
    desk = Desk()
    given = desk.given(epoch="e1")
    desk.evidence("session-end", "e2")
    desk.store.activity(PANE, "e2")
    desk.clock.move(1)
    assert DispatchState.PENDING is desk.record(given).state


def test_surface_close_without_observation_record() -> None:
    """A close reaches the pending record of any epoch, whether or not anything was recorded of the pane."""
    desk = Desk()
    given = desk.given(epoch="whatever")
    desk.store.surface_closed(PANE)
    desk.store.surface_closed("other")
    desk.clock.move(0.31)
    assert GoneReason.SURFACE_CLOSED is desk.record(given).gone_reason


async def test_two_waiters_see_the_same_outcome() -> None:
    """Reads are not destructive: any number of waiters gets the same receipt, late ones too."""
    desk = Desk()
    given = desk.given()
    waiters = [desk.wait(given) for _ in range(2)]
    await asyncio.sleep(0)
    desk.store.complete(PANE, FAILED, "no")
    answers = [await waiter for waiter in (*waiters, desk.wait(given))]
    assert [getattr(answer, "code", None) for answer in answers] == [Code.DISPATCH_FAILED] * 3
    assert {"no"} == {answer.entry.record.summary for answer in answers if answer.entry}


async def test_waiter_survives_eviction_after_its_answer() -> None:
    """A waiter that has its answer keeps it when the record makes room for another."""
    desk = Desk(capacity=1)
    waiting = desk.wait(given := desk.given())
    await asyncio.sleep(0)
    desk.store.abandon(given, "x")
    desk.store.issue()
    assert Code.DISPATCH_ABANDONED is await lost(waiting)
    assert Code.DISPATCH_NOT_FOUND is await lost(desk.wait(given))


async def test_wait_timeout_shows_the_pending_record() -> None:
    """The timeout leaves the record pending and shows it."""
    desk = Desk()
    waiting = desk.wait(given := desk.given(), 2.0)
    await asyncio.sleep(0)
    desk.clock.move(2)
    answer = await waiting
    assert isinstance(answer, Lost)
    assert (answer.code, answer.waited) == (Code.WAIT_TIMEOUT, 2.0)
    assert answer.entry == desk.store.find(given)


async def test_cancelled_wait_frees_everything() -> None:
    """A cancelled wait leaves no watcher and no timer."""
    desk = Desk()
    waiting = desk.wait(given := desk.given())
    await asyncio.sleep(0)
    assert (desk.store.watcher_count(given), desk.clock.armed) == (1, 1)
    waiting.cancel()
    await asyncio.gather(waiting, return_exceptions=True)
    assert (desk.store.watcher_count(given), desk.clock.armed) == (0, 0)


async def test_cancelled_issuance_ends_its_waits() -> None:
    """A wait for a dispatch that is taken back ends as not found."""
    desk = Desk()
    waiting = desk.wait(given := desk.given())
    await asyncio.sleep(0)
    desk.store.cancel(given)
    assert Code.DISPATCH_NOT_FOUND is await lost(waiting)


class Life(RuleBasedStateMachine):
    """Random calls and evidence on three panes; what is final stays, and the bounds hold."""

    def __init__(self) -> None:
        super().__init__()
        self.desk = Desk(capacity=4)
        self.final: dict[str, DispatchRecord] = {}

    @rule(surface=st.sampled_from("abc"), epoch=st.sampled_from(["e1", "e2"]))
    def give(self, surface: str, epoch: str) -> None:
        """Issue and bind, and take back what cannot be bound."""
        with contextlib.suppress(ProwlError):
            issued = self.desk.store.issue().id
            try:
                self.desk.store.bind(issued, DispatchBinding(surface, epoch))
            except ProwlError:
                self.desk.store.cancel(issued)

    @rule(
        surface=st.sampled_from("abc"), epoch=st.sampled_from(["e1", "e2"]), news=st.sampled_from([*SignalKind, None])
    )
    def hear(self, surface: str, epoch: str, news: SignalKind | None) -> None:
        """Evidence, or activity, of some epoch."""
        if news is None:
            self.desk.store.activity(surface, epoch)
        else:
            self.desk.store.evidence(surface, epoch, news)

    @rule(surface=st.sampled_from("abc"))
    def close(self, surface: str) -> None:
        """A pane closes."""
        self.desk.store.surface_closed(surface)

    @rule(surface=st.sampled_from("abc"), outcome=st.sampled_from(DispatchOutcome))
    def complete(self, surface: str, outcome: DispatchOutcome) -> None:
        """A worker completes."""
        with contextlib.suppress(ProwlError):
            assert self.desk.store.complete(surface, outcome, "x").record.outcome is outcome

    @rule(data=st.data(), reason=st.sampled_from(["x", "y"]))
    def abandon(self, data: st.DataObject, reason: str) -> None:
        """A coordinator gives up."""
        ids = [entry.record.id for entry in self.desk.store.entries()]
        with contextlib.suppress(ProwlError):
            self.desk.store.abandon(data.draw(st.sampled_from([*ids, "none"])), reason)

    @rule(seconds=st.sampled_from([0.1, 0.25, 0.3]))
    def rest(self, seconds: float) -> None:
        """Time passes."""
        self.desk.clock.move(seconds)

    @invariant()
    def final_records_never_change(self) -> None:
        """A receipt, a loss and an abandonment are for good."""
        for entry in self.desk.store.entries():
            if entry.record.state is not DispatchState.PENDING:
                assert entry.record == self.final.setdefault(entry.record.id, entry.record)
            else:
                assert entry.record.id not in self.final

    @invariant()
    def bounds_hold(self) -> None:
        """One pending record a pane, never more than the capacity, one timer a candidate."""
        entries = self.desk.store.entries()
        pending = [entry.binding.surface for entry in entries if entry.pending and entry.binding]
        assert len(pending) == len(set(pending))
        assert len(entries) <= 4
        assert self.desk.clock.armed == sum(entry.candidate is not None for entry in entries)


Life.TestCase.settings = settings(max_examples=80, stateful_step_count=40, deadline=None)
TestLife = Life.TestCase


def wired(desk: Desk) -> World:
    """A world whose evidence goes to the desk, with an agent at work and its dispatch bound to the epoch."""
    world = World(sink=desk.store)
    world.process()
    world.detect("working")
    desk.given(epoch=world.record.epoch)
    return world


def test_detector_removal_alone_never_ends_a_dispatch() -> None:
    """A lost roster row leaves the record pending."""
    desk = Desk()
    world = wired(desk)
    world.records.remove(PANE)
    desk.clock.move(10)
    assert DispatchState.PENDING is desk.record("d1").state


async def test_s8_close_during_a_dispatch_wait() -> None:
    """A pane that closes ends the wait 300 ms later with the lost record."""
    desk = Desk()
    world = wired(desk)
    waiting = desk.wait("d1")
    await asyncio.sleep(0)
    world.records.close(PANE)
    assert DispatchState.PENDING is desk.record("d1").state
    desk.clock.move(0.3)
    assert Code.AGENT_GONE is await lost(waiting)
    assert GoneReason.SURFACE_CLOSED is desk.record("d1").gone_reason


def test_unbound_signal_is_no_evidence_for_a_dispatch() -> None:
    """Only signals bound to the current agent reach a dispatch."""
    desk = Desk()
    world = wired(desk)
    world.process(None)
    world.signal("session-end")
    desk.clock.move(1)
    assert DispatchState.PENDING is desk.record("d1").state


def test_began_working_voids_the_turns_end() -> None:
    """A detector that sees work begin within the window cancels the incomplete finding."""
    desk = Desk()
    world = wired(desk)
    world.signal("turn-ended")
    world.detect("idle")
    world.detect("working")
    desk.clock.move(1)
    assert None is getattr(desk.store.find("d1"), "evidence", "?")
