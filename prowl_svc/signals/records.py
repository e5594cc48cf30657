"""The one owner of what is known of each live pane: applies changes, publishes them, informs waits and dispatches.

Every method runs on the owner's loop and none of them waits; the order inside each is that of signals.md §1.7.
"""

import logging
import uuid
from collections.abc import Callable
from dataclasses import replace
from typing import Protocol

from prowl_svc.model.errors import Code, ProwlError
from prowl_svc.model.observation import (
    AgentEntry,
    Binding,
    Changed,
    Closed,
    Removed,
    Signal,
    SignalKind,
    Snapshot,
)
from prowl_svc.observe.hub import Hub, Observer
from prowl_svc.signals import epochs, hooks
from prowl_svc.signals.surface import Ancestry, Facts, HookPayload, HookRecord, Step, SurfaceRecord

__all__ = ["LAUNCH_WINDOW_S", "EvidenceSink", "Listener", "NoDispatches", "Records", "rejected_hook"]

LAUNCH_WINDOW_S = 10
_WARNING_EVERY_NS = 30 * 10**9

Listener = Callable[[SurfaceRecord | None], object]
"""Called with a pane's record after each of its events, and with None once it closed."""

_log = logging.getLogger("prowl.signals")


class EvidenceSink(Protocol):
    """What the dispatch store wants to know (signals.md §4.6)."""

    def evidence(self, surface: str, epoch: str, kind: SignalKind) -> None:
        """A signal bound to the current agent arrived."""
        ...

    def activity(self, surface: str, epoch: str) -> None:
        """The detector saw the agent begin to work."""
        ...

    def surface_closed(self, surface: str) -> None:
        """The pane closed."""
        ...


class NoDispatches:
    """A sink for services without dispatches."""

    def evidence(self, surface: str, epoch: str, kind: SignalKind) -> None:
        """Ignore it."""

    def activity(self, surface: str, epoch: str) -> None:
        """Ignore it."""

    def surface_closed(self, surface: str) -> None:
        """Ignore it."""


def rejected_hook() -> ProwlError:
    """The one opaque refusal that every native hook sender gets (signals.md §5.2)."""
    return ProwlError(Code.SOURCE_REQUIRED, "Managed agent hook signal rejected.")


def _new_epoch() -> str:
    return str(uuid.uuid4())


