"""Messages of the contract as the JSON objects of signals.md §7: members that do not apply are left out, never null."""

from datetime import UTC, datetime
from typing import Any

from google.protobuf.message import Message
from google.protobuf.timestamp_pb2 import Timestamp
from prowl.v1 import agents_pb2, common_pb2, dispatch_pb2, errors_pb2, panes_pb2, profiles_pb2
from prowl_client.events import Gap, Observed

__all__ = [
    "agent_row",
    "binding",
    "confidence",
    "details",
    "kind",
    "kind_value",
    "moment",
    "observation",
    "observed",
    "pane_row",
    "profile",
    "raw_state",
    "record",
    "roster",
    "screen",
    "signal",
    "signals",
    "status",
    "target",
    "triage",
    "when",
]

Json = dict[str, Any]
_ORDER = {"blocked": 0, "working": 1, "done": 2, "idle": 3}


def _word(enum: Any, value: int, prefix: str) -> str:
    """Return an enum value as its word on the CLI: prefix cut, lower case; a value newer than us as its number."""
    try:
        return str(enum.Name(value)).removeprefix(prefix).lower()
    except ValueError:
        return str(value)


def status(value: int) -> str:
    """Return an AgentStatus as its word."""
    return _word(common_pb2.AgentStatus, value, "AGENT_STATUS_")


def raw_state(value: int) -> str:
    """Return a RawState as its word."""
    return _word(common_pb2.RawState, value, "RAW_STATE_")


def confidence(value: int) -> str:
    """Return a Confidence as its word."""
    return _word(common_pb2.Confidence, value, "CONFIDENCE_")


def kind(value: int) -> str:
    """Return a SignalKind as its word, with dashes."""
    return _word(common_pb2.SignalKind, value, "SIGNAL_KIND_").replace("_", "-")


def kind_value(word: str) -> "common_pb2.SignalKind.ValueType":
    """Return the SignalKind of a word."""
    return common_pb2.SignalKind.Value("SIGNAL_KIND_" + word.replace("-", "_").upper())


def binding(value: int) -> str:
    """Return a SignalBinding as its word."""
    return _word(common_pb2.SignalBinding, value, "SIGNAL_BINDING_")


