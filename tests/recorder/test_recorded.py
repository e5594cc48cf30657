"""What real agents drew, as recorded version by version: is it read rightly?"""

import re

import pytest

from tests.recorder.captures import folders
from tests.recorder.drift import Report, drift

# Words of the machine that recorded; a screen may hold any other.
_FOREIGN = re.compile(r"/root\b|/tmp/rec-|\brec-[a-z0-9_]{8}\b|\.cache/|registry\.npm")


@pytest.fixture(scope="module")
def reports() -> list[Report]:
    return drift()


def test_every_recorded_screen_that_needs_a_person_is_read_as_blocked(reports: list[Report]) -> None:
    """No dialog, question or permission prompt of any recorded version is missed."""
    missed = [
        f"{report.folder.agent} {report.folder.version} {item.capture.name}"
        for report in reports
        for item in report.misread
        if item.capture.state == "blocked"
    ]
    assert [] == missed


def test_recorded_screens_are_read_as_what_they_were(reports: list[Report]) -> None:
    """At least 99 of 100 recorded screens of all agents and versions give the state that the mock was witness to."""
    total = sum(report.total for report in reports)
    wrong = [
        f"{report.folder.agent} {report.folder.version} {item.capture.name}: {item.capture.state} as {item.state}"
        for report in reports
        for item in report.misread
    ]
    assert total > 500
    assert len(wrong) <= total // 100, wrong


def test_recorded_screens_hold_nothing_of_the_machine() -> None:
    """No path or host of the machine that recorded is left in a screen or a manifest."""
    found = [
        path.relative_to(folder.path.parent.parent).as_posix()
        for folder in folders()
        for path in folder.path.iterdir()
        if _FOREIGN.search(path.read_text())
    ]
    assert [] == found


def test_every_file_is_listed_and_every_listed_file_is_there() -> None:
    """A folder's manifest and its text files agree."""
    for folder in folders():
        listed = {f"{capture.name}.txt" for capture in folder.captures()} | {"manifest.json"}
        assert listed == {path.name for path in folder.path.iterdir()}, folder.path
