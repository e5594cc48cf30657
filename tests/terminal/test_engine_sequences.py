"""Control sequences of the compiled engine: cursor, erasing, scrolling, modes, screens; and what it must swallow."""

import pytest

pytest.importorskip("prowl_svc.terminal.engine_screen", exc_type=ImportError)
from prowl_svc.terminal.engine_screen import EngineScreen

FILL = "aaaa\r\nbbbb\r\ncccc\r\ndddd\r\neeee"


def screen(data: str | bytes, columns: int = 6, rows: int = 5) -> EngineScreen:
    result = EngineScreen(columns, rows)
    result.feed(data.encode() if isinstance(data, str) else data)
    return result


def rows(data: str | bytes, columns: int = 6, height: int = 5) -> list[str]:
    return screen(data, columns, height).active_rows()


@pytest.mark.parametrize(
    ("data", "position"),
    [
        ("\x1b[3;4H", (2, 3)), ("\x1b[H", (0, 0)), ("\x1b[;4H", (0, 3)), ("\x1b[3H", (2, 0)), ("\x1b[99;99H", (4, 5)),
        ("\x1b[3;4f", (2, 3)), ("\x1b[3;4H\x1b[A", (1, 3)), ("\x1b[3;4H\x1b[9A", (0, 3)), ("\x1b[2B", (2, 0)),
        ("\x1b[99B", (4, 0)), ("\x1b[2C", (0, 2)), ("\x1b[99C", (0, 5)), ("abc\x1b[2D", (0, 1)), ("abc\x1b[9D", (0, 0)),
        ("abc\x1b[2E", (2, 0)), ("\x1b[4;4H\x1b[2F", (1, 0)), ("\x1b[4G", (0, 3)), ("\x1b[4`", (0, 3)),
        ("ab\x1b[3d", (2, 2)), ("a\x1b[2a", (0, 3)), ("a\x1b[2e", (2, 1)), ("\x1b[3;4H\x1bD", (3, 3)),
        ("\x1b[3;4H\x1bE", (3, 0)), ("\x1b[3;4H\x1bM", (1, 3)), ("\x1b[2I", (0, 5)), ("abc\x1b[Z", (0, 0)),
        ("\x1b[3;4H\x1b7\x1b[H\x1b8", (2, 3)), ("\x1b[3;4H\x1b[s\x1b[H\x1b[u", (2, 3)), ("\x1b[3;4H\x1b8", (0, 0)),
        ("\x1b[1;2;3H", (0, 0)), ("\x1b[2\x1b[3;4H", (2, 3)), ("\x1b[2\x183;4H", (0, 4)), ("\x1b[2\r;3H", (1, 2)),
    ],
)  # fmt: skip
def test_moves_the_cursor(data: str, position: tuple[int, int]) -> None:
    """Every cursor movement ends where terminals put it, and stops at the edges."""
    cursor = screen(data).cursor
    assert position == (cursor.row, cursor.column)


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        ("\x1b[3;3H\x1b[J", ["aaaa", "bbbb", "cc", "", ""]),
        ("\x1b[3;3H\x1b[1J", ["", "", "   c", "dddd", "eeee"]),
        ("\x1b[3;3H\x1b[2J", ["", "", "", "", ""]),
        ("\x1b[3;3H\x1b[3J", ["aaaa", "bbbb", "cccc", "dddd", "eeee"]),
        ("\x1b[3;3H\x1b[9J", ["aaaa", "bbbb", "cccc", "dddd", "eeee"]),
        ("\x1b[3;3H\x1b[K", ["aaaa", "bbbb", "cc", "dddd", "eeee"]),
        ("\x1b[3;3H\x1b[1K", ["aaaa", "bbbb", "   c", "dddd", "eeee"]),
        ("\x1b[3;3H\x1b[2K", ["aaaa", "bbbb", "", "dddd", "eeee"]),
        ("\x1b[3;2H\x1b[2X", ["aaaa", "bbbb", "c  c", "dddd", "eeee"]),
        ("\x1b[3;2H\x1b[2P", ["aaaa", "bbbb", "cc", "dddd", "eeee"]),
        ("\x1b[3;2H\x1b[2@", ["aaaa", "bbbb", "c  ccc", "dddd", "eeee"]),
        ("\x1b[3;2H\x1b[9@", ["aaaa", "bbbb", "c", "dddd", "eeee"]),
        ("\x1b[2;2H\x1b[2L", ["aaaa", "", "", "bbbb", "cccc"]),
        ("\x1b[2;2H\x1b[2M", ["aaaa", "dddd", "eeee", "", ""]),
        ("\x1b[2S", ["cccc", "dddd", "eeee", "", ""]),
        ("\x1b[2T", ["", "", "aaaa", "bbbb", "cccc"]),
        ("\x1b[H\x1bM", ["", "aaaa", "bbbb", "cccc", "dddd"]),
        ("\x1b[5;5Hx\x1b[3b", ["bbbb", "cccc", "dddd", "eeeexx", "xx"]),
        ("\x1b[2;4r\x1b[4;1H\nX", ["aaaa", "cccc", "dddd", "X", "eeee"]),
        ("\x1b[2;4r\x1b[2;1H\x1bMX", ["aaaa", "X", "bbbb", "cccc", "eeee"]),
        ("\x1b[2;4r\x1b[5;1H\nX", ["aaaa", "bbbb", "cccc", "dddd", "Xeee"]),
        ("\x1b[2;4r\x1b[S", ["aaaa", "cccc", "dddd", "", "eeee"]),
        ("\x1b[2;4r\x1b[5;1H\x1b[L", ["aaaa", "bbbb", "cccc", "dddd", "eeee"]),
        ("\x1b[4;2rX", ["aaaa", "bbbb", "cccc", "dddd", "eeeeX"]),
        ("\x1b[?69h\x1b[2;3s\x1b[1;2H\x1b[M", ["abba", "bccb", "cddc", "deed", "e  e"]),
        ("\x1b[?69h\x1b[2;3s\x1b[1;2H\x1b[L", ["a  a", "baab", "cbbc", "dccd", "edde"]),
        ("\x1b[?69h\x1b[2;3s\x1b[1;2HXYZ", ["aXYa", "bZbb", "cccc", "dddd", "eeee"]),
        ("\x1b[?69h\x1b[2;3s\x1b[1;2H\x1b[P", ["aa a", "bbbb", "cccc", "dddd", "eeee"]),
        ("\x1b[?69h\x1b[2;3s\x1b[?69l\x1b[1;2HXYZ", ["aXYZ", "bbbb", "cccc", "dddd", "eeee"]),
        ("\x1b[2;4r\x1b[?6h\x1b[HX\x1b[9;9HY", ["aaaa", "Xbbb", "cccc", "dddd Y", "eeee"]),
        ("\x1b#8", ["EEEEEE"] * 5),
    ],
)  # fmt: skip
def test_edits_the_screen(data: str, expected: list[str]) -> None:
    """Erase, insert, delete, repeat and scroll, whole or inside margins."""
    assert expected == rows(FILL + data)


