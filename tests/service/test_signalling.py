"""Signals, waits and dispatches of real processes in real panes."""

import asyncio
import os
import sys
from dataclasses import replace
from pathlib import Path

import grpc
import pytest
from prowl.v1 import agents_pb2, agents_pb2_grpc, common_pb2, dispatch_pb2, dispatch_pb2_grpc, panes_pb2, panes_pb2_grpc

from prowl_svc.app import Service
from tests.service.conftest import Create, dial, until
from tests.service.test_observe import ENTRY
from tests.service.test_robustness import reason

ROOT = Path(__file__).resolve().parents[2]
PATHS = os.pathsep.join(str(ROOT / part) for part in (".", "clients", "clients/prowl_client/gen"))
SAY = """
import os, sys, grpc
from prowl.v1 import agents_pb2, agents_pb2_grpc, dispatch_pb2, dispatch_pb2_grpc
channel = grpc.insecure_channel("unix:" + os.environ["PROWL_SOCKET"], options=[("grpc.default_authority", "localhost")])
metadata = [("prowl-pid", "1"), ("x-peer-pid", "1")]
if sys.argv[1] == "complete":
    request = dispatch_pb2.CompleteDispatchRequest(outcome=1, summary="all done")
    call = dispatch_pb2_grpc.DispatchServiceStub(channel).CompleteDispatch
else:
    request = agents_pb2.SignalRequest(kind=int(sys.argv[1]), detail="from inside")
    call = agents_pb2_grpc.AgentServiceStub(channel).Signal
try:
    answer = call(request, metadata=metadata, timeout=20)
    print("said", getattr(answer, "pane_id", "") or answer.receipt.id, getattr(answer, "binding", ""), flush=True)
except grpc.RpcError as error:
    print("failed", error.details(), flush=True)
sys.stdin.readline()
"""


def inside(word: str) -> tuple[str, ...]:
    return (sys.executable, "-c", SAY, word)


async def text_with(panes: "panes_pb2_grpc.PaneServiceAsyncStub", pane: str, word: str) -> str:
    found = ""

    async def there() -> bool:
        nonlocal found
        found = (await panes.ReadPane(panes_pb2.ReadPaneRequest(pane=pane))).text
        return word in found

    await until(there, 30)
    return found


async def test_a_signal_from_a_plain_pane_is_attributed_and_unbound(
    service: Service, create: Create, panes: "panes_pb2_grpc.PaneServiceAsyncStub"
) -> None:
    """The kernel names the pane whatever the metadata says; observers see the signal, the roster stays empty."""
    pane = await create(*inside("2"), env={"PYTHONPATH": PATHS})
    text = await text_with(panes, pane, "said")
    assert f"said {pane} {common_pb2.SIGNAL_BINDING_UNBOUND}" in text.replace("\n", "")
    record = service.records.read(pane)
    assert record is not None
    assert record.latest_signal is not None
    assert record.latest_signal.source == "cooperative_cli"
    assert list(service.roster.rows()) == []


async def test_a_process_outside_any_pane_has_no_source(agents: "agents_pb2_grpc.AgentServiceAsyncStub") -> None:
    """Neither focus nor an environment variable stands in for ancestry."""
    with pytest.raises(grpc.aio.AioRpcError) as failure:
        await agents.Signal(agents_pb2.SignalRequest(kind=common_pb2.SIGNAL_KIND_TURN_ENDED))
    assert (failure.value.code(), reason(failure.value)) == (grpc.StatusCode.PERMISSION_DENIED, "SOURCE_REQUIRED")


@pytest.mark.parametrize(
    "request_",
    [
        agents_pb2.SignalRequest(),
        agents_pb2.SignalRequest(kind=common_pb2.SIGNAL_KIND_TURN_ENDED, progress=5),
        agents_pb2.SignalRequest(kind=common_pb2.SIGNAL_KIND_PROGRESS, progress=101),
        agents_pb2.SignalRequest(kind=common_pb2.SIGNAL_KIND_TURN_ENDED, detail="a\nb"),
        agents_pb2.SignalRequest(kind=common_pb2.SIGNAL_KIND_TURN_ENDED, session_id="x" * 257),
        agents_pb2.SignalRequest(kind=common_pb2.SIGNAL_KIND_TURN_ENDED, launch_token="t"),
    ],
)
async def test_a_signal_outside_the_limits_is_refused(
    agents: "agents_pb2_grpc.AgentServiceAsyncStub", request_: agents_pb2.SignalRequest
) -> None:
    """Validation comes before attribution and changes nothing."""
    with pytest.raises(grpc.aio.AioRpcError) as failure:
        await agents.Signal(request_)
    assert reason(failure.value) == "INVALID_ARGUMENT"


