"""The table "Where sources disagree" of the state machine, row by row on real agents."""

import pytest

from tests.live.session import Session
from tests.live.walk import RELAY, RESTING, walking

pytestmark = pytest.mark.live

SILENT = {"CLAUDE_CODE_DISABLE_TERMINAL_TITLE": "1"}
"""With this Claude leaves the title alone, and reports nothing either."""


async def test_row_1_a_report_of_a_blocker_decides() -> None:
    """Claude's own report of its permission prompt is named, although registry and screen say so too."""
    async with walking("claude") as walk:
        await walk.session.start()
        await walk.session.say("Do [[bash touch made.txt]]")
        await walk.session.asked()
        await walk.pane.reasoned("osc.blocked.permission")
        assert "blocked" == walk.pane.status


async def test_row_2_the_registry_knows_of_dialogs_that_are_not_reported() -> None:
    """While Claude shows a menu its report stays idle and its screen looks idle, and its registry says waiting."""
    async with walking("claude") as walk:
        await walk.session.start()
        await walk.pane.reasoned("osc.idle")
        await walk.session.say("/model")
        await walk.session.until("Select model")
        await walk.pane.reasoned("native.blocked")
        assert "blocked" == walk.pane.status
        await walk.session.press("escape")
        await walk.pane.reasoned("osc.idle")
        assert await walk.pane.until(*RESTING) in RESTING


async def test_row_3_the_screen_knows_of_dialogs_that_are_not_reported() -> None:
    """Codex says nothing while it asks for trust; where its report of a permission prompt gets lost it says working."""
    async with walking("codex", through=(*RELAY, "swallow", "blocked")) as walk:

        async def seen(name: str) -> None:
            assert (name, "blocked") == ("trust", await walk.pane.until("blocked"))

        await walk.session.start(seen)
        await walk.session.say(f"Do [[{walk.recipe.ask_step}]]")
        await walk.session.asked()
        assert "blocked" == await walk.pane.until("blocked")
        assert (await walk.pane.reason()).startswith("codex.")
        await walk.session.approve()
        assert await walk.pane.until(*RESTING, seconds=20) in RESTING


async def test_row_5_the_registry_knows_of_work_that_is_not_reported() -> None:
    """Where Claude's report of work gets lost, its registry keeps the pane working over the idle report."""
    async with walking("claude", through=(*RELAY, "swallow", "working")) as walk:
        await walk.session.start()
        await walk.pane.reasoned("osc.idle")
        await walk.session.say("Go on [[slow 5]]")
        await walk.session.working("slow")
        await walk.pane.reasoned("native.working")
        assert "working" == walk.pane.status
        await walk.session.quiet()
        await walk.pane.reasoned("osc.done")
        assert "done" == walk.pane.status


@pytest.mark.parametrize("arguments", [(), ("--no-daemon",)], ids=["daemon", "alone"])
async def test_row_6_the_log_knows_of_a_child_that_is_not_reported(arguments: tuple[str, ...]) -> None:
    """Codex says done while the child that its very first turn began still runs; its log keeps the pane working.

    With the shared daemon the note of who shows which session comes up to ten seconds late.
    """
    async with walking("codex", arguments=arguments) as walk:
        await walk.session.start()
        await walk.session.say("Delegate [[agent 22 | text Said.]]")
        await walk.session.working("slow")
        await walk.pane.reasoned("log.openWork", 14)
        assert "working" == walk.pane.status
        await walk.session.quiet(40)
        await walk.pane.reasoned("osc.done")
        assert "done" == walk.pane.status


@pytest.mark.parametrize(
    ("agent", "extra", "source"),
    [("claude", {}, "osc."), ("claude", SILENT, "native."), ("codex", {}, "osc."), ("pi", {}, "osc.")],
    ids=["claude", "claude-silent", "codex", "pi"],
)
async def test_escape_in_mid_turn_ends_the_work(agent: str, extra: dict[str, str], source: str) -> None:
    """Rows 4 and 7: the work is told by the highest source, and its end when a person interrupts it, too."""
    async with walking(agent, extra) as walk:
        await walk.session.start()
        await walk.session.say("Go on [[slow 40]]")
        await walk.session.working("slow")
        await walk.pane.reasoned(source + "working")
        await walk.session.settle(0.3, 2.0)
        await walk.session.press(*walk.recipe.interrupt)
        assert await walk.pane.until(*RESTING) in RESTING
        assert (await walk.pane.reason()).startswith(source)


async def test_a_background_shell_is_work_to_the_registry() -> None:
    """Without reports, a command that Claude left running keeps it working after the turn, and its end ends that."""
    async with walking("claude", SILENT) as walk:
        await walk.session.start()
        await walk.session.say("Leave it running [[bg sleep 8; touch made.txt]]")
        await walk.session.asked()
        await walk.session.approve()
        await walk.session.until("shell still running|1 shell")
        await walk.pane.reasoned("native.working")
        assert "working" == walk.pane.status
        assert await walk.pane.until(*RESTING, seconds=30) in RESTING


async def test_two_panes_on_one_daemon_have_their_own_logs() -> None:
    """Two Codex panes share the daemon that writes both logs; each is told by its own, in both directions."""
    async with walking("codex", through=(*RELAY, "swallow", "any")) as walk:
        other = await walk.launch()
        sides = ((walk.session, walk.pane, other), (Session(other, walk.session.mock, walk.recipe), other, walk.pane))
        for session, pane, _ in sides:
            await session.start()
            await session.say("Begin [[text Begun.]]")
            await pane.reasoned("log.turnEnded", 30)
        for session, pane, idle in sides:
            seen = len(idle.statuses)
            await session.say("Go on [[slow 5]]")
            await pane.reasoned("log.openWork", 15)
            assert "working" == pane.status
            await session.quiet()
            await pane.reasoned("log.turnEnded")
            assert "working" not in idle.statuses[seen:]
