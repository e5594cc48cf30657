"""What every screen does, on each engine that is there."""

import re
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from prowl_svc.model.terminal import (
    Bell,
    CursorPosition,
    ModeChange,
    Notification,
    ProgramStatus,
    Progress,
    ProgressState,
    PromptMark,
    Reset,
    StatusQuery,
    Title,
    WorkingDirectory,
)
from prowl_svc.terminal.cast import read_cast
from prowl_svc.terminal.factory import COMPILED, new_screen
from prowl_svc.terminal.pyte_screen import PyteScreen
from prowl_svc.terminal.redraw import redraw
from prowl_svc.terminal.screen import Screen

Make = Callable[..., Screen]
ENGINES = ["pyte", "compiled"]
CASTS = Path(__file__).parents[1] / "corpus" / "casts"


@pytest.fixture(params=ENGINES)
def make(request: pytest.FixtureRequest) -> Make:
    if request.param == "pyte":
        return PyteScreen
    return pytest.importorskip("prowl_svc.terminal.engine_screen", exc_type=ImportError).EngineScreen  # type: ignore[no-any-return]


def show(make: Make, data: bytes, columns: int = 10, rows: int = 3) -> list[str]:
    screen = make(columns, rows)
    screen.feed(data)
    return screen.active_rows()


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        (b"one\r\ntwo", ["one", "two", ""]),
        (b"0123456789ab", ["0123456789", "ab", ""]),
        (b"0123456789\r\nx", ["0123456789", "x", ""]),
        (b"0123456789\x1b[Kx", ["012345678x", "", ""]),
        (b"\x1b[?7l0123456789ab", ["012345678b", "", ""]),
        (b"a\x1b[2;3Hb\x1b[Ac\x1b[3Gd", ["a dc", "  b", ""]),
        (b"abcdef\x1b[3G\x1b[2P", ["abef", "", ""]),
        (b"abcdef\x1b[3G\x1b[2@", ["ab  cdef", "", ""]),
        (b"abcdef\x1b[3G\x1b[2X", ["ab  ef", "", ""]),
        (b"abcdef\x1b[3G\x1b[1K", ["   def", "", ""]),
        (b"a\r\nb\r\nc\r\nd", ["b", "c", "d"]),
        (b"a\r\nb\r\nc\x1b[H\x1b[L", ["", "a", "b"]),
        (b"a\r\nb\r\nc\x1b[H\x1b[M", ["b", "c", ""]),
        (b"a\r\nb\r\nc\x1b[S", ["b", "c", ""]),
        (b"a\r\nb\r\nc\x1b[T", ["", "a", "b"]),
        (b"a\r\nb\r\nc\x1b[H\x1bM", ["", "a", "b"]),
        (b"a\r\nb\r\nc\x1b[2;3r\x1b[3;1H\nx", ["a", "c", "x"]),
        (b"a\r\nb\x1b[1J", ["", "", ""]),
        (b"a\r\nb\x1b[H\x1b[J", ["", "", ""]),
        (b"ab\x1b[3Jc", ["abc", "", ""]),
        (b"a\tb\x1b[Zc", ["a       c", "", ""]),
        (b"x\x1b[4b", ["xxxxx", "", ""]),
        (b"abc\x1b[1G\x1b[4hX\x1b[4l", ["Xabc", "", ""]),
        (b"\x1b(0qx\x1b(Bq", ["─│q", "", ""]),
        (b"\x1b[2;2H\x1b7\x1b[Ha\x1b8b", ["a", " b", ""]),
        (b"\x1b[2;3Hb\x1b[2da\x1b[2`c", ["", " cba", ""]),
        ("漢字x".encode(), ["漢字x", "", ""]),
        ("012345678漢".encode(), ["012345678", "漢", ""]),
        ("漢\x1b[1Gx".encode(), ["x", "", ""]),
        ("漢\x1b[2Gx".encode(), [" x", "", ""]),
        ("e\u0301x".encode(), ["éx", "", ""]),
        (b"a\x1b]8;;http://x\x07b\x1b]8;;\x07c", ["abc", "", ""]),
        (b"a\x1bP1$tx\x1b\\b\x1b_Gi=1;AAAA\x1b\\c\x1b^pm\x1b\\d\x1bXs\x1b\\e", ["abcde", "", ""]),
        (b"a\x1b[>4;2mb\x1b[?4mc\x1b[38;2;1;2;3md\x1b[4:3me", ["abcde", "", ""]),
        (b"a\x1b[12", ["a", "", ""]),
        (b"\xe2\x9c", ["", "", ""]),
    ],
)
def test_drawing(make: Make, data: bytes, expected: list[str]) -> None:
    """Text, movement, editing and what is swallowed give the rows that a terminal shows."""
    assert [row.encode("utf-8") for row in expected] == [
        row.replace("e\u0301", "é").encode("utf-8") for row in show(make, data)
    ]


