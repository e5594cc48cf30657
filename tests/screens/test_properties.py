"""Whatever stands on a screen, every agent's classifier answers, and answers the same however it is compiled."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from prowl_svc._fast import _rows_py
from prowl_svc.model.agents import Agent
from prowl_svc.model.state import Detection, RawState
from prowl_svc.screens import frame as frames
from prowl_svc.screens import regions, rules
from prowl_svc.screens.classify import classify, explain
from tests.screens import corpus

PIECES = [
    "❯ ", "› ", "> ", "1. Yes", "2. No", "─" * 20, "▔" * 20, "╭──╮", "│ x │", "╰──╯", "✻ Working… (3s · x)", "● Done…",
    "• Working (1s • esc to interrupt)", "⠹ Working...", "⠹", "🌓", "⬡ ing", "do you want to proceed?", "esc to cancel",
    "enter to select", "· 1 shell · ↓ to manage", "⎿  Running…", "! ls", "  m · ~/x", "? for shortcuts", "■ x",
    "⌕ Filter history…", "Jump to bottom (click) ↓", "(esc to interrupt)", "", " ", "\u00a0", "漢字", "\ud800", "İ",
]  # fmt: skip
ROW = st.lists(st.sampled_from(PIECES) | st.text(max_size=12), max_size=4).map("".join)
SCREEN = st.lists(ROW, max_size=40)


@settings(max_examples=200)
@given(rows=SCREEN, title=st.sampled_from(["", "⠹ x", "◐ x", "[ ! ] Action Required", "✳ x"]) | st.text(max_size=8))
def test_any_screen_is_answered(rows: list[str], title: str) -> None:
    """No screen raises, and every answer is a state with the agent's own reason."""
    for agent in Agent:
        seen = classify(agent, rows, title)
        assert seen.state in RawState
        assert seen.reason.startswith((f"{agent.short}.", "fallback.", "legacy."))
        assert explain(agent, rows, title).detection == seen


def mutated(case: corpus.Case, data: st.DataObject) -> list[str]:
    rows = list(case.rows)
    for _ in range(data.draw(st.integers(1, 4))):
        where = data.draw(st.integers(0, max(0, len(rows) - 1)))
        kind = data.draw(st.sampled_from(["drop", "double", "cut", "insert", "indent"]))
        if not rows or kind == "insert":
            rows.insert(where, data.draw(ROW))
        elif kind == "drop":
            del rows[where]
        elif kind == "double":
            rows.insert(where, rows[where])
        elif kind == "cut":
            rows[where] = rows[where][: data.draw(st.integers(0, len(rows[where])))]
        else:
            rows[where] = "  " + rows[where]
    return rows


@settings(max_examples=200)
@given(data=st.data())
def test_mutated_screens_read_the_same_interpreted(data: st.DataObject) -> None:
    """A mutated recorded screen reads the same with the compiled and with the interpreted row scan."""
    case = data.draw(st.sampled_from(corpus.all_cases()))
    rows = mutated(case, data)
    assert classify(case.agent, rows, case.title) == interpreted(case.agent, rows, case.title)


def interpreted(agent: Agent, rows: list[str], title: str) -> Detection:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(frames, "scan", _rows_py.scan)
        patch.setattr(frames, "lower", _rows_py.lower)
        patch.setattr(frames, "squeeze", _rows_py.squeeze)
        patch.setattr(frames, "squeeze_rows", _rows_py.squeeze_rows)
        patch.setattr(regions, "logical", _rows_py.logical)
        patch.setattr(rules, "squeeze", _rows_py.squeeze)
        return classify(agent, rows, title)


@pytest.mark.parametrize("name", [name for name in corpus.files() if name.startswith("captures/")])
def test_blank_rows_at_the_end_do_not_matter(name: str) -> None:
    """A recorded screen reads the same when its terminal's blank rows are kept, as a live pane keeps them."""
    for case in corpus.load(name):
        if corpus.written(case.agent) and case.id not in corpus.known().get(name, {}):
            rows = [*case.rows, *[""] * max(0, case.height - len(case.rows))]
            assert case.state == classify(case.agent, rows, case.title).state.value, case.id
