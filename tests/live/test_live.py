"""The real agent CLIs in panes of the real service, driven by the mock model: is every state told rightly?

One test an agent, since starting one costs seconds. Each goes through the points of ``POINTS`` in order and compares
what the service said at each with what was true. ``pytest -m live -k codex`` runs one agent.
"""

import asyncio
from collections.abc import Awaitable, Callable

import pytest

from tests.live.agents import RECIPES
from tests.live.walk import RESTING, Walk, walking
from tests.mock_models.server import Phase

pytestmark = pytest.mark.live

LONG = 64  # seconds: longer than any clock that counts seconds only
_LONG_TURNS = ("claude", "codex")


async def start(walk: Walk) -> None:
    async def seen(name: str) -> None:
        await walk.point(f"dialog {name}", "blocked")

    await walk.session.start(seen)
    await walk.point("started", *RESTING)
    await walk.pane.view(True)
    await walk.point("started and seen", "idle")
    await walk.pane.view(False)


async def turn(walk: Walk) -> None:
    await walk.session.say("Tell me [[hang 3 ++ slow 4]]")
    await walk.session.working("hang")
    await walk.point("working", "working")
    await walk.session.quiet()
    await walk.point("finished", "done")
    await walk.pane.view(True)
    await walk.point("finished and seen", "idle")
    await walk.pane.view(False)


async def long_turn(walk: Walk) -> None:
    if walk.recipe.agent not in _LONG_TURNS:
        return
    await walk.session.say(f"Take your time [[slow {LONG}]]")
    await walk.session.working("slow")
    await walk.point("long turn", "working")
    ended = walk.session.mock.wait(lambda mock: mock.phase != Phase.ANSWERING, LONG + 20)
    await walk.steady("long turn to its end", "working", ended)
    await walk.point("long turn finished", "done")


async def permission(walk: Walk) -> None:
    if walk.recipe.ask_step is None:
        return
    await walk.session.say(f"Do [[{walk.recipe.tool_step}]]")
    await walk.session.asked()
    await walk.point("permission", "blocked")
    await walk.session.approve()
    await walk.point("allowed command runs", "working", seconds=4)
    await walk.session.mock.wait(lambda mock: mock.phase == Phase.QUIET, 20)
    await walk.point("command finished", "done")


async def question(walk: Walk) -> None:
    if walk.recipe.question is None or not walk.session.mock.offers("ask"):
        return
    await walk.session.say("Ask [[ask]]")
    await walk.session.until(walk.recipe.question)
    await walk.point("question", "blocked")
    await walk.session.press(*walk.recipe.dismiss)
    await walk.session.quiet()
    await walk.point("question dismissed", *RESTING)
    await walk.session.clear()


async def interrupted(walk: Walk) -> None:
    await walk.session.say("Go on [[slow 40]]")
    await walk.session.working("slow")
    await walk.point("before the interrupt", "working")
    await walk.session.settle(0.3, 2.0)
    await walk.session.press(*walk.recipe.interrupt)
    await walk.point("interrupted", *RESTING)
    await walk.session.clear()


async def viewed(walk: Walk) -> None:
    if walk.recipe.viewer is None:
        return
    opening, closing = walk.recipe.viewer
    await walk.session.say("Tell me [[slow 9]]")
    await walk.session.working("slow")
    await walk.point("before the viewer", "working")
    await walk.session.press(*opening)
    await walk.steady("under the viewer", "working", asyncio.sleep(3))
    await walk.session.press(*closing)
    await walk.session.quiet()
    await walk.point("after the viewer", "done")


POINTS: tuple[Callable[[Walk], Awaitable[None]], ...] = (
    *(start, turn, permission, question, interrupted, viewed, long_turn),
)


@pytest.mark.parametrize("agent", RECIPES)
async def test_every_state_of_the_real_agent_is_told(agent: str) -> None:
    """What the service says of a running agent is what the agent does, at every point of its day."""
    async with walking(agent) as walk:
        for point in POINTS:
            await point(walk)
        assert walk.expected == walk.actual
        assert walk.pane.entry is not None
        assert agent == walk.pane.entry.type