def test_alternate_screen(make: Make) -> None:
    """The alternate screen is a screen of its own: the primary one comes back as it was, cursor and all."""
    screen = make(10, 3)
    screen.feed(b"main\x1b[2;2H\x1b[?1049h")
    assert (True, ["", "", ""]) == (screen.alternate, screen.active_rows())
    assert screen.mode(1049)
    screen.feed(b"\x1b[Halt\r\n\n\n\n")
    screen.feed(b"\x1b[?1049lx")
    assert (False, ["main", " x", ""]) == (screen.alternate, screen.active_rows())
    assert [] == list(screen.scrollback_rows())


def test_scrollback(make: Make) -> None:
    """Rows that leave the primary screen at the top are kept, newest last and bounded, until they are cleared."""
    screen = make(10, 2, scrollback=3)
    screen.feed(b"\r\n".join(b"%d" % number for number in range(8)))
    assert ["3", "4", "5"] == list(screen.scrollback_rows())
    assert ["5"] == list(screen.scrollback_rows(1))
    assert [] == list(screen.scrollback_rows(0))
    assert ["6", "7"] == screen.active_rows()
    screen.feed(b"\x1b[3J")
    assert ([], ["6", "7"]) == (list(screen.scrollback_rows()), screen.active_rows())


def test_events_have_order_and_place(make: Make) -> None:
    """Side channels come in stream order, each with the position just after it."""
    stream = [
        (b"\x1b]0;\xe2\x9c\xb3 t\x07", lambda end: Title(end, "✳ t")),
        (b"text\x07", Bell),
        (b"\x1b]9;4;3\x1b\\", lambda end: Progress(end, ProgressState.INDETERMINATE, None)),
        (b"\x1b]9;hi\x07", lambda end: Notification(end, "9", "", "hi")),
        (b"\x1b]7501;state=idle\x07", lambda end: ProgramStatus(end, b"state=idle")),
        (b"\x1b]7501;?\x1b\\", lambda end: StatusQuery(end, b"\x1b\\")),
        (b"\x1b]133;D;1\x07", lambda end: PromptMark(end, "D", 1)),
        (b"\x1b]7;file:///x\x07", lambda end: WorkingDirectory(end, "file:///x")),
        (b"\x1b[?2004h", lambda end: ModeChange(end, 2004, True)),
        (b"\x1b[?1049h", lambda end: ModeChange(end, 1049, True)),
        (b"\x1b[?1004l", lambda end: ModeChange(end, 1004, False)),
        (b"\x1b[!p", lambda end: Reset(end, False)),
        (b"\x1bc", lambda end: Reset(end, True)),
    ]
    expected, end = [], 0
    for data, event in stream:
        end += len(data)
        expected.append(event(end))
    data = b"".join(part for part, _ in stream)
    assert expected == make(80, 24).feed(data)
    screen = make(80, 24)
    assert expected == [event for byte in data for event in screen.feed(bytes([byte]))]
    # A status report longer than the protocol allows is none.
    assert [] == make(80, 24).feed(b"\x1b]7501;state=idle:" + b"x" * 5000 + b"\x07")


def test_wrapped_sequences_are_payload(make: Make) -> None:
    """What a multiplexer passthrough wraps is neither text nor an event."""
    screen = make(20, 2)
    assert [] == screen.feed(b"\x1bPtmux;\x1b\x1b]7501;state=idle\x07\x1b\\\x1b_x]7501;state=idle\x07\x1b\\ok")
    assert ["ok", ""] == screen.active_rows()


