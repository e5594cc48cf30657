"""Recordings: reading asciicast files, and showing their screen at a time."""

import gzip
import json
from pathlib import Path

import pytest

from prowl_svc.terminal.cast import Cast, CastError, CastEvent, parse_cast, read_cast
from prowl_svc.terminal.render import RenderError, render_png, render_text, replay, screen_at
from tests.terminal.oracles import CASTS, cast_id

HEADER = '{"version": 2, "width": 20, "height": 3, "title": "demo"}'
LINES = [
    HEADER,
    '[0.5, "o", "hello\\r\\n"]',
    '[1, "i", "x"]',
    '[1.5, "m", "idle"]',
    '[2, "o", "\\u001b[2mworld"]',
    '[3, "r", "30x4"]',
    '[4, "x", "unknown kinds are skipped"]',
]


def test_reads_events_in_order() -> None:
    """Header and events come out as recorded; an event before its predecessor gets the time of that."""
    cast = parse_cast([*LINES, '[1, "o", "late"]'])
    assert (20, 3, "demo", False, 3.0) == (cast.columns, cast.rows, cast.title, cast.cut, cast.duration)
    assert ["o", "i", "m", "o", "r", "o"] == [event.kind for event in cast.events]
    assert (CastEvent(3.0, "o", "late"), (30, 4)) == (cast.events[-1], cast.events[4].size)


def test_a_cut_file_is_read_up_to_the_cut() -> None:
    """An incomplete last line is left out, and told."""
    cast = parse_cast([*LINES, '[5, "o", "he'])
    assert (True, 5) == (cast.cut, len(cast.events))


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        ([], "line 1: not an asciicast header"),
        (["hello"], "line 1: not an asciicast header"),
        (['{"version": 3, "term": {}}'], "line 1: asciicast version 3 is not supported, only 2"),
        (['{"version": 2, "width": 0, "height": 3}'], "line 1: width and height must be 1 to 1000"),
        (['{"version": 2, "width": true, "height": 3}'], "line 1: width and height must be 1 to 1000"),
        ([HEADER, "{}", '[1, "o", ""]'], "line 2: an event must be [time, kind, data]"),
        ([HEADER, '["1", "o", ""]', "[]"], "line 2: the time of an event must be a number of seconds"),
        ([HEADER, '[1, "o", 5]', "[]"], "line 2: kind and data of an event must be strings"),
        ([HEADER, '[1, "r", "big"]', "[]"], "line 2: a resize must be COLSxROWS, each 1 to 1000"),
        ([HEADER, "[" * 100_000, "[]"], "line 2: "),
    ],
)
def test_says_what_is_wrong(lines: list[str], message: str) -> None:
    """A file that is no recording, or is damaged before its end, is refused with the line and the reason."""
    with pytest.raises(CastError) as caught:
        parse_cast(lines)
    assert str(caught.value).startswith(message)


def test_reads_plain_and_gzipped_files(tmp_path: Path) -> None:
    """Both forms of a file give the same recording; damaged gzip data is refused."""
    plain, packed = tmp_path / "a.cast", tmp_path / "a.cast.gz"
    plain.write_text("\n".join(LINES))
    packed.write_bytes(gzip.compress("\n".join(LINES).encode()))
    assert read_cast(plain) == read_cast(packed)
    packed.write_bytes(packed.read_bytes()[:-20])
    with pytest.raises(CastError):
        read_cast(packed)
    with pytest.raises(OSError, match="missing"):
        read_cast(tmp_path / "missing.cast")


@pytest.mark.parametrize(
    ("at", "text"),
    [(0, "\n\n\n"), (0.5, "hello\n\n\n"), (2, "hello\nworld\n\n"), (None, "hello\nworld\n\n\n")],
)
def test_shows_the_screen_at_a_time(at: float | None, text: str) -> None:
    """Everything up to and including that time is on the screen, resizes too."""
    assert text == render_text(parse_cast(LINES), at)


def test_an_open_update_is_shown() -> None:
    """A bug report wants what was there, complete or not."""
    cast = Cast(10, 1, "", (CastEvent(1.0, "o", "\x1b[?2026hhalf"),))
    assert "half\n" == render_text(cast)


def test_replay_tells_the_time_of_each_step() -> None:
    """A caller can look at the screen between outputs."""
    cast = parse_cast(LINES)
    screen = screen_at(Cast(cast.columns, cast.rows, "", ()))
    seen = [(time, screen.active_rows()[1], screen.rows) for time in replay(cast, screen)]
    assert [(0.5, "", 3), (2.0, "world", 3), (3.0, "world", 4)] == seen


@pytest.mark.parametrize("path", CASTS, ids=cast_id)
def test_recordings_end_as_they_did(path: Path) -> None:
    """The last screen of each recording is the one that was kept with it."""
    kept = json.loads((path.parent / "screens.json").read_text())
    assert kept[cast_id(path)] == render_text(read_cast(path)).rstrip("\n").split("\n")


def test_draws_a_picture() -> None:
    """A PNG of the size of the grid, the same each time."""
    pytest.importorskip("PIL")
    pytest.importorskip("prowl_svc.terminal.engine_screen", exc_type=ImportError)
    cast = parse_cast([HEADER, '[1, "o", "┌─┐ 中 \\u001b[2mdim"]'])
    picture = render_png(cast)
    assert b"\x89PNG\r\n\x1a\n" == picture[:8]
    assert picture == render_png(cast)
    assert picture != render_png(cast, 0)


def test_a_picture_needs_pillow(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without it the error says what to install."""
    monkeypatch.setitem(__import__("sys").modules, "PIL", None)
    with pytest.raises(RenderError, match=r"prowl\[png\]"):
        render_png(parse_cast(LINES))
