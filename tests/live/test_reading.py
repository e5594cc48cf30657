"""``agents read`` on real agents: the status, what is asked, and the last result from the agent's own transcript."""

import asyncio

import pytest
from prowl.v1 import agents_pb2

from tests.live.walk import RESTING, Walk, walking

pytestmark = pytest.mark.live

PENDING, COMPLETE, INCOMPLETE = (
    agents_pb2.RESULT_STATE_PENDING,
    agents_pb2.RESULT_STATE_COMPLETE,
    agents_pb2.RESULT_STATE_INCOMPLETE,
)


async def read(walk: Walk) -> agents_pb2.ReadAgentResponse:
    """Read the pane's agent."""
    return await walk.service.client.read_agent(agents_pb2.ReadAgentRequest(pane=walk.pane.ident))


async def result(walk: Walk, state: int, seconds: float) -> str:
    """Wait for a result of this state: the agent says that it is done before its transcript does."""
    loop = asyncio.get_running_loop()
    end = loop.time() + seconds
    while (found := (await read(walk)).result).state != state:
        assert found.text == "", "a text that is not the result"
        assert loop.time() < end, f"{agents_pb2.ResultState.Name(found.state)} {found.error_code}"
        await asyncio.sleep(0.2)
    return found.text


@pytest.mark.parametrize("agent", ["claude", "codex"])
async def test_the_last_result_is_whole_or_not_given(agent: str) -> None:
    """Pending while it works or asks, then exactly what the model said last; an interrupted turn has no result."""
    async with walking(agent) as walk:
        await walk.session.start()
        await walk.session.say("Tell me [[slow 3 | text never]]")
        await walk.session.working("slow")
        assert "working" == await walk.pane.until("working")
        assert PENDING == (await read(walk)).result.state
        await walk.session.quiet()
        assert await walk.pane.until(*RESTING) in RESTING
        first = await result(walk, COMPLETE, 15)
        assert first

        await walk.session.say(f"Do [[{walk.recipe.ask_step} | text It is done: é 漢.]]")
        await walk.session.asked()
        assert "blocked" == await walk.pane.until("blocked")
        asking = await read(walk)
        assert "touch made.txt" in asking.blocker
        assert PENDING == asking.result.state
        await walk.session.approve()
        await walk.session.quiet()
        assert await walk.pane.until(*RESTING) in RESTING
        assert "It is done: é 漢." == await result(walk, COMPLETE, 15)

        await walk.session.say("Go on [[slow 40]]")
        await walk.session.working("slow")
        assert "working" == await walk.pane.until("working")
        await walk.session.settle(0.3, 2.0)
        await walk.session.press(*walk.recipe.interrupt)
        assert await walk.pane.until(*RESTING) in RESTING
        await result(walk, INCOMPLETE, 15)
