"""Messages as the service sends them, in every shape that the command prints."""

from google.protobuf.timestamp_pb2 import Timestamp
from prowl.v1 import agents_pb2, common_pb2, dispatch_pb2, panes_pb2

PANE = "8c1f6a52-93a4-4c0e-9d3e-2f7a5d1b6c00"
TAB = "1b7f0d7e-4a55-4a8f-8f53-0e5a3b1c2d00"
AT = Timestamp(seconds=1_790_000_000, nanos=123_456_789)
AT_TEXT = "2026-09-21T14:13:20.123Z"


def target(handle="p1", title="Fix the build", cwd="/home/u/app"):
    """Return a resolved pane."""
    return common_pb2.Target(
        worktree=common_pb2.Worktree(
            id="/home/u/app", name="main", path="/home/u/app", root_path="/home/u/app", kind="WORKTREE_KIND_GIT"
        ),
        tab=common_pb2.Tab(id=TAB, title="app", selected=True, handle="t1"),
        pane=common_pb2.Pane(id=PANE, title=title, cwd=cwd, handle=handle, index=0, origin="pty"),
    )


def entry(status="BLOCKED", raw="BLOCKED", agent="claude", **more):
    """Return a detected agent."""
    return common_pb2.AgentEntry(
        type=agent,
        name=agent,
        status=f"AGENT_STATUS_{status}",
        raw_state=f"RAW_STATE_{raw}",
        detection_reason="claude.permission",
        screen_reason="claude.permission",
        last_changed_at=AT,
        icon=agent,
        **more,
    )


def signal(kind="TURN_ENDED", **more):
    """Return a recorded signal."""
    return common_pb2.RecordedSignal(
        kind=f"SIGNAL_KIND_{kind}", source="cooperative_cli", confidence="CONFIDENCE_EXACT", at=AT, **more
    )


def signals():
    """Return channels with a last signal."""
    return common_pb2.Signals(
        channels=[
            common_pb2.SignalChannel(
                source="hook_claude",
                state="verified_live",
                confidence="CONFIDENCE_EXACT",
                events=["SIGNAL_KIND_TURN_ENDED", "SIGNAL_KIND_NEEDS_INPUT"],
                last_seen_at=AT,
                session_id="s-1",
            )
        ],
        last=signal("PROGRESS", progress=75, detail="half way", claimed_origin="ci", session_id="s-1"),
        last_binding="SIGNAL_BINDING_CURRENT",
    )


def agent(status="BLOCKED", raw="BLOCKED", handle="p1", **more):
    """Return a row of the roster."""
    return agents_pb2.Agent(
        id=PANE,
        entry=entry(status, raw, **more),
        project=common_pb2.Project(name="app", branch="main", path="/home/u/app"),
        target=target(handle),
    )


def session():
    """Return a session without a transcript."""
    return common_pb2.AgentSession(id="s-1", confidence="CONFIDENCE_MEDIUM", source="recent_file")


def row(**more):
    """Return a row of the list of panes."""
    return panes_pb2.PaneRow(target=target(), task_status="TASK_STATUS_RUNNING", **more)


def record(state="PENDING", **more):
    """Return a dispatch record."""
    return dispatch_pb2.DispatchRecord(id="d-1", state=f"DISPATCH_STATE_{state}", created_at=AT, **more)


def completed(outcome="SUCCEEDED"):
    """Return a completed record."""
    return record("COMPLETED", outcome=f"DISPATCH_OUTCOME_{outcome}", summary="done", completed_at=AT)


def observation(status="IDLE", raw="IDLE"):
    """Return what answered a wait."""
    return agents_pb2.WaitObservation(
        status=f"AGENT_STATUS_{status}",
        raw_state=f"RAW_STATE_{raw}",
        source="detection",
        confidence="CONFIDENCE_HEURISTIC",
        at=AT,
        revision=7,
    )


def screen(captured=True):
    """Return a captured screen, or that there is none."""
    if not captured:
        return common_pb2.ScreenCapture(requested_lines=5, waited_ms=3)
    return common_pb2.ScreenCapture(
        captured=True, requested_lines=5, waited_ms=3, text="a\nb", line_count=2, stabilized=True
    )