def test_answers(make: Make) -> None:
    """Queries are answered in the order in which they came, once, from the state at that point."""
    screen = make(80, 24)
    screen.feed(b"\x1b[c\x1b[5;7H\x1b[6n\x1b[?2026$p\x1b[?2026h\x1b[?2026$p\x1b[?2026l\x1b[>5u\x1b[?u\x1b]11;?\x07")
    screen.feed(b"\x1b[18t\x1bP+q4d73\x1b\\\x1b_Gi=1,a=q;\x1b\\\x1b[>0q\x1b]7501;?\x07\x1b[5n\x1b[?996n\x1b[4$p")
    assert (
        b"\x1b[?62;22c\x1b[5;7R\x1b[?2026;2$y\x1b[?2026;1$y\x1b[?5u\x1b]11;rgb:1818/1818/1818\x07"
        b"\x1b[8;24;80t\x1bP0+r\x1b\\\x1b_Gi=1;ENOTSUP:graphics are not supported\x1b\\\x1bP>|prowl(0.1)\x1b\\"
        b"\x1b[0n\x1b[?997;1n\x1b[4;2$y"
    ) == screen.take_answers()
    assert b"" == screen.take_answers()


def test_status_query_is_echoed_before_what_follows(make: Make) -> None:
    """A host that consumes program status records echoes the query, in order and with its terminator."""
    screen = make(80, 24, answer_status_query=True)
    screen.feed(b"\x1b]7501;?\x1b\\\x1b[c\x1b]7501;?\x07")
    assert b"\x1b]7501;?\x1b\\\x1b[?62;22c\x1b]7501;?\x07" == screen.take_answers()


def test_answers_are_bounded(make: Make) -> None:
    """Answers that nobody takes stop being kept."""
    screen = make(80, 24)
    screen.feed(b"\x1b[c" * 50_000)
    assert len(screen.take_answers()) <= 1 << 16


def test_keyboard_flags_are_per_screen(make: Make) -> None:
    """Each screen has its own stack of keyboard flags."""
    screen = make(80, 24)
    seen = []
    for data in (b"\x1b[>5u", b"\x1b[?1049h", b"\x1b[>1u", b"\x1b[=2;2u", b"\x1b[<u", b"\x1b[?1049l", b"\x1b[<9u"):
        screen.feed(data)
        seen.append(screen.kitty_flags)
    assert [5, 0, 1, 3, 0, 5, 0] == seen


def test_synchronized_update(make: Make) -> None:
    """The frame before an update is seen until the update ends, or the host gives up waiting."""
    screen = make(10, 2)
    screen.feed(b"old")
    before = screen.revision
    screen.feed(b"\x1b[?2026h\x1b[2J\x1b[Hnew")
    assert (True, ["old", ""], before) == (screen.synchronizing, screen.active_rows(), screen.revision)
    assert 3 == screen.cursor.column
    screen.feed(b"\x1b[?2026l")
    assert (False, ["new", ""]) == (screen.synchronizing, screen.active_rows())
    assert screen.revision > before
    screen.feed(b"\x1b[?2026hmore")
    screen.flush()
    assert (False, "newmore\n") == (screen.synchronizing, screen.text())


def test_revision_moves_with_the_text_only(make: Make) -> None:
    """Colours, cursor, titles and the same text again are no news."""
    screen = make(10, 2)
    screen.feed(b"abc")
    revision = screen.revision
    screen.feed(b"\x1b[H\x1b[31mabc\x1b[?25l\x1b]0;t\x07\x1b[2;5H   \x1b[Kx\x08 ")
    assert revision == screen.revision
    screen.feed(b"\x1b[Hx")
    assert screen.revision > revision


def test_title(make: Make) -> None:
    """The title is the last one set, and a pushed one comes back as an event."""
    screen = make(10, 2)
    screen.feed(b"\x1b]0;one\x07\x1b[22;0t\x1b]2;two\x07\x1b]1;icon\x07")
    assert "two" == screen.title
    assert [Title(39, "one")] == screen.feed(b"\x1b[23;0t")
    assert "one" == screen.title
    assert [] == screen.feed(b"\x1b[23;0t")


def test_cursor_and_modes(make: Make) -> None:
    """Position, visibility and modes are those the program set; a hard reset sets all back."""
    screen = make(10, 3)
    screen.feed(b"\x1b[2;4H\x1b[?25l\x1b[?1;2004h\x1b[?1000h")
    assert CursorPosition(1, 3, False) == screen.cursor
    assert [True, True, True, False] == [screen.mode(number) for number in (1, 2004, 1000, 1002)]
    screen.feed(b"\x1b[3;10Hxy\x1bc")
    assert CursorPosition(0, 0, True) == screen.cursor
    assert [False, False, ["", "", ""]] == [screen.mode(1), screen.mode(2004), screen.active_rows()]


