"""What clients and programs do wrong on purpose or by accident leaves the service up and says what happened."""

import asyncio
import contextlib
import os
import signal
import socket
import subprocess
import sys
from pathlib import Path

import grpc
import pytest
from google.rpc import error_details_pb2
from grpc_health.v1 import health_pb2, health_pb2_grpc
from grpc_status import rpc_status
from prowl.v1 import (
    agents_pb2,
    agents_pb2_grpc,
    common_pb2,
    errors_pb2,
    panes_pb2,
    panes_pb2_grpc,
    profiles_pb2,
    profiles_pb2_grpc,
)

from prowl_svc.app import Service
from prowl_svc.rpc.errors import ROOM_KEY
from tests.service.conftest import Create, dial, until

ROOT = Path(__file__).resolve().parents[2]
CLIENT = """
import sys, grpc
from prowl.v1 import agents_pb2, agents_pb2_grpc
channel = grpc.insecure_channel("unix:" + sys.argv[1], options=[("grpc.default_authority", "localhost")])
for response in agents_pb2_grpc.AgentServiceStub(channel).Observe(agents_pb2.ObserveRequest(pane=sys.argv[2])):
    print(len(response.events), flush=True)
"""


def reason(error: grpc.aio.AioRpcError) -> str:
    status = rpc_status.from_call(error)  # type: ignore[arg-type]
    info = error_details_pb2.ErrorInfo()
    assert status is not None
    assert status.details[0].Unpack(info)
    assert info.domain == "prowl"
    return info.reason


async def serving(service: Service) -> bool:
    async with dial(service) as channel:
        answer = await health_pb2_grpc.HealthStub(channel).Check(health_pb2.HealthCheckRequest(), timeout=10)
        return bool(answer.status == health_pb2.HealthCheckResponse.SERVING)


async def test_killing_a_client_in_mid_stream_frees_what_it_held(service: Service, create: Create) -> None:
    """kill -9 of an observing process removes its observer and its connection."""
    pane = await create("cat")
    paths = [str(ROOT), str(ROOT / "clients"), str(ROOT / "clients/prowl_client/gen")]
    client = subprocess.Popen(
        [sys.executable, "-c", CLIENT, str(service.config.socket), pane],
        stdout=subprocess.PIPE,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(paths)},
    )
    assert client.stdout is not None
    first = await asyncio.to_thread(client.stdout.readline)
    assert first == b"1\n"
    assert service.hub.subscriber_count(pane) == 1
    client.send_signal(signal.SIGKILL)
    client.wait()
    client.stdout.close()

    async def gone() -> bool:
        return service.hub.subscriber_count(pane) == 0

    await until(gone)
    assert await serving(service)


async def test_garbage_on_the_socket_harms_nobody(
    service: Service, agents: "agents_pb2_grpc.AgentServiceAsyncStub"
) -> None:
    """Bytes that are no HTTP/2, a cut preface and a connection that says nothing leave other clients alone."""
    for data in (
        b"GET / HTTP/1.1\r\n\r\n",
        b"\0" * 70_000,
        b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\xff\xff\xff\xff\xff",
        b"",
    ):
        raw = socket.socket(socket.AF_UNIX)
        raw.connect(str(service.config.socket))
        raw.setblocking(False)
        with contextlib.suppress(OSError):
            raw.send(data)
        answer = await agents.ListAgents(agents_pb2.ListAgentsRequest(), timeout=10)
        assert list(answer.agents) == []
        raw.close()
    assert await serving(service)


async def test_the_private_socket_refuses_strangers(service: Service) -> None:
    """A call that did not come through the public socket has no caller, so it is refused."""
    async with grpc.aio.insecure_channel(f"unix:{service._private}") as channel:
        with pytest.raises(grpc.aio.AioRpcError) as failure:
            await agents_pb2_grpc.AgentServiceStub(channel).ListAgents(agents_pb2.ListAgentsRequest(), timeout=10)
    assert (failure.value.code(), reason(failure.value)) == (grpc.StatusCode.PERMISSION_DENIED, "SOURCE_REQUIRED")


async def test_a_burst_of_random_bytes_in_a_pane_stops_nothing(
    service: Service, create: Create, panes: "panes_pb2_grpc.PaneServiceAsyncStub"
) -> None:
    """50 MB of random bytes go through one pane while another answers; both can be read afterwards."""
    loud = await create("sh", "-c", "head -c 50000000 /dev/urandom; printf '\\033c\\033[2Jdone-%s' here; cat")
    quiet = await create("cat")

    async def finished() -> bool:
        await panes.SendText(panes_pb2.SendTextRequest(pane=quiet, text="x"))
        read = await panes.ReadPane(panes_pb2.ReadPaneRequest(pane=loud))
        return "done-here" in read.text

    await until(finished, 60)
    read = await panes.ReadPane(panes_pb2.ReadPaneRequest(pane=quiet))
    assert read.text.startswith("xx")
    assert await serving(service)


