"""The visible frame of the compiled engine: revisions, synchronized updates, dim, scrollback, resizing, memory."""

import gc
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

pytest.importorskip("prowl_svc.terminal.engine_screen", exc_type=ImportError)
from prowl_svc.terminal.engine_screen import EngineScreen


def test_the_revision_moves_only_when_visible_text_changes() -> None:
    """Redrawing the same text, moving the cursor, colours and blanks over blanks leave it where it is."""
    screen = EngineScreen(20, 4)
    screen.feed(b"hello\r\nworld")
    first = screen.revision
    screen.feed(b"\x1b[H\x1b[31mhello\x1b[K\x1b[2;1Hworld\x1b[5C\x1b[3;1H   \x1b[?25l\x1b]0;t\x07\x1b[H")
    assert first == screen.revision
    screen.feed(b"\x1b[2Jhello\r\nworld")
    assert first == screen.revision
    screen.feed(b"\x1b[HHELLO")
    assert (first + 1, [0]) == (screen.revision, screen.changed_rows(first))


def test_changed_rows_are_told_apart() -> None:
    """Of each revision the rows whose text differs are known; scrolling changes what it moves."""
    screen = EngineScreen(20, 4)
    screen.feed(b"a\r\nb\r\nc\r\nd")
    start = screen.revision
    screen.feed(b"\x1b[2;1Hx")
    middle = screen.revision
    screen.feed(b"\x1b[4;1Hy")
    assert ([1, 3], [3], []) == (
        screen.changed_rows(start),
        screen.changed_rows(middle),
        screen.changed_rows(screen.revision),
    )
    end = screen.revision
    screen.feed(b"\x1b[4;1H\n")
    assert [0, 1, 2, 3] == screen.changed_rows(end)


def test_a_synchronized_update_is_seen_when_it_is_complete() -> None:
    """Between 2026h and 2026l readers see the frame before it, and the revision waits."""
    screen = EngineScreen(20, 2)
    screen.feed(b"old\x1b[?2026h\x1b[H\x1b[2Jnew")
    assert (True, "old\n", 3) == (screen.synchronizing, screen.text(), screen.cursor.column)
    revision = screen.revision
    assert not screen.empty_or_dim(0, 0)
    screen.feed(b"er")
    assert (revision, ["old", ""]) == (screen.revision, screen.active_rows())
    screen.feed(b"\x1b[?2026l")
    assert (revision + 1, ["newer", ""], False) == (screen.revision, screen.active_rows(), screen.synchronizing)


def test_what_came_before_an_update_began_is_visible() -> None:
    """Text that arrives in one piece with the beginning of an update belongs to the frame before."""
    screen = EngineScreen(20, 2)
    screen.feed(b"first\x1b[?2026h\x1b[Hsecond\x1b[?2026l\x1b[?2026h\x1b[Hthird ")
    assert ["second", ""] == screen.active_rows()


def test_flush_ends_an_update_that_does_not_end() -> None:
    """The caller's time-box shows what arrived so far."""
    screen = EngineScreen(20, 2)
    screen.feed(b"\x1b[?2026hhalf")
    assert ["", ""] == screen.active_rows()
    screen.flush()
    assert (["half", ""], False, False) == (screen.active_rows(), screen.synchronizing, screen.mode(2026))


def test_dim_cells_are_known() -> None:
    """Blank or dim from a column on is told per cell, for the frame that is visible."""
    screen = EngineScreen(20, 3)
    screen.feed(b"> \x1b[2mhint\x1b[22m\r\n\x1b[2mab\x1b[0mc\r\n\x1b[38;5;2mx\x1b[2;1my")
    assert [False, True, True] == [screen.empty_or_dim(0, column) for column in (0, 1, 2)]
    assert [False, True] == [screen.empty_or_dim(1, column) for column in (2, 3)]
    assert [False, True] == [screen.empty_or_dim(2, column) for column in (0, 1)]
    assert screen.empty_or_dim(9, 0)
    assert screen.empty_or_dim(0, 99)


def test_the_cells_of_a_row_can_be_drawn() -> None:
    """Column, text, width and dim of what a row shows."""
    screen = EngineScreen(20, 1)
    screen.feed("a 中\x1b[2me\u0301".encode())
    assert [(0, "a", 1, False), (2, "中", 2, False), (4, "e\u0301", 1, True)] == screen.row_cells(0)


def test_scrollback_is_kept_up_to_its_bound() -> None:
    """Rows that leave the top of the primary screen are kept, oldest first, the newest ones when there are too many."""
    screen = EngineScreen(20, 2, scrollback=3)
    screen.feed(b"".join(b"line %d\r\n" % number for number in range(10)))
    assert ["line 6", "line 7", "line 8"] == screen.scrollback_rows()
    assert ["line 8"] == screen.scrollback_rows(1)
    assert [] == screen.scrollback_rows(0)
    assert ["line 9", ""] == screen.active_rows()


