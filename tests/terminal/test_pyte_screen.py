"""The interpreted screen against the compiled one on real sessions, and what it does when pyte fails."""

from pathlib import Path

import pytest

from prowl_svc.terminal.cast import read_cast
from prowl_svc.terminal.grid import Grid
from prowl_svc.terminal.pyte_screen import PyteScreen

CASTS = Path(__file__).parents[1] / "corpus" / "casts"
SESSIONS = [
    "amp--session2-80x24",
    "claude--startup-120x40",
    "claude-v21197--fullscreen-80x24",
    "codex--daemon-b-120x40",
    "gemini--startup-80x24",
    "pi--first-80x24",
]


@pytest.mark.parametrize("name", SESSIONS)
def test_sessions_look_the_same(name: str) -> None:
    """At every tenth of a real session both engines show the same rows and title, and pyte fails on nothing."""
    engine = pytest.importorskip("prowl_svc.terminal.engine_screen", exc_type=ImportError)
    cast = read_cast(CASTS / f"{name}.cast.gz")
    ours, other = PyteScreen(cast.columns, cast.rows), engine.EngineScreen(cast.columns, cast.rows)
    output = [event.raw for event in cast.events if event.kind == "o"]
    for number, data in enumerate(output):
        assert ours.feed(data) == other.feed(data)
        if number % (len(output) // 10 + 1) == 0 or number == len(output) - 1:
            assert other.active_rows() == ours.active_rows()
            assert (other.title, other.cursor) == (ours.title, ours.cursor)
    assert list(other.scrollback_rows()) == list(ours.scrollback_rows())
    assert ours.take_answers() == other.take_answers()
    assert 0 == ours.faults


def test_faults_lose_one_sequence(monkeypatch: pytest.MonkeyPatch) -> None:
    """When pyte raises, that sequence is lost and counted, and everything after it is taken."""

    def fail(*_: object) -> None:
        raise AssertionError

    monkeypatch.setattr(Grid, "insert_lines", fail)
    screen = PyteScreen(10, 2)
    assert [] == screen.feed(b"a\x1b[Lb")
    assert (1, ["ab", ""]) == (screen.faults, screen.active_rows())


def test_joined_characters() -> None:
    """Marks, variation selectors and joined emoji stay in the cell of their base, bounded."""
    screen = PyteScreen(10, 2)
    screen.feed("●\ufe0fa👩\u200d💻b".encode())
    assert "●\ufe0fa👩\u200d💻b" == screen.active_rows()[0]
    screen.feed(b"\x1b[2;1He" + "\u0301".encode() * 1000 + b"x")
    assert len(screen.active_rows()[1]) < 50
    assert screen.active_rows()[1].endswith("x")
