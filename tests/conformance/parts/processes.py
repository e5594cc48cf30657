"""Executable names and foreground jobs (``processes.json``)."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tests.conformance.cases import CaseError, Outcome, judged, part, read_json


def run(path: Path) -> Iterator[Outcome]:
    """Run all names and all jobs of a file."""
    data = read_json(path)
    if not isinstance(data, dict):
        raise CaseError("is not an object with names and jobs")
    yield from judged(data.get("names", []), _name)
    yield from judged(data.get("jobs", []), _job)


def _name(case: dict[str, Any]) -> str | None:
    names = part("prowl_svc.probe.names")
    if not isinstance(case.get("name"), str):
        raise CaseError("has no name")
    name = names.normalise(case["name"])
    agent = None if name is None else names.agent_named(name)
    found = None if agent is None else agent.short
    return None if found == case.get("agent") else f"{case['id']}: {found}, not {case.get('agent')}"


def _job(case: dict[str, Any]) -> str | None:
    identify = part("prowl_svc.probe.score").identify
    jobs = part("tests.probe.jobs")
    expect = case.get("expect")
    if not isinstance(expect, dict):
        raise CaseError("has no expect")
    try:
        job = jobs.read_job(case)
    except (KeyError, TypeError, ValueError) as error:
        raise CaseError(f"is not a job: {error!r}") from None
    found = jobs.shown(identify(job))
    seen = {key: found.get(key) for key in expect}
    return None if seen == expect else f"{case['id']}: {seen}, not {expect}"