def test_erasing_the_scrollback_keeps_the_screen() -> None:
    """CSI 3 J forgets what scrolled off and nothing else."""
    engine = screen("one\r\ntwo\r\nthree", 6, 2)
    assert ["one"] == engine.scrollback_rows()
    engine.feed(b"\x1b[3J")
    assert ([], ["two", "three"]) == (engine.scrollback_rows(), engine.active_rows())


def test_tab_stops_are_set_and_cleared() -> None:
    """HTS and TBC change where HT goes; CSI ? 5 W brings the default ones back."""
    assert ["   x   x"] == rows("\x1b[3g\x1b[4G\x1bH\x1b[8G\x1bH\r\tx\tx", 20, 1)
    assert ["x      x"] == rows("\x1b[3gx\x1b[?5W\x1b[8Gx\r", 20, 1)
    assert ["                   x"] == rows("\x1b[8G\x1b[2C\x1b[g\x1b[17G\x1b[0g\r\t\tx", 20, 1)


def test_protected_cells_survive_selective_erase() -> None:
    """DECSCA guards against DECSED and DECSEL only, ISO protection against every erase."""
    assert ["ab", ""] == rows('\x1b[1"qab\x1b[0"qcd\x1b[?2K', 6, 2)
    assert ["", ""] == rows('\x1b[1"qab\x1b[0"qcd\x1b[2K', 6, 2)
    assert ["ab", ""] == rows("\x1bVab\x1bWcd\x1b[2J", 6, 2)


