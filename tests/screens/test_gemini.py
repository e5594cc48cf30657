"""Gemini's screens (detection.md §2.5)."""

from hypothesis import given
from hypothesis import strategies as st

from prowl_svc.model.agents import Agent
from prowl_svc.model.state import RawState, Style
from prowl_svc.screens.classify import classify
from tests.screens.guards import after, recorded, split, without

FILE = "captures/gemini.json"
IDLE = recorded(FILE, "gemini-idle-after-edit-120x40")
WORKING = recorded(FILE, "gemini-working-hang-f3-120x40")
BLOCKED = recorded(FILE, "gemini-permission-write-120x40")
CHROME = (
    "⠧ Thinking... (esc to cancel, 2s)",
    "Waiting for user confirmation...",
    "│ Allow execution of: 'rm'?",
    "│ Apply this change?",
    "│ ● 1. Yes, allow once",
    "Do you want to proceed? Yes",
    "1 Background process",
)


@given(st.lists(st.sampled_from(CHROME), max_size=8), st.integers(2, 9))
def test_quoted_chrome_is_not_chrome(rows: list[str], indent: int) -> None:
    """Chrome quoted in an answer over an idle composer leaves the agent idle."""
    assert "gemini.idleComposer" == after(IDLE, "✦", [" " * indent + row for row in rows]).reason


@given(st.integers(0, 5))
def test_a_hint_over_two_rows_counts(at: int) -> None:
    """Wherever a narrow pane wraps the status, its hint is found."""
    rows = list(WORKING.rows)
    number = next(number for number, row in enumerate(rows) if "esc to cancel" in row)
    rows[number : number + 1] = split(rows[number].split("  ")[0], at)
    assert "gemini.cancelHint" == classify(Agent.GEMINI, rows).reason


def test_working_has_the_style_of_its_spinner() -> None:
    """The status spins in braille."""
    assert Style.BRAILLE is WORKING.detect().style


def test_a_dialog_without_its_top_is_a_dialog() -> None:
    """A pane that is shorter than the dialog shows only its end, which asks all the same."""
    assert RawState.BLOCKED is without(BLOCKED, "│ │ 2 line two").state


def test_a_title_cannot_overrule_the_running_command() -> None:
    """The title calls for a person when a command is silent; the screen shows that it runs."""
    assert RawState.WORKING is classify(Agent.GEMINI, WORKING.rows, "✋  Action Required (x)").state
    assert "gemini.titleBlocked" == classify(Agent.GEMINI, IDLE.rows, "✋  Action Required (x)").reason
