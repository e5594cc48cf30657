"""A restart, after a stop and after a kill: receipts and records stay, and clients come back."""

import asyncio
import json
import os
import signal
import subprocess
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import cast

import pytest
from prowl.v1 import agents_pb2, dispatch_pb2, errors_pb2, panes_pb2
from prowl_client.aio import AsyncClient
from prowl_client.errors import ProwlError

from prowl_svc.signals.journal import FILE_NAME
from tests.service.test_process import Serve, serve
from tests.service.test_watching import PYTHON, screens

__all__ = ["serve"]

PATIENCE = 5.0  # seconds; a client of ours tries twice a second
PROGRAM = Path(__file__).with_name("worker.py")


def serving(process: "subprocess.Popen[bytes]") -> list[str]:
    """Wait until the service serves; returns what it said before."""
    assert process.stderr is not None
    said = []
    while "serving socket" not in (line := process.stderr.readline().decode()):
        assert line, said
        said.append(line)
    return said


def end(process: "subprocess.Popen[bytes]", number: int) -> None:
    process.send_signal(number)
    process.wait(20)


@asynccontextmanager
async def client_of(folder: Path) -> AsyncIterator[AsyncClient]:
    client = AsyncClient(folder / "s" / "prowl.sock")
    try:
        yield client
    finally:
        await client.close()


async def worker(client: AsyncClient, folder: Path, plan: str) -> str:
    """Start a worker in a pane and wait until it is known as an idle agent; returns the pane."""
    # Without the hint that a real Claude draws dim: here it would be a draft.
    rows = ["❯" if row.startswith("❯") else row for row in screens()["idle"]]
    (folder / "idle.json").write_text(json.dumps(rows), "utf-8")
    name = folder / "claude"
    if not name.exists():
        name.symlink_to(PYTHON)
    made = await client.create_pane(
        panes_pb2.CreatePaneRequest(
            argv=[str(name), str(PROGRAM), str(folder / "idle.json"), plan],
            cwd=str(folder),
            env={"PYTHONPATH": os.pathsep.join(sys.path)},
        )
    )
    pane = made.target.pane.id
    condition = agents_pb2.ConditionWait(pane=pane, until=agents_pb2.WAIT_CONDITION_IDLE)
    await client.wait(agents_pb2.WaitRequest(condition=condition, timeout_seconds=30))
    return pane


async def hand(client: AsyncClient, pane: str) -> dispatch_pb2.DispatchRecord:
    request = dispatch_pb2.DispatchRequest(pane=pane, prompt="Do it,\nline by line")
    return (await client.dispatch(request, timeout=30)).dispatch


async def receipt(client: AsyncClient, dispatch_id: str) -> tuple[str, dispatch_pb2.DispatchRecord]:
    """The code of the answer to a wait for a receipt, and the record that came with it."""
    wait = agents_pb2.DispatchWait(dispatch_id=dispatch_id)
    try:
        return "", (await client.wait(agents_pb2.WaitRequest(dispatch=wait, timeout_seconds=20))).receipt
    except ProwlError as error:
        return error.code, cast(errors_pb2.WaitErrorDetails, error.details).record


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL])
async def test_records_and_clients_survive(serve: Serve, folder: Path, number: int) -> None:
    """What was final is as it was, what was pending is gone with its pane; a client that stays is served again."""
    first = serve()
    await asyncio.to_thread(serving, first)
    async with client_of(folder) as client:
        finisher, keeper = await asyncio.gather(worker(client, folder, "complete"), worker(client, folder, "keep"))
        done, given_up = await asyncio.gather(hand(client, finisher), hand(client, keeper))
        code, completed = await receipt(client, done.id)
        assert ("", "one paste") == (code, completed.summary)
        abandon = dispatch_pb2.AbandonDispatchRequest(dispatch_id=given_up.id, reason="superseded")
        abandoned = (await client.abandon_dispatch(abandon)).record
        pending = await hand(client, keeper)
        assert dispatch_pb2.DISPATCH_STATE_PENDING == pending.state
        roster = client.watch_agents()
        await anext(roster)

        end(first, number)
        with pytest.raises(ProwlError):
            while True:
                await anext(roster)
        coming_back = asyncio.create_task(until_answered(client))
        await asyncio.to_thread(serving, serve())
        async with asyncio.timeout(PATIENCE):
            await coming_back

        assert ("", completed) == await receipt(client, done.id)
        assert ("DISPATCH_ABANDONED", abandoned) == await receipt(client, given_up.id)
        assert (await client.abandon_dispatch(abandon)).replayed
        code, gone = await receipt(client, pending.id)
        assert ("AGENT_GONE", dispatch_pb2.GONE_REASON_SURFACE_CLOSED) == (code, gone.gone_reason)
        assert (pending.id, pending.created_at) == (gone.id, gone.created_at)
        assert not (await client.list_panes()).panes


async def test_a_broken_file_is_set_aside(serve: Serve, folder: Path) -> None:
    """The service says so and serves without the records; the broken file is kept as it was."""
    state = folder / "state"
    state.mkdir()
    broken = b"SQLite format 3\0" + os.urandom(8000)
    (state / FILE_NAME).write_bytes(broken)
    (said,) = await asyncio.to_thread(serving, serve())
    (aside,) = state.glob(f"{FILE_NAME}.broken-*")
    assert "warning prowl.dispatch: the dispatch journal was broken" in said
    assert str(aside) in said
    assert broken == aside.read_bytes()
    async with client_of(folder) as client:
        with pytest.raises(ProwlError, match="DISPATCH_NOT_FOUND"):
            await client.wait(agents_pb2.WaitRequest(dispatch=agents_pb2.DispatchWait(dispatch_id="any")))


async def until_answered(client: AsyncClient) -> None:
    """Call again and again, as a program does that wants the service back."""
    while True:
        try:
            await client.list_panes(timeout=5)
        except ProwlError:
            await asyncio.sleep(0.02)
        else:
            return
