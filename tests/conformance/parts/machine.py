"""Traces of the state machine: ``machine.json`` and the sequences of ``providers/machine/``."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from tests.conformance.cases import CaseError, Outcome, judged, part, read_json


def run(path: Path) -> Iterator[Outcome]:
    """Run the traces of ``machine.json``."""
    data = read_json(path)
    traces = data.get("traces") if isinstance(data, dict) else None
    if not isinstance(traces, list):
        raise CaseError("has no traces")
    return judged(traces, lambda trace: _trace(trace, "at", part("tests.decision.cases").fact_of_object))


def sequence(trace: Any) -> str | None:
    """Judge one file of ``providers/machine/``."""
    if not isinstance(trace, dict) or not isinstance(trace.get("id"), str):
        raise CaseError("is not a trace with an id")
    return _trace(trace, "now", part("tests.decision.cases").fact_of_list)


def _trace(trace: dict[str, Any], clock: str, read: Callable[[Any], Any]) -> str | None:
    machine = part("prowl_svc.decision.machine")
    cases = part("tests.decision.cases")
    try:
        steps = [(step[clock], read(step["event"]), dict(step["expect"])) for step in trace["steps"]]
    except (KeyError, TypeError, ValueError, IndexError) as error:
        raise CaseError(f"is not a trace: {error!r}") from None
    state = machine.MachineState()
    for number, (now, fact, expect) in enumerate(steps, 1):
        state = machine.step(state, fact, now)
        seen = cases.shown(state.decision, expect)
        if seen != expect:
            return f"{trace['id']}: after step {number} {seen}, not {expect}"
    return None
