"""Tables of rules decide in order, with titles where they may, and say why."""

import importlib

import pytest

from prowl_svc._fast.rows_glyphs import Glyph
from prowl_svc.model.agents import Agent
from prowl_svc.model.state import LEGACY_DETECTOR, NO_RULE_MATCHED, Detection, RawState, Style
from prowl_svc.screens import classify
from prowl_svc.screens.frame import Frame
from prowl_svc.screens.regions import is_numbered, last_rows, screen, style_of
from prowl_svc.screens.rules import AgentScreen, Rule, TitleRules, describe, holds, row, says, text
from tests.screens import corpus

WRITTEN = [agent for agent in Agent if corpus.written(agent)]

TABLE = AgentScreen(
    agent=Agent.AMP,
    rules=(
        Rule("amp.viewer", RawState.UNKNOWN, screen, text("Transcript")),
        Rule("amp.ask", RawState.BLOCKED, last_rows(2), says("Esc to cancel"), hints=("esctocancel",)),
        Rule("amp.spin", RawState.WORKING, screen, holds, needs=Glyph.BRAILLE, style=lambda f, s: style_of(f.heads[0])),
        Rule("amp.idle", RawState.IDLE, screen, row(is_numbered)),
    ),
    title=TitleRules(
        working=lambda title: title.startswith("*"),
        blocked=lambda title: title.startswith("!"),
        silent=lambda frame: "finished" not in frame.text,
        style=Style.BRAILLE,
    ),
)


def detect(rows: str, title: str = "") -> Detection:
    return TABLE.detect(Frame(rows.split("\n")), title)


def test_the_first_rule_that_holds_decides() -> None:
    """Order is the table's."""
    assert "amp.viewer" == detect("Transcript\nesc to cancel").reason
    assert "amp.ask" == detect("⠹\nESC to can\n  cel").reason
    assert Detection(RawState.WORKING, "amp.spin", Style.BRAILLE) == detect("⠹ on")
    assert "amp.idle" == detect("x\n1. y").reason


def test_no_match_is_idle() -> None:
    """No match is idle; its reason tells whether the agent has a positive idle rule (detection.md §2.0)."""
    assert Detection(RawState.IDLE, NO_RULE_MATCHED) == detect("text")
    bare = AgentScreen(agent=Agent.AMP, rules=TABLE.rules[:3])
    assert Detection(RawState.IDLE, LEGACY_DETECTOR) == bare.detect(Frame(["text"]))


@pytest.mark.parametrize(
    ("rows", "title", "reason"),
    [
        ("Transcript", "! needs you", "amp.viewer"),
        ("esc to cancel", "! needs you", "amp.ask"),
        ("⠹ on", "! needs you", "amp.titleBlocked"),
        ("⠹ on", "* busy", "amp.spin"),
        ("1. x", "* busy", "amp.titleWorking"),
        ("1. x\nfinished", "* busy", "amp.idle"),
        ("text", "* busy", "amp.titleWorking"),
        ("1. x", "quiet", "amp.idle"),
    ],
)
def test_titles_take_their_place(rows: str, title: str, reason: str) -> None:
    """Screen blocker, title blocked, screen working, title working where the screen may be silent, screen idle."""
    assert reason == detect(rows, title).reason


def test_conditions_join_and_describe_themselves() -> None:
    """Joined conditions hold as their words say."""
    both = says("a b") & ~text("C")
    either = says("x") | row(is_numbered)
    frame = Frame(["A  B", "1. y"])
    span = screen(frame)
    assert both(frame, span)
    assert either(frame, span)
    assert not (says("x") & holds)(frame, span)
    assert "says “a b” and not holds “C”" == describe(both)


def test_an_agent_without_rules_is_idle(monkeypatch: pytest.MonkeyPatch) -> None:
    """An agent that has no file yet reads idle by the legacy detector."""
    monkeypatch.setattr(classify, "_screens", {Agent.AMP: None})
    assert Detection(RawState.IDLE, LEGACY_DETECTOR) == classify.classify(Agent.AMP, ["⠹"])
    assert "no rules" in classify.explain(Agent.AMP, ["⠹"]).title


@pytest.mark.parametrize("agent", WRITTEN)
def test_rule_ids_carry_the_agent_and_one_state(agent: Agent) -> None:
    """Ids start with the runtime prefix, one id means one state, and blocked comes before working before idle."""
    table = importlib.import_module(f"prowl_svc.screens.{agent.short}").SCREEN
    assert agent is table.agent
    states: dict[str, RawState] = {}
    for rule in table.rules:
        assert rule.id.startswith(f"{agent.short}.")
        assert rule.state is states.setdefault(rule.id, rule.state)
    order = [RawState.BLOCKED, RawState.WORKING, RawState.IDLE]
    ranks = [order.index(rule.state) for rule in table.rules if rule.state is not RawState.UNKNOWN]
    assert sorted(ranks) == ranks


def test_rule_ids_are_unique_over_agents() -> None:
    """No two agents share an id."""
    owners: dict[str, Agent] = {}
    for agent in WRITTEN:
        for rule in importlib.import_module(f"prowl_svc.screens.{agent.short}").SCREEN.rules:
            assert agent is owners.setdefault(rule.id, agent)


@pytest.mark.parametrize("agent", WRITTEN)
def test_every_rule_has_a_witness(agent: Agent) -> None:
    """Every rule decides some right case of the corpus."""
    table = importlib.import_module(f"prowl_svc.screens.{agent.short}").SCREEN
    seen = {case.detect().reason for case in corpus.all_cases() if case.agent is agent and case.wrong() is None}
    assert set() == {rule.id for rule in table.rules} - seen


def test_package_imports_nothing() -> None:
    """Importing the room's package pulls in none of its modules' work."""
    source = importlib.import_module("prowl_svc.screens").__file__
    assert source is not None
    with open(source, encoding="utf-8") as file:
        assert "import" not in file.read()
