"""The record kept for each live pane, and the two changes everything else is made of (signals.md §2.5, §2.7, §10.4)."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Any

from prowl_svc.model.observation import AgentEntry, Binding, Confidence, Signal, SignalKind, SignalRecorded
from prowl_svc.model.process import Generation

__all__ = [
    "COOPERATIVE",
    "NO_CHANNELS",
    "OBSERVED",
    "PARKING_LIMIT",
    "VERIFIED_LIVE",
    "Ancestry",
    "Channel",
    "Facts",
    "HookPayload",
    "HookRecord",
    "NewEpoch",
    "Parked",
    "Recorded",
    "Step",
    "SurfaceRecord",
    "record_signal",
    "rotate",
]

COOPERATIVE = "cooperative_cli"
OBSERVED = "observed"
VERIFIED_LIVE = "verified_live"
PARKING_LIMIT = 8

Ancestry = tuple[Generation, ...]
"""The caller's generations from itself up to its pane's root; hops without a readable start time are left out."""

NewEpoch = Callable[[], str]
"""Makes an opaque id that was never used before."""


@dataclass(frozen=True, slots=True)
class Facts:
    """What the detector knows of a pane right now: its launch process, and its session if exact or high."""

    generation: Generation | None = None
    session: str | None = None


@dataclass(frozen=True, slots=True)
class Channel:
    """The evidence of one source within the current epoch; ``state`` is ``observed`` or ``verified_live``."""

    state: str
    confidence: Confidence
    events: frozenset[SignalKind]
    last_seen: int
    session_id: str | None = None


NO_CHANNELS: Mapping[str, Channel] = MappingProxyType({})


@dataclass(frozen=True, slots=True)
class HookPayload:
    """A native event as a bridge sent it, its directory already resolved (signals.md §5.3); ``at`` is its receipt."""

    token: str = field(repr=False)
    runtime: str
    native_event: str
    kind: SignalKind
    cwd: str
    session_id: str
    at: int
    detail: str | None = None


@dataclass(frozen=True, slots=True)
class Parked:
    """A payload that came before the launch process was known, with its sender's frozen ancestry."""

    payload: HookPayload
    ancestry: Ancestry


@dataclass(frozen=True, slots=True)
class HookRecord:
    """A registered launch and what its events have established so far (signals.md §5.1, §5.6).

    ``table`` maps the runtime's event names to signal kinds. ``session`` is that of the last accepted event.
    ``private_file`` is retired together with the record.
    """

    token: str = field(repr=False)
    runtime: str
    cwd: str
    table: Mapping[str, SignalKind]
    private_file: str | None = None
    generation: Generation | None = None
    session: str | None = None
    retired: frozenset[str] = frozenset()
    superseded: str | None = None
    suppressed: str | None = None
    parked: tuple[Parked, ...] = ()

    @property
    def source(self) -> str:
        """The channel and source name of this runtime's hooks."""
        return f"hook_{self.runtime}"

    @property
    def covered(self) -> frozenset[SignalKind]:
        """The kinds that the registered events can report."""
        return frozenset(self.table.values())

    @property
    def announcing(self) -> bool:
        """Whether the runtime announces its sessions, so that a session start settles which one is current."""
        return SignalKind.SESSION_START in self.covered


@dataclass(frozen=True, slots=True)
class SurfaceRecord:
    """All that is known of one live pane. Every change makes a new value.

    ``active_terminal`` is the level that waits read. ``detector_session`` is the last trusted session that the
    detector named, whether or not it was accepted. ``deadline`` is a raw process start time.
    """

    epoch: str
    revision: int = 0
    agent: AgentEntry | None = None
    latest_signal: Signal | None = None
    latest_binding: Binding | None = None
    latest_current: Signal | None = None
    active_terminal: Signal | None = None
    channels: Mapping[str, Channel] = field(default_factory=lambda: NO_CHANNELS)
    generation: Generation | None = None
    session: str | None = None
    detector_session: str | None = None
    sessionless_ok: bool = True
    awaiting_first: bool = False
    deadline: int | None = None
    hook: HookRecord | None = None


@dataclass(frozen=True, slots=True)
class Recorded:
    """An event to publish and the record just after it, so that every event can be judged by itself."""

    event: SignalRecorded
    record: SurfaceRecord


@dataclass(frozen=True, slots=True)
class Step:
    """The outcome of a change: the new record, what to publish in order, and private files to remove."""

    record: SurfaceRecord
    events: tuple[Recorded, ...] = ()
    retired_files: tuple[str, ...] = ()


def rotate(record: SurfaceRecord, new_epoch: NewEpoch, *, sessionless_ok: bool) -> SurfaceRecord:
    """Begin a new evidence epoch: what was reported before is diagnostic from now on (signals.md §2.5 item 7)."""
    return replace(
        record,
        epoch=new_epoch(),
        channels=NO_CHANNELS,
        latest_current=None,
        active_terminal=None,
        latest_binding=None if record.latest_signal is None else Binding.STALE,
        sessionless_ok=sessionless_ok,
    )


def record_signal(record: SurfaceRecord, signal: Signal, binding: Binding) -> Step:
    """Take a signal in: always the latest one and an event, evidence only when its binding is current (§2.7)."""
    revision = record.revision + 1
    evidence: dict[str, Any] = {}
    if binding is Binding.CURRENT:
        old = record.channels.get(signal.source)
        channel = Channel(
            state=old.state if old else OBSERVED,
            confidence=signal.confidence,
            events=(old.events if old else frozenset()) | {signal.kind},
            last_seen=signal.at,
            session_id=signal.session_id or (old.session_id if old else None),
        )
        evidence = {
            "latest_current": signal,
            "active_terminal": signal if signal.kind.terminal else None,
            "channels": MappingProxyType({**record.channels, signal.source: channel}),
        }
    record = replace(record, revision=revision, latest_signal=signal, latest_binding=binding, **evidence)
    return Step(record, (Recorded(SignalRecorded(signal, binding, revision), record),))
