"""Qwen Code's screens (detection.md §2.13)."""

from hypothesis import given
from hypothesis import strategies as st

from prowl_svc.model.agents import Agent
from prowl_svc.model.state import RawState, Style
from prowl_svc.screens.classify import classify
from tests.screens.guards import after, recorded, split, without

FILE = "captures/qwen.json"
IDLE = recorded(FILE, "qwen-idle-after-tool-80x24")
WORKING = recorded(FILE, "qwen-working-hang-f2-80x24")
BLOCKED = recorded(FILE, "qwen-permission-bash-80x24")
CHROME = (
    "⠏ Waiting for user confirmation...",
    "⠴ Thinking... (1s · esc to cancel)",
    "› 1. Yes, allow once",
    "Do you want to proceed? Yes",
    "· 1 shell",
)


@given(st.lists(st.sampled_from(CHROME), max_size=8), st.integers(4, 9))
def test_quoted_chrome_is_not_chrome(rows: list[str], indent: int) -> None:
    """Chrome quoted in an answer over an idle composer leaves the agent idle."""
    assert "qwen.idleComposer" == after(IDLE, "◆", [" " * indent + row for row in rows]).reason


@given(st.integers(0, 9))
def test_a_hint_over_two_rows_counts(at: int) -> None:
    """Wherever a narrow pane wraps the status, its hint is found."""
    rows = list(WORKING.rows)
    number = next(number for number, row in enumerate(rows) if "esc to cancel" in row)
    rows[number : number + 1] = split(rows[number], at)
    assert "qwen.cancelHint" == classify(Agent.QWEN, rows).reason


def test_working_has_the_style_of_its_spinner() -> None:
    """The status spins in braille."""
    assert Style.BRAILLE is WORKING.detect().style


def test_an_approval_spins_and_is_blocked() -> None:
    """The spinner over an approval does not say working, in a short pane too."""
    assert RawState.BLOCKED is classify(Agent.QWEN, BLOCKED.rows).state
    assert RawState.BLOCKED is without(BLOCKED, "› 1.").state
