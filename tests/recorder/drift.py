"""Classifies every recorded capture and tells what is not read as it was."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from prowl_svc.model.agents import Agent
from prowl_svc.screens.classify import classify
from tests.recorder.captures import ROOT, Capture, Folder, folders

__all__ = ["Misread", "Report", "drift"]


@dataclass(frozen=True, slots=True)
class Misread:
    """A capture that is read as something else than it was."""

    capture: Capture
    state: str
    reason: str


@dataclass(frozen=True, slots=True)
class Report:
    """How one version of an agent is read, and which rules of another version it no longer meets."""

    folder: Folder
    total: int
    misread: tuple[Misread, ...]
    reasons: frozenset[str]

    def lines(self, others: frozenset[str]) -> Iterator[str]:
        """Yield the report as text; ``others`` are the rules that other versions of this agent meet."""
        yield f"{self.folder.agent} {self.folder.version}: {self.total - len(self.misread)} of {self.total} right"
        for item in self.misread:
            capture = item.capture
            yield f"  {capture.name}: {capture.state} read as {item.state} ({item.reason}); {capture.note}"
        if others - self.reasons:
            yield "  rules of other versions not met here: " + ", ".join(sorted(others - self.reasons))
        if others and self.reasons - others:
            yield "  rules met only here: " + ", ".join(sorted(self.reasons - others))


def drift(root: Path = ROOT) -> list[Report]:
    """Classify all captures below a folder, one report a version."""
    reports = []
    for folder in folders(root):
        misread, reasons = [], set()
        captures = folder.captures()
        for capture in captures:
            found = classify(Agent(folder.agent), folder.screen(capture), capture.title)
            reasons.add(found.reason)
            if found.state != capture.state:
                misread.append(Misread(capture, str(found.state), found.reason))
        reports.append(Report(folder, len(captures), tuple(misread), frozenset(reasons)))
    return reports