def moment(at: Timestamp) -> datetime:
    """Return a timestamp as an aware datetime."""
    return datetime.fromtimestamp(at.seconds, UTC).replace(microsecond=at.nanos // 1000)


def when(at: Timestamp) -> str:
    """Return a timestamp as ISO-8601 in UTC with milliseconds."""
    return moment(at).strftime("%Y-%m-%dT%H:%M:%S.") + f"{at.nanos // 1_000_000:03d}Z"


def _optional(message: Message, into: Json, *names: str) -> Json:
    for name in names:
        if message.HasField(name):
            into[name] = getattr(message, name)
    return into


def worktree(message: common_pb2.Worktree) -> Json:
    """Return a worktree."""
    return {
        "id": message.id,
        "name": message.name,
        "path": message.path,
        "root_path": message.root_path,
        "kind": _word(common_pb2.WorktreeKind, message.kind, "WORKTREE_KIND_"),
    }


def tab(message: common_pb2.Tab) -> Json:
    """Return a tab."""
    return {"id": message.id, "title": message.title, "selected": message.selected}


def pane(message: common_pb2.Pane) -> Json:
    """Return a pane."""
    return {
        "id": message.id,
        "title": message.title,
        "cwd": message.cwd if message.HasField("cwd") else None,
        "focused": message.focused,
    }


def target(message: common_pb2.Target) -> Json:
    """Return a resolved target."""
    return {"worktree": worktree(message.worktree), "tab": tab(message.tab), "pane": pane(message.pane)}


def pane_row(message: panes_pb2.PaneRow) -> Json:
    """Return one item of the list of panes."""
    row = target(message.target)
    row["tab"]["handle"] = message.target.tab.handle
    row["pane"]["handle"] = message.target.pane.handle
    row["pane"]["agent"] = message.agent if message.HasField("agent") else None
    row["pane"]["visible"] = message.viewed
    busy = message.task_status
    row["task"] = {"status": _word(common_pb2.TaskStatus, busy, "TASK_STATUS_") if busy else None}
    return row


def session(message: common_pb2.AgentSession) -> Json:
    """Return an agent's session."""
    return {
        "id": message.id,
        "path": message.path if message.HasField("path") else None,
        "confidence": confidence(message.confidence),
        "source": message.source,
    }


def signal(message: common_pb2.RecordedSignal) -> Json:
    """Return a recorded signal."""
    out: Json = {"event": kind(message.kind)}
    _optional(message, out, "progress")
    out |= {"source": message.source, "confidence": confidence(message.confidence), "at": when(message.at)}
    return _optional(message, out, "session_id", "detail", "claimed_origin")


def signals(message: common_pb2.Signals) -> Json:
    """Return channels and last signal (signals.md §2.8)."""
    out: Json = {
        "channels": [
            _optional(
                channel,
                {
                    "source": channel.source,
                    "state": channel.state,
                    "confidence": confidence(channel.confidence),
                    "events": sorted(kind(event) for event in channel.events),
                    "last_seen_at": when(channel.last_seen_at),
                },
                "session_id",
            )
            for channel in message.channels
        ]
    }
    if message.HasField("last"):
        out["last"] = signal(message.last)
        out["last_binding"] = binding(message.last_binding or common_pb2.SIGNAL_BINDING_UNBOUND)
    return out


def entry(message: common_pb2.AgentEntry) -> Json:
    """Return a detected agent as observers see it."""
    out: Json = {
        "type": message.type,
        "name": message.name,
        "status": status(message.status),
        "raw_state": raw_state(message.raw_state),
        "last_changed_at": when(message.last_changed_at),
    }
    for name in ("detection_reason", "screen_reason"):
        if getattr(message, name):
            out[name] = getattr(message, name)
    if message.HasField("session"):
        out["session"] = session(message.session)
    return out


def agent_row(message: agents_pb2.Agent) -> Json:
    """Return a row of the roster (signals.md §7.4)."""
    out = {"id": message.id, **entry(message.entry)}
    out["project"] = {
        "name": message.project.name,
        "branch": message.project.branch,
        "path": message.project.path,
    }
    out |= target(message.target)
    out["pane"]["handle"] = message.target.pane.handle
    out["pane"]["index"] = message.target.pane.index
    if message.HasField("signals"):
        out["signals"] = signals(message.signals)
    return out


def triage(rows: "list[agents_pb2.Agent]") -> "list[agents_pb2.Agent]":
    """Return the rows in the order in which people should look: blocked, working, done, idle."""
    return sorted(rows, key=lambda row: _ORDER.get(status(row.entry.status), len(_ORDER)))


def roster(rows: "list[agents_pb2.Agent]") -> Json:
    """Return the data of ``agents``."""
    return {"count": len(rows), "agents": [agent_row(row) for row in rows]}


def observed(event: Observed) -> Json:
    """Return one observed event, or the gap that was bridged."""
    if isinstance(event, Gap):
        return {
            "event": "gap",
            "first_lost_revision": event.first_lost_revision,
            "current_revision": event.current_revision,
        }
    which = event.WhichOneof("event") or "unknown"
    out: Json = {"event": which, "revision": event.revision}
    if which == "snapshot":
        snapshot = event.snapshot
        out["agent"] = entry(snapshot.agent) if snapshot.HasField("agent") else None
        out["latest_signal"] = signal(snapshot.latest_signal) if snapshot.HasField("latest_signal") else None
        if snapshot.HasField("latest_signal"):
            out["latest_binding"] = binding(snapshot.latest_binding or common_pb2.SIGNAL_BINDING_UNBOUND)
    elif which == "changed":
        out["agent"] = entry(event.changed)
    elif which == "signal":
        out["signal"] = signal(event.signal.signal)
        out["binding"] = binding(event.signal.binding)
    return out


def observation(message: agents_pb2.WaitObservation) -> Json:
    """Return what answered a wait."""
    return {
        "status": status(message.status),
        "raw_state": raw_state(message.raw_state),
        "source": message.source,
        "confidence": confidence(message.confidence),
        "at": when(message.at),
        "revision": message.revision,
    }


def screen(message: common_pb2.ScreenCapture) -> Json:
    """Return a captured screen, or that none could be captured."""
    out: Json = {
        "status": "captured" if message.captured else "unavailable",
        "requested_lines": message.requested_lines,
        "source": "detection",
        "waited_ms": message.waited_ms,
    }
    if message.captured:
        out |= {"text": message.text, "line_count": message.line_count, "stabilized": message.stabilized}
    return out


def record(message: dispatch_pb2.DispatchRecord) -> Json:
    """Return a dispatch record: only the members of its state (signals.md §4.1)."""
    state = _word(dispatch_pb2.DispatchState, message.state, "DISPATCH_STATE_")
    out: Json = {"id": message.id, "state": state, "created_at": when(message.created_at)}
    if state == "completed":
        out |= {
            "outcome": _word(dispatch_pb2.DispatchOutcome, message.outcome, "DISPATCH_OUTCOME_"),
            "summary": message.summary,
            "completed_at": when(message.completed_at),
        }
    elif state == "gone":
        out |= {
            "gone_at": when(message.gone_at),
            "gone_reason": _word(dispatch_pb2.GoneReason, message.gone_reason, "GONE_REASON_"),
        }
    elif state == "abandoned":
        out |= {"abandoned_at": when(message.abandoned_at), "reason": message.reason}
    return out


def profile(message: profiles_pb2.Profile) -> Json:
    """Return a launch profile."""
    known = message.availability != profiles_pb2.AVAILABILITY_UNSPECIFIED
    availability: Json = {
        "status": _word(profiles_pb2.Availability, message.availability, "AVAILABILITY_") if known else "unknown"
    }
    if message.HasField("unavailable_reason"):
        availability["reason"] = message.unavailable_reason
    return {
        "id": message.id,
        "name": message.name,
        "enabled": message.enabled,
        "runtime": message.runtime,
        "availability": availability,
    }


def details(message: Message | None) -> Json | None:
    """Return the details of an error, None when it has none or they are not for programs."""
    if isinstance(message, errors_pb2.OverflowDetails):
        return {"first_lost_revision": message.first_lost_revision, "current_revision": message.current_revision}
    if isinstance(message, errors_pb2.WaitErrorDetails):
        out: Json = {"mode": message.mode}
        if message.condition:
            out["condition"] = _word(agents_pb2.WaitCondition, message.condition, "WAIT_CONDITION_")
        out |= {"waited_ms": message.waited_ms, "target": target(message.target)}
        if message.HasField("record"):
            out["record"] = record(message.record)
        if message.HasField("observation"):
            out["observation"] = observation(message.observation)
        if message.HasField("signals"):
            out["signals"] = signals(message.signals)
        if message.HasField("screen"):
            out["screen"] = screen(message.screen)
        return out
    if isinstance(message, errors_pb2.DispatchErrorDetails):
        out = {"target": target(message.target)}
        if message.HasField("record"):
            out["record"] = record(message.record)
        if message.HasField("observation"):
            out["observation"] = observation(message.observation)
        if message.HasField("signals"):
            out["signals"] = signals(message.signals)
        return out
    return None
