"""Screens of the corpus with something changed, for tests of what must not change the answer."""

from collections.abc import Sequence

from prowl_svc.model.state import Detection
from prowl_svc.screens.classify import classify
from tests.screens import corpus


def recorded(file: str, id: str) -> corpus.Case:
    """Return one case of the corpus."""
    return next(case for case in corpus.load(file) if case.id == id)


def after(case: corpus.Case, mark: str, rows: Sequence[str]) -> Detection:
    """Classify a screen without its title, with ``rows`` put under its last row that starts with ``mark``."""
    last = max(number for number, row in enumerate(case.rows) if row.strip().startswith(mark))
    return classify(case.agent, [*case.rows[: last + 1], *rows, *case.rows[last + 1 :]])


def without(case: corpus.Case, mark: str) -> Detection:
    """Classify a screen without its title, cut off at the top down to its first row that starts with ``mark``."""
    first = next(number for number, row in enumerate(case.rows) if row.strip().startswith(mark))
    return classify(case.agent, case.rows[first:])


def split(row: str, at: int) -> list[str]:
    """Return a row wrapped at the ``at``-th of its blanks (counted modulo their number) onto a deeper row."""
    text = row.strip()
    indent = " " * (len(row) - len(row.lstrip()))
    places = [number for number, scalar in enumerate(text) if scalar == " " and number > 1]
    place = places[at % len(places)]
    return [indent + text[:place], indent + "   " + text[place + 1 :]]
