"""Cline's screens (detection.md §2.7)."""

from hypothesis import given
from hypothesis import strategies as st

from prowl_svc.model.agents import Agent
from prowl_svc.model.state import RawState, Style
from prowl_svc.screens.classify import classify
from tests.screens.guards import after, recorded, without

FILE = "captures/cline.json"
IDLE = recorded(FILE, "cline-after-queued-80x24")
WORKING = recorded(FILE, "cline-working-stream-f3-80x24")
PERMISSION = recorded(FILE, "cline-permission-edit-80x24")
QUESTION = recorded(FILE, "cline-ask-f0-80x24")
CHROME = (
    "⠋ Thinking... (esc to cancel)",
    "Cline needs permission",
    "[y] Approve   [n] Deny",
    "Let Cline use this tool?",
    "[Act Mode] yes",
    "(1-5 or type)",
    "esc to interrupt",
    "Press Enter to open, any other key to close",
)


@given(st.lists(st.sampled_from(CHROME), max_size=8), st.integers(3, 9))
def test_quoted_chrome_is_not_chrome(rows: list[str], indent: int) -> None:
    """Chrome quoted in an answer, whose rows are indented, leaves the agent idle."""
    assert "cline.idleComposer" == after(IDLE, "*", [" " * indent + row for row in rows]).reason


@given(st.integers(0, 60))
def test_the_bullet_says_working_however_far_up(rows: int) -> None:
    """The spinner before an answer that streams is found over any number of its rows."""
    found = after(WORKING, "⠋", ["   and so on"] * rows)
    assert ("cline.spinnerBullet", Style.BRAILLE) == (found.reason, found.style)


def test_a_question_spins_and_is_blocked() -> None:
    """The spinner of the tool that asks does not say working."""
    assert RawState.BLOCKED is classify(Agent.CLINE, QUESTION.rows).state


def test_a_permission_without_its_heading_is_a_permission() -> None:
    """A pane that is shorter than the dialog shows only its keys."""
    assert RawState.BLOCKED is without(PERMISSION, "editor").state