def test_dim(make: Make) -> None:
    """A composer counts as empty when everything from a column on is blank or dim."""
    screen = make(20, 4)
    screen.feed("› \x1b[2mhint\x1b[22m \x1b[38;2;1;2;3m\r\n› \x1b[2mhi\x1b[0mnt\r\n› \x1b[38;2;2;2;2mx".encode())
    assert [True, False, False, True] == [screen.empty_or_dim(row, 1) for row in range(4)]
    assert not screen.empty_or_dim(0, 0)
    assert screen.empty_or_dim(2, 3)


def test_resize(make: Make) -> None:
    """Sizes are clamped, rows are as many as asked for, and what was written at the cursor stays."""
    screen = make(10, 4)
    screen.feed(b"a\r\nb\r\nc\r\nd")
    screen.resize(8, 2)
    assert ["c", "d"] == screen.active_rows()
    screen.resize(0, 5000)
    assert (1, 1000, 1000) == (screen.columns, screen.rows, len(screen.active_rows()))
    screen.feed(b"\x1b[1000;999Hz")
    assert "z" == screen.active_rows()[-1]


@pytest.mark.parametrize("name", ["claude--startup-80x24", "pi--first-80x24", "opencode--startup-80x24"])
def test_redraw_shows_the_same(make: Make, name: str) -> None:
    """A redraw of a real session's screen makes another terminal show it, cursor, title and modes included."""
    cast = read_cast(CASTS / f"{name}.cast.gz")
    screen, other = make(cast.columns, cast.rows), make(cast.columns, cast.rows)
    for event in cast.events:
        if event.kind == "o":
            screen.feed(event.raw)
    screen.flush()
    other.feed(b"leftover\x1b[?1049h\x1b[?1000h" + redraw(screen))
    assert screen.active_rows() == other.active_rows()
    assert any(screen.active_rows())
    assert (screen.cursor, screen.title, screen.alternate) == (other.cursor, other.title, other.alternate)
    assert screen.kitty_flags == other.kitty_flags
    assert all(screen.mode(mode) == other.mode(mode) for mode in (1, 1000, 1002, 1003, 1004, 1006, 2004))


CONTROLS = re.compile(r"[\x00-\x1f\x7f-\x9f]")
PIECES = st.one_of(
    st.binary(max_size=8),
    st.text(max_size=5).map(lambda text: text.encode("utf-8", "replace")),
    st.tuples(st.sampled_from(["", "?", ">", "<", "="]), st.lists(st.integers(0, 70000), max_size=3)).flatmap(
        lambda head: st.sampled_from("@ABCDEFGHIJKLMPSTXZ`abcdefghlmnpqrstu").map(
            lambda final: f"\x1b[{head[0]}{';'.join(map(str, head[1]))}{final}".encode()
        )
    ),
    st.sampled_from([b"\x1b[?1049h", b"\x1b[?1049l", b"\x1b[?2026h", b"\x1b[?2026l", b"\x1bc", b"\x1b[!p", b"\x1b(0"]),
    st.sampled_from([b"\x1bM", b"\x1bD", b"\x1b7", b"\x1b8", b"\x1b#8", b"\r\n", b"\t", "漢".encode(), b"\x1b[?6h"]),
)


@settings(max_examples=80, deadline=None)
@given(st.lists(PIECES, max_size=30), st.integers(1, 12), st.integers(1, 6), st.data())
def test_any_stream(data: list[bytes], columns: int, rows: int, draw: st.DataObject) -> None:
    """Whatever is fed, in any split and with resizes, nothing raises and the screen keeps its form."""
    for engine in (PyteScreen, new_screen) if COMPILED else (PyteScreen,):
        whole, split = engine(columns, rows), engine(columns, rows)
        events = whole.feed(b"".join(data))
        assert events == [event for byte in b"".join(data) for event in split.feed(bytes([byte]))]
        assert whole.active_rows() == split.active_rows()
        assert whole.take_answers() == split.take_answers()
        whole.flush()
        whole.resize(draw.draw(st.integers(1, 15)), draw.draw(st.integers(1, 8)))
        shown = whole.active_rows()
        assert whole.rows == len(shown)
        assert 0 <= whole.cursor.row < whole.rows
        assert 0 <= whole.cursor.column < whole.columns
        assert all(not row.endswith(" ") and not CONTROLS.search(row) for row in shown)
        if isinstance(whole, PyteScreen):
            assert 0 == whole.faults
