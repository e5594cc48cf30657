"""The recorded and drawn screens, and how a classification is compared with what they expect."""

import json
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from prowl_svc.model.agents import Agent
from prowl_svc.model.state import LEGACY_DETECTOR, NO_RULE_MATCHED, Detection
from prowl_svc.screens.classify import classify, screen_of

ROOT = Path(__file__).parent.parent / "corpus"
FALLBACKS = {NO_RULE_MATCHED, LEGACY_DETECTOR}
#: Recordings of another program of the same agent carry their own name.
VARIANTS = {"ampold": "amp", "piold": "pi", "kimicode": "kimi"}


@dataclass(frozen=True)
class Case:
    """One screen with the right answer."""

    id: str
    agent: Agent
    rows: tuple[str, ...]
    title: str
    state: str
    rule: str | None
    columns: int
    height: int

    def detect(self) -> Detection:
        return classify(self.agent, list(self.rows), self.title)

    def wrong(self) -> str | None:
        """Return what is wrong with the answer, or None."""
        seen = self.detect()
        if seen.state.value != self.state:
            return f"{self.id}: {seen.state.value} by {seen.reason}, not {self.state}"
        if self.rule is not None and self.rule not in FALLBACKS and seen.reason != self.rule:
            return f"{self.id}: by {seen.reason}, not {self.rule}"
        return None


def _case(raw: dict[str, Any]) -> Case:
    rows = raw["screen"]
    name = raw["agent"]
    return Case(
        id=raw["id"],
        agent=Agent.from_name(VARIANTS.get(name, name)),
        rows=tuple(rows.split("\n") if isinstance(rows, str) else rows),
        title=raw.get("title", ""),
        state=raw["expect"]["state"],
        rule=raw["expect"].get("rule"),
        columns=raw.get("cols", 0),
        height=raw.get("rows", 0),
    )


@cache
def load(name: str) -> tuple[Case, ...]:
    """Return the cases of one file of the corpus."""
    return tuple(_case(raw) for raw in json.loads((ROOT / name).read_text(encoding="utf-8")))


def files() -> list[str]:
    """Return the names of all files with cases."""
    folders = [
        *sorted(ROOT.glob("captures/*.json")),
        *sorted(ROOT.glob("screens/*.json")),
        *sorted(ROOT.glob("bugs*.json")),
    ]
    return [str(path.relative_to(ROOT)) for path in [*folders, ROOT / "bug-screens.json"]]


@cache
def known() -> dict[str, dict[str, str]]:
    """Return the cases that are known to be read wrongly: file, id, reason."""
    found: dict[str, dict[str, str]] = json.loads((ROOT / "known.json").read_text(encoding="utf-8"))
    return found


@cache
def all_cases() -> tuple[Case, ...]:
    """Return every case of every file."""
    return tuple(case for name in files() for case in load(name))


def written(agent: Agent) -> bool:
    """Tell whether the agent has its file of rules."""
    return screen_of(agent) is not None
