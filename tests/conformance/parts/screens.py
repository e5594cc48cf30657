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
    screens, states = part("prowl_svc.screens.classify"), part("prowl_svc.model.state")
    rows, expected = case.get("screen"), _state(case)
    if isinstance(rows, str):
        rows = rows.split("\n")
    if not isinstance(rows, list) or not all(isinstance(row, str) for row in rows):
        raise CaseError("screen is neither a text nor a list of rows")
    if expected not in STATES:
        raise CaseError(f"expect.state is not one of {', '.join(STATES)}")
    try:
        agent = part("prowl_svc.model.agents").Agent.from_name(case.get("agent"))
    except ValueError:
        raise CaseError(f"no agent is called {case.get('agent')!r}") from None
    if screens.screen_of(agent) is None:
        raise NotBuiltError(f"prowl_svc.screens.{agent.short}")
    seen = screens.classify(agent, rows, case.get("title") or "")
    if seen.state.value != expected:
        return f"{case['id']}: {seen.state.value} by {seen.reason}, not {expected}"
    rule = case["expect"].get("rule")
    # Where a fall-back is expected, a positive rule of the same state is as right.
    if rule not in (None, states.NO_RULE_MATCHED, states.LEGACY_DETECTOR, seen.reason):
        return f"{case['id']}: by {seen.reason}, not {rule}"
    return None
