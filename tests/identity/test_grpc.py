"""The front door before a real gRPC server, with unmodified gRPC clients."""

import asyncio
import os
import sys
import threading
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import grpc
import pytest
import pytest_asyncio
from grpc import aio

from prowl_svc.identity.frontdoor import FrontDoor, listen
from prowl_svc.identity.portable import Linux
from prowl_svc.probe.prober import system_table
from tests.identity.doors import settle

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="abstract names and pidfds are Linux's")


class Service:
    """A gRPC server behind a door; its one method answers who called, its other streams until cancelled."""

    def __init__(self, folder: Path) -> None:
        self.public, self.private = f"unix:{folder}/public", f"unix:{folder}/private"
        self.streams = 0
        self.server = aio.server()
        methods = {
            "Who": grpc.unary_unary_rpc_method_handler(self.who),
            "Flow": grpc.unary_stream_rpc_method_handler(self.flow),
        }
        self.server.add_generic_rpc_handlers((grpc.method_handlers_generic_handler("test.Test", methods),))
        self.server.add_insecure_port(self.private)
        self.door = FrontDoor(
            listen(f"{folder}/public"),
            f"{folder}/private",
            uid=os.getuid(),
            read=system_table().process,
            system=Linux(),
        )

    async def who(self, request: bytes, context: Any) -> bytes:
        caller = self.door.caller(context.peer())
        return b"nobody" if caller is None else str(caller.pid).encode()

    async def flow(self, request: bytes, context: Any) -> AsyncIterator[bytes]:
        self.streams += 1
        try:
            while True:
                yield b"x" * 100_000
        finally:
            self.streams -= 1


@pytest_asyncio.fixture
async def service(tmp_path: Path) -> AsyncIterator[Service]:
    made = Service(tmp_path)
    await made.server.start()
    made.door.start()
    yield made
    await made.server.stop(0)
    made.door.stop()


CLIENT = """
import os, sys, grpc
with grpc.insecure_channel(sys.argv[1]) as channel:
    who = channel.unary_unary("/test.Test/Who")
    assert {who(b"", metadata=(("x-pid", "1"),), wait_for_ready=True) for _ in range(50)} == {str(os.getpid()).encode()}
"""


READER = """
import sys, grpc
for _ in grpc.insecure_channel(sys.argv[1]).unary_stream("/test.Test/Flow")(b""):
    print(flush=True)
"""


async def client(service: Service, script: str) -> asyncio.subprocess.Process:
    return await asyncio.create_subprocess_exec(
        sys.executable, "-c", script, service.public, stdout=asyncio.subprocess.PIPE
    )


async def test_unmodified_clients_are_known_by_their_pid(service: Service) -> None:
    """Concurrent processes with a plain gRPC client always get their own pid, whatever their metadata claims."""
    clients = [await client(service, CLIENT) for _ in range(4)]
    assert [0] * 4 == [await process.wait() for process in clients]


async def test_dial_to_the_private_socket_is_nobody(service: Service) -> None:
    """A gRPC client that goes round the door has no caller."""
    async with aio.insecure_channel(service.private) as channel:
        assert b"nobody" == await channel.unary_unary("/test.Test/Who")(b"")


async def test_killed_stream_reader_ends_its_stream(service: Service) -> None:
    """kill -9 of a client in mid-stream ends the handler, and the door forgets the connection."""
    process = await client(service, READER)
    assert process.stdout is not None
    await process.stdout.readline()
    assert 1 == service.streams
    process.kill()
    await process.wait()
    await asyncio.to_thread(settle, until=lambda: not service.streams and not service.door.callers)


async def test_large_messages_pass_both_ways_under_load(service: Service) -> None:
    """Calls on many channels of one process at once all come through, each on a connection of its own."""
    options = [("grpc.use_local_subchannel_pool", 1)]
    channels = [aio.insecure_channel(service.public, options=options) for _ in range(30)]
    calls = [channel.unary_unary("/test.Test/Who")(b"x" * 500_000) for channel in channels]
    assert {str(os.getpid()).encode()} == set(await asyncio.gather(*calls))
    assert 30 == len(service.door.callers)
    for channel in channels:
        await channel.close()


async def test_clients_of_another_thread_are_known_too(service: Service) -> None:
    """The pid is the process's, whichever thread connects."""
    found: list[bytes] = []

    def call() -> None:
        with grpc.insecure_channel(service.public) as channel:
            found.append(channel.unary_unary("/test.Test/Who")(b""))

    thread = threading.Thread(target=call)
    thread.start()
    await asyncio.to_thread(thread.join)
    assert [str(os.getpid()).encode()] == found
