"""A pane with an agent in it, watched by the whole service: what observers, lists and viewers get to know."""

import asyncio
import json
import os
import signal
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path

import grpc
import pytest
from prowl.v1 import agents_pb2, agents_pb2_grpc, common_pb2, panes_pb2, panes_pb2_grpc

from prowl_svc.app import Service
from prowl_svc.config import Config
from prowl_svc.model.agents import Agent
from tests.service.conftest import Create, dial, until

CORPUS = Path(__file__).resolve().parents[1] / "corpus" / "captures"
PYTHON = os.path.realpath(sys.executable)
PROGRAM = Path(__file__).with_name("agent.py")
WORKING, BLOCKED, DONE, IDLE = (
    common_pb2.AGENT_STATUS_WORKING,
    common_pb2.AGENT_STATUS_BLOCKED,
    common_pb2.AGENT_STATUS_DONE,
    common_pb2.AGENT_STATUS_IDLE,
)
Panes = "panes_pb2_grpc.PaneServiceAsyncStub"
Agents = "agents_pb2_grpc.AgentServiceAsyncStub"
Start = Callable[..., Awaitable[str]]


def screens() -> dict[str, list[str]]:
    """The first capture of each state of the real Claude at 120×40."""
    found: dict[str, list[str]] = {}
    for capture in json.loads((CORPUS / "claude.json").read_text("utf-8")):
        if (capture["cols"], capture["rows"]) == (120, 40):
            found.setdefault(capture["expect"]["state"], capture["screen"])
    return found


@pytest.fixture
async def start(create: Create, folder: Path, panes: Panes) -> Start:
    (folder / "screens.json").write_text(json.dumps(screens()), "utf-8")
    (folder / "claude").symlink_to(PYTHON)

    async def start(argv: tuple[str, ...] | None = None) -> str:
        pane = await create(*(argv or (str(folder / "claude"), str(PROGRAM), str(folder / "screens.json"))))

        async def ready() -> bool:
            return "ready" in (await panes.ReadPane(panes_pb2.ReadPaneRequest(pane=pane))).text

        await until(ready)
        return pane

    return start


class Watch:
    """Follows one pane; waits for entries by events alone."""

    def __init__(self, agents: Agents, pane: str) -> None:
        self.call = agents.Observe(agents_pb2.ObserveRequest(pane=pane))
        self.events: list[agents_pb2.ObserveEvent] = []

    async def until(self, wanted: Callable[[agents_pb2.ObserveEvent], bool]) -> agents_pb2.ObserveEvent:
        async with asyncio.timeout(20):
            while True:
                while self.events:
                    event = self.events.pop(0)
                    if wanted(event):
                        return event
                response = await self.call.read()
                assert response is not grpc.aio.EOF, "the stream ended"
                self.events += response.events

    async def status(self, wanted: int) -> common_pb2.AgentEntry:
        def entry(event: agents_pb2.ObserveEvent) -> common_pb2.AgentEntry:
            return event.changed if event.HasField("changed") else event.snapshot.agent

        return entry(await self.until(lambda event: entry(event).status == wanted))


async def tell(panes: Panes, pane: str, *words: str) -> None:
    for word in words:
        await panes.SendText(panes_pb2.SendTextRequest(pane=pane, text=word, enter=True))


async def test_an_agent_goes_working_blocked_done_and_idle_once_viewed(
    start: Start, panes: Panes, agents: Agents
) -> None:
    """Each state comes as an event with the rule that decided; a view turns Done into Idle, and a later end is new."""
    pane = await start()
    watch = Watch(agents, pane)
    await tell(panes, pane, "working")
    working = await watch.status(WORKING)
    assert working.screen_reason.startswith("claude.")
    assert working.detection_reason == "screen.logUnavailable"  # this program keeps no registry
    await tell(panes, pane, "blocked")
    blocked = await watch.status(BLOCKED)
    assert (blocked.type, blocked.raw_state) == ("claude", common_pb2.RAW_STATE_BLOCKED)
    await tell(panes, pane, "idle")
    await watch.status(DONE)
    view = await panes.ViewPane(panes_pb2.ViewPaneRequest(pane=pane, viewed=True, viewer="test"))
    assert view.HasField("acknowledged_at")
    assert view.agent.entry.status == IDLE
    await watch.status(IDLE)
    await panes.ViewPane(panes_pb2.ViewPaneRequest(pane=pane, viewed=False, viewer="test"))
    await tell(panes, pane, "working")
    await watch.status(WORKING)
    await tell(panes, pane, "idle")
    await watch.status(DONE)


async def test_a_viewer_screen_keeps_the_last_state(start: Start, panes: Panes, agents: Agents) -> None:
    """While a viewer covers the live area the agent stays Working; the raw state says unknown."""
    pane = await start()
    watch = Watch(agents, pane)
    await tell(panes, pane, "working")
    await watch.status(WORKING)
    await tell(panes, pane, "unknown")

    async def covered() -> bool:
        rows = (await agents.ListAgents(agents_pb2.ListAgentsRequest())).agents
        return rows[0].entry.raw_state == common_pb2.RAW_STATE_UNKNOWN and rows[0].entry.status == WORKING

    await until(covered)


