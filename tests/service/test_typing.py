"""Typed text, and the end of the command that it started, where the shell reports one."""

import grpc
import pytest
from prowl.v1 import panes_pb2

from tests.service.conftest import Create, until
from tests.service.test_robustness import reason

SHELL = r"""
printf '\033]133;A\007$ '
while read line; do echo out; eval $line; printf '\033]133;D;%s\007\033]133;A\007$ ' $?; done"""
Panes = "panes_pb2_grpc.PaneServiceAsyncStub"


async def marking(create: Create, panes: Panes) -> str:
    pane = await create("sh", "-c", SHELL)

    async def prompted() -> bool:
        return "$" in (await panes.ReadPane(panes_pb2.ReadPaneRequest(pane=pane))).text

    await until(prompted)
    return pane


async def test_the_end_of_a_command_is_waited_for(create: Create, panes: Panes) -> None:
    """A shell that reports commands gives the exit code and what was printed."""
    pane = await marking(create, panes)
    sent = await panes.SendText(panes_pb2.SendTextRequest(pane=pane, text="false", enter=True, wait=True, capture=True))
    assert sent.wait.exit_code == 1
    assert "out" in sent.capture.text.splitlines()
    assert sent.capture.line_count == len(sent.capture.text.splitlines())


async def test_where_nothing_reports_commands_nothing_is_waited_for(create: Create, panes: Panes) -> None:
    """The answer comes at once and says so; what cannot be captured is refused before it is typed."""
    pane = await create("cat")
    sent = await panes.SendText(panes_pb2.SendTextRequest(pane=pane, text="hello", enter=True, wait=True))
    assert not sent.HasField("wait")
    with pytest.raises(grpc.aio.AioRpcError) as failure:
        await panes.SendText(panes_pb2.SendTextRequest(pane=pane, text="again", enter=True, wait=True, capture=True))
    assert reason(failure.value) == "CAPTURE_UNSUPPORTED"
    read = await panes.ReadPane(panes_pb2.ReadPaneRequest(pane=pane))
    assert "again" not in read.text


async def test_a_command_that_goes_on_times_out_with_the_text_sent(create: Create, panes: Panes) -> None:
    """The refusal says that the text was sent."""
    pane = await marking(create, panes)
    with pytest.raises(grpc.aio.AioRpcError) as failure:
        await panes.SendText(
            panes_pb2.SendTextRequest(pane=pane, text="read x", enter=True, wait=True, timeout_seconds=1)
        )
    assert reason(failure.value) == "WAIT_TIMEOUT"
    assert "was sent" in (failure.value.details() or "")


@pytest.mark.parametrize(
    ("request_", "code"),
    [
        (panes_pb2.SendTextRequest(text=""), "EMPTY_INPUT"),
        (panes_pb2.SendTextRequest(text="x", capture=True), "INVALID_ARGUMENT"),
        (panes_pb2.SendTextRequest(text="x", wait=True), "INVALID_ARGUMENT"),
        (panes_pb2.SendTextRequest(text="x", timeout_seconds=301), "INVALID_ARGUMENT"),
        (panes_pb2.SendTextRequest(text="x" * (256 * 1024 + 1)), "INVALID_ARGUMENT"),
    ],
)
async def test_bad_requests_are_refused(
    create: Create, panes: Panes, request_: panes_pb2.SendTextRequest, code: str
) -> None:
    """Each with its reason, and nothing is typed."""
    request_.pane = await create("cat")
    with pytest.raises(grpc.aio.AioRpcError) as failure:
        await panes.SendText(request_)
    assert reason(failure.value) == code


async def test_a_shell_that_exits_is_not_waited_for(create: Create, panes: Panes) -> None:
    """Text that ends the pane's program is answered at its end, with the status."""
    pane = await marking(create, panes)
    request = panes_pb2.SendTextRequest(pane=pane, text="exit 3", enter=True, wait=True, timeout_seconds=60)
    with pytest.raises(grpc.aio.AioRpcError) as failure:
        await panes.SendText(request)
    assert reason(failure.value) == "SEND_FAILED"
    assert "status 3" in (failure.value.details() or "")
