"""What the compiled engine draws: characters, widths, wrapping, graphemes and character sets."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

pytest.importorskip("prowl_svc.terminal.engine_screen", exc_type=ImportError)
from prowl_svc._fast._engine import char_columns
from prowl_svc.terminal.engine_screen import EngineScreen
from prowl_svc.terminal.screen import Screen


def rows(data: str | bytes, columns: int = 12, height: int = 3) -> list[str]:
    screen = EngineScreen(columns, height)
    screen.feed(data.encode() if isinstance(data, str) else data)
    return screen.active_rows()


def cursor(data: str, columns: int = 12, height: int = 3) -> tuple[int, int]:
    screen = EngineScreen(columns, height)
    screen.feed(data.encode())
    return screen.cursor.row, screen.cursor.column


def test_takes_the_form_of_a_screen() -> None:
    """The engine is a Screen: the type checker and an instance agree."""
    screen: Screen = EngineScreen(80, 24)
    assert (80, 24, 0, "") == (screen.columns, screen.rows, screen.revision, screen.title)


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        ("hello", ["hello", "", ""]),
        ("one\r\ntwo\r\nthree\r\nfour", ["two", "three", "four"]),
        ("abc\rX", ["Xbc", "", ""]),
        ("abc\bX", ["abX", "", ""]),
        ("a\tb", ["a       b", "", ""]),
        ("  a  \x1b[5Cb\x1b[5D\x1b[K", ["  a", "", ""]),
        ("a\x0bb\x0cc", ["a", " b", "  c"]),
        ("a\x00\x01\x02\x05\x7f\x18\x1ab", ["ab", "", ""]),
    ],
)
def test_draws_text_and_controls(data: str, expected: list[str]) -> None:
    """Printable text lands in cells, controls move, and what is neither leaves no trace."""
    assert expected == rows(data)


@pytest.mark.parametrize(
    ("data", "expected", "position"),
    [
        ("abcdefghijkl", ["abcdefghijkl", "", ""], (0, 11)),
        ("abcdefghijklm", ["abcdefghijkl", "m", ""], (1, 1)),
        ("abcdefghijkl\rX", ["Xbcdefghijkl", "", ""], (0, 1)),
        ("abcdefghijkl\bX", ["abcdefghijXl", "", ""], (0, 11)),
        ("\x1b[?7labcdefghijklmnop", ["abcdefghijkp", "", ""], (0, 11)),
        ("\x1b[?7labcdefghijkl\x1b[?7hX", ["abcdefghijkl", "X", ""], (1, 1)),
        ("\x1b[4habc\rX\x1b[4lY", ["XYbc", "", ""], (0, 2)),
    ],
)
def test_wraps_only_when_the_next_character_comes(data: str, expected: list[str], position: tuple[int, int]) -> None:
    """The last column holds a pending wrap; without autowrap it is written over; insert mode pushes."""
    assert (expected, position) == (rows(data), cursor(data))


@pytest.mark.parametrize(
    ("data", "expected", "position"),
    [
        ("中文x", ["中文x", "", ""], (0, 5)),
        ("abcdefghijk中", ["abcdefghijk", "中", ""], (1, 2)),
        ("abcdefghij中x", ["abcdefghij中", "x", ""], (1, 1)),
        ("\x1b[?7labcdefghijk中", ["abcdefghijk", "", ""], (0, 11)),
        ("中\bX", [" X", "", ""], (0, 2)),
        ("中\rX", ["X", "", ""], (0, 1)),
        ("a中b\x1b[1;2HXY", ["aXYb", "", ""], (0, 3)),
        ("a中b\x1b[1;3H日", ["a 日", "", ""], (0, 4)),
        ("中中\x1b[1;2H日", [" 日", "", ""], (0, 3)),
        ("中中\x1b[1;2H\x1b[X", ["  中", "", ""], (0, 1)),
        ("a中中\x1b[1;3H\x1b[P", ["a 中", "", ""], (0, 2)),
        ("a中中\x1b[1;3H\x1b[@", ["a   中", "", ""], (0, 2)),
        ("中文\x1b[1;2H\x1b[1K", ["  文", "", ""], (0, 1)),
        ("中文\x1b[1;2H\x1b[K", ["", "", ""], (0, 1)),
        ("한글 テスト", ["한글 テスト", "", ""], (0, 11)),
    ],
)
def test_never_leaves_half_a_wide_character(data: str, expected: list[str], position: tuple[int, int]) -> None:
    """A wide character takes two cells and one item of text; covering half of it empties the other half."""
    assert (expected, position) == (rows(data), cursor(data))


@pytest.mark.parametrize(
    ("data", "text", "column"),
    [
        ("e\u0301x", "e\u0301x", 2),
        ("a\u0301\u0302\u0303x", "a\u0301\u0302\u0303x", 2),
        ("\u0301x", "x", 1),
        ("❤\ufe0fx", "❤\ufe0fx", 2),
        ("a\ufe0fx", "ax", 2),
        ("●\ufe0ex", "●x", 2),
        ("👍\u200dx", "👍\u200dx", 3),
        ("👨\u200d👩\u200d👧x", "👨\u200d👩\u200d👧x", 7),
        ("🇩🇪x", "🇩🇪x", 5),
        ("👍🏽x", "👍🏽x", 5),
        ("\x1b[?2027h❤\ufe0fx", "❤\ufe0fx", 3),
        ("\x1b[?2027h👨\u200d👩\u200d👧x", "👨\u200d👩\u200d👧x", 3),
        ("\x1b[?2027h🇩🇪🇫x", "🇩🇪🇫x", 5),
        ("\x1b[?2027h👍🏽x", "👍🏽x", 3),
        ("\x1b[?2027h👍\ufe0ex", "👍\ufe0ex", 2),
        ("\x1b[?2027h각\u11a8x", "각\u11a8x", 3),
        ("\x1b[?2027hक्षx", "क्षx", 3),
    ],
)
def test_combines_characters(data: str, text: str, column: int) -> None:
    """Marks, selectors and joiners stay with their character; mode 2027 makes one cell of a whole grapheme."""
    assert (text, (0, column)) == (rows(data)[0], cursor(data))


def test_text_after_a_joined_emoji_is_drawn() -> None:
    """Nothing is lost after a variation selector or joiner."""
    assert "● ❤\ufe0f ok 👩\u200d💻 done" == rows("● ❤\ufe0f ok 👩\u200d💻 done", 40)[0]


def test_a_widened_character_in_the_last_column_wraps() -> None:
    """With mode 2027 a selector that widens the last column's character moves it to the next row."""
    assert ["abcdefghijk", "❤\ufe0fx", ""] == rows("\x1b[?2027habcdefghijk❤\ufe0fx")