async def kill(service: Service, pane: str) -> None:
    """Kill the pane's agent as the service knows it."""
    watcher = service.roster.watcher(pane)
    assert watcher is not None

    async def found() -> bool:
        return watcher.presence.process is not None and watcher.presence.process.name == "claude"

    await until(found)  # at first the shell is known by its arguments
    assert watcher.presence.process is not None
    os.kill(watcher.presence.process.pid, signal.SIGKILL)


async def test_a_killed_agent_is_released_and_never_stays_working(
    service: Service, start: Start, panes: Panes, agents: Agents, folder: Path
) -> None:
    """kill -9 in mid-turn, in a shell that lives on: the agent is removed, the stream goes on, the list is empty."""
    script = folder / "run"  # the shell's own arguments must not name the agent
    script.write_text(f"'{folder}/claude' '{PROGRAM}' '{folder}/screens.json'; echo left; cat", "utf-8")
    pane = await start(argv=("sh", str(script)))
    watch = Watch(agents, pane)
    await tell(panes, pane, "working")
    await watch.status(WORKING)
    await kill(service, pane)
    await watch.until(lambda event: event.HasField("removed"))
    assert list((await agents.ListAgents(agents_pb2.ListAgentsRequest())).agents) == []
    await panes.ClosePane(panes_pb2.ClosePaneRequest(target=pane))
    await watch.until(lambda event: event.HasField("surface_closed"))


async def test_evidence_is_bound_to_nobody_from_the_end_of_its_process(
    service: Service, start: Start, panes: Panes, agents: Agents, folder: Path
) -> None:
    """Long before the probe has missed the agent often enough to release it, its process is no one's proof any more."""
    script = folder / "run"
    script.write_text(f"set -m\n'{folder}/claude' '{PROGRAM}' '{folder}/screens.json'\ncat", "utf-8")
    pane = await start(argv=("sh", str(script)))
    watch = Watch(agents, pane)
    await tell(panes, pane, "working")
    await watch.status(WORKING)
    watcher = service.roster.watcher(pane)
    assert watcher is not None
    launch = watcher.presence.launch
    assert launch is not None
    assert launch.name == "claude"  # a job of its own, so the shell is not its launch process
    assert service.roster.facts(pane).generation == launch.generation
    os.kill(launch.pid, signal.SIGKILL)

    async def reaped() -> bool:
        return service.prober.table.process(launch.pid) is None

    await until(reaped)
    assert watcher.presence.launch is not None
    assert service.roster.facts(pane).generation is None


async def test_an_agent_with_a_pushed_status_that_dies_without_a_word_is_released(
    service: Service, start: Start, panes: Panes, agents: Agents, folder: Path
) -> None:
    """Nothing is printed and no scan is due, so only the end of the process tells that it is gone."""
    script = folder / "run"
    script.write_text(f"exec 2>/dev/null; '{folder}/claude' '{PROGRAM}' '{folder}/screens.json'; cat", "utf-8")
    pane = await start(argv=("sh", str(script)))
    watch = Watch(agents, pane)
    await tell(panes, pane, r"!\x1b]7501;state=working:app=claude-code\x07")
    await watch.status(WORKING)
    await tell(panes, pane, "idle")

    async def at_rest() -> bool:
        entry = (await agents.ListAgents(agents_pb2.ListAgentsRequest())).agents[0].entry
        return entry.detection_reason == "osc.working" and entry.screen_reason.startswith("claude.idle")

    await until(at_rest)  # this scan leaves the next one to events
    await kill(service, pane)
    async with asyncio.timeout(5):
        await watch.until(lambda event: event.HasField("removed"))


async def test_pushed_status_decides_over_an_idle_screen(start: Start, panes: Panes, agents: Agents) -> None:
    """OSC 7501 of the agent's own name decides at once, with its reason; a stranger's report is no evidence."""
    pane = await start()
    watch = Watch(agents, pane)
    await tell(panes, pane, "idle", r"!\x1b]7501;state=working:app=somebody\x07")
    await watch.status(IDLE)
    await tell(panes, pane, r"!\x1b]7501;state=working:app=claude-code\x07")
    assert (await watch.status(WORKING)).detection_reason == "osc.working"
    await tell(panes, pane, r"!\x1b]7501;state=blocked:kind=question:app=claude-code\x07")
    assert (await watch.status(BLOCKED)).detection_reason == "osc.blocked.question"
    await tell(panes, pane, r"!\x1b]7501;state=done:app=claude-code\x07")
    assert (await watch.status(DONE)).detection_reason == "osc.done"
    await tell(panes, pane, "blocked")
    entry = await watch.status(BLOCKED)
    assert entry.detection_reason.startswith("claude.")
    assert entry.raw_state == common_pb2.RAW_STATE_BLOCKED