@pytest.mark.parametrize(
    ("data", "primary", "inside"),
    [
        ("\x1b[?1049h", ["ab", "", ""], ["", "", ""]),
        ("\x1b[?1047h", ["ab", "", ""], ["", "", ""]),
        ("\x1b[?47h", ["ab", "", ""], ["", "", ""]),
    ],
)
def test_the_alternate_screen_is_another_grid(data: str, primary: list[str], inside: list[str]) -> None:
    """What is drawn on the alternate screen leaves the primary one and its scrollback alone."""
    engine = screen("ab" + data, 6, 3)
    assert (True, inside) == (engine.alternate, engine.active_rows())
    engine.feed(b"\x1b[Hx\r\ny\r\nz\r\nw")
    assert (["y", "z", "w"], []) == (engine.active_rows(), engine.scrollback_rows())
    engine.feed(data.replace("h", "l").encode())
    assert (False, primary) == (engine.alternate, engine.active_rows())


def test_leaving_the_alternate_screen_restores_the_cursor() -> None:
    """1049 saves the cursor on the way in and restores it on the way out; 47 takes it along."""
    assert ["abX", "", ""] == rows("ab\x1b[?1049h\x1b[3;3Hy\x1b[?1049lX", 6, 3)
    assert ["ab", "", "   X"] == rows("ab\x1b[?47h\x1b[3;3Hy\x1b[?47lX", 6, 3)


def test_soft_reset_keeps_the_text() -> None:
    """DECSTR resets margins, insert, origin, pen and character sets, and leaves text and cursor."""
    engine = screen("ab\x1b[2;3r\x1b[4h\x1b[?25l\x1b(0\x1b[2m\x1b[2;2H\x1b[!pq", 6, 4)
    assert (["ab", " q", "", ""], True) == (engine.active_rows(), engine.cursor.visible)
    assert not engine.empty_or_dim(1, 0)


def test_full_reset_empties_everything() -> None:
    """RIS clears both screens, the scrollback, the modes and the keyboard flags, and goes to the primary screen."""
    engine = screen("a\r\nb\r\nc\x1b[?2004h\x1b[>5u\x1b[?1049hx\x1b[?6h\x1b[2;2r\x1bcZ", 6, 2)
    assert (["Z", ""], [], False) == (engine.active_rows(), engine.scrollback_rows(), engine.alternate)
    assert (False, False, True, 0) == (engine.mode(2004), engine.mode(6), engine.mode(7), engine.kitty_flags)
    engine.feed(b"\x1b[?47h")
    assert ["", ""] == engine.active_rows()


def test_modes_are_set_saved_and_restored() -> None:
    """DEC modes change by DECSET and DECRST, XTSAVE keeps one value each; unknown ones are never set."""
    engine = screen("\x1b[?2004;1004h\x1b[?2004s\x1b[?2004l\x1b[?2004r\x1b[?31337h")
    assert (True, True, False, True) == tuple(engine.mode(number) for number in (2004, 1004, 31337, 25))
    assert (False, None) == (engine.ansi_mode(4), engine.ansi_mode(99))
    engine.feed(b"\x1b[4h")
    assert engine.ansi_mode(4) is True


def test_kitty_keyboard_flags_are_a_stack_per_screen() -> None:
    """Push, pop and set change the flags of the screen in use; the oldest entry gives way."""
    engine = screen("\x1b[>1u\x1b[>3u")
    assert 3 == engine.kitty_flags
    engine.feed(b"\x1b[?1049h")
    assert 0 == engine.kitty_flags
    engine.feed(b"\x1b[=5u\x1b[=2;2u\x1b[=1;3u")
    assert 6 == engine.kitty_flags
    engine.feed(b"\x1b[?1049l\x1b[<u")
    assert 1 == engine.kitty_flags
    engine.feed(b"\x1b[<9u")
    assert 0 == engine.kitty_flags
    engine.feed(b"".join(b"\x1b[>%du" % flags for flags in range(20)))
    assert 19 == engine.kitty_flags


