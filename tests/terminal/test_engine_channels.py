"""What the compiled engine tells beside the text: events in stream order, answers, titles."""

from collections.abc import Callable
from itertools import accumulate, pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

pytest.importorskip("prowl_svc.terminal.engine_screen", exc_type=ImportError)
from prowl_svc.model.terminal import (
    Bell,
    ModeChange,
    Notification,
    ProgramStatus,
    Progress,
    ProgressState,
    PromptMark,
    Reset,
    SideEvent,
    StatusQuery,
    TabStatus,
    Title,
    WorkingDirectory,
)
from prowl_svc.terminal.engine_screen import EngineScreen


def feed(*pieces: bytes) -> tuple[EngineScreen, list[SideEvent]]:
    screen = EngineScreen(80, 24)
    return screen, [event for piece in pieces for event in screen.feed(piece)]


PIECES: list[tuple[bytes, Callable[[int], list[SideEvent]]]] = [
    (b"a\x07", lambda end: [Bell(end)]),
    (b"\x1b]0;t1\x07", lambda end: [Title(end, "t1")]),
    (b"b\x1b]2;t2\x1b\\", lambda end: [Title(end, "t2")]),
    (b"\x1b]7;file://h/p\x07", lambda end: [WorkingDirectory(end, "file://h/p")]),
    (b"\x1b]9;hello\x07", lambda end: [Notification(end, "9", "", "hello")]),
    (b"\x1b]9;4;1;50\x07", lambda end: [Progress(end, ProgressState.SET, 50)]),
    (b"\x1b]99;i=1;note\x07", lambda end: [Notification(end, "99", "note", "")]),
    (b"\x1b]133;A\x07", lambda end: [PromptMark(end, "A")]),
    (b"\x1b]133;D;3\x07", lambda end: [PromptMark(end, "D", 3)]),
    (b"\x1b]777;notify;T;B\x07", lambda end: [Notification(end, "777", "T", "B")]),
    (b"\x1b]7501;s;x\x07", lambda end: [ProgramStatus(end, b"s;x")]),
    (b"\x1b]7501;?\x1b\\", lambda end: [StatusQuery(end, b"\x1b\\")]),
    (b"\x1b]21337;status=idle\x07", lambda end: [TabStatus(end, "status=idle")]),
    (b"\x1b[?1049h", lambda end: [ModeChange(end, 1049, True)]),
    (b"\x1b[?1004;2004h", lambda end: [ModeChange(end, 1004, True), ModeChange(end, 2004, True)]),
    (b"\x1b]8;;http://x\x07\x1b]52;c;QQ==\x07", lambda end: []),
    (b"\x1b[!p", lambda end: [Reset(end, False)]),
    (b"\x1bc", lambda end: [Reset(end, True)]),
]
STREAM = b"".join(piece for piece, _ in PIECES)
EVENTS: list[SideEvent] = [
    event
    for end, (_, events) in zip(accumulate(len(piece) for piece, _ in PIECES), PIECES, strict=True)
    for event in events(end)
]


def test_tells_events_in_stream_order_with_their_position() -> None:
    """Each side channel gives its event, at the byte after its sequence, in the order of the stream."""
    screen, events = feed(STREAM)
    assert EVENTS == events
    assert len(STREAM) == screen.offset


def test_the_split_of_the_stream_does_not_matter() -> None:
    """Byte by byte the same events come with the same positions."""
    assert EVENTS == feed(*(STREAM[i : i + 1] for i in range(len(STREAM))))[1]


@given(st.lists(st.integers(1, len(STREAM)), max_size=6))
def test_any_split_gives_the_same_events(cuts: list[int]) -> None:
    """Cut anywhere, the stream says the same."""
    edges = [0, *sorted(cuts), len(STREAM)]
    pieces = [STREAM[a:b] for a, b in pairwise(edges)]
    assert EVENTS == feed(*pieces)[1]


def test_drawing_modes_give_no_event() -> None:
    """Cursor visibility, blinking, autowrap and synchronized updates belong to drawing."""
    assert [] == feed(b"\x1b[?25l\x1b[?12h\x1b[?7l\x1b[?2026h\x1b[?2026l\x1b[?7h\x1b[?25h")[1]


def test_a_bell_that_ends_a_string_does_not_ring() -> None:
    """Only BEL outside a string is a bell; a flood of them is told of a bounded number of times."""
    assert [Title(6, "t")] == feed(b"\x1b]0;t\x07")[1]
    assert 64 == len(feed(b"\x07" * 100_000)[1])


