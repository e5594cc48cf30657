"""The store of dispatches: issue, bind, complete, lose, abandon, wait (signals.md §4).

It runs on the owner's loop. Each change is in memory at once and on its way to the journal; a caller that promises
something awaits ``saved`` first.
"""

import asyncio
import uuid
from collections.abc import Callable, Container, Iterable
from dataclasses import dataclass
from typing import Protocol

from prowl_svc.model.errors import Code, ProwlError
from prowl_svc.model.observation import SignalKind
from prowl_svc.signals import dispatch
from prowl_svc.signals.dispatch import (
    DispatchBinding,
    DispatchEntry,
    DispatchOutcome,
    DispatchRecord,
    GoneReason,
)
from prowl_svc.signals.driver import Schedule, Timer

__all__ = ["CAPACITY", "Dispatches", "Keeper", "Lost", "Receipt", "Settled", "wait_for_receipt"]

CAPACITY = 256


class Keeper(Protocol):
    """Keeps entries across restarts; writes happen elsewhere and in order."""

    def put(self, entry: DispatchEntry) -> None:
        """Remember the entry as it is now."""
        ...

    def forget(self, dispatch_id: str) -> None:
        """Remember it no more."""
        ...

    async def saved(self) -> None:
        """Wait until everything so far is on disk. Raises DISPATCH_FAILED when it cannot be written."""
        ...


class _Nowhere:
    def put(self, entry: DispatchEntry) -> None: ...

    def forget(self, dispatch_id: str) -> None: ...

    async def saved(self) -> None: ...


@dataclass(frozen=True, slots=True)
class Settled:
    """A record after a completion or an abandonment, its binding, and whether it had been so before."""

    record: DispatchRecord
    binding: DispatchBinding | None
    replayed: bool


def _new_id() -> str:
    return str(uuid.uuid4())


