"""Jobs for tests: the cases of the corpus, and short ways to write one."""

import json
from pathlib import Path
from typing import Any

from prowl_svc.model.process import Identification, Job, Process

_FOLDER = Path(__file__).parents[1] / "corpus"
CORPUS = json.loads((_FOLDER / "processes.json").read_text(encoding="utf-8"))
REPORTED = json.loads((_FOLDER / "reported-processes.json").read_text(encoding="utf-8"))
SHELL = 90
"""A parent outside every job."""


def process(
    pid: int,
    argv: list[str] | None,
    *,
    name: str | None = None,
    ppid: int = SHELL,
    exe: str | None = None,
    start: int = 0,
) -> Process:
    """Return a process named as the kernel would: by its first argument, cut at 15 characters."""
    if name is None:
        name = (argv or ["?"])[0].rpartition("/")[2][:15]
    return Process(pid, ppid, 1, name, None if argv is None else tuple(argv), start, exe)


def job(*processes: Process) -> Job:
    return Job(1, processes)


def read_job(case: dict[str, Any]) -> Job:
    """Read a job of the corpus; a parent that is not known is outside."""
    return job(
        *(
            process(raw["pid"], raw["argv"], name=raw["name"], ppid=raw["ppid"] or 0, exe=raw.get("exe"))
            for raw in case["processes"]
        )
    )


def shown(found: Identification | None) -> dict[str, Any]:
    """Return an identification as the corpus writes it."""
    if found is None:
        return {"agent": None}
    return {
        "agent": found.agent.short,
        "matched_name": found.matched_name,
        "pid": found.process.pid,
        "launch_pid": found.launch.pid,
        "icon": found.icon,
    }
