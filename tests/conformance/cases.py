"""What the adapters and the runner share: outcomes of cases, and readers that say what is wrong with a file."""

import json
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any

__all__ = ["CaseError", "NotBuiltError", "Outcome", "judged", "part", "read_json"]


class CaseError(Exception):
    """A case, or a whole file, that is not in the form it should have."""


class NotBuiltError(Exception):
    """The part that a case is for does not exist yet; the text names it."""


@dataclass(frozen=True)
class Outcome:
    """One case that was run: ``wrong`` says what is wrong with the answer, None if it is right.

    ``never`` marks a case that no list may excuse. ``skipped`` says why a case was not run.
    """

    id: str
    wrong: str | None = None
    never: bool = False
    skipped: str | None = None


def part(name: str) -> ModuleType:
    """Import the part that an adapter drives; raises NotBuiltError when that very module is missing."""
    try:
        return import_module(name)
    except ModuleNotFoundError as error:
        if error.name is None or not (name == error.name or name.startswith(error.name + ".")):
            raise
        raise NotBuiltError(name) from None


def read_json(path: Path) -> Any:
    """Read a JSON file; raises CaseError with the place of the fault."""
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise CaseError(f"{path.name} is not there") from None
    except (OSError, ValueError) as error:
        raise CaseError(f"cannot be read: {error}") from None


def judged(
    cases: Iterable[Any],
    judge: Callable[[Any], str | None],
    *,
    never: Callable[[Any], bool] = lambda case: False,
) -> Iterator[Outcome]:
    """Judge each case; a fault of the case and an exception of the part under test are both outcomes.

    ``judge`` returns what is wrong or None, and raises CaseError or NotBuiltError as it may.
    """
    for index, case in enumerate(cases):
        identity = case.get("id") if isinstance(case, dict) else None
        if not isinstance(identity, str):
            raise CaseError(f"case {index} has no id")
        strict = never(case)
        try:
            yield Outcome(identity, judge(case), strict)
        except NotBuiltError as missing:
            yield Outcome(identity, skipped=f"not built yet: {missing}")
        except CaseError as error:
            raise CaseError(f"{identity}: {error}") from None
        except Exception as error:
            yield Outcome(identity, f"{identity}: raised {type(error).__name__}: {error}", strict)
