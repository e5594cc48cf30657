"""Our screen beside tmux's: the same session of a real agent, row by row, at ten points.

tmux shows the pane through a read-only attachment, so it draws the very bytes that the service read.
"""

import asyncio
import os
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from tests.live.service import PATHS
from tests.live.session import Session
from tests.live.tmux import TmuxPane, TmuxServer
from tests.live.walk import Walk, walking
from tests.mock_models.server import Phase

pytestmark = pytest.mark.live

_TRIES = 60
_TICK = 0.1


@asynccontextmanager
async def _beside(walk: Walk) -> AsyncIterator[TmuxPane]:
    """Show the walk's pane in tmux too."""
    environment = {
        "HOME": os.devnull,
        "PATH": os.environ["PATH"],
        "PYTHONPATH": os.pathsep.join(map(str, PATHS)),
        "PROWL_SOCKET": str(walk.service.socket),
        "TERM": "tmux-256color",
        "LANG": "C.UTF-8",
    }
    argv = (sys.executable, "-m", "prowl_cli.main", "attach", "--read-only", walk.pane.ident)
    async with TmuxServer() as tmux:
        yield await tmux.open(argv, environment, PATHS[0], 120, 40)


async def _differences(walk: Walk, other: TmuxPane) -> list[str]:
    """Return the rows that differ, none as soon as both screens were once the same."""
    differing: list[str] = []
    for _ in range(_TRIES):
        before, theirs, ours = await walk.pane.rows(), await other.rows(), await walk.pane.rows()
        theirs += [""] * (len(ours) - len(theirs))
        ours += [""] * (len(theirs) - len(ours))
        if theirs in (before, ours):
            return []
        differing = [
            f"{number}: ours {mine!r}, tmux {yours!r}"
            for number, (mine, yours) in enumerate(zip(ours, theirs, strict=True))
            if mine != yours
        ]
        await asyncio.sleep(_TICK)
    return differing


async def _points(session: Session) -> AsyncIterator[str]:
    """Come to ten points of a session, one after the other."""
    yield "started"
    await session.draft("Write a sonnet about the sea — ünïcode, 表, 👍")
    yield "draft"
    await session.clear()
    await session.draft("/")
    yield "menu"
    await session.press("escape")
    await session.clear()
    await session.press("backspace")
    await session.say("Wait for it [[hang 6]]")
    await session.working("hang")
    await asyncio.sleep(1.5)
    yield "waiting for the model"
    await session.quiet()
    yield "answered"
    await session.say("Tell me [[slow 8]]")
    await session.working("slow")
    await asyncio.sleep(2)
    yield "streaming"
    await session.quiet()
    yield "streamed"
    await session.say(f"Run [[{session.recipe.tool_step}]]")
    if session.recipe.ask_step:
        await session.asked()
        yield "permission"
        await session.approve()
    await session.mock.wait(lambda mock: mock.phase == Phase.TOOL, 10)
    await asyncio.sleep(2)
    yield "command runs"
    await session.mock.wait(lambda mock: mock.phase == Phase.QUIET, 20)
    await session.settle()
    yield "command ran"
    if not session.recipe.ask_step:
        await session.draft("one more")
        yield "another draft"


@pytest.mark.parametrize("agent", ["claude", "codex", "gemini", "opencode", "pi"])
async def test_our_screen_is_the_one_that_tmux_shows(agent: str) -> None:
    """At ten points of a session the rows that the classifier reads are those that tmux draws from the same bytes."""
    async with walking(agent) as walk, _beside(walk) as other:
        await walk.session.start()
        points = []
        async for name in _points(walk.session):
            points.append(name)
            assert [] == await _differences(walk, other), name
        assert 10 == len(points)
