"""What decides when an agent says of itself what it does: pushed status, native files, and the screen behind them."""

import asyncio
import os
import signal

import pytest

from tests.live.session import Session
from tests.live.walk import RELAY, RESTING, Walk, walking
from tests.mock_models.server import Phase

pytestmark = pytest.mark.live

SWALLOWING = (*RELAY, "swallow", "any")


async def _at_work(walk: Walk, seconds: int = 40) -> None:
    await walk.session.start()
    await walk.session.say(f"Go on [[slow {seconds}]]")
    await walk.session.working("slow")
    assert "working" == await walk.pane.until("working")


@pytest.mark.parametrize("agent", ["claude", "codex", "pi"])
async def test_pushed_status_decides_where_the_agent_has_it(agent: str) -> None:
    """An agent that reports its status by OSC 7501 is believed before its screen."""
    async with walking(agent) as walk:
        await _at_work(walk, 4)
        await walk.pane.reasoned("osc.working")
        await walk.session.quiet()
        assert "done" == await walk.pane.until("done")
        assert walk.reason.startswith("osc.")


async def test_claude_without_titles_falls_back_to_its_registry() -> None:
    """Claude that was told to leave the terminal's title alone reports nothing, and its session file decides."""
    async with walking("claude", {"CLAUDE_CODE_DISABLE_TERMINAL_TITLE": "1"}) as walk:
        await _at_work(walk, 4)
        await walk.pane.reasoned("native.working")
        await walk.session.quiet()
        assert "done" == await walk.pane.until("done")
        assert walk.reason.startswith("native.")


async def test_a_codex_that_reports_nothing_is_known_by_its_log() -> None:
    """A Codex from before it reported its status holds its log itself, and that tells the turn."""
    async with walking("codex", version="0.155.0") as walk:
        await _at_work(walk, 6)
        await walk.pane.reasoned("log.openWork")
        await walk.session.quiet()
        assert "done" == await walk.pane.until("done")
        assert "log.turnEnded" == await walk.pane.reason()


@pytest.mark.parametrize("agent", ["claude", "codex", "pi"])
async def test_an_agent_killed_in_mid_turn_is_let_go(agent: str) -> None:
    """After SIGKILL nothing of the agent is left that says Working: the pane has no agent."""
    async with walking(agent) as walk:
        await _at_work(walk)
        os.kill(await walk.pane.process(), signal.SIGKILL)
        assert "none" == await walk.pane.until("none", seconds=20)


async def test_two_claudes_on_one_transcript_stay_independent() -> None:
    """A second Claude that continues the session of the first has its own state, in both directions."""
    async with walking("claude") as walk:
        await walk.session.start()
        await walk.session.say("Remember this [[text I will.]]")
        await walk.session.quiet()
        other = await walk.launch("--continue")
        beside = Session(other, walk.session.mock, walk.recipe)
        await beside.start()
        assert await other.until(*RESTING) in RESTING
        for worker, pane, idle in ((walk.session, walk.pane, other), (beside, other, walk.pane)):
            seen = len(idle.statuses)
            await worker.say("Go on [[slow 5]]")
            await worker.working("slow")
            assert "working" == await pane.until("working")
            await worker.quiet()
            assert "done" == await pane.until("done")
            assert "working" not in idle.statuses[seen:]


async def test_a_background_shell_keeps_claude_working_after_its_turn() -> None:
    """The turn is over and a command that it left running is not: that is work."""
    async with walking("claude") as walk:
        await walk.session.start()
        await walk.session.say("Leave it running [[bg sleep 14; touch made.txt]]")
        await walk.session.asked()
        await walk.session.approve()
        await walk.session.mock.wait(lambda mock: mock.phase == Phase.QUIET, 10)
        await walk.session.until("shell still running|1 shell")
        assert "working" == await walk.pane.until("working")
        assert await walk.pane.until(*RESTING, seconds=30) in RESTING


async def test_a_background_agent_keeps_claude_working_after_its_turn() -> None:
    """The parent's turn is over while its sub-agent still streams: that is work."""
    async with walking("claude") as walk:
        await walk.session.start()
        await walk.session.say("Delegate [[agentbg 12]]")
        await walk.session.working("slow")
        await walk.steady("sub-agent at work", "working", asyncio.sleep(9))
        assert walk.expected == walk.actual
        assert await walk.pane.until(*RESTING, seconds=20) in RESTING


@pytest.mark.parametrize("arguments", [(), ("--no-daemon",)], ids=["daemon", "alone"])
async def test_codex_whose_reports_are_swallowed_falls_back_to_its_log(arguments: tuple[str, ...]) -> None:
    """Behind a terminal that keeps the reports, the session's log decides, through a turn and an interrupt.

    The first turn opens the log, and the daemon's notes of who shows it come seconds later.
    """
    async with walking("codex", arguments=arguments, through=SWALLOWING) as walk:
        await walk.session.start()
        await walk.session.say("Begin [[text Begun.]]")
        await walk.pane.reasoned("log.turnEnded", 30)
        await walk.session.say("Go on [[slow 6]]")
        await walk.pane.reasoned("log.openWork", 15)
        await walk.session.quiet()
        await walk.pane.reasoned("log.turnEnded")
        assert "done" == walk.pane.status
        await walk.session.say("Go on [[slow 40]]")
        await walk.session.working("slow")
        assert "working" == await walk.pane.until("working")
        await walk.session.settle(0.3, 2.0)
        await walk.session.press(*walk.recipe.interrupt)
        assert "done" == await walk.pane.until("done")
        await walk.pane.reasoned("log.turnEnded")