async def test_a_pane_that_closes_while_it_is_read_says_so(
    create: Create, panes: "panes_pb2_grpc.PaneServiceAsyncStub"
) -> None:
    """A waiting read, an attachment and later calls each learn that the pane ended, and how."""
    pane = await create("sh", "-c", "read line; exit 7")
    attached = panes.AttachPane()
    await attached.write(panes_pb2.AttachPaneRequest(open=panes_pb2.AttachOpen(pane=pane)))
    assert (await attached.read()).WhichOneof("message") == "attached"
    request = panes_pb2.ReadPaneRequest(pane=pane, stable=panes_pb2.StableWait(period_ms=60_000, timeout_seconds=60))
    reading = asyncio.ensure_future(panes.ReadPane(request))
    await panes.ListPanes(panes_pb2.ListPanesRequest())  # calls of one connection begin in order
    await attached.write(panes_pb2.AttachPaneRequest(input=b"\r"))
    last = None
    while (message := await attached.read()) is not grpc.aio.EOF:
        last = message
    assert last is not None
    assert last.exited == 7
    with pytest.raises(grpc.aio.AioRpcError) as failure:
        await reading
    assert reason(failure.value) == "READ_FAILED"
    with pytest.raises(grpc.aio.AioRpcError) as failure:
        await panes.SendText(panes_pb2.SendTextRequest(pane=pane, text="x"))
    assert (failure.value.code(), reason(failure.value)) == (grpc.StatusCode.NOT_FOUND, "TARGET_NOT_FOUND")
    assert "status 7" in (failure.value.details() or "")


async def test_a_pane_always_tells_where_it_is_or_was(
    panes: "panes_pb2_grpc.PaneServiceAsyncStub", create: Create, folder: Path
) -> None:
    """A program that ends at once, and a folder that is deleted under one, leave the owner as it was known last."""
    gone = folder / "gone"
    gone.mkdir()
    for _ in range(10):
        made = await panes.CreatePane(panes_pb2.CreatePaneRequest(argv=["true"], cwd=f"{gone}/../gone/"))
        assert made.target.worktree.path == str(gone)
    made = await panes.CreatePane(panes_pb2.CreatePaneRequest(argv=["sh", "-c", "echo there; cat"], cwd=str(gone)))

    async def there() -> bool:
        return "there" in (await panes.ReadPane(panes_pb2.ReadPaneRequest(pane=made.target.pane.id))).text

    await until(there)
    gone.rmdir()

    async def noticed() -> bool:
        rows = (await panes.ListPanes(panes_pb2.ListPanesRequest())).panes
        (row,) = [row for row in rows if row.target.pane.id == made.target.pane.id]
        assert row.target.worktree == made.target.worktree
        return not row.target.pane.HasField("cwd")

    await until(noticed)


async def test_a_client_that_has_no_more_to_say_looks_on(
    create: Create, panes: "panes_pb2_grpc.PaneServiceAsyncStub"
) -> None:
    """An attachment whose client closed its side goes on until the pane ends, and tells its status."""
    pane = await create("sh", "-c", "read line; echo later; exit 5")
    attached = panes.AttachPane()
    await attached.write(panes_pb2.AttachPaneRequest(open=panes_pb2.AttachOpen(pane=pane)))
    await attached.done_writing()
    await attached.read()
    await panes.SendText(panes_pb2.SendTextRequest(pane=pane, enter=True))
    output, last = b"", None
    while (message := await attached.read()) is not grpc.aio.EOF:
        output += message.output
        last = message
    assert b"later" in output
    assert last is not None
    assert last.exited == 5


async def test_a_request_that_cannot_be_decoded_is_refused_like_any_other(
    service: Service, channel: grpc.aio.Channel
) -> None:
    """Bytes that are no message, or a text that is no UTF-8, get the stable reason, in a stream too."""
    call = channel.unary_unary("/prowl.v1.AgentService/Wait")
    for data in (b"\xff\xff\xff", b"\x0a\x02\xff\xfe"):
        with pytest.raises(grpc.aio.AioRpcError) as failure:
            await call(data)
        assert (failure.value.code(), reason(failure.value)) == (
            grpc.StatusCode.INVALID_ARGUMENT,
            "INVALID_ARGUMENT",
        )
    attached = channel.stream_stream("/prowl.v1.PaneService/AttachPane")()
    await attached.write(b"\xff\xff\xff")
    with pytest.raises(grpc.aio.AioRpcError) as failure:
        await attached.read()
    assert reason(failure.value) == "INVALID_ARGUMENT"