async def test_a_wait_answers_when_the_pane_ends(
    create: Create, panes: "panes_pb2_grpc.PaneServiceAsyncStub", agents: "agents_pb2_grpc.AgentServiceAsyncStub"
) -> None:
    """An exit wait succeeds with source surface, an idle wait fails with AGENT_GONE."""
    pane = await create("cat")
    wait = agents_pb2.ConditionWait(pane=pane, until=agents_pb2.WAIT_CONDITION_EXIT, min_confidence=2)
    ended = asyncio.ensure_future(agents.Wait(agents_pb2.WaitRequest(condition=wait)))
    idle = agents_pb2.ConditionWait(pane=pane, until=agents_pb2.WAIT_CONDITION_IDLE)
    gone = asyncio.ensure_future(agents.Wait(agents_pb2.WaitRequest(condition=idle)))
    await panes.ListPanes(panes_pb2.ListPanesRequest())
    await panes.ClosePane(panes_pb2.ClosePaneRequest(target=pane))
    answer = await ended
    assert answer.observation.source == "surface"
    assert answer.observation.raw_state == common_pb2.RAW_STATE_GONE
    with pytest.raises(grpc.aio.AioRpcError) as failure:
        await gone
    assert (failure.value.code(), reason(failure.value)) == (grpc.StatusCode.ABORTED, "AGENT_GONE")


async def test_a_wait_that_is_cancelled_frees_everything(
    service: Service, create: Create, agents: "agents_pb2_grpc.AgentServiceAsyncStub"
) -> None:
    """A client that leaves unregisters its wait."""
    pane = await create("cat")
    wait = agents_pb2.ConditionWait(pane=pane, until=agents_pb2.WAIT_CONDITION_EXIT)
    call = agents.Wait(agents_pb2.WaitRequest(condition=wait))
    waiting = asyncio.ensure_future(call.wait_for_connection())

    async def listening() -> bool:
        return service.records.listener_count(pane) == 1

    await until(listening)
    call.cancel()

    async def free() -> bool:
        return service.records.listener_count(pane) == 0

    await until(free)
    waiting.cancel()


async def test_a_dispatch_is_completed_from_inside_its_pane(
    service: Service, create: Create, panes: "panes_pb2_grpc.PaneServiceAsyncStub"
) -> None:
    """The receipt goes to the coordinator that waits for it, a retry is a replay, another word a conflict."""
    from prowl_svc.signals.dispatch import DispatchBinding

    pane = await create(*inside("complete"), env={"PYTHONPATH": PATHS}, initial_input=None)
    record = service.records.read(pane)
    assert record is not None
    issued = service.dispatches.issue()
    service.dispatches.bind(issued.id, DispatchBinding(pane, record.epoch))
    async with dial(service) as channel:
        wait = agents_pb2.WaitRequest(dispatch=agents_pb2.DispatchWait(dispatch_id=issued.id), timeout_seconds=60)
        answer = await agents_pb2_grpc.AgentServiceStub(channel).Wait(wait)
        assert answer.receipt.state == dispatch_pb2.DISPATCH_STATE_COMPLETED
        assert answer.receipt.summary == "all done"
        assert f"said {issued.id}" in (await text_with(panes, pane, "said")).replace("\n", "")
        with pytest.raises(grpc.aio.AioRpcError) as failure:
            await dispatch_pb2_grpc.DispatchServiceStub(channel).CompleteDispatch(
                dispatch_pb2.CompleteDispatchRequest(outcome=dispatch_pb2.DISPATCH_OUTCOME_FAILED, summary="no")
            )
        assert reason(failure.value) == "DISPATCH_CONTEXT_REQUIRED"
        with pytest.raises(grpc.aio.AioRpcError) as failure:
            await dispatch_pb2_grpc.DispatchServiceStub(channel).AbandonDispatch(
                dispatch_pb2.AbandonDispatchRequest(dispatch_id=issued.id, reason="late")
            )
        assert reason(failure.value) == "DISPATCH_ALREADY_TERMINAL"