class Dispatches:
    """All dispatches, at most ``capacity``; implements the evidence sink of the pane records.

    ``clock`` is monotonic seconds and ``schedule`` calls later on it. Errors are ProwlError.
    """

    def __init__(
        self,
        *,
        clock: Callable[[], float],
        now_ns: Callable[[], int],
        schedule: Schedule,
        keeper: Keeper | None = None,
        capacity: int = CAPACITY,
        new_id: Callable[[], str] = _new_id,
    ) -> None:
        self._clock = clock
        self._now_ns = now_ns
        self._schedule = schedule
        self._keeper: Keeper = keeper if keeper is not None else _Nowhere()
        self._capacity = capacity
        self._new_id = new_id
        self._entries: dict[str, DispatchEntry] = {}  # in order of issuance
        self._timers: dict[str, tuple[float, Timer]] = {}
        self._watchers: dict[str, dict[Callable[[DispatchEntry | None], object], None]] = {}

    def restore(self, entries: Iterable[DispatchEntry], readopted: Container[str]) -> None:
        """Take over entries of an earlier run, oldest first; a pending one whose pane is not back is lost (§4.2)."""
        for entry in entries:
            binding = entry.binding
            self._entries[entry.record.id] = entry
            if entry.pending and (binding is None or binding.surface not in readopted):
                self._set(dispatch.gone(entry, GoneReason.SURFACE_CLOSED, self._now_ns()))

    # A coordinator's calls

    def issue(self) -> DispatchRecord:
        """Begin a record that is not bound yet; the oldest final one makes room. Raises DISPATCH_CAPACITY_EXCEEDED."""
        if len(self._entries) >= self._capacity:
            oldest = next((key for key, entry in self._entries.items() if not entry.pending), None)
            if oldest is None:
                raise ProwlError(
                    Code.DISPATCH_CAPACITY_EXCEEDED, "Too many dispatches are pending; complete or abandon some first."
                )
            self._drop(oldest)
        entry = DispatchEntry(DispatchRecord(self._new_id(), self._now_ns()))
        self._set(entry)
        return entry.record

    def cancel(self, dispatch_id: str) -> None:
        """Take back an issued record whose launch or delivery failed; a final one stays."""
        entry = self._entries.get(dispatch_id)
        if entry is not None and entry.pending:
            self._drop(dispatch_id)

    def bind(self, dispatch_id: str, binding: DispatchBinding) -> None:
        """Tie a pending record to its pane, once; the identical binding again is harmless.

        Raises DISPATCH_PENDING (details: record) when the pane holds another pending record, else DISPATCH_FAILED.
        """
        entry = self._require(dispatch_id)
        if entry.binding == binding:
            return
        if entry.binding is not None or not entry.pending:
            raise ProwlError(Code.DISPATCH_FAILED, "The dispatch is bound already.")
        self.refuse_pending(binding.surface)
        self._set(DispatchEntry(entry.record, binding))

    def refuse_pending(self, surface: str) -> None:
        """Raise DISPATCH_PENDING with the record when the pane holds a pending one."""
        held = self.pending(surface)
        if held is not None:
            raise ProwlError(
                Code.DISPATCH_PENDING, "The pane has a pending dispatch; wait for it or abandon it.", {"record": held}
            )

    def abandon(self, dispatch_id: str, reason: str) -> Settled:
        """Give a pending dispatch up. Raises DISPATCH_NOT_FOUND or DISPATCH_ALREADY_TERMINAL."""
        entry, replayed = dispatch.abandon(self._require(dispatch_id), reason, self._now_ns())
        return self._settled(entry, replayed)

    # A worker's calls

    def complete(self, surface: str, outcome: DispatchOutcome, summary: str) -> Settled:
        """Complete the pane's pending record; without one, its latest record answers as replay or conflict (§4.2).

        Raises DISPATCH_NOT_FOUND, DISPATCH_ALREADY_COMPLETED or DISPATCH_ALREADY_TERMINAL.
        """
        held = [entry for entry in self._entries.values() if entry.binding and entry.binding.surface == surface]
        if not held:
            raise ProwlError(Code.DISPATCH_NOT_FOUND, "The pane never held a dispatch.")
        chosen = next((entry for entry in held if entry.pending), held[-1])
        return self._settled(*dispatch.complete(chosen, outcome, summary, self._now_ns()))

    def complete_by_id(self, dispatch_id: str, surface: str, outcome: DispatchOutcome, summary: str) -> Settled:
        """Complete a record by id for a caller in its pane. Raises also DISPATCH_SOURCE_MISMATCH."""
        entry = self._require(dispatch_id)
        if entry.binding is None or entry.binding.surface != surface:
            raise ProwlError(Code.DISPATCH_SOURCE_MISMATCH, "The dispatch belongs to another pane.")
        return self._settled(*dispatch.complete(entry, outcome, summary, self._now_ns()))

    # Reading

    def find(self, dispatch_id: str) -> DispatchEntry | None:
        """Return the entry of an id."""
        return self._entries.get(dispatch_id)

    def pending(self, surface: str) -> DispatchRecord | None:
        """Return the pane's pending record, if it has one."""
        for entry in self._entries.values():
            if entry.pending and entry.binding is not None and entry.binding.surface == surface:
                return entry.record
        return None

    def entries(self) -> tuple[DispatchEntry, ...]:
        """Return all entries in order of issuance."""
        return tuple(self._entries.values())

    def watch(self, dispatch_id: str, watcher: Callable[[DispatchEntry | None], object]) -> Callable[[], None]:
        """Call ``watcher`` after each change of the entry, and with None once it is taken back; return how to stop."""
        watchers = self._watchers.setdefault(dispatch_id, {})
        watchers[watcher] = None

        def stop() -> None:
            watchers.pop(watcher, None)
            if not watchers and self._watchers.get(dispatch_id) is watchers:
                del self._watchers[dispatch_id]

        return stop

    def watcher_count(self, dispatch_id: str) -> int:
        """Return how many watchers an entry has."""
        return len(self._watchers.get(dispatch_id, {}))

    async def saved(self) -> None:
        """Wait until every change so far is durable. Raises DISPATCH_FAILED when it cannot be saved."""
        await self._keeper.saved()

    # Evidence from the pane records

    def evidence(self, surface: str, epoch: str, kind: SignalKind) -> None:
        """A signal of the pane's current agent arrived; only a dispatch of that very epoch cares."""
        for entry in self._bound(surface, epoch):
            self._set(dispatch.on_signal(entry, kind, self._clock()))

    def activity(self, surface: str, epoch: str) -> None:
        """The detector saw the pane's agent begin to work."""
        for entry in self._bound(surface, epoch):
            self._set(dispatch.on_activity(entry))

    def surface_closed(self, surface: str) -> None:
        """The pane closed: its pending record will be lost, whatever its epoch."""
        for entry in self._bound(surface, None):
            self._set(dispatch.on_closed(entry, self._clock()))

    # Inside

    def _bound(self, surface: str, epoch: str | None) -> list[DispatchEntry]:
        return [
            entry
            for entry in self._entries.values()
            if entry.pending
            and entry.binding is not None
            and entry.binding.surface == surface
            and epoch in (None, entry.binding.epoch)
        ]

    def _require(self, dispatch_id: str) -> DispatchEntry:
        entry = self._entries.get(dispatch_id)
        if entry is None:
            raise ProwlError(Code.DISPATCH_NOT_FOUND, "There is no such dispatch.")
        return entry

    def _settled(self, entry: DispatchEntry, replayed: bool) -> Settled:
        if replayed:
            self._keeper.put(entry)  # an answer that could not be saved the first time is saved now
        else:
            self._set(entry)
        return Settled(entry.record, entry.binding, replayed)

    def _set(self, entry: DispatchEntry) -> None:
        dispatch_id = entry.record.id
        old = self._entries.get(dispatch_id)
        if entry == old:
            return
        self._entries[dispatch_id] = entry
        if old is None or (old.record, old.binding) != (entry.record, entry.binding):
            self._keeper.put(entry)
        self._time(dispatch_id, entry.candidate.due if entry.candidate else None)
        self._tell(dispatch_id, entry)

    def _drop(self, dispatch_id: str) -> None:
        del self._entries[dispatch_id]
        self._keeper.forget(dispatch_id)
        self._time(dispatch_id, None)
        self._tell(dispatch_id, None)

    def _tell(self, dispatch_id: str, entry: DispatchEntry | None) -> None:
        for watcher in tuple(self._watchers.get(dispatch_id, ())):
            watcher(entry)

    def _time(self, dispatch_id: str, due: float | None) -> None:
        """Keep exactly one timer per candidate."""
        running = self._timers.get(dispatch_id)
        if running is not None:
            if running[0] == due:
                return
            running[1].cancel()
            del self._timers[dispatch_id]
        if due is not None:
            timer = self._schedule(max(0.0, due - self._clock()), lambda: self._expire(dispatch_id, due))
            self._timers[dispatch_id] = (due, timer)

    def _expire(self, dispatch_id: str, due: float) -> None:
        self._timers.pop(dispatch_id, None)
        entry = self._entries.get(dispatch_id)
        if entry is not None:
            # A timer may fire a hair early by another clock; its time has come all the same.
            self._set(dispatch.commit(entry, max(due, self._clock()), self._now_ns()))