async def test_progress_makes_the_worktree_run(create: Create, panes: Panes) -> None:
    """OSC 9;4 of a plain command sets the busy bit, and its removal clears it."""
    pane = await create("sh", "-c", r"printf '\033]9;4;3\007'; read x; printf '\033]9;4;0\007'; cat")

    async def status() -> int:
        return (await panes.ListPanes(panes_pb2.ListPanesRequest())).panes[0].task_status

    async def running() -> bool:
        return await status() == common_pb2.TASK_STATUS_RUNNING

    async def resting() -> bool:
        return await status() == common_pb2.TASK_STATUS_IDLE

    await until(running)
    await panes.SendKey(panes_pb2.SendKeyRequest(pane=pane, key="enter"))
    await until(resting)


async def test_another_branch_is_shown_soon(create: Create, panes: Panes, folder: Path) -> None:
    """A branch that is checked out in a pane's folder is its worktree's name within a second or so."""
    (folder / ".git").mkdir()
    head = folder / ".git" / "HEAD"
    head.write_text("ref: refs/heads/one\n", "ascii")
    await create("cat")

    async def name() -> str:
        (listed,) = (await panes.ListPanes(panes_pb2.ListPanesRequest())).panes
        return listed.target.worktree.name

    assert "one" == await name()
    head.write_text("ref: refs/heads/two\n", "ascii")

    async def shown() -> bool:
        return await name() == "two"

    await until(shown)


async def test_an_attached_focused_terminal_counts_as_viewing(start: Start, panes: Panes, agents: Agents) -> None:
    """What ends while a focused terminal is attached was seen; once it lost the focus, it was not."""
    pane = await start()
    watch = Watch(agents, pane)
    attached = panes.AttachPane()
    await attached.write(panes_pb2.AttachPaneRequest(open=panes_pb2.AttachOpen(pane=pane, focused=True)))
    await attached.read()
    await tell(panes, pane, "working")
    await watch.status(WORKING)
    await tell(panes, pane, "idle")
    await watch.status(IDLE)
    await attached.write(panes_pb2.AttachPaneRequest(focused=False))
    await tell(panes, pane, "working")
    await watch.status(WORKING)
    await tell(panes, pane, "idle")
    await watch.status(DONE)
    attached.cancel()


async def test_an_explanation_names_process_and_rule_without_text(start: Start, panes: Panes, agents: Agents) -> None:
    """The winning process, the regions and rules are told; row text only when asked for."""
    pane = await start()
    watch = Watch(agents, pane)
    await tell(panes, pane, "blocked")
    entry = await watch.status(BLOCKED)
    told = await agents.ExplainAgent(agents_pb2.ExplainAgentRequest(pane=pane))
    assert told.candidates[0].agent == "claude"
    assert told.candidates[0].pid == told.launch_pid
    assert told.screen_reason == entry.screen_reason
    assert [rule.rule for rule in told.rules if rule.matched] == [entry.screen_reason]
    assert not told.HasField("text")
    quoted = [row.strip() for row in screens()["blocked"] if len(row.strip()) > 30]
    assert not any(row in str(told) for row in quoted)
    shown = await agents.ExplainAgent(agents_pb2.ExplainAgentRequest(pane=pane, show_text=True))
    assert quoted[0] in shown.text


@pytest.mark.parametrize("switch", [{"detection": False}, {"detection_disabled": frozenset({Agent.CLAUDE})}])
async def test_detection_can_be_turned_off(folder: Path, switch: dict[str, object]) -> None:
    """Whole or for one agent: the pane works, and no agent is ever listed."""
    (folder / "screens.json").write_text(json.dumps(screens()), "utf-8")
    (folder / "claude").symlink_to(PYTHON)
    config = Config(socket=folder / "s" / "p.sock", state_directory=folder / "state", close_grace=0.5, **switch)  # type: ignore[arg-type]
    service = Service(config, {"PATH": os.environ["PATH"]})
    await service.start()
    try:
        async with dial(service) as channel:
            panes = panes_pb2_grpc.PaneServiceStub(channel)
            argv = [str(folder / "claude"), str(PROGRAM), str(folder / "screens.json")]
            created = await panes.CreatePane(panes_pb2.CreatePaneRequest(argv=argv, cwd=str(folder)))

            async def shows(word: str) -> None:
                async def shown() -> bool:
                    return word in (await panes.ReadPane(panes_pb2.ReadPaneRequest())).text

                await until(shown)

            await shows("ready")
            await tell(panes, created.target.pane.id, "blocked")
            await shows("1. Yes")
            watcher = service.roster.watcher(created.target.pane.id)
            assert watcher is not None
            await watcher._scan()
            listed = await agents_pb2_grpc.AgentServiceStub(channel).ListAgents(agents_pb2.ListAgentsRequest())
            assert list(listed.agents) == []
    finally:
        await service.stop()
