"""The ``signals`` object of rosters, waits and dispatch errors, as plain values (signals.md §2.8)."""

from dataclasses import dataclass

from prowl_svc.model.observation import Binding, Confidence, Signal
from prowl_svc.signals.surface import SurfaceRecord

__all__ = ["ChannelView", "Signals", "diagnostic", "roster"]


@dataclass(frozen=True, slots=True)
class ChannelView:
    """One channel for people and programs; ``events`` are the wire names, sorted; ``last_seen_at`` is nanoseconds."""

    source: str
    state: str
    confidence: Confidence
    events: tuple[str, ...]
    last_seen_at: int
    session_id: str | None


@dataclass(frozen=True, slots=True)
class Signals:
    """Channels sorted by source, and the last signal with its binding; both of the latter are set or neither."""

    channels: tuple[ChannelView, ...] = ()
    last: Signal | None = None
    last_binding: Binding | None = None


def diagnostic(record: SurfaceRecord | None) -> Signals:
    """Return the form for waits and dispatch errors, which shows the last signal whatever its binding."""
    if record is None:
        return Signals()
    channels = tuple(
        ChannelView(source, held.state, held.confidence, tuple(sorted(held.events)), held.last_seen, held.session_id)
        for source, held in sorted(record.channels.items())
    )
    if record.latest_signal is None:
        return Signals(channels)
    return Signals(channels, record.latest_signal, record.latest_binding or Binding.UNBOUND)


def roster(record: SurfaceRecord) -> Signals | None:
    """Return the form for roster rows, which hides a last signal that is not current; None when nothing is left."""
    signals = diagnostic(record)
    if signals.last_binding is not Binding.CURRENT:
        signals = Signals(signals.channels)
    return signals if signals.channels or signals.last else None
