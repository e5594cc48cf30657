"""A whole service on a socket of its own, in this process, and clients of it over real gRPC."""

import asyncio
import os
import shutil
import tempfile
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from pathlib import Path

import grpc
import pytest
from prowl.v1 import agents_pb2_grpc, panes_pb2, panes_pb2_grpc

from prowl_svc.app import Service
from prowl_svc.config import Config

BASH = ("bash", "--norc", "--noprofile", "-i")


@pytest.fixture
def folder() -> Iterator[Path]:
    """A private folder with a short path, since a Unix socket's is limited."""
    path = Path(tempfile.mkdtemp(prefix="prowl-t-", dir="/tmp"))
    try:
        yield path
    finally:
        shutil.rmtree(path, ignore_errors=True)


@pytest.fixture
async def service(folder: Path) -> AsyncIterator[Service]:
    config = Config(
        socket=folder / "s" / "prowl.sock", state_directory=folder / "state", close_grace=0.5, stop_grace=1.0
    )
    service = Service(config, {"PATH": os.environ["PATH"], "HOME": str(folder), "PS1": "$ "})
    await service.start()
    try:
        yield service
    finally:
        await service.stop()


def dial(service: Service) -> grpc.aio.Channel:
    options = [("grpc.default_authority", "localhost"), ("grpc.max_receive_message_length", 8 << 20)]
    return grpc.aio.insecure_channel(f"unix:{service.config.socket}", options=options)


@pytest.fixture
async def channel(service: Service) -> AsyncIterator[grpc.aio.Channel]:
    async with dial(service) as channel:
        yield channel


@pytest.fixture
def panes(channel: grpc.aio.Channel) -> "panes_pb2_grpc.PaneServiceAsyncStub":
    return panes_pb2_grpc.PaneServiceStub(channel)


@pytest.fixture
def agents(channel: grpc.aio.Channel) -> "agents_pb2_grpc.AgentServiceAsyncStub":
    return agents_pb2_grpc.AgentServiceStub(channel)


Create = Callable[..., Awaitable[str]]


@pytest.fixture
def create(panes: "panes_pb2_grpc.PaneServiceAsyncStub", folder: Path) -> Create:
    async def create(*argv: str, **fields: object) -> str:
        request = panes_pb2.CreatePaneRequest(argv=argv or BASH, cwd=str(folder), **fields)  # type: ignore[arg-type]
        return (await panes.CreatePane(request)).target.pane.id

    return create


async def until(look: Callable[[], Awaitable[bool]], seconds: float = 15.0) -> None:
    """Wait for something that no event announces to a client; fails after ``seconds``."""
    async with asyncio.timeout(seconds):
        while not await look():
            await asyncio.sleep(0.02)
