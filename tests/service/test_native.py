"""An agent that keeps a registry and a transcript, in the whole service: what decides, and what can be read."""

import json
import time
from pathlib import Path

import grpc
import pytest
from prowl.v1 import agents_pb2, common_pb2, panes_pb2

from prowl_svc.app import Service
from prowl_svc.evidence.acquire import pid_domain
from prowl_svc.evidence.session import Attribution
from prowl_svc.model.agents import Agent
from prowl_svc.model.observation import SessionConfidence, SessionRef
from tests.service.conftest import until
from tests.service.test_watching import (
    BLOCKED,
    DONE,
    IDLE,
    PROGRAM,
    PYTHON,
    WORKING,
    Agents,
    Panes,
    Start,
    Watch,
    start,
    tell,
)

__all__ = ["start"]  # the fixture

SESSION = "4677382d-a535-4513-8ec8-22be05b61bb0"


class Registry:
    """The record of one process, as Claude keeps it."""

    def __init__(self, home: Path, pid: int) -> None:
        self._path = home / ".claude" / "sessions" / f"{pid}.json"
        self._path.parent.mkdir(parents=True)
        self._pid = pid
        self._ticks = Path(f"/proc/{pid}/stat").read_text().rpartition(") ")[2].split()[19]

    def says(self, status: str) -> None:
        """Write a record of now."""
        now = time.time() * 1000
        record = {
            "pid": self._pid,
            "sessionId": SESSION,
            "cwd": "/",
            "kind": "interactive",
            "pidDomain": pid_domain(),
            "procStart": self._ticks,
            "status": status,
            "updatedAt": now,
            "statusUpdatedAt": now,
        }
        self._path.write_text(json.dumps(record), "utf-8")

    def goes(self) -> None:
        """Remove the record."""
        self._path.unlink()


def transcript(home: Path, cwd: Path, text: str) -> None:
    """Write a transcript whose last turn ended with a text."""
    name = "".join(char if char.isascii() and char.isalnum() else "-" for char in str(cwd))
    path = home / ".claude" / "projects" / name / f"{SESSION}.jsonl"
    path.parent.mkdir(parents=True)
    common = {"sessionId": SESSION, "isSidechain": False}
    blocks = [{"type": "text", "text": text}]
    records = [
        {**common, "type": "user", "uuid": "u", "parentUuid": None, "message": {"role": "user", "content": "do it"}},
        {
            **common,
            "type": "assistant",
            "uuid": "a",
            "parentUuid": "u",
            "message": {"id": "m", "stop_reason": "end_turn", "content": blocks},
        },
        {**common, "type": "system", "subtype": "turn_duration", "uuid": "d", "parentUuid": "a"},
    ]
    path.write_text("".join(json.dumps(record) + "\n" for record in records), "utf-8")


async def process(agents: Agents, pane: str) -> int:
    """Return the agent's pid, once it is known by its own name."""
    found = 0

    async def known() -> bool:
        nonlocal found
        told = await agents.ExplainAgent(agents_pb2.ExplainAgentRequest(pane=pane))
        found = next((one.pid for one in told.candidates if one.matched_name == "claude"), 0)
        return bool(found)

    await until(known)
    return found


async def test_the_registry_decides_over_the_screen(start: Start, panes: Panes, agents: Agents, folder: Path) -> None:
    """Each change of the record is an event at once, a fresh blocker of the screen beats it, and its end is told."""
    pane = await start()
    watch = Watch(agents, pane)
    await tell(panes, pane, "idle")
    await watch.status(IDLE)
    registry = Registry(folder, await process(agents, pane))
    registry.says("busy")
    assert "native.working" == (await watch.status(WORKING)).detection_reason
    registry.says("waiting")
    assert "native.blocked" == (await watch.status(BLOCKED)).detection_reason
    registry.says("shell")
    assert (await watch.status(WORKING)).outstanding
    await tell(panes, pane, "blocked")
    assert (await watch.status(BLOCKED)).detection_reason.startswith("claude.")
    registry.says("idle")
    done = await watch.status(DONE)
    assert ("native.idle", False) == (done.detection_reason, done.outstanding)
    registry.says("busy")
    await watch.status(WORKING)
    registry.goes()
    left = await watch.status(BLOCKED)  # the screen still shows it, and nobody with authority says otherwise
    assert "screen.logUnavailable" == left.detection_reason


