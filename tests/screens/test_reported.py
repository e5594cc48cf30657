"""The page of reported misreadings agrees with the cases."""

import json
import re

from tests.screens import corpus

PAGE = (corpus.ROOT / "bugs.md").read_text(encoding="utf-8")
ROWS = re.findall(r"^\| (bug-[0-9]+) \| [^|]+ \| [^|]+ \| ([^|]+) \| ([^|]*) \|$", PAGE, re.MULTILINE)


def cases() -> set[str]:
    """Return the ids of all cases that belong to a report."""
    jobs = json.loads((corpus.ROOT / "reported-processes.json").read_text(encoding="utf-8"))["jobs"]
    screens = {case.id for name in corpus.files() if name.startswith("bugs-") for case in corpus.load(name)}
    return {id for id in screens | {job["id"] for job in jobs} if re.match(r"bug-[0-9]+-", id)}


def test_every_report_has_a_case_or_a_reason() -> None:
    """No report is left without a case of its own number, unless a sentence says why the answer is not on a screen."""
    assert len(ROWS) > 80
    assert [] == [number for number, listed, why in ROWS if f"`{number}-" not in listed and not why.strip()]


def test_every_case_is_on_the_page() -> None:
    """The page names exactly the cases that there are."""
    listed = {id for _, column, _ in ROWS for id in re.findall(r"`(bug-[^`]+)`", column)}
    assert cases() == listed