def test_titles_are_cleaned_bounded_and_stacked() -> None:
    """A title holds no controls and at most 1,024 characters; 22 t keeps it, 23 t brings it back."""
    screen, events = feed(b"\x1b]2;a\tb\xc2\x85c\x07\x1b[22;0t\x1b]2;other\x07\x1b[23;0t")
    assert ("abc", ["abc", "other", "abc"]) == (
        screen.title,
        [event.text for event in events if isinstance(event, Title)],
    )
    screen.feed(b"\x1b]0;" + b"x" * 5000 + b"\x07")
    assert 1024 == len(screen.title)
    screen.feed(b"\x1b[22t" * 1000 + b"\x1b[23t" * 1000)
    assert 1024 == len(screen.title)


@pytest.mark.parametrize(
    ("query", "answer"),
    [
        (b"\x1b[c", b"\x1b[?62;22c"),
        (b"\x1b[0c", b"\x1b[?62;22c"),
        (b"\x1b[>c", b"\x1b[>1;10;0c"),
        (b"\x1b[=c", b""),
        (b"\x1b[5n", b"\x1b[0n"),
        (b"\x1b[3;4H\x1b[6n\x1b[H", b"\x1b[3;4R"),
        (b"\x1b[3;4H\x1b[?6n", b"\x1b[?3;4R"),
        (b"\x1b[5;9r\x1b[?6h\x1b[2;3H\x1b[6n", b"\x1b[2;3R"),
        (b"\x1b[>5u\x1b[?u\x1b[<u\x1b[?u", b"\x1b[?5u\x1b[?0u"),
        (b"\x1b[?2026h\x1b[?2026$p\x1b[?2026l\x1b[?2026$p", b"\x1b[?2026;1$y\x1b[?2026;2$y"),
        (b"\x1b[?2027$p\x1b[?1016$p\x1b[?31337$p", b"\x1b[?2027;0$y\x1b[?1016;0$y\x1b[?31337;0$y"),
        (b"\x1b[4$p\x1b[4h\x1b[4$p\x1b[77$p", b"\x1b[4;2$y\x1b[4;1$y\x1b[77;0$y"),
        (b"\x1b[14t\x1b[16t\x1b[18t", b"\x1b[4;480;800t\x1b[6;20;10t\x1b[8;24;80t"),
        (b"\x1b[21t", b""),
        (b"\x1b[?996n", b"\x1b[?997;1n"),
        (b"\x1b]11;?\x07", b"\x1b]11;rgb:1818/1818/1818\x07"),
        (b"\x1b]4;1;?\x1b\\", b"\x1b]4;1;rgb:cccc/6666/6666\x1b\\"),
        (b"\x1bP+q544e\x1b\\", b"\x1bP0+r\x1b\\"),
        (b"\x1bP$qm\x1b\\", b"\x1bP0$r\x1b\\"),
        (b"\x1b_Gi=31,s=1,v=1,a=q,t=d;AAAA\x1b\\", b"\x1b_Gi=31;ENOTSUP:graphics are not supported\x1b\\"),
        (b"\x1b_Ga=d,d=A\x1b\\", b""),
        (b"\x1b]52;c;?\x07", b""),
        (b"\x1b]7501;?\x07", b""),
        (b"\x1b[?4m", b""),
    ],
)
def test_answers_queries(query: bytes, answer: bytes) -> None:
    """Each query is answered with the terminal's state at that point of the stream."""
    screen, _ = feed(query)
    assert (answer, b"") == (screen.take_answers(), screen.take_answers())


def test_answers_come_in_order_of_arrival() -> None:
    """One writer: the status echo stands before the device attributes that were asked for after it."""
    screen = EngineScreen(80, 24, answer_status_query=True)
    screen.feed(b"\x1b]11;?\x07\x1b[6n\x1b]7501;?\x1b\\\x1b[c")
    assert b"\x1b]11;rgb:1818/1818/1818\x07\x1b[1;1R\x1b]7501;?\x1b\\\x1b[?62;22c" == screen.take_answers()


def test_the_name_is_our_own() -> None:
    """XTVERSION never claims a terminal whose features programs would turn on."""
    screen, _ = feed(b"\x1b[>q")
    assert screen.take_answers().startswith(b"\x1bP>|prowl(")


def test_unread_answers_are_bounded() -> None:
    """A flood of queries that nobody collects takes at most 64 KiB."""
    screen, _ = feed(b"\x1b[c" * 50_000)
    assert len(screen.take_answers()) <= 1 << 16
