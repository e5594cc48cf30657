"""A machine whose processes and descriptors the test sets."""

import json
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from prowl_svc.evidence.birth import birth_time
from prowl_svc.evidence.open_files import OpenFiles
from prowl_svc.model.facts import (
    ChildEnded,
    ChildScheduled,
    ChildStarted,
    InventoryFact,
    NativeFact,
    ProviderFact,
    Suspended,
    TurnEnded,
    TurnStarted,
    Unavailable,
)
from prowl_svc.model.process import Generation

PROVIDERS = Path(__file__).parents[1] / "corpus" / "providers"
MANIFEST = json.loads((PROVIDERS / "manifest.json").read_text())
AGENT = Generation(4242, 578153231)

_NAMES = {
    TurnStarted: "turnStarted",
    TurnEnded: "turnEnded",
    ChildStarted: "childStarted",
    ChildScheduled: "childScheduled",
    ChildEnded: "childEnded",
}


def cases(kind: str) -> list[dict[str, Any]]:
    return [case for case in MANIFEST["cases"] if case["kind"] == kind]


def shown(facts: list[ProviderFact]) -> list[Any]:
    """Write facts as the manifest writes them."""
    out: list[Any] = []
    for fact in facts:
        match fact:
            case InventoryFact(roots=roots):
                out.append(["inventory", sorted(roots)])
            case NativeFact():
                out.append(["native", fact.session, fact.state.value, fact.updated])
            case Suspended():
                out.append("suspended")
            case Unavailable():
                out.append("unavailable")
            case TurnStarted() | TurnEnded():
                out.append([_NAMES[type(fact)], fact.root, fact.turn])
            case _:
                out.append([_NAMES[type(fact)], fact.root, fact.child, fact.work])
    return out


@dataclass
class FakeHost:
    """Answers what the test set; ``lives`` is a list of answers to give before ``living`` holds for good."""

    files: OpenFiles = field(default_factory=lambda: OpenFiles(()))
    living: bool = True
    lives: list[bool] = field(default_factory=list)
    environments: dict[int, dict[str, str]] = field(default_factory=dict)
    cwds: dict[int, str] = field(default_factory=dict)
    born: float | None = None
    counts: dict[int, int] = field(default_factory=dict)

    def open_count(self, pid: int) -> int | None:
        return self.counts.get(pid)

    def alive(self, generation: Generation) -> bool:
        return self.lives.pop(0) if self.lives else self.living

    def open_files(self, pid: int, wanted: Callable[[str], bool]) -> OpenFiles:
        return OpenFiles(tuple(path for path in self.files.paths if wanted(path)), self.files.complete)

    def environment(self, pid: int) -> dict[str, str]:
        return self.environments.get(pid, {})

    def birth(self, path: str) -> float | None:
        return birth_time(path) if self.born is None else self.born

    def cwd(self, pid: int) -> str | None:
        return self.cwds.get(pid)