class Records:
    """The records of all live panes.

    ``facts`` tells the detector's present view of a pane and is asked before every read, so it should look at the
    process itself. ``now_ns`` is wall-clock nanoseconds. ``process_clock`` is the present moment in raw process
    start-time units, of which ``units_per_second`` make a second. ``retire_file`` removes a private file.
    """

    def __init__(
        self,
        hub: Hub,
        facts: Callable[[str], Facts],
        *,
        now_ns: Callable[[], int],
        process_clock: Callable[[], int],
        units_per_second: int,
        sink: EvidenceSink | None = None,
        retire_file: Callable[[str], None] = lambda path: None,
        new_epoch: Callable[[], str] = _new_epoch,
    ) -> None:
        self._hub = hub
        self._facts = facts
        self._now_ns = now_ns
        self._process_clock = process_clock
        self._launch_window = LAUNCH_WINDOW_S * units_per_second
        self._sink: EvidenceSink = sink if sink is not None else NoDispatches()
        self._retire_file = retire_file
        self._new_epoch = new_epoch
        self._records: dict[str, SurfaceRecord] = {}
        self._listeners: dict[str, dict[Listener, None]] = {}
        self._warned_at: int | None = None

    # Panes

    def open(self, surface: str) -> None:
        """Begin the record of a new pane; a pane that is open already stays as it is."""
        self._records.setdefault(surface, SurfaceRecord(epoch=self._new_epoch()))

    def close(self, surface: str) -> None:
        """End a pane: revoke its hook, publish the agent's removal and the close, tell dispatches and listeners."""
        record = self._records.get(surface)
        if record is not None:
            self._settle(surface, hooks.revoke(record, self._new_epoch))
            self._publish_removal(surface)
            record = self._records.pop(surface)
            self._hub.publish(surface, Closed(record.revision))
        self._sink.surface_closed(surface)
        for listener in self._listeners.pop(surface, {}):
            listener(None)

    def live(self, surface: str) -> bool:
        """Tell whether the pane is open."""
        return surface in self._records

    def surfaces(self) -> tuple[str, ...]:
        """Return the ids of the open panes, oldest first."""
        return tuple(self._records)

    # The detector

    def change(self, surface: str, entry: AgentEntry) -> None:
        """Take the detector's entry for a pane; an equal one only refreshes the epoch, a closed pane is ignored."""
        record = self._records.get(surface)
        if record is None:
            return
        changed, began = epochs.change_entry(record, entry)
        if changed is not record:
            self._records[surface] = changed
            self._hub.publish(surface, Changed(entry, changed.revision))
        current = self._refresh(surface)
        if began:
            self._sink.activity(surface, current.epoch)
        if changed is not record:
            self._notify(surface)

    def amend(self, surface: str, entry: AgentEntry) -> None:
        """Take what observers are not told of, such as another reason for the same state (detection.md §4.4).

        Waits read it; the revision stays.
        """
        record = self._records.get(surface)
        if record is None or record.agent is None or record.agent == entry:
            return
        self._records[surface] = replace(record, agent=entry)
        self._notify(surface)

    def remove(self, surface: str) -> None:
        """Take the detector's word that the agent left: revoke its hook, then publish ``removed`` if it was there."""
        record = self._records.get(surface)
        if record is None:
            return
        self._settle(surface, hooks.revoke(record, self._new_epoch))
        if self._publish_removal(surface):
            self._notify(surface)

    # Reading

    def read(self, surface: str) -> SurfaceRecord | None:
        """Return the pane's record with its epoch brought up to date, or None if the pane is not open."""
        return self._refresh(surface) if surface in self._records else None

    def observe(self, surface: str) -> Observer:
        """Subscribe to a pane, its snapshot taken in the same step; a closed one gives the finite stream (§1.1)."""
        record = self.read(surface)
        if record is None:
            return self._hub.absent()
        return self._hub.subscribe(
            surface, Snapshot(record.agent, record.latest_signal, record.revision, record.latest_binding)
        )

    def listen(self, surface: str, listener: Listener) -> Callable[[], None]:
        """Call ``listener`` after each event of the pane, until the returned function is called."""
        listeners = self._listeners.setdefault(surface, {})
        listeners[listener] = None

        def stop() -> None:
            listeners.pop(listener, None)
            if not listeners and self._listeners.get(surface) is listeners:
                del self._listeners[surface]

        return stop

    def listener_count(self, surface: str) -> int:
        """Return how many listeners a pane has."""
        return len(self._listeners.get(surface, {}))

    # Evidence

    def begin_launch(self, surface: str, hook: HookRecord | None = None) -> str:
        """Begin the epoch of a launch in the pane, with its hook registration if managed; return the epoch (§5.1).

        Raises AGENT_GONE when the pane is closed.
        """
        record = self._require(surface)
        step = epochs.begin(record, self._process_clock() + self._launch_window, self._new_epoch, hook)
        self._settle(surface, step)
        return step.record.epoch

    def revoke(self, surface: str) -> None:
        """Drop the pane's hook registration and what it proved, as when a launch is rolled back (§5.7)."""
        record = self._records.get(surface)
        if record is not None:
            self._settle(surface, hooks.revoke(record, self._new_epoch))

    def signal(self, surface: str, signal: Signal, ancestry: Ancestry) -> Binding:
        """Record a cooperative signal of a caller that was attributed to the pane; return its binding (§2.6).

        Raises AGENT_GONE when the pane closed in between.
        """
        self._require(surface)
        step, binding = epochs.signal(self._refresh(surface), signal, ancestry)
        self._settle(surface, step)
        return binding

    def hook_signal(self, surface: str, payload: HookPayload, ancestry: Ancestry) -> Signal:
        """Take a native hook's payload; return its receipt, also when it was only parked (§5.2, §5.3).

        Raises the opaque refusal for every other outcome; the reason goes to the debug log alone.
        """
        if surface not in self._records:
            _log.debug("hook signal refused: pane closed")
            raise rejected_hook()
        step = hooks.accept(self._refresh(surface), payload, ancestry, self._new_epoch)
        if step.signal is None:
            _log.debug("hook signal refused: %s", step.refusal)
            if step.refusal is hooks.Refusal.PARKING_FULL:
                self._warn_parking_full(surface)
            raise rejected_hook()
        self._settle(surface, step)
        return step.signal

    # Inside

    def _require(self, surface: str) -> SurfaceRecord:
        record = self._records.get(surface)
        if record is None:
            raise ProwlError(Code.AGENT_GONE, "The pane closed.")
        return record

    def _refresh(self, surface: str) -> SurfaceRecord:
        step = epochs.refresh(self._records[surface], self._facts(surface), self._new_epoch)
        self._settle(surface, step)
        return step.record

    def _settle(self, surface: str, step: Step) -> None:
        """Store a step, publish its events one by one, and pass on what counts as evidence."""
        self._records[surface] = step.record
        for path in step.retired_files:
            self._retire_file(path)
        for recorded in step.events:
            self._hub.publish(surface, recorded.event)
            if recorded.event.binding is Binding.CURRENT:
                self._sink.evidence(surface, recorded.record.epoch, recorded.event.signal.kind)
            for listener in tuple(self._listeners.get(surface, ())):
                listener(recorded.record)

    def _publish_removal(self, surface: str) -> bool:
        record = self._records[surface]
        removed = epochs.remove_entry(record)
        if removed is record:
            return False
        self._records[surface] = removed
        self._hub.publish(surface, Removed(removed.revision))
        return True

    def _notify(self, surface: str) -> None:
        for listener in tuple(self._listeners.get(surface, ())):
            listener(self._records[surface])

    def _warn_parking_full(self, surface: str) -> None:
        now = self._now_ns()
        if self._warned_at is None or now - self._warned_at >= _WARNING_EVERY_NS:
            self._warned_at = now
            _log.warning("pane %s: more early hook events than can be kept; further ones are refused", surface)
