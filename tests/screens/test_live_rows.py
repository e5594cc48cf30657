"""Kimi, Droid, Grok, Pi, Oh My Pi and Qoder: only live rows count, their styles, and what their dialogs ask."""

from collections.abc import Iterator

import pytest

from prowl_svc.model.agents import Agent
from prowl_svc.model.state import RawState, Style
from prowl_svc.screens.classify import blocker_text, classify
from tests.screens import corpus

#: Files of recordings, how deep the agent indents answers, and what marks a row of the last answer.
ANSWERS = [("kimi", 2), ("kimicode", 3), ("droid", 3), ("grok", 5)]
MARKS = ("All done.", "all done.", "Slow answer finished.", "Answer after thinking.")


def chrome(cases: tuple[corpus.Case, ...]) -> Iterator[str]:
    """Yield the texts of the lowest rows of screens of working and blocked agents."""
    for case in cases:
        if case.state in ("working", "blocked"):
            for row in case.rows[-14:]:
                text = row.strip(" │█")
                if text.strip("─╭╮╰╯ "):
                    yield text


def answer_row(case: corpus.Case) -> int:
    """Return the lowest row of the transcript that holds the last answer, or -1."""
    rows = [row for row, text in enumerate(case.rows) if any(mark in text for mark in MARKS) and "❯" not in text]
    return rows[-1] if rows else -1


@pytest.mark.parametrize(("name", "depth"), ANSWERS)
def test_quoted_rows_of_the_interface_stay_idle(name: str, depth: int) -> None:
    """What a working or asking agent draws at the foot proves nothing when an answer quotes it."""
    cases = corpus.load(f"captures/{name}.json")
    quotes = sorted(set(chrome(cases)))
    idle = [(case, row) for case in cases if case.state == "idle" and (row := answer_row(case)) >= 0][:4]
    assert quotes
    assert idle
    for case, row in idle:
        for quote in quotes:
            rows = [*case.rows[: row + 1], " " * depth + quote, *case.rows[row + 1 :]]
            assert (quote, RawState.IDLE) == (quote, classify(case.agent, rows, case.title).state)


@pytest.mark.parametrize(
    ("file", "id", "style"),
    [
        ("captures/kimi.json", "kimi-working-stall-f0-80x24", Style.MOON),
        ("captures/kimi.json", "kimi-working-tool-f0-120x40", Style.BRAILLE),
        ("captures/kimi.json", "kimi-error-f0-120x40", None),
        ("captures/kimicode.json", "kimicode-error-f0-120x40", Style.MOON),
        ("captures/droid.json", "droid-working-stream-f0-80x24", Style.BRAILLE),
        ("captures/grok.json", "grok-working-stream-f0-80x24", Style.BRAILLE),
        ("bugs-grok.json", "bug-024-chip", Style.DOT_CYCLE),
        ("screens/grok.json", "grok-spinnerRow-01", Style.SYMBOL_CYCLE),
        ("captures/pi.json", "pi-working-stream-f0-120x40", Style.BRAILLE),
        ("screens/pi.json", "pi-loaderRow-01", None),
        ("captures/piold.json", "piold-working-stream-f0-120x40", Style.BRAILLE),
        ("captures/omp.json", "omp-working-stream-f0-120x40", Style.BRAILLE),
        ("captures/omp.json", "omp-working-stream-ascii-f0-120x40", None),
        ("screens/qoder.json", "qoder-spinnerFooter-02", Style.BRAILLE),
    ],
)
def test_style_of_the_row_that_decides(file: str, id: str, style: Style | None) -> None:
    """The style is the glyph family of the row that proves work, none when that row has no such glyph."""
    case = next(case for case in corpus.load(file) if case.id == id)
    assert style == case.detect().style


@pytest.mark.parametrize(
    ("file", "id", "first", "last"),
    [
        ("captures/kimi.json", "kimi-ask-f0-80x24", "╭─ question ─", "╰─"),
        ("captures/kimicode.json", "kimicode-ask-f0-80x24", "question", "↑↓ select"),
        ("captures/droid.json", "droid-permission-shell-f0-80x24", "Command to approve", "↑↓ navigate"),
        ("captures/grok.json", "grok-permission-sleep-80x24", "┃", "┃"),
        ("captures/omp.json", "omp-permission-shell2-120x40", "╭─ Allow tool: bash", "╰─"),
        ("captures/omp.json", "omp-permission-shell2-v17-120x40", "Allow tool: bash", "─"),
        ("bugs-pi.json", "pi-extension-asks", "─", "─"),
    ],
)
def test_what_a_dialog_asks(file: str, id: str, first: str, last: str) -> None:
    """A blocked screen gives the dialog's rows, from its head to its foot."""
    case = next(case for case in corpus.load(file) if case.id == id)
    asked = blocker_text(case.agent, list(case.rows))
    assert asked is not None
    rows = [row.strip() for row in asked.split("\n")]
    assert (True, True) == (rows[0].startswith(first), rows[-1].startswith(last))


def test_a_working_title_needs_a_covered_screen() -> None:
    """Grok's working title decides only where neither the composer nor a dialog is in sight."""
    composer = ["  ╭──────╮", "  │ ❯    │", "  ╰──────╯"]
    title = "⠙ - Responding - tidy up - grok"
    assert "grok.composer" == classify(Agent.GROK, composer, title).reason
    assert "grok.titleWorking" == classify(Agent.GROK, ["  Settings"], title).reason
