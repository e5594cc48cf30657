"""Copilot's screens (detection.md §2.9)."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from prowl_svc.model.agents import Agent
from prowl_svc.model.state import Style
from prowl_svc.screens.classify import classify
from tests.screens.guards import after, recorded

FILE = "captures/copilot.json"
IDLE = recorded(FILE, "copilot-menu-closed-80x24")
WORKING = recorded(FILE, "copilot-working-stream-f0-80x24")
CHROME = (
    "◎ Working esc interrupt",
    "◉ Working · 2.1 KB esc esc interrupt",
    "│ Do you want to run this command?",
    "│ ❯ 1. Yes",
    "↑/↓ to navigate · enter to select · esc to cancel",
    "Confirm with number keys or Enter",
    "◉ Waiting for background agents",
)


@given(st.lists(st.sampled_from(CHROME), max_size=8), st.integers(3, 9))
def test_quoted_chrome_is_not_chrome(rows: list[str], indent: int) -> None:
    """Chrome quoted in an answer over an idle composer leaves the agent idle."""
    quoted = [" " * indent + row for row in rows]
    assert "copilot.idleComposer" == after(IDLE, "●", [*quoted, "   and so on"]).reason


@pytest.mark.parametrize("glyph", "∙∘○◎◉●")
@pytest.mark.parametrize("hint", ["esc esc interrupt", "· 35 B esc esc interrupt", "esc esc edit prompt", ""])
def test_the_footer_says_working(glyph: str, hint: str) -> None:
    """Under the composer a dot and Working are enough, whatever the hint."""
    rows = [row if "Working" not in row else f" {glyph} Working {hint}".rstrip() for row in WORKING.rows]
    found = classify(Agent.COPILOT, rows)
    assert ("copilot.workingFooter", Style.DOT_CYCLE) == (found.reason, found.style)