@dataclass(frozen=True, slots=True)
class Receipt:
    """A successful completion; ``waited`` is seconds."""

    entry: DispatchEntry
    waited: float


@dataclass(frozen=True, slots=True)
class Lost:
    """Why a wait for a receipt failed; the entry is None only when there is no such dispatch (any more)."""

    code: Code
    entry: DispatchEntry | None
    waited: float


async def wait_for_receipt(
    dispatches: Dispatches,
    dispatch_id: str,
    timeout_s: float,
    *,
    clock: Callable[[], float],
    schedule: Schedule | None = None,
) -> Receipt | Lost:
    """Wait for the receipt of a dispatch, never satisfied by states or screens (§3.7).

    A final record and stored evidence answer at once. Cancellation frees everything at once.
    """
    loop = asyncio.get_running_loop()
    schedule = schedule if schedule is not None else loop.call_later
    started = clock()
    found: asyncio.Future[Receipt | Lost] = loop.create_future()

    def judge(entry: DispatchEntry | None) -> None:
        if found.done():
            return
        answer = Code.DISPATCH_NOT_FOUND if entry is None else dispatch.verdict(entry)
        if isinstance(answer, DispatchRecord) and entry is not None:
            found.set_result(Receipt(entry, clock() - started))
        elif isinstance(answer, Code):
            found.set_result(Lost(answer, entry, clock() - started))

    def expire() -> None:
        if not found.done():
            found.set_result(Lost(Code.WAIT_TIMEOUT, dispatches.find(dispatch_id), clock() - started))

    stop = dispatches.watch(dispatch_id, judge)
    timer = schedule(timeout_s, expire)
    try:
        judge(dispatches.find(dispatch_id))
        return await found
    finally:
        stop()
        timer.cancel()
