"""What a blocked screen asks, and what is typed in a composer, are read from the structure of the screen."""

import pytest

from prowl_svc.model.agents import Agent
from prowl_svc.screens import claude, codex
from prowl_svc.screens.classify import blocker_text
from prowl_svc.screens.frame import Frame
from tests.screens import corpus

RULE = "─" * 40


@pytest.mark.parametrize(
    "case",
    [
        case
        for case in corpus.all_cases()
        if case.agent in (Agent.CLAUDE, Agent.CODEX) and case.state == "blocked" and case.rule != "codex.titleBlocked"
    ],
    ids=lambda case: case.id,
)
def test_a_blocked_screen_says_what_it_asks(case: corpus.Case) -> None:
    """Every blocked screen has a text, which is a part of the screen down to its end."""
    told = blocker_text(case.agent, list(case.rows))
    assert told
    assert "\n".join(case.rows).rstrip("\n").endswith(told)


def test_the_text_holds_the_dialog_and_nothing_above_it() -> None:
    """The transcript above the dialog and the rule that opens it are left out."""
    rows = [
        "❯ do it",
        "● On it.",
        RULE,
        " Bash command",
        " ls",
        " Do you want to proceed?",
        " ❯ 1. Yes",
        "   2. No",
        "",
        "",
    ]
    expected = " Bash command\n ls\n Do you want to proceed?\n ❯ 1. Yes\n   2. No"
    assert expected == blocker_text(Agent.CLAUDE, rows)


def test_codex_keeps_a_long_question_whole_without_the_prompt() -> None:
    """The text starts with the question, however far above the choices, and not with the user's prompt."""
    rows = ["› Would you mind", "", "  Would you like to run the following command?", "", *["  $ part \\"] * 9, ""]
    rows += ["› 1. Yes, proceed (y)", "  2. No (esc)", "", "  Press enter to confirm or esc to cancel"]
    told = blocker_text(Agent.CODEX, rows)
    assert told is not None
    assert told.startswith("  Would you like to run")
    assert told.endswith("esc to cancel")


@pytest.mark.parametrize("agent", [Agent.CLAUDE, Agent.CODEX, Agent.CURSOR])
def test_a_screen_that_asks_nothing_has_no_text(agent: Agent) -> None:
    """Only a blocked screen has a text."""
    assert blocker_text(agent, ["nothing"]) is None


@pytest.mark.parametrize(
    ("rows", "text"),
    [
        ([RULE, "❯ ", RULE], ""),
        ([RULE, "❯ one", "  two", RULE, "  foot"], "one\ntwo"),
        ([RULE, "❯\u00a0", RULE], ""),
        (["❯ one", RULE], None),
        ([RULE, "❯ one"], None),
        (["plain"], None),
    ],
)
def test_claude_composer(rows: list[str], text: str | None) -> None:
    """The draft is what stands between the rules; without both the composer is not recognised (§2.1.1)."""
    assert text == claude.composer_text(Frame(rows))


@pytest.mark.parametrize(
    ("rows", "text"),
    [
        (["› ", "", "  m · ~/x"], ""),
        (["› Explain this codebase", "", "  m · ~/x", "  ? for shortcuts"], ""),
        (["› Explain this codebase now", "", "  m · ~/x"], "Explain this codebase now"),
        (["› one", "  two", "", "  m · ~/x"], "one\ntwo"),
        (["›⠂Ask Codex to do anything⢀", "  ⠐", "  m · ~/x"], ""),
        (["›⠂", "  m · ~/x"], "⠂"),
        (["› one"], None),
    ],
)
def test_codex_composer(rows: list[str], text: str | None) -> None:
    """A hint is no draft, starfield is text only where it is all there is, and a status line must be there."""
    assert text == codex.composer_text(Frame(rows))
