"""Model values to messages of the contract, and the encoder of observation events."""

from collections.abc import Iterable

from google.protobuf.timestamp_pb2 import Timestamp
from prowl.v1 import agents_pb2, common_pb2, dispatch_pb2

from prowl_svc.model import observation as model
from prowl_svc.model.state import DisplayState, RawState
from prowl_svc.signals.dispatch import DispatchOutcome, DispatchRecord, DispatchState, GoneReason
from prowl_svc.signals.payload import Signals

__all__ = [
    "agent_entry",
    "binding",
    "confidence",
    "dispatch_record",
    "encode_event",
    "kinds",
    "raw_state",
    "recorded_signal",
    "signals",
    "status",
    "timestamp",
]

_STATUS = {
    DisplayState.WORKING: common_pb2.AGENT_STATUS_WORKING,
    DisplayState.BLOCKED: common_pb2.AGENT_STATUS_BLOCKED,
    DisplayState.DONE: common_pb2.AGENT_STATUS_DONE,
    DisplayState.IDLE: common_pb2.AGENT_STATUS_IDLE,
}
_RAW = {
    RawState.WORKING: common_pb2.RAW_STATE_WORKING,
    RawState.BLOCKED: common_pb2.RAW_STATE_BLOCKED,
    RawState.IDLE: common_pb2.RAW_STATE_IDLE,
    RawState.UNKNOWN: common_pb2.RAW_STATE_UNKNOWN,
}
_CONFIDENCE = {
    "exact": common_pb2.CONFIDENCE_EXACT,
    "high": common_pb2.CONFIDENCE_HIGH,
    "medium": common_pb2.CONFIDENCE_MEDIUM,
    "heuristic": common_pb2.CONFIDENCE_HEURISTIC,
}
_KIND = {
    model.SignalKind.TURN_ENDED: common_pb2.SIGNAL_KIND_TURN_ENDED,
    model.SignalKind.NEEDS_INPUT: common_pb2.SIGNAL_KIND_NEEDS_INPUT,
    model.SignalKind.SESSION_START: common_pb2.SIGNAL_KIND_SESSION_START,
    model.SignalKind.SESSION_END: common_pb2.SIGNAL_KIND_SESSION_END,
    model.SignalKind.PROGRESS: common_pb2.SIGNAL_KIND_PROGRESS,
}
_BINDING = {
    None: common_pb2.SIGNAL_BINDING_UNSPECIFIED,
    model.Binding.CURRENT: common_pb2.SIGNAL_BINDING_CURRENT,
    model.Binding.UNBOUND: common_pb2.SIGNAL_BINDING_UNBOUND,
    model.Binding.STALE: common_pb2.SIGNAL_BINDING_STALE,
}
_DISPATCH_STATE = {
    DispatchState.PENDING: dispatch_pb2.DISPATCH_STATE_PENDING,
    DispatchState.COMPLETED: dispatch_pb2.DISPATCH_STATE_COMPLETED,
    DispatchState.GONE: dispatch_pb2.DISPATCH_STATE_GONE,
    DispatchState.ABANDONED: dispatch_pb2.DISPATCH_STATE_ABANDONED,
}
_OUTCOME = {
    None: dispatch_pb2.DISPATCH_OUTCOME_UNSPECIFIED,
    DispatchOutcome.SUCCEEDED: dispatch_pb2.DISPATCH_OUTCOME_SUCCEEDED,
    DispatchOutcome.FAILED: dispatch_pb2.DISPATCH_OUTCOME_FAILED,
}
_GONE = {
    None: dispatch_pb2.GONE_REASON_UNSPECIFIED,
    GoneReason.SESSION_END: dispatch_pb2.GONE_REASON_SESSION_END,
    GoneReason.SURFACE_CLOSED: dispatch_pb2.GONE_REASON_SURFACE_CLOSED,
}


