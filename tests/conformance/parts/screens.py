"""Screens: recorded (``captures/``) and drawn (``screens/``, ``bug-screens.json``)."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tests.conformance.cases import CaseError, NotBuiltError, Outcome, judged, part, read_json

STATES = ("working", "blocked", "idle", "unknown")


def captures(path: Path) -> Iterator[Outcome]:
    """Run recorded screens; no list excuses a blocked one that is read as anything else."""
    return judged(_cases(path), _judge, never=lambda case: _state(case) == "blocked")


def drawn(path: Path) -> Iterator[Outcome]:
    """Run drawn screens."""
    return judged(_cases(path), _judge)


def _cases(path: Path) -> list[Any]:
    cases = read_json(path)
    if not isinstance(cases, list):
        raise CaseError("is not a list of screens")
    return cases


def _state(case: Any) -> str | None:
    expect = case.get("expect") if isinstance(case, dict) else None
    return expect.get("state") if isinstance(expect, dict) else None


def _judge(case: dict[str, Any]) -> str | None:
    corpus = part("tests.screens.corpus")
    agents = part("prowl_svc.model.agents")
    rows, title, name = case.get("screen"), case.get("title") or "", case.get("agent")
    rule = case.get("expect", {}).get("rule") if isinstance(case.get("expect"), dict) else None
    if isinstance(rows, str):
        rows = rows.split("\n")
    if not isinstance(rows, list) or not all(isinstance(row, str) for row in rows):
        raise CaseError("screen is neither a text nor a list of rows")
    if _state(case) not in STATES:
        raise CaseError(f"expect.state is not one of {', '.join(STATES)}")
    try:
        agent = agents.Agent.from_name(corpus.VARIANTS.get(name, name))
    except ValueError:
        raise CaseError(f"no agent is called {name!r}") from None
    if not corpus.written(agent):
        raise NotBuiltError(f"prowl_svc.screens.{agent.short}")
    one = corpus.Case(case["id"], agent, tuple(rows), title, _state(case), rule, case.get("cols") or 0)
    wrong: str | None = one.wrong()
    return wrong
