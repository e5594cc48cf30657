"""Finds the case files of a folder, runs them, and compares the wrong ones with the list of the known ones."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from tests.conformance.cases import CaseError, NotBuiltError, Outcome, read_json
from tests.conformance.parts import machine, osc7501, processes, providers, screens

__all__ = ["KNOWN", "Report", "case_files", "read_known", "run_file", "run_folder"]

KNOWN = (Path(__file__).parent / "known.json", Path(__file__).parents[1] / "corpus" / "known.json")
"""The lists of cases that are known to be read wrongly: file, id, reason."""

Part = Callable[[Path], Iterable[Outcome]]

_PARTS: tuple[tuple[str, Part], ...] = (
    ("captures/*.json", screens.captures),
    ("screens/*.json", screens.drawn),
    ("bug*.json", screens.drawn),
    ("processes.json", processes.run),
    ("machine.json", machine.run),
    ("providers/manifest.json", providers.run),
    ("osc7501-cases.json", osc7501.run),
)


@dataclass(frozen=True)
class Report:
    """What one case file gave; ``fault`` says why a file could not be run, ``known`` holds the reasons by id."""

    name: str
    outcomes: tuple[Outcome, ...] = ()
    fault: str | None = None
    missing: str | None = None
    known: dict[str, str] = field(default_factory=dict)

    @property
    def run(self) -> tuple[Outcome, ...]:
        """The cases that were run."""
        return tuple(one for one in self.outcomes if one.skipped is None)

    @property
    def wrong(self) -> tuple[Outcome, ...]:
        """The cases with a wrong answer, known or not."""
        return tuple(one for one in self.run if one.wrong is not None)

    @property
    def stale(self) -> tuple[str, ...]:
        """Known ones that are right now."""
        return tuple(one.id for one in self.run if one.wrong is None and one.id in self.known)

    @property
    def unexcused(self) -> tuple[Outcome, ...]:
        """Wrong cases that fail the run: not in a list, or such that no list excuses."""
        return tuple(one for one in self.wrong if one.never or one.id not in self.known)

    @property
    def failed(self) -> bool:
        """Whether this file fails the run."""
        return self.fault is not None or bool(self.unexcused)

    def line(self) -> str:
        """Return the one line of this file."""
        if self.missing is not None:
            return f"{self.name}: not built yet: {self.missing}"
        wrong = self.wrong
        text = f"{self.name}: {len(self.run) - len(wrong)} right, {len(wrong)} wrong"
        if self.fault is not None:
            return f"{self.name}: malformed: {self.fault}" + (
                f" (before it {text.partition(': ')[2]})" if self.run else ""
            )
        if wrong:
            text += ": " + ", ".join(one.id for one in wrong)
        if excused := [one.id for one in wrong if one not in self.unexcused]:
            text += f"; known: {', '.join(excused)}"
        if self.stale:
            text += f"; stale in the list of known ones: {', '.join(self.stale)}"
        skipped: dict[str, int] = {}
        for one in self.outcomes:
            if one.skipped is not None:
                skipped[one.skipped] = skipped.get(one.skipped, 0) + 1
        return text + "".join(f"; {count} {reason}" for reason, count in skipped.items())


def case_files(folder: Path) -> Iterator[tuple[str, Path, Part]]:
    """Yield the case files that a folder has: name within it, path, and what runs them."""
    for pattern, run in _PARTS:
        for path in sorted(folder.glob(pattern)):
            yield path.relative_to(folder).as_posix(), path, run


def read_known(paths: Iterable[Path] = KNOWN) -> dict[str, dict[str, str]]:
    """Read and join lists of known wrong cases; raises CaseError for one that is not file to id to reason."""
    known: dict[str, dict[str, str]] = {}
    for path in paths:
        listed = read_json(path) if path.exists() else {}
        if not isinstance(listed, dict) or not all(isinstance(ids, dict) for ids in listed.values()):
            raise CaseError(f"{path.name} is not an object of file, id and reason")
        for name, ids in listed.items():
            if not all(isinstance(reason, str) and reason.strip() for reason in ids.values()):
                raise CaseError(f"{path.name}: every known case of {name} needs its reason")
            known.setdefault(name, {}).update(ids)
    return known


def run_file(name: str, path: Path, run: Part, known: dict[str, str]) -> Report:
    """Run one file; a fault of the file ends it and is reported."""
    outcomes: list[Outcome] = []
    try:
        outcomes.extend(run(path))
    except CaseError as error:
        return Report(name, tuple(outcomes), fault=str(error), known=known)
    except NotBuiltError as error:
        return Report(name, tuple(outcomes), missing=str(error), known=known)
    missing = {one.skipped for one in outcomes}
    if outcomes and len(missing) == 1 and (reason := missing.pop()) is not None:
        return Report(name, missing=reason.removeprefix("not built yet: "), known=known)
    return Report(name, tuple(outcomes), known=known)


def run_folder(folder: Path, known: dict[str, dict[str, str]]) -> Iterator[Report]:
    """Run every case file of a folder, in a fixed order."""
    for name, path, run in case_files(folder):
        yield run_file(name, path, run, known.get(name, {}))