async def test_an_error_fits_into_what_clients_take(
    service: Service, create: Create, panes: "panes_pb2_grpc.PaneServiceAsyncStub"
) -> None:
    """A long name, and a large screen that a failed wait returns, are cut; a client that takes more gets it whole."""
    with pytest.raises(grpc.aio.AioRpcError) as failure:
        await panes.CreatePane(panes_pb2.CreatePaneRequest(argv=["é" * 5000]))
    assert reason(failure.value) == "CREATE_FAILED"

    lines = [f"{number:03} " + "x" * 180 for number in range(100)]
    script = "printf '%s\\n' \"$@\"; exec -a claude cat"
    pane = await create("bash", "-c", script, "bash", *lines, size=common_pb2.Size(columns=200, rows=120))

    async def shown() -> bool:
        (row,) = (await panes.ListPanes(panes_pb2.ListPanesRequest())).panes
        read = await panes.ReadPane(panes_pb2.ReadPaneRequest(pane=pane))
        return row.agent == "claude" and lines[-1] in read.text

    await until(shown)
    request = agents_pb2.WaitRequest(
        condition=agents_pb2.ConditionWait(pane=pane, until=agents_pb2.WAIT_CONDITION_BLOCKED),
        timeout_seconds=1,
        include_screen_lines=200,
    )
    found = {}
    for taken in (None, 1 << 20):
        metadata = ((ROOM_KEY, str(taken)),) if taken else ()
        options = [("grpc.default_authority", "localhost"), ("grpc.max_metadata_size", 2 * taken if taken else 8192)]
        async with grpc.aio.insecure_channel(f"unix:{service.config.socket}", options=options) as own:
            with pytest.raises(grpc.aio.AioRpcError) as failure:
                await agents_pb2_grpc.AgentServiceStub(own).Wait(request, metadata=metadata)
        assert reason(failure.value) == "WAIT_TIMEOUT"
        status = rpc_status.from_call(failure.value)  # type: ignore[arg-type]
        assert status is not None
        details = errors_pb2.WaitErrorDetails()
        assert status.details[1].Unpack(details)
        found[taken] = details.screen.text.rstrip().split("\n")
        assert details.screen.line_count == len(details.screen.text.split("\n"))
    whole, cut = found[1 << 20], found[None]
    assert whole == lines
    assert 20 < len(cut) < len(whole)
    assert cut == whole[-len(cut) :]


async def test_what_is_not_built_yet_says_so(channel: grpc.aio.Channel) -> None:
    """A method without behaviour answers UNIMPLEMENTED with a stable reason."""
    with pytest.raises(grpc.aio.AioRpcError) as failure:
        await profiles_pb2_grpc.ProfileServiceStub(channel).ListProfiles(profiles_pb2.ListProfilesRequest(), timeout=10)
    assert (failure.value.code(), reason(failure.value)) == (grpc.StatusCode.UNIMPLEMENTED, "NOT_IMPLEMENTED")


@pytest.mark.parametrize(
    ("request_", "code"),
    [
        (panes_pb2.CreatePaneRequest(argv=["no-such-program-at-all"]), "CREATE_FAILED"),
        (panes_pb2.CreatePaneRequest(argv=["cat"], cwd="relative"), "PATH_NOT_ALLOWED"),
        (panes_pb2.CreatePaneRequest(argv=["cat"], cwd="/no/such/folder"), "CREATE_FAILED"),
        (panes_pb2.CreatePaneRequest(argv=["cat"], group="t999"), "TARGET_NOT_FOUND"),
        (panes_pb2.CreatePaneRequest(argv=[""]), "EMPTY_INPUT"),
        (panes_pb2.CreatePaneRequest(argv=["cat"], title="x" * 1025), "INVALID_ARGUMENT"),
        (panes_pb2.CreatePaneRequest(argv=["cat"], title="\x1b]0;"), "INVALID_ARGUMENT"),
        (panes_pb2.CreatePaneRequest(argv=["cat"], env={"A=B": "c"}), "CREATE_FAILED"),
    ],
)
async def test_a_pane_that_cannot_be_created_says_why(
    service: Service, panes: "panes_pb2_grpc.PaneServiceAsyncStub", request_: panes_pb2.CreatePaneRequest, code: str
) -> None:
    """Each refusal has its stable reason, and no pane is left behind."""
    with pytest.raises(grpc.aio.AioRpcError) as failure:
        await panes.CreatePane(request_)
    assert reason(failure.value) == code
    assert len(service.host.registry) == 0


async def test_a_program_that_was_quicker_than_its_viewer_is_still_shown(
    service: Service, create: Create, panes: "panes_pb2_grpc.PaneServiceAsyncStub"
) -> None:
    """An attachment to a pane that ended a moment ago gets its last screen and its exit status."""
    pane = await create("sh", "-c", "echo that was quick; exit 3")

    async def ended() -> bool:
        return service.host.ended(pane) is not None

    await until(ended)
    attached = panes.AttachPane()
    await attached.write(panes_pb2.AttachPaneRequest(open=panes_pb2.AttachOpen(pane=pane)))
    assert (await attached.read()).attached.pane.id == pane
    assert b"that was quick" in (await attached.read()).output
    assert (await attached.read()).exited == 3