def test_no_scrollback_for_regions_and_margins() -> None:
    """A region that does not begin at the top, or is not the whole width, scrolls nothing away."""
    screen = EngineScreen(10, 4)
    screen.feed(b"a\r\nb\r\nc\r\nd\x1b[2;4r\x1b[4;1H\n\n\x1b[r\x1b[?69h\x1b[1;5s\x1b[4;1H\n")
    assert [] == screen.scrollback_rows()


@pytest.mark.parametrize(
    ("data", "size", "expected", "scrollback", "position"),
    [
        ("abcdefghij", (5, 3), ["abcde", "fghij", ""], [], (1, 4)),
        ("abcdefgh", (4, 3), ["abcd", "efgh", ""], [], (2, 0)),
        ("abcdefghij", (20, 3), ["abcdefghij", "", ""], [], (0, 10)),
        ("abcdefghijklm", (20, 3), ["abcdefghijklm", "", ""], [], (0, 13)),
        ("a\r\nb\r\nc", (10, 2), ["b", "c"], ["a"], (1, 1)),
        ("a\r\nb\x1b[H", (10, 2), ["a", "b"], [], (0, 0)),
        ("a\r\nb\r\nc\r\nd", (10, 5), ["a", "b", "c", "d", ""], [], (3, 1)),
        ("中文中文中", (5, 4), ["中文", "中文", "中", ""], [], (2, 2)),
        ("\x1b[?7labcdefgh", (4, 3), ["abcd", "", ""], [], (0, 3)),
        ("\x1b[?1049habcdefgh", (4, 3), ["abcd", "", ""], [], (0, 3)),
        ("x\b", (1, 1), ["x"], [], (0, 0)),
        ("x\b", (0, -5), ["x"], [], (0, 0)),
        ("x", (1, 1), [""], ["x"], (0, 0)),
    ],
)
def test_resizing_keeps_the_text(
    data: str, size: tuple[int, int], expected: list[str], scrollback: list[str], position: tuple[int, int]
) -> None:
    """Lines of the primary screen are wrapped anew, the alternate screen is cut, the cursor stays with its text."""
    screen = EngineScreen(10, 3)
    screen.feed(data.encode())
    screen.resize(*size)
    assert (expected, scrollback) == (screen.active_rows(), screen.scrollback_rows())
    assert position == (screen.cursor.row, screen.cursor.column)


def test_resizing_ends_an_update_and_counts_as_a_change_only_when_text_moved() -> None:
    """A new size alone is no new text."""
    screen = EngineScreen(10, 3)
    screen.feed(b"abc\x1b[?2026h")
    revision = screen.revision
    screen.resize(12, 3)
    assert (False, revision) == (screen.synchronizing, screen.revision)
    screen.resize(2, 3)
    assert (revision + 1, ["ab", "c", ""]) == (screen.revision, screen.active_rows())
    screen.resize(100_000, 100_000)
    assert (1000, 1000) == (screen.columns, screen.rows)


@given(
    st.lists(
        st.one_of(
            st.text(st.sampled_from("ab 中\r\n"), min_size=1, max_size=30),
            st.tuples(st.integers(1, 30), st.integers(1, 8)),
        ),
        max_size=12,
    )
)
def test_resizing_loses_no_text(steps: list[str | tuple[int, int]]) -> None:
    """However often the size changes, the words of the primary screen and its scrollback stay, in order."""
    screen = EngineScreen(10, 4)
    written = ""
    for step in steps:
        if isinstance(step, tuple):
            screen.resize(max(step[0], 2), step[1])
        else:
            text = step.replace("\r", "").replace("\n", "\r\n")
            screen.feed(text.encode())
            written += text
    shown = "".join(screen.scrollback_rows() + screen.active_rows())
    assert "".join(written.split()) == "".join(shown.split())


def test_memory_of_a_pane() -> None:
    """120x40 without scrollback takes less than 300 KB, full of wide text, and a full scrollback is bounded too."""
    screen = EngineScreen(120, 40)
    assert screen.__sizeof__() < 100_000
    screen.feed("中文".encode() * 1200)
    screen.active_rows()
    assert screen.__sizeof__() < 300_000
    screen.feed(b"x" * 120 * 5000)
    assert screen.__sizeof__() < 100_000 + 1001 * (120 * 4 + 40)


def test_nothing_leaks() -> None:
    """Making, filling, resizing and dropping many screens gives all memory blocks back."""

    def work() -> None:
        for size in range(1, 40):
            screen = EngineScreen(size, size)
            screen.feed("a\u0301中\x1b]0;title\x07\x1b[?2004h\x1b[c\r\n".encode() * 50)
            screen.resize(80, 24)
            screen.active_rows()
            screen.scrollback_rows()

    work()
    gc.collect()
    before = sys.getallocatedblocks()
    for _ in range(5):
        work()
    gc.collect()
    assert sys.getallocatedblocks() - before < 500
