"""Captures on disk, and what drift says of them."""

from pathlib import Path

from tests.recorder.captures import Capture, Folder, cleaned, folders
from tests.recorder.drift import drift

SCREEN = ["✻ Nucleating… (2s · ↓ 9 tokens)", "", "─" * 40, "❯\xa0", "─" * 40, "  ⏸ manual mode on · esc to interrupt"]


def capture(name: str, state: str = "working", columns: int = 40, rows: int = 8) -> Capture:
    return Capture(name, columns, rows, "Claude Code", True, state, "answering", "request open")


def test_a_capture_comes_back_as_it_was_taken(tmp_path: Path) -> None:
    """Rows, blanks that are not spaces, and the truth survive the way to disk and back, padded to the height."""
    folder = Folder(tmp_path / "claude" / "1.0")
    folder.replace(40, 8, [(capture("a"), SCREEN)])
    assert [capture("a")] == folder.captures()
    assert [*SCREEN, "", ""] == folder.screen(capture("a"))
    assert [("claude", "1.0")] == [(found.agent, found.version) for found in folders(tmp_path)]


def test_recording_again_replaces_one_size_alone(tmp_path: Path) -> None:
    """New captures of a size take the place of all old ones of that size, files included."""
    folder = Folder(tmp_path / "claude" / "1.0")
    folder.replace(40, 8, [(capture("a"), SCREEN), (capture("b"), SCREEN)])
    folder.replace(80, 24, [(capture("c", columns=80, rows=24), SCREEN)])
    folder.replace(40, 8, [(capture("d"), SCREEN)])
    assert ["c", "d"] == [item.name for item in folder.captures()]
    assert ["c.txt", "d.txt", "manifest.json"] == sorted(path.name for path in folder.path.iterdir())


def test_nothing_of_the_machine_stays_in_a_capture() -> None:
    """The sandbox's folder, the mock's port and given words are replaced by others of the same length."""
    home = Path("/tmp/rec-ab12cd34")
    text = "cwd /tmp/rec-ab12cd34/project rec-ab12cd34 http://127.0.0.1:43121/v1 /opt/cache/agent"
    expected = "cwd /home/u/workspace/project workspace-12 http://127.0.0.1:88888/v1 xxxxxxxxxx/agent"
    assert expected == cleaned(text, home, ["/opt/cache"])
    assert len(expected) == len(text)
    assert ["in /home/u/w", "orkspace/project"] == [cleaned(row, home) for row in ("in /tmp/rec-", "ab12cd34/project")]


def test_drift_tells_what_is_misread(tmp_path: Path) -> None:
    """A screen that is read as it was counts as right; one that is not is told with the rule that decided."""
    folder = Folder(tmp_path / "claude" / "1.0")
    folder.replace(40, 8, [(capture("right"), SCREEN), (capture("wrong", state="blocked"), SCREEN)])
    (report,) = drift(tmp_path)
    assert ["wrong"] == [item.capture.name for item in report.misread]
    lines = list(report.lines(frozenset({"claude.other"})))
    assert "claude 1.0: 1 of 2 right" == lines[0]
    assert "blocked read as working" in lines[1]
    assert "rules of other versions not met here: claude.other" in lines[2]