def timestamp(nanoseconds: int) -> Timestamp:
    """Return wall-clock nanoseconds as a Timestamp."""
    return Timestamp(seconds=nanoseconds // 1_000_000_000, nanos=nanoseconds % 1_000_000_000)


def status(state: DisplayState) -> "common_pb2.AgentStatus.ValueType":
    """Return the display state's enum value."""
    return _STATUS[state]


def raw_state(state: RawState) -> "common_pb2.RawState.ValueType":
    """Return the raw state's enum value."""
    return _RAW[state]


def confidence(value: str) -> "common_pb2.Confidence.ValueType":
    """Return the enum value of a confidence's wire string."""
    return _CONFIDENCE[value]


def kinds(values: Iterable[model.SignalKind]) -> "list[common_pb2.SignalKind.ValueType]":
    """Return the enum values of signal kinds, sorted by their wire strings."""
    return [_KIND[kind] for kind in sorted(values)]


def binding(value: model.Binding | None) -> "common_pb2.SignalBinding.ValueType":
    """Return the enum value of a binding."""
    return _BINDING[value]


def agent_entry(entry: model.AgentEntry) -> common_pb2.AgentEntry:
    """Return the roster entry's message."""
    message = common_pb2.AgentEntry(
        type=entry.agent.value,
        name=entry.agent.display_name,
        status=_STATUS[entry.status],
        raw_state=_RAW[entry.raw_state],
        detection_reason=entry.detection_reason or "",
        screen_reason=entry.screen_reason or "",
        last_changed_at=timestamp(entry.last_changed_at),
        style=entry.style or "",
        title=entry.title,
        outstanding=entry.outstanding,
        icon=entry.icon or entry.agent.display_name,
    )
    if entry.session is not None:
        message.session.id = entry.session.id
        message.session.confidence = _CONFIDENCE[entry.session.confidence]
        message.session.source = entry.session.source
        if entry.session.path is not None:
            message.session.path = entry.session.path
    return message


def recorded_signal(signal: model.Signal) -> common_pb2.RecordedSignal:
    """Return the signal's message; the native event name stays inside."""
    return common_pb2.RecordedSignal(
        kind=_KIND[signal.kind],
        progress=signal.progress,
        source=signal.source,
        confidence=_CONFIDENCE[signal.confidence],
        at=timestamp(signal.at),
        session_id=signal.session_id,
        detail=signal.detail,
        claimed_origin=signal.claimed_origin,
    )


def signals(value: Signals) -> common_pb2.Signals:
    """Return channels and last signal as their message."""
    message = common_pb2.Signals(
        channels=[
            common_pb2.SignalChannel(
                source=channel.source,
                state=channel.state,
                confidence=_CONFIDENCE[channel.confidence],
                events=kinds(model.SignalKind(event) for event in channel.events),
                last_seen_at=timestamp(channel.last_seen_at),
                session_id=channel.session_id,
            )
            for channel in value.channels
        ]
    )
    if value.last is not None:
        message.last.CopyFrom(recorded_signal(value.last))
        message.last_binding = binding(value.last_binding)
    return message


def dispatch_record(record: DispatchRecord) -> dispatch_pb2.DispatchRecord:
    """Return a dispatch's record as its message."""
    return dispatch_pb2.DispatchRecord(
        id=record.id,
        state=_DISPATCH_STATE[record.state],
        created_at=timestamp(record.created_at),
        outcome=_OUTCOME[record.outcome],
        summary=record.summary,
        completed_at=_optional(record.completed_at),
        gone_at=_optional(record.gone_at),
        gone_reason=_GONE[record.gone_reason],
        abandoned_at=_optional(record.abandoned_at),
        reason=record.reason,
    )


def _optional(nanoseconds: int | None) -> Timestamp | None:
    return None if nanoseconds is None else timestamp(nanoseconds)


def encode_event(event: model.ObserveEvent) -> bytes:
    """Return an event as one element of ``ObserveResponse.events``, so that joined elements are one message."""
    message = agents_pb2.ObserveEvent(revision=event.revision)
    match event:
        case model.Snapshot():
            message.snapshot.SetInParent()
            if event.agent is not None:
                message.snapshot.agent.CopyFrom(agent_entry(event.agent))
            if event.latest_signal is not None:
                message.snapshot.latest_signal.CopyFrom(recorded_signal(event.latest_signal))
                message.snapshot.latest_binding = binding(event.latest_binding)
        case model.Changed():
            message.changed.CopyFrom(agent_entry(event.agent))
        case model.Removed():
            message.removed.SetInParent()
        case model.SignalRecorded():
            message.signal.signal.CopyFrom(recorded_signal(event.signal))
            message.signal.binding = binding(event.binding)
        case model.Closed():
            message.surface_closed.SetInParent()
    return agents_pb2.ObserveResponse(events=[message]).SerializeToString()
