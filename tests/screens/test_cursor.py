"""Cursor's screens (detection.md §2.6)."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from prowl_svc.model.agents import Agent
from prowl_svc.model.state import Style
from prowl_svc.screens.classify import classify
from tests.screens.guards import split

PERMISSION = ["  $ rm -rf build", "  Run this command?", "  Not in allowlist: rm", "", "   Skip (esc or n)"]


@given(st.integers(0, 3))
def test_a_hint_over_two_rows_counts(at: int) -> None:
    """Wherever a narrow pane wraps the hint, it is found."""
    rows = ["  ⬢ Composed", "", "  → Add a follow-up", *split("    ctrl+c to stop", at)]
    assert "cursor.stopHint" == classify(Agent.CURSOR, rows).reason


@given(st.integers(0, 3))
def test_a_permission_over_more_rows_counts(at: int) -> None:
    """Wherever a narrow pane wraps the question, it is found."""
    rows = [*PERMISSION[:1], *split(PERMISSION[1], at), *PERMISSION[2:]]
    assert "cursor.runPermission" == classify(Agent.CURSOR, rows).reason


@pytest.mark.parametrize("glyph", "⬡⬢")
def test_a_hexagon_row_has_its_style(glyph: str) -> None:
    """Both hexagons lead a row that says working."""
    found = classify(Agent.CURSOR, [f"  {glyph} Reading 2 files"])
    assert ("cursor.hexagonRow", Style.HEXAGON) == (found.reason, found.style)


def test_the_footer_is_no_question() -> None:
    """“Run Everything” under the composer asks nothing."""
    rows = ["  Done (y).", "", "  → Add a follow-up", "", "  Composer 2 · 12%   Run Everything"]
    assert "cursor.idleComposer" == classify(Agent.CURSOR, rows).reason
