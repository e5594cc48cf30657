"""OpenCode's screens (detection.md §2.8)."""

from hypothesis import given
from hypothesis import strategies as st

from prowl_svc.model.agents import Agent
from prowl_svc.model.state import RawState, Style
from prowl_svc.screens.classify import classify
from tests.screens.guards import after, recorded, without

FILE = "captures/opencode.json"
IDLE = recorded(FILE, "opencode-idle-after-permission-120x40")
WORKING = recorded(FILE, "opencode-working-stream-f3-80x24")
BLOCKED = recorded(FILE, "opencode-permission-edit-80x24")
CHROME = (
    "⬝⬝■■■■⬝⬝  esc interrupt",
    "△ Permission required",
    "↑↓ select  enter submit  esc dismiss",
    "Allow once   Allow always   Reject",
    "esc to interrupt",
    "1 subagent",
)


@given(st.lists(st.sampled_from(CHROME), max_size=8))
def test_quoted_chrome_is_not_chrome(rows: list[str]) -> None:
    """Chrome quoted in an answer over an idle composer leaves the agent idle."""
    assert "opencode.idleComposer" == after(IDLE, "▣", ["     " + row for row in rows]).reason


@given(st.text("⬝■", min_size=8, max_size=8))
def test_the_bar_alone_says_working(bar: str) -> None:
    """Any frame of the bar says working, whatever a narrow pane leaves of the hint beside it."""
    rows = [row if "esc interrupt" not in row else f"   {bar}  e" for row in WORKING.rows]
    found = classify(Agent.OPENCODE, rows)
    assert ("opencode.interruptHint", Style.SYMBOL_CYCLE) == (found.reason, found.style)


def test_a_permission_without_its_heading_is_a_permission() -> None:
    """A pane that is shorter than the dialog shows only its end, which asks all the same."""
    assert RawState.BLOCKED is without(BLOCKED, "┃  1 + goodbye").state