async def test_reading_an_agent(start: Start, panes: Panes, agents: Agents, folder: Path) -> None:
    """Pending with the question while it is blocked, then the whole result, or the reason why there is none."""
    pane = await start()
    watch = Watch(agents, pane)

    async def read(limit: int = 0) -> agents_pb2.ReadAgentResponse:
        return await agents.ReadAgent(agents_pb2.ReadAgentRequest(pane=pane, max_bytes=limit))

    await tell(panes, pane, "blocked")
    await watch.status(BLOCKED)
    asking = await read()
    assert "1. Yes" in asking.blocker
    assert agents_pb2.RESULT_STATE_PENDING == asking.result.state

    await tell(panes, pane, "idle")
    await watch.status(DONE)
    unknown = (await read()).result
    assert ("SESSION_UNRESOLVED", "") == (unknown.error_code, unknown.text)

    transcript(folder, folder, "All é done.\n")
    Registry(folder, await process(agents, pane)).says("idle")
    found = None

    async def complete() -> bool:
        nonlocal found
        found = await read()
        return found.result.state == agents_pb2.RESULT_STATE_COMPLETE

    await until(complete)
    assert found is not None
    assert ("All é done.\n", "exact") == (
        found.result.text,
        common_pb2.Confidence.Name(found.agent.session.confidence).removeprefix("CONFIDENCE_").lower(),
    )
    assert not found.HasField("blocker")
    assert "RESULT_TOO_LARGE" == (await read(5)).result.error_code


async def test_reading_looks_for_a_session_that_looks_have_become_rare_for(
    service: Service, start: Start, panes: Panes, agents: Agents, folder: Path
) -> None:
    """Whoever reads gets the session that can be found now, however long the next look was to be waited for."""
    pane = await start()
    watch = Watch(agents, pane)
    await tell(panes, pane, "working", "idle")
    await watch.status(DONE)
    watcher = service.roster.watcher(pane)
    source = service.roster._env.sessions
    assert watcher is not None
    assert watcher.presence.process is not None
    assert source is not None
    found = SessionRef(SESSION, None, SessionConfidence.EXACT, "process_log")
    known = source.resolver._known[Agent.CLAUDE, watcher.presence.process.generation]
    known.session, known.due = None, float("inf")  # as after many looks in vain
    source.resolver._attribute = lambda query: Attribution(found)

    async def read() -> bool:
        answer = await agents.ReadAgent(agents_pb2.ReadAgentRequest(pane=pane))
        return answer.agent.session.id == SESSION

    await until(read)


async def test_a_question_that_is_not_on_the_screen_has_no_text(start: Start, panes: Panes, agents: Agents) -> None:
    """Blocked by its own report while the screen shows none: that is told, without an invented text."""
    pane = await start()
    watch = Watch(agents, pane)
    await tell(panes, pane, "idle", r"!\x1b]7501;state=blocked:app=claude-code\x07")
    await watch.status(BLOCKED)
    answer = await agents.ReadAgent(agents_pb2.ReadAgentRequest(pane=pane))
    assert (False, agents_pb2.RESULT_STATE_PENDING) == (answer.HasField("blocker"), answer.result.state)


async def test_what_cannot_be_read_is_refused(start: Start, panes: Panes, agents: Agents, folder: Path) -> None:
    """No agent, another agent, and a limit out of range each have their code."""
    plain = await start(argv=("sh", "-c", "echo ready; cat"))

    async def refused(pane: str, limit: int = 0) -> str:
        with pytest.raises(grpc.aio.AioRpcError) as caught:
            await agents.ReadAgent(agents_pb2.ReadAgentRequest(pane=pane, max_bytes=limit))
        return caught.value.details() or ""

    assert "No agent" in await refused(plain)
    assert "4194304" in await refused(plain, 4194305)
    (folder / "pi").symlink_to(PYTHON)
    other = await start(argv=(str(folder / "pi"), str(PROGRAM), str(folder / "screens.json")))
    watch = Watch(agents, other)
    await tell(panes, other, r"!\x1b]7501;state=working:app=pi\x07")
    await watch.status(WORKING)
    assert "not pi" in await refused(other)


async def test_a_view_acknowledges_once(start: Start, panes: Panes, agents: Agents) -> None:
    """The first look at a completion is its acknowledgement; a second look is none, and the view ends with its host."""
    pane = await start()
    watch = Watch(agents, pane)
    await tell(panes, pane, "working")
    await watch.status(WORKING)
    await tell(panes, pane, "idle")
    await watch.status(DONE)

    async def view(viewed: bool) -> panes_pb2.ViewPaneResponse:
        return await panes.ViewPane(panes_pb2.ViewPaneRequest(pane=pane, viewed=viewed, viewer="host"))

    first, second = await view(True), await view(True)
    assert (True, False) == (first.HasField("acknowledged_at"), second.HasField("acknowledged_at"))
    assert IDLE == (await watch.status(IDLE)).status
    await view(False)
    await tell(panes, pane, "working")
    await watch.status(WORKING)
    await tell(panes, pane, "idle")
    assert DONE == (await watch.status(DONE)).status