def test_graphemes_are_bounded() -> None:
    """A cell keeps 32 code points; a flood of different graphemes neither grows memory nor is refused."""
    screen = EngineScreen(20, 4)
    screen.feed(b"a" + "\u0301".encode() * 1000)
    assert 32 == len(screen.text().rstrip("\n"))
    for first in range(0x300, 0x36F):
        screen.feed(b"".join(f"\x1b[H{chr(0x61 + n % 26)}{chr(first)}{chr(0x300 + n)}".encode() for n in range(0x6F)))
    assert f"{chr(0x61 + 0x6E % 26)}\u036e\u036e" == screen.active_rows()[0]
    assert screen.__sizeof__() < 300_000


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        ("\x1b(0lqqk\x1b(Bx", "┌──┐x"),
        ("\x1b)0a\x0eqx\x0fa", "a─│a"),
        ("\x1b*0\x1bNqq", "─q"),
        ("\x1b+0\x1bOxx", "│x"),
        ("\x1b*0\x1bnqq\x0fq", "──q"),
        ("\x1b(0`afgjklmnopqrstuvwxyz{|}~", "◆▒°±┘┐┌└┼⎺⎻─⎼⎽├┤┴┬│≤≥π≠£·"),
        ("\x1b(A#\x1b(B#", "£#"),
        ("\x1b(0\x1b7\x1b(Bq\x1b8x", "│"),
    ],
)
def test_maps_character_sets(data: str, expected: str) -> None:
    """DEC special graphics and the British set through G0 to G3, shifts and single shifts."""
    assert expected == rows(data, 40)[0]


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        (b"a\xffb", "a\ufffdb"),
        (b"\xe2\x94a", "\ufffda"),
        (b"\xe2\x94\x1b[1mx", "\ufffdx"),
        (b"\xc0\x80x", "\ufffd\ufffdx"),
        (b"\xed\xa0\x80x", "\ufffd\ufffd\ufffdx"),
        (b"\xf4\x90\x80\x80x", "\ufffd\ufffd\ufffd\ufffdx"),
        (b"\xf0\x9f\x91\x8dx", "\U0001f44dx"),
        (b"\xc2\x85\xc2\x9bx", "x"),
    ],
)
def test_shows_ill_formed_utf8_as_replacement(data: bytes, expected: str) -> None:
    """Each maximal ill-formed part is one U+FFFD; C1 controls in UTF-8 are not text."""
    assert expected == rows(data)[0]


@given(st.binary(max_size=40).map(lambda data: bytes(byte for byte in data if byte >= 0x20 and byte != 0x7F)))
def test_decodes_as_python_does(data: bytes) -> None:
    """Ill-formed UTF-8 gives the characters that Python's replacing decoder gives, in any split."""
    data += b"~"
    text = [char for char in data.decode("utf-8", "replace") if not 0x80 <= ord(char) < 0xA0]
    whole, split = EngineScreen(100, 3), EngineScreen(100, 3)
    whole.feed(data)
    for byte in data:
        split.feed(bytes([byte]))
    assert whole.text() == split.text()
    if all(char_columns(char) == 1 for char in text):
        assert "".join(text) == whole.active_rows()[0]


@given(st.text(st.sampled_from("a中─é👍\u0301\ufe0f\u200d\r\n "), max_size=60), st.integers(1, 9), st.integers(1, 5))
def test_rows_never_exceed_the_screen(text: str, columns: int, height: int) -> None:
    """Whatever is drawn, there are exactly the rows of the screen, none wider than it, none with a trailing blank."""
    screen = EngineScreen(columns, height)
    screen.feed(text.encode())
    drawn = screen.active_rows()
    assert height == len(drawn)
    assert all(sum(char_columns(char) for char in row) <= columns for row in drawn)
    assert drawn == [row.rstrip(" ") for row in drawn]
