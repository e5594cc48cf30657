"""Amp's screens (detection.md §2.12)."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from prowl_svc.model.agents import Agent
from prowl_svc.model.state import RawState, Style
from prowl_svc.screens.classify import classify
from tests.screens.guards import after, recorded, without

FILE = "captures/ampold.json"
IDLE = recorded(FILE, "ampold-after-slow-120x40")
WORKING = recorded(FILE, "ampold-working-stall-f0-120x40")
BLOCKED = recorded(FILE, "ampold-permission-sleep-80x24")
CHROME = (
    "≋ Streaming response...  Esc to cancel",
    "Run this command?",
    "▸● Approve [1]",
    "○ Deny with feedback [4]",
    "Would you like to log in to Amp? [(y)es, (n)o]:",
    "Space to continue",
)
BORDER = ["╭──────── medium ─╮", "│                 │", "╰─────────── ~/x ─╯"]


@given(st.lists(st.sampled_from(CHROME), max_size=8), st.integers(2, 9))
def test_quoted_chrome_is_not_chrome(rows: list[str], indent: int) -> None:
    """Chrome quoted in an answer over an idle composer leaves the agent idle."""
    assert "amp.idleComposer" == after(IDLE, "Slow answer", [" " * indent + row for row in rows]).reason


@pytest.mark.parametrize("wave", " ∼≈≋")
@pytest.mark.parametrize(
    "status", ["Streaming response...  Esc to cancel", "Running tools...", "Waiting for response..."]
)
def test_the_status_row_says_working(wave: str, status: str) -> None:
    """Every frame of the wave says working, the one without a wave too."""
    rows = [row if "Streaming response" not in row else f" {wave} {status}" for row in WORKING.rows]
    found = classify(Agent.AMP, rows)
    assert ("amp.cancelHint", Style.SYMBOL_CYCLE) == (found.reason, found.style)


def test_an_overdrawn_approval_without_its_top_is_an_approval() -> None:
    """A pane that is shorter than the dialog shows only its answers."""
    assert RawState.BLOCKED is without(BLOCKED, "│ ▸●").state


@pytest.mark.parametrize(
    ("status", "state"),
    [
        ("", RawState.IDLE),
        (" ≋ ", RawState.IDLE),
        (" ≋ Running tools ", RawState.WORKING),
        (" Disconnected ", RawState.UNKNOWN),
        (" Amp Is Redeploying ", RawState.UNKNOWN),
    ],
)
def test_the_lower_border_says_what_amp_does(status: str, state: RawState) -> None:
    """The newer composer has its status at the left end of its lower border."""
    assert state is classify(Agent.AMP, [*BORDER[:2], f"╰{status}───── ~/x ─╯"]).state
