r"""The compiled engine beside two other terminals: recordings and generated streams, row by row.

ghostty's reading is ours. What differs on purpose, and is left out of the generated streams or evened out here:

* a mark on a space is kept; ghostty's text output drops it;
* REP of more than a screenful gives the same screen but less scrollback (bounded work per sequence);
* HPA, VPA, HPR and VPR in origin mode count from the margin once; ghostty adds it again;
* a wide character that a narrower alternate screen cuts in half is emptied; ghostty keeps its half;
* DECSTR, ``CSI g`` without a parameter and ``ESC k`` (a title of screen) do what their authors say; ghostty ignores the
  first two and prints the title;
* OSC 133;A is a mark and does not begin a new line;
* DECCOLM is ignored, since the size belongs to the host; DEL is not text;
* cells keep no colours, so trailing cells that only have one do not lengthen a line that is wrapped anew.

avt differs from both in these ways (recordings): it gives U+FE0E a cell of its own, which shifts or wraps the row; and
when the size changes it keeps other rows of the alternate screen.
"""

import itertools
import re
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

pytest.importorskip("prowl_svc.terminal.engine_screen", exc_type=ImportError)
from prowl_svc.terminal.cast import read_cast
from prowl_svc.terminal.engine_screen import EngineScreen
from tests.terminal.oracles import CASTS, Avt, Ghostty, cast_id

EVERY = 5
"""Frames of a recording are compared one in five, to keep the suite quick."""
_MARKS_ON_SPACE = re.compile(" [\u0300-\u036f\u200d\ufe0f]+")


def even(rows: list[str]) -> list[str]:
    return [_MARKS_ON_SPACE.sub(" ", row).rstrip(" ") for row in rows]


@pytest.mark.parametrize("path", CASTS, ids=cast_id)
def test_recordings_look_as_in_ghostty(path: Path) -> None:
    """Through every recording all rows and the cursor are those of ghostty."""
    cast = read_cast(path)
    screen, other = EngineScreen(cast.columns, cast.rows), Ghostty(cast.columns, cast.rows)
    for number, event in enumerate(cast.events):
        if event.kind == "o":
            screen.feed(event.raw)
            other.feed(event.raw)
        elif event.kind == "r":
            screen.resize(*event.size)
            other.resize(*event.size)
        if event.kind not in "or" or screen.synchronizing or (number % EVERY and number < len(cast.events) - EVERY):
            continue
        assert (other.rows(), other.position) == (screen.active_rows(), (screen.cursor.row, screen.cursor.column))


@pytest.mark.parametrize("path", CASTS, ids=cast_id)
def test_recordings_look_as_in_avt(path: Path) -> None:
    """So they are in avt, up to its two differences."""
    cast = read_cast(path)
    screen, other = EngineScreen(cast.columns, cast.rows), Avt(cast.columns, cast.rows)
    for number, event in enumerate(cast.events):
        if event.kind == "r":
            return
        if event.kind != "o":
            continue
        if "\ufe0e" in event.data:
            return
        screen.feed(event.raw)
        other.feed(event.data)
        if not screen.synchronizing and number % EVERY == 0:
            assert other.rows() == screen.active_rows()


@pytest.mark.parametrize("path", CASTS[::13], ids=cast_id)
def test_the_split_of_a_recording_does_not_matter(path: Path) -> None:
    """Fed byte by byte a recording ends with the same screen, scrollback, events and answers."""
    cast = read_cast(path)
    data = b"".join(event.raw for event in cast.events if event.kind == "o")[:100_000]
    whole, split = EngineScreen(cast.columns, cast.rows), EngineScreen(cast.columns, cast.rows)
    events = whole.feed(data)
    assert events == list(itertools.chain.from_iterable(split.feed(data[i : i + 1]) for i in range(len(data))))
    assert whole.text() == split.text()
    assert whole.scrollback_rows() == split.scrollback_rows()
    assert whole.take_answers()[: 1 << 15] == split.take_answers()[: 1 << 15]


def csi(final: str, *parameters: st.SearchStrategy[object]) -> st.SearchStrategy[str]:
    return st.tuples(*parameters).map(lambda values: "\x1b[" + ";".join(map(str, values)) + final)


