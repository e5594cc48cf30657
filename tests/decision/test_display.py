"""Seen and unseen, and what a person is shown."""

import json

import pytest

from prowl_svc.decision.display import Attention, acknowledge, busy, display, observe, settle, viewed
from prowl_svc.model.agents import Agent
from prowl_svc.model.state import Decision, DisplayState, RawState
from tests.decision.cases import CORPUS

MANIFEST = json.loads((CORPUS / "providers" / "manifest.json").read_text())["cases"]
SEEN = next(case for case in MANIFEST if case["kind"] == "pane.seen")["table"]


def decision(state: str, reason: str = "demo.rule") -> Decision:
    return Decision(RawState(state), reason, "demo.rule")


@pytest.mark.parametrize("row", SEEN)
def test_seen_rule(row):
    """The table of the seen rule holds row by row."""
    before = Attention(Agent.CLAUDE, RawState(row["previous"]), row["prev_seen"], 1)
    after = observe(before, Agent.CLAUDE, decision(row["now"]), row["viewed"], 2)

    assert (row["seen"], row["display"]) == (after.seen, after.shown)


def test_first_idle_is_not_done():
    """An agent that was never seen working is Idle, not Done."""
    assert DisplayState.IDLE is observe(Attention(), Agent.PI, decision("idle"), False, 1).shown


@pytest.mark.parametrize("reason", ["osc.done", "osc.error"])
def test_reported_completion_is_done(reason):
    """A program that says done or error is Done without having been seen working, once."""
    done = observe(Attention(), Agent.PI, decision("idle", reason), False, 1)
    assert DisplayState.DONE is done.shown

    read = acknowledge(done, True, 2)
    assert DisplayState.IDLE is observe(read, Agent.PI, decision("idle", reason), False, 3).shown


def test_last_changed_moves_with_state_agent_and_acknowledgement():
    """The time of the last change ignores a new reason and follows state, agent and acknowledgement."""
    row = observe(Attention(), Agent.PI, decision("working", "a"), False, 1)
    row = observe(row, Agent.PI, decision("working", "b"), False, 2)
    assert 1 == row.changed_at
    row = observe(row, Agent.PI, decision("idle"), False, 3)
    assert 3 == row.changed_at
    row = acknowledge(row, True, 4)
    assert 4 == row.changed_at
    assert row is acknowledge(row, True, 5)
    assert 6 == observe(row, Agent.OMP, decision("idle"), False, 6).changed_at


def test_polling_while_viewed_acknowledges():
    """A completion becomes read by any publication while the pane is viewed."""
    row = observe(Attention(Agent.PI, RawState.WORKING, True, 1), Agent.PI, decision("idle"), False, 2)
    row = observe(row, Agent.PI, decision("idle"), True, 3)

    assert (True, 3) == (row.seen, row.changed_at)


def test_another_agent_starts_read():
    """An agent that follows a working one in the same pane is not Done."""
    row = Attention(Agent.PI, RawState.WORKING, True, 1)

    assert DisplayState.IDLE is observe(row, Agent.OMP, decision("idle"), False, 2).shown


def test_release_resets():
    """A released agent leaves nothing unread, and unknown is not listed."""
    row = observe(Attention(Agent.PI, RawState.IDLE, False, 1), None, decision("idle"), False, 2)

    assert Attention(changed_at=2.0) == row
    assert not observe(row, Agent.PI, decision("unknown"), False, 3).listed


def test_unknown_view_is_not_viewed():
    """Only a certain claim counts as viewing."""
    assert [False, False, True] == [viewed([]), viewed([None, False]), viewed([None, True])]


def test_busy_is_working_or_blocked():
    """Done, idle and no agent are not busy."""
    shown = [display(state, seen) for state in RawState for seen in (True, False)]

    assert {DisplayState.WORKING, DisplayState.BLOCKED} == {state for state in shown if busy(state)}
    assert not busy(None)


def test_acknowledgement_survives_a_pending_lookup():
    """A completion read during a lookup stays read when the lookup finishes; a later one is Done again."""
    started = observe(Attention(Agent.CODEX, RawState.WORKING, True, 1), Agent.CODEX, decision("idle"), False, 2)
    current = acknowledge(started, True, 3)
    row = settle(started, current, Agent.CODEX, decision("idle"), is_viewed=False, now=4)

    assert current == row
    row = observe(row, Agent.CODEX, decision("working"), False, 5)
    assert DisplayState.DONE is observe(row, Agent.CODEX, decision("idle"), False, 6).shown


def test_result_of_a_pending_lookup_is_discarded_after_a_change():
    """When agent or state moved meanwhile, the late result is not published."""
    started = Attention(Agent.CODEX, RawState.WORKING, True, 1)
    current = observe(started, Agent.CODEX, decision("blocked"), False, 2)

    assert settle(started, current, Agent.CODEX, decision("idle"), is_viewed=False, now=3) is None
