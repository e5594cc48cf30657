"""Whatever of a screen is not the agent's live area may change without changing what is read."""

from dataclasses import replace
from random import Random

import pytest

from prowl_svc.model.agents import Agent
from tests.screens.anatomy import Screen
from tests.screens.changes import CHANGES, Change
from tests.screens.material import screens
from tests.screens.metamorphic import Failure, check

#: How many screens a change is tried on; ``python -m tests.screens.metamorphic`` tries them all.
TRIES = 250


@pytest.mark.parametrize("change", CHANGES, ids=lambda change: change.__name__)
def test_a_change_that_says_nothing_of_the_state_changes_nothing(change: Change) -> None:
    """Panes, other transcripts, quoted chrome, drafts, frames, times, widths and titles leave the state alone."""
    random = Random(change.__name__)
    found = [check(screen, change, random) for screen in random.sample(screens(), TRIES)]
    assert any(found), "it applied to none"
    wrong = [one for one in found if isinstance(one, Failure)]
    assert [] == [f"{one.screen.name}: {one.seen.state} by {one.seen.reason}, not {one.screen.state}" for one in wrong]


def test_every_recorded_agent_is_changed() -> None:
    """No agent is left out because its live area is not found."""
    random = Random(1)
    changed = {
        screen.family for screen in screens() if any(check(screen, change, random) is not False for change in CHANGES)
    }
    assert {agent.short for agent in Agent} <= changed


def test_a_change_that_does_matter_is_a_failure() -> None:
    """The check itself tells a screen that is read otherwise from one that is not."""

    def emptied(screen: Screen, random: Random) -> Screen:
        return replace(screen, rows=(), title="")

    working = next(screen for screen in screens() if screen.state == "working")
    assert isinstance(check(working, emptied, Random(1)), Failure)
