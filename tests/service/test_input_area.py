"""A task is typed only into an input area that is empty, before and after the wait for an idle agent."""

import asyncio
import json
from collections.abc import Awaitable, Callable
from pathlib import Path

import grpc
import pytest
from prowl.v1 import agents_pb2, common_pb2, dispatch_pb2, dispatch_pb2_grpc, panes_pb2

from prowl_svc.app import Service
from tests.service.conftest import Create, until
from tests.service.test_robustness import reason
from tests.service.test_watching import CORPUS, PROGRAM, PYTHON, Agents, Panes, tell

SCREENS = {
    "empty": "claude-idle-first-start-120x40",
    "draft": "claude-classic-draft-120x40",
    "working draft": "claude-working-draft-120x40",
}
Show = Callable[..., Awaitable[str]]


@pytest.fixture
async def show(create: Create, folder: Path, panes: Panes, agents: Agents) -> Show:
    """Starts an agent that takes pastes and shows one of the screens; returns its pane once that is known."""
    captures = {capture["id"]: capture["screen"] for capture in json.loads((CORPUS / "claude.json").read_text("utf-8"))}
    (folder / "screens.json").write_text(json.dumps({word: captures[name] for word, name in SCREENS.items()}), "utf-8")
    (folder / "claude").symlink_to(PYTHON)

    async def show(word: str, state: int) -> str:
        pane = await create(str(folder / "claude"), str(PROGRAM), str(folder / "screens.json"))

        async def ready() -> bool:
            return "ready" in (await panes.ReadPane(panes_pb2.ReadPaneRequest(pane=pane))).text

        await until(ready)
        await tell(panes, pane, r"!\x1b[?2004h", word)

        async def known() -> bool:
            rows = (await agents.ListAgents(agents_pb2.ListAgentsRequest())).agents
            return any(row.entry.raw_state == state and row.entry.screen_reason.startswith("claude.") for row in rows)

        await until(known)
        return pane

    return show


async def refusal(channel: grpc.aio.Channel, pane: str) -> str:
    """Dispatch a task and return why it was refused."""
    with pytest.raises(grpc.aio.AioRpcError) as failure:
        await dispatch_pb2_grpc.DispatchServiceStub(channel).Dispatch(
            dispatch_pb2.DispatchRequest(pane=pane, prompt="do it")
        )
    assert reason(failure.value) == "DISPATCH_TARGET_BUSY"
    return failure.value.details() or ""


async def test_a_draft_is_told_before_the_state_of_the_agent(
    service: Service, show: Show, channel: grpc.aio.Channel
) -> None:
    """Whoever asks learns first what is in the way of any task, whether or not the agent works."""
    pane = await show("working draft", common_pb2.RAW_STATE_WORKING)
    assert "holds a draft" in await refusal(channel, pane)


async def test_a_draft_that_comes_during_the_wait_is_not_merged_with_the_task(
    service: Service, show: Show, channel: grpc.aio.Channel, panes: Panes
) -> None:
    """The input area was empty at first; what a person types until the agent counts as idle stays their own."""
    pane = await show("empty", common_pb2.RAW_STATE_IDLE)
    refused = asyncio.ensure_future(refusal(channel, pane))

    async def waits() -> bool:
        return service.records.listener_count(pane) == 1

    await until(waits)
    await tell(panes, pane, "draft")
    assert "holds a draft" in await refused
    assert service.dispatches.entries() == ()