async def test_a_task_is_not_typed_where_no_agent_is(
    service: Service, create: Create, channel: grpc.aio.Channel
) -> None:
    """A plain shell gets no text, and no record is left."""
    pane = await create("cat")
    with pytest.raises(grpc.aio.AioRpcError) as failure:
        await dispatch_pb2_grpc.DispatchServiceStub(channel).Dispatch(
            dispatch_pb2.DispatchRequest(pane=pane, prompt="do it")
        )
    assert reason(failure.value) == "AGENT_NOT_FOUND"
    assert service.dispatches.entries() == ()


async def test_a_wait_for_idle_takes_two_seconds_of_the_detectors_word(
    service: Service, create: Create, agents: "agents_pb2_grpc.AgentServiceAsyncStub"
) -> None:
    """Without a verified channel the detector answers, labelled heuristic; with exact wanted it does not."""
    pane = await create("cat")
    idle = replace(ENTRY, status=ENTRY.status.IDLE, raw_state=ENTRY.raw_state.IDLE, screen_reason="claude.idleComposer")
    service.records.change(pane, idle)
    wait = agents_pb2.ConditionWait(pane=pane, until=agents_pb2.WAIT_CONDITION_IDLE)
    answer = await agents.Wait(agents_pb2.WaitRequest(condition=wait, include_screen_lines=3))
    assert answer.observation.source == "detection"
    assert answer.observation.confidence == common_pb2.CONFIDENCE_HEURISTIC
    assert answer.waited_ms >= 2000
    assert answer.screen.captured
    wait.min_confidence = agents_pb2.MIN_CONFIDENCE_EXACT
    with pytest.raises(grpc.aio.AioRpcError) as failure:
        await agents.Wait(agents_pb2.WaitRequest(condition=wait, timeout_seconds=1))
    assert (failure.value.code(), reason(failure.value)) == (grpc.StatusCode.DEADLINE_EXCEEDED, "WAIT_TIMEOUT")


HOOK = """
import os, sys, grpc
from prowl.v1 import agents_pb2, agents_pb2_grpc
channel = grpc.insecure_channel("unix:" + os.environ["PROWL_SOCKET"], options=[("grpc.default_authority", "localhost")])
signal = agents_pb2_grpc.AgentServiceStub(channel).Signal
good = dict(kind=3, launch_token=os.environ["PROWL_AGENT_HOOK_TOKEN"], runtime="claude", native_event="SessionStart",
            cwd=os.getcwd(), session_id="s1")
for number, change in enumerate(({}, {"launch_token": "another"}, {"runtime": "codex"}, {"cwd": "/"},
                                 {"native_event": "Stop", "kind": 1}, *({} for _ in range(8)))):
    try:
        answer = signal(agents_pb2.SignalRequest(**(good | change)), timeout=20)
        print(number, answer.signal.source, flush=True)
    except grpc.RpcError as error:
        print(number, "refused", error.details(), flush=True)
print("the end", flush=True)
sys.stdin.readline()
"""


async def test_a_launch_parks_what_its_hooks_report_before_the_agent_is_seen(
    service: Service, create: Create, panes: "panes_pb2_grpc.PaneServiceAsyncStub"
) -> None:
    """Eight early payloads are kept and the ninth is refused; no payload verifies anything before an agent is there."""
    binding = panes_pb2.LaunchBinding(
        runtime="claude", declared_events={"SessionStart": common_pb2.SIGNAL_KIND_SESSION_START}
    )
    pane = await create(sys.executable, "-c", HOOK, env={"PYTHONPATH": PATHS}, launch_binding=binding)
    text = await text_with(panes, pane, "the end")
    lines = text.splitlines()[:13]
    refused = [index for index, line in enumerate(lines) if "refused" in line]
    accepted = [index for index, line in enumerate(lines) if "hook_claude" in line]
    record = service.records.read(pane)
    assert record is not None
    assert record.hook is not None
    assert len(record.hook.parked) == 8
    assert len(accepted) == 8
    assert len(refused) == 5
    assert record.channels == {}
    assert {line.partition("refused ")[2] for line in lines if "refused" in line} == {
        "Managed agent hook signal rejected."
    }
    assert record.hook.token not in text