NUMBER = st.sampled_from(["", 0, 1, 1, 2, 3, 5, 9])
COUNT = st.sampled_from(["", 1, 2, 3, 20])
WORDS = ["a", "hello", "xxxxxxx", "word word", "lqk", "─", "│x", "  ", "\r", "\n", "\r\n", "\b", "\t"]
WIDE = ["中", "日本", "각", "👍", "🇩🇪", "👨\u200d👩", "❤\ufe0f", "e\u0301"]
TEXT = st.sampled_from([*WORDS, *WIDE])
MOVES = st.one_of(
    csi("H", NUMBER, NUMBER),
    *(csi(final, NUMBER) for final in "ABCDEFGIZ`dae"),
    *(csi(final, COUNT) for final in "XLMP@ST"),
    *(csi(final, st.sampled_from(["", 0, 1, 2])) for final in "JK"),
    csi("b", st.sampled_from([1, 2])),
    st.sampled_from(["\x1bD", "\x1bE", "\x1bM", "\x1bH", "\x1b7", "\x1b8", "\x1b[s", "\x1b[u", "\x1b[3g", "\x1b[0g"]),
)
MARGINS = st.sampled_from(["\x1b[r", "\x1b[1;4r", "\x1b[2;3r", "\x1b[?69h", "\x1b[2;8s", "\x1b[3;6s", "\x1b[?69l"])
MODES = st.tuples(st.sampled_from(["4", "20", "?7", "?45", "?1045"]), st.sampled_from("hl")).map(
    lambda pair: f"\x1b[{pair[0]}{pair[1]}"
)
SCREENS = st.tuples(st.sampled_from(["47", "1047", "1048", "1049"]), st.sampled_from("hl")).map(
    lambda pair: f"\x1b[?{pair[0]}{pair[1]}"
)
CHARSETS = st.sampled_from(["\x1b(0", "\x1b(B", "\x1b)0", "\x1b)B", "\x0e", "\x0f", "\x1b*0", "\x1bN", "\x1bn"])
SIZE = st.tuples(st.sampled_from([2, 3, 5, 8, 12, 20]), st.sampled_from([1, 2, 3, 5, 8]))


def compare(operations: list[str | tuple[int, int]], columns: int, rows: int) -> None:
    screen, other = EngineScreen(columns, rows), Ghostty(columns, rows)
    for operation in operations:
        if isinstance(operation, tuple):
            screen.resize(*operation)
            other.resize(*operation)
        else:
            screen.feed(operation.encode())
            other.feed(operation.encode())
        assert (even(other.rows()), other.position) == (
            even(screen.active_rows()),
            (screen.cursor.row, screen.cursor.column),
        )


@settings(max_examples=120, deadline=None)
@given(st.lists(st.one_of(TEXT, MOVES), max_size=40), st.sampled_from([(10, 5), (14, 6), (3, 3)]))
def test_text_and_moves_agree(operations: list[str], size: tuple[int, int]) -> None:
    """Text, cursor, erasing and scrolling in any order."""
    compare(list(operations), *size)


@settings(max_examples=120, deadline=None)
@given(st.lists(st.one_of(TEXT, MOVES, MARGINS, MODES), max_size=40), st.sampled_from([(10, 5), (14, 6)]))
def test_margins_and_modes_agree(operations: list[str], size: tuple[int, int]) -> None:
    """The same with margins on all sides, insert mode, no autowrap and reverse wrap."""
    compare(list(operations), *size)


@settings(max_examples=80, deadline=None)
@given(st.lists(st.one_of(TEXT, MOVES, SCREENS, CHARSETS), max_size=40))
def test_screens_and_character_sets_agree(operations: list[str]) -> None:
    """The same across both screens, saved cursors and character sets."""
    compare(list(operations), 12, 5)


@settings(max_examples=80, deadline=None)
@given(st.lists(st.one_of(TEXT, MOVES), max_size=30))
def test_graphemes_agree(operations: list[str]) -> None:
    """The same with mode 2027."""
    compare(["\x1b[?2027h", *operations], 12, 5)


@settings(max_examples=80, deadline=None)
@given(st.lists(st.one_of(TEXT, MOVES, SIZE), max_size=25), st.sampled_from([(10, 5), (14, 6), (3, 3)]))
def test_resizing_agrees(operations: list[str | tuple[int, int]], size: tuple[int, int]) -> None:
    """The same while the size changes."""
    compare([step for step in operations if isinstance(step, tuple) or step[-1] not in "78su"], *size)


@settings(max_examples=60, deadline=None)
@given(st.lists(st.one_of(TEXT, MOVES, MARGINS, MODES, SCREENS, CHARSETS), max_size=30), st.integers(1, 5))
def test_any_split_gives_the_same_screen(operations: list[str], step: int) -> None:
    """Fed in pieces of a few bytes, a stream draws what it draws at once."""
    data = "".join(operations).encode()
    whole, split = EngineScreen(12, 5), EngineScreen(12, 5)
    whole.feed(data)
    for start in range(0, len(data), step):
        split.feed(data[start : start + step])
    assert (whole.text(), whole.cursor, whole.scrollback_rows()) == (
        split.text(),
        split.cursor,
        split.scrollback_rows(),
    )


@settings(max_examples=120, deadline=None)
@given(st.lists(st.one_of(st.binary(max_size=20), TEXT.map(str.encode), MOVES.map(str.encode)), max_size=20))
def test_no_bytes_raise(pieces: list[bytes]) -> None:
    """Any bytes leave a screen of the right shape, and the split does not matter."""
    whole, split = EngineScreen(12, 5), EngineScreen(12, 5)
    events = whole.feed(b"".join(pieces))
    assert events == [event for piece in pieces for event in split.feed(piece)]
    assert (whole.text(), whole.cursor) == (split.text(), split.cursor)
    assert 5 == len(whole.active_rows())