def test_reverse_wrap_goes_back_over_a_wrapped_row() -> None:
    """Mode 45 lets a backspace return to the row that wrapped."""
    assert ["abcdef", "X"] == rows("\x1b[?45habcdefg\bX", 6, 2)
    assert ["abcdXf", "g"] == rows("\x1b[?45habcdefg\x1b[3DX", 6, 2)


@pytest.mark.parametrize(
    "data",
    [
        "\x1b[>4;?m",
        "\x1b[>4;2m",
        "\x1b[?4m",
        "\x1b[<0;1;1y",
        "\x1b[1;2;3;4;5z",
        "\x1b[4:3m",
        "\x1b[58:2::1:2:3m",
        "\x1b[38;5;2m",
        "\x1b[38;2;2;2;2m",
        "\x1b[1 q",
        "\x1b[ q",
        "\x1b[?1$y",
        '\x1b[61"p',
        "\x1b[=c",
        "\x1b[>0q",
        "\x1b]8;;http://x\x1b\\",
        "\x1b]52;c;aGk=\x07",
        "\x1b]66;w=1; \x1b\\",
        "\x1b]1337;File=:AAAA\x07",
        "\x1b]no number\x07",
        "\x1bP+q544e\x1b\\",
        "\x1bP$qm\x1b\\",
        "\x1bPtmux;\x1b\x1b]0;x\x07\x1b\\",
        "\x1bP0;1|17/ab\x1b\\",
        "\x1bPq#0;2;0;0;0~\x1b\\",
        "\x1b_Gi=1,a=q;AAAA\x1b\\",
        "\x1b_pi:c\x1b\\",
        "\x1b^private\x1b\\",
        "\x1bXstart of string\x1b\\",
        "\x1bktitle\x1b\\",
        "\x1b[1;1" + ";1" * 40 + "H",
        "\x1b[" + "9" * 50 + "n",
        "\x1b[1:2:3H",
        "\x1b[!!!p",
        "\x1b[  !p",
        "\x1b[?>h",
        "\x1b[1?h",
        "\x1b(?",
        "\x1b%G",
        "\x1b#3",
        "\x1b !\x18",
        "\x1b[0\x18",
        "\x1b]0;cut\x18",
        "\x1bPcut\x1a",
        "\x1b\x1b\x1b[m",
        "\x1b[3\u00e9;4m",
        "\x1b]0;" + "t" * 100_000 + "\x07",
        "\x1bP" + "d" * 100_000 + "\x1b\\",
        "\x1b_" + "a" * 100_000 + "\x1b\\",
    ],
)
def test_swallows_what_it_does_not_draw(data: str) -> None:
    """No sequence, known or not, whole or malformed, leaves text, moves the cursor or raises."""
    engine = screen("ab" + data + "c", 20, 3)
    assert ["abc", "", ""] == engine.active_rows()
    assert engine.ground
    assert engine.__sizeof__() < 100_000


def test_an_endless_string_takes_no_memory() -> None:
    """A string without end is read and forgotten, and ends at last."""
    engine = screen("\x1b]0;")
    for _ in range(100):
        engine.feed(b"x" * 10_000)
    assert engine.__sizeof__() < 100_000
    engine.feed(b"\x07ok")
    assert "ok" == engine.active_rows()[0]


def test_sequences_within_sequences() -> None:
    """A control inside a sequence is carried out, an escape begins another, a cancel ends it."""
    assert ["a", " b"] == rows("a\x1b[\n1mb", 6, 2)
    assert ["ab"] == rows("a\x1b[12\x1b[1mb", 6, 1)
    assert ["a2mb"] == rows("a\x1b[1\x182mb", 6, 1)
