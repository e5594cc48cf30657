"""OSC payloads and what they mean."""

import base64

import pytest
from hypothesis import given
from hypothesis import strategies as st

from prowl_svc.model.terminal import (
    Notification,
    ProgramStatus,
    Progress,
    ProgressState,
    PromptMark,
    SideEvent,
    StatusQuery,
    TabStatus,
    Title,
    WorkingDirectory,
)
from prowl_svc.terminal.osc import NotificationChunks, decode_osc

BEL = b"\x07"
ST = b"\x1b\\"


def decode(body: str | bytes) -> SideEvent | None:
    return decode_osc(body.encode() if isinstance(body, str) else body, BEL, 7)


@pytest.mark.parametrize(
    ("body", "state", "percent"),
    [
        ("9;4;1;100", ProgressState.SET, 100),
        ("9;4;1;900", ProgressState.SET, 100),
        ("9;4;1;9", ProgressState.SET, 9),
        ("9;4;1;94", ProgressState.SET, 94),
        ("9;4;1", ProgressState.SET, 0),
        ("9;4;1;", ProgressState.SET, 0),
        ("9;4;1;-1", ProgressState.SET, 0),
        ("9;4;1;50;building", ProgressState.SET, 50),
        ("9;4;0;", ProgressState.REMOVE, None),
        ("9;4;0;;", ProgressState.REMOVE, None),
        ("9;4;0;100", ProgressState.REMOVE, None),
        ("9;4;0;100;", ProgressState.REMOVE, None),
        ("9;4;2", ProgressState.ERROR, None),
        ("9;4;2;100", ProgressState.ERROR, 100),
        ("9;4;4", ProgressState.PAUSE, None),
        ("9;4;4;100", ProgressState.PAUSE, 100),
        ("9;4;3", ProgressState.INDETERMINATE, None),
        ("9;4;3;0", ProgressState.INDETERMINATE, None),
        ("9;4;3;;", ProgressState.INDETERMINATE, None),
    ],
)
def test_progress(body: str, state: ProgressState, percent: int | None) -> None:
    """A valid 9;4 is a progress report with a clamped percentage."""
    assert Progress(7, state, percent) == decode(body)


@pytest.mark.parametrize("text", ["4", "4;", "4;5", "4;5a", "4;1a", "4;10", "3", "Agent turn complete"])
def test_not_progress(text: str) -> None:
    """Anything after 9; that is no valid 9;4 is the text of a notification."""
    assert Notification(7, "9", "", text) == decode(f"9;{text}")


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("0;✳ Claude Code", Title(7, "✳ Claude Code")),
        ("2;a\tb\u0085c\x7fd", Title(7, "abcd")),
        ("0;", Title(7, "")),
        ("0;" + "x" * 2000, Title(7, "x" * 1024)),
        ("1;icon", None),
        ("7;file://host/tmp/a%20b", WorkingDirectory(7, "file://host/tmp/a%20b")),
        ("7;", None),
        ("9;9;/tmp", WorkingDirectory(7, "/tmp")),
        ("1337;CurrentDir=/srv", WorkingDirectory(7, "/srv")),
        ("1337;SetMark", None),
        ("9;", None),
        ("777;notify;t;b;c", Notification(7, "777", "t", "b;c")),
        ("777;notify;;", None),
        ("777;precmd", None),
        ("133;A", PromptMark(7, "A")),
        ("133;A;redraw=0", PromptMark(7, "A")),
        ("133;B", PromptMark(7, "B")),
        ("633;C", PromptMark(7, "C")),
        ("133;D", PromptMark(7, "D", None)),
        ("133;D;0", PromptMark(7, "D", 0)),
        ("133;D;130;aid=1", PromptMark(7, "D", 130)),
        ("133;D;-2", PromptMark(7, "D", -2)),
        ("133;D;9999999999999", PromptMark(7, "D", None)),
        ("133;AB", None),
        ("633;E;ls", None),
        ("21337;status=working;indicator=blue", TabStatus(7, "status=working;indicator=blue")),
        ("7501;state=idle:app=pi", ProgramStatus(7, b"state=idle:app=pi")),
        ("7501;", ProgramStatus(7, b"")),
        ("7501;?x=1", ProgramStatus(7, b"?x=1")),
        ("7501", None),
        ("750;state=idle", None),
        ("07501;state=idle", None),
        ("8;;http://x", None),
        ("52;c;?", None),
        ("", None),
    ],
)
def test_meaning(body: str, expected: SideEvent | None) -> None:
    """Every OSC of the signal table gives its event, and every other one gives none."""
    assert expected == decode(body)


def test_status_query_keeps_terminator() -> None:
    """The program status query remembers how it was terminated, for the echo."""
    assert [StatusQuery(1, BEL), StatusQuery(1, ST)] == [decode_osc(b"7501;?", end, 1) for end in (BEL, ST)]


@pytest.mark.parametrize(("end", "longest"), [(BEL, 4093), (ST, 4092)])
def test_status_limit(end: bytes, longest: int) -> None:
    """A status sequence of 4,096 bytes counts and one byte more does not."""
    body = b"7501;state=idle:".ljust(longest, b"x")
    assert decode_osc(body, end, 0) is not None
    assert decode_osc(body + b"x", end, 0) is None


def test_kitty_notification_chunks() -> None:
    """Chunks of a kitty notification join by their id, base64 or plain, whatever else comes between."""
    chunks = NotificationChunks()
    parts = [
        b"99;i=1:d=0;Hello ",
        b"99;i=2;other",
        b"99;i=1:d=0:e=1;" + base64.b64encode("wörld".encode()),
        b"99;i=1:p=body;text",
    ]
    events = [decode_osc(part, ST, number, chunks) for number, part in enumerate(parts)]
    assert [None, Notification(1, "99", "other", ""), None, Notification(3, "99", "Hello wörld", "text")] == events


@pytest.mark.parametrize("body", ["99;i=1:p=?;", "99;i=1:p=close;", "99;p=icon;aGk", "99;e=1;!!", "99;", "99;i=1;"])
def test_kitty_notification_without_text(body: str) -> None:
    """Queries, closings, icons and bad base64 notify of nothing."""
    assert decode(body) is None


def test_kitty_notifications_are_bounded() -> None:
    """Unfinished notifications beyond eight, and text beyond 4,096 bytes, are forgotten."""
    chunks = NotificationChunks()
    for number in range(9):
        for _ in range(3):
            decode_osc(f"99;i={number}:d=0;".encode() + b"x" * 4000, ST, 0, chunks)
    assert Notification(0, "99", "y", "") == decode_osc(b"99;i=0;y", ST, 0, chunks)
    assert Notification(0, "99", "x" * 4096, "") == decode_osc(b"99;i=8;", ST, 0, chunks)


NUMBERS = ["0", "7", "9", "9;4", "99", "133", "633", "777", "7501", "21337", "1337"]


@given(st.binary(max_size=300), st.sampled_from(NUMBERS))
def test_never_raises(payload: bytes, number: str) -> None:
    """Whatever the payload is, decoding gives an event at its offset or none."""
    event = decode_osc(f"{number};".encode() + payload, BEL, 3)
    assert event is None or event.offset == 3
