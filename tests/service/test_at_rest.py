"""What still has to happen in a pane in which nothing happens any more."""

import asyncio
import os
import time
from collections.abc import AsyncIterator
from pathlib import Path

import grpc
import pytest
from prowl.v1 import agents_pb2_grpc, common_pb2, panes_pb2, panes_pb2_grpc

from prowl_svc.app import Service
from prowl_svc.clocks import Clocks
from prowl_svc.config import Config
from tests.service.conftest import BASH, dial, until
from tests.service.test_watching import PROGRAM, PYTHON, Watch, tell


class Leaping(Clocks):
    """The system's clocks; ``leap`` is how far the test has put the steady one forward, in seconds.

    ``asked`` counts how often somebody wanted to know the time.
    """

    leap = 0.0
    asked = 0

    def monotonic(self) -> float:
        Leaping.asked += 1
        return time.monotonic() + Leaping.leap


@pytest.fixture
async def service(folder: Path, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Service]:
    monkeypatch.setattr(Leaping, "leap", 0.0)
    config = Config(socket=folder / "s" / "p.sock", state_directory=folder / "state", close_grace=0.5, stop_grace=1.0)
    service = Service(config, {"PATH": os.environ["PATH"], "HOME": str(folder)}, Leaping())
    await service.start()
    try:
        yield service
    finally:
        await service.stop()


async def test_progress_that_is_not_refreshed_ends(service: Service, folder: Path) -> None:
    """A command that died while it showed OSC 9;4 stops being busy after 15 s; one that repeats itself goes on."""
    async with dial(service) as channel:
        panes = panes_pb2_grpc.PaneServiceStub(channel)
        script = r"printf '\033]9;4;1;20\007'; read x; printf '\033]9;4;1;20\007again'; read x"
        await panes.CreatePane(panes_pb2.CreatePaneRequest(argv=["sh", "-c", script], cwd=str(folder)))

        async def status() -> int:
            return (await panes.ListPanes(panes_pb2.ListPanesRequest())).panes[0].task_status

        async def running() -> bool:
            return await status() == common_pb2.TASK_STATUS_RUNNING

        async def resting() -> bool:
            return await status() == common_pb2.TASK_STATUS_IDLE

        async def again() -> bool:
            return "again" in (await panes.ReadPane(panes_pb2.ReadPaneRequest())).text

        await until(running)
        Leaping.leap += 14
        await panes.SendKey(panes_pb2.SendKeyRequest(key="enter"))
        await until(again)
        Leaping.leap += 14
        assert await running()
        Leaping.leap += 1.5
        await until(resting)


async def test_progress_ends_with_the_program_that_showed_it(service: Service, folder: Path) -> None:
    """In a shell that nobody has typed into for long, the end of the command is the end of its progress."""
    async with dial(service) as channel:
        panes = panes_pb2_grpc.PaneServiceStub(channel)
        end = folder / "end"
        loop = rf"while ! [ -e {end} ]; do printf '\033]9;4;3\007'; sleep 0.1; done"
        created = await panes.CreatePane(panes_pb2.CreatePaneRequest(argv=BASH, cwd=str(folder)))
        await tell(panes, created.target.pane.id, f'sh -c "{loop}"')

        async def status() -> int:
            return (await panes.ListPanes(panes_pb2.ListPanesRequest())).panes[0].task_status

        async def running() -> bool:
            return await status() == common_pb2.TASK_STATUS_RUNNING

        async def resting() -> bool:
            return await status() == common_pb2.TASK_STATUS_IDLE

        await until(running)
        for _ in range(4):
            Leaping.leap += 10
            await asyncio.sleep(0.3)  # the program refreshes it
        assert await running()
        end.touch()
        await until(resting, 6)


async def pushing(channel: grpc.aio.Channel, folder: Path) -> Watch:
    """An agent that has reported that it works, and what is told of its pane."""
    panes = panes_pb2_grpc.PaneServiceStub(channel)
    (folder / "screens.json").write_text("{}", "utf-8")
    (folder / "claude").symlink_to(PYTHON)
    argv = [str(folder / "claude"), str(PROGRAM), str(folder / "screens.json")]
    created = await panes.CreatePane(panes_pb2.CreatePaneRequest(argv=argv, cwd=str(folder)))

    async def ready() -> bool:
        return "ready" in (await panes.ReadPane(panes_pb2.ReadPaneRequest())).text

    await until(ready)
    watch = Watch(agents_pb2_grpc.AgentServiceStub(channel), created.target.pane.id)
    await tell(panes, created.target.pane.id, r"!\x1b]7501;state=working:app=claude-code\x07")
    await watch.status(common_pb2.AGENT_STATUS_WORKING)
    return watch


async def test_the_last_title_of_a_pane_with_pushed_status_is_told(service: Service, folder: Path) -> None:
    """Titles are told once a second, and the last one also when nothing is written after it."""
    async with dial(service) as channel:
        watch = await pushing(channel, folder)
        panes = panes_pb2_grpc.PaneServiceStub(channel)
        await tell(panes, "", *(rf"!\x1b]2;title {number}\x07" for number in range(5)))
        await watch.until(lambda event: event.changed.title == "title 4")


async def test_nothing_is_done_for_a_pane_with_pushed_status_until_something_happens(
    service: Service, folder: Path
) -> None:
    """Its agent will report, and the kernel tells when it dies: no timer runs meanwhile."""
    async with dial(service) as channel:
        await pushing(channel, folder)

        async def rests() -> bool:
            before = Leaping.asked
            await asyncio.sleep(1)
            return Leaping.asked == before

        await until(rests)
