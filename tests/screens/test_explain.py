"""An explanation says how a screen was read, with row numbers and without screen text."""

import dataclasses

import pytest

from prowl_svc.model.agents import Agent
from prowl_svc.screens.classify import classify, explain
from tests.screens import corpus

CASES = [case for case in corpus.all_cases() if case.agent in (Agent.CLAUDE, Agent.CODEX)][::17]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.id)
def test_explanation_agrees_with_the_classification(case: corpus.Case) -> None:
    """The explanation's detection is the classification's, and the last rule tried is the deciding one."""
    told = explain(case.agent, list(case.rows), case.title)
    assert classify(case.agent, list(case.rows), case.title) == told.detection
    matched = [one for one in told.tried if one.matched]
    if "title" not in told.detection.reason and "fallback" not in told.detection.reason:
        assert [told.detection.reason] == [one.id for one in matched]
    for region in told.regions:
        assert 0 <= region.first <= region.last < len(case.rows)


def test_explanation_names_rows_of_the_screen() -> None:
    """Regions are told in row numbers of the whole screen, not of the tail."""
    rows = [f"old {number}" for number in range(30)]
    rows += ["• Working (3s • esc to interrupt)", "", "› Explain this codebase", "", "  m low · ~/src"]
    told = explain(Agent.CODEX, rows)
    assert "codex.workingFooter" == told.detection.reason
    region = told.tried[-1].region
    assert region is not None
    assert (30, 30) == (region.first, region.last)


def test_explanation_holds_no_screen_text() -> None:
    """Nothing that stands on the screen is repeated."""
    rows = ["secretword", "› secretword", "  1. secretword", "", "› secretword", "", "  m · ~/secretword"]
    assert "secretword" not in str(dataclasses.asdict(explain(Agent.CODEX, rows, "secretword")))


def test_rejections_say_why() -> None:
    """Each rule that was tried says why it did not hold."""
    told = explain(Agent.CLAUDE, ["plain"])
    assert all(one.why and not one.matched for one in told.tried)
    assert "fallback.noRuleMatched" == told.detection.reason
