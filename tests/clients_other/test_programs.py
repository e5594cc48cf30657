"""The same program in Python and Node says the same, word for word; what is expected is written once for both."""

import asyncio
from dataclasses import replace

from prowl.v1 import panes_pb2

from prowl_svc.app import Service
from prowl_svc.model.observation import Confidence, Signal, SignalKind
from prowl_svc.model.state import DisplayState
from tests.clients_other.conftest import Program
from tests.service.conftest import Create, until
from tests.service.test_observe import ENTRY
from tests.service.test_watching import BLOCKED, WORKING, Agents, Panes, Start, Watch, tell

ASKING = replace(ENTRY, status=DisplayState.BLOCKED)


async def close(service: Service, pane: str) -> None:
    await service.host.close(service.host.registry.resolve_pane(pane))


async def test_listing(start: Start, create: Create, panes: Panes, agents: Agents, program: Program) -> None:
    """Each agent is a line with its pane and its state; a plain shell is none."""
    await create("cat")
    lines = []
    for word, status in (("working", WORKING), ("blocked", BLOCKED)):
        pane = await start()
        await tell(panes, pane, word)
        await Watch(agents, pane).status(status)
        lines.append(f"{pane} claude {word}")
    assert (0, lines, "") == await program.run("list")


async def test_observing(service: Service, create: Create, program: Program) -> None:
    """Every kind of event arrives in order with its revision, and the end of the pane ends the program."""
    pane = await create("cat")
    async with program.started("observe", pane) as process:
        assert process.stdout is not None
        assert b"0 snapshot none\n" == await process.stdout.readline()
        service.records.change(pane, ENTRY)
        service.records.signal(pane, Signal(SignalKind.TURN_ENDED, "cooperative_cli", Confidence.EXACT, 1), ())
        service.records.change(pane, ASKING)
        await close(service, pane)
        rest, _ = await process.communicate()
        assert [
            "1 changed claude working",
            "2 signal turn-ended unbound",
            "3 changed claude blocked",
            "4 removed",
            "4 closed",
        ] == rest.decode().splitlines()
        assert 0 == process.returncode


async def test_an_overflow_is_bridged(service: Service, create: Create, program: Program) -> None:
    """What was held is shown, then the gap, then a fresh snapshot, and the program goes on."""
    pane = await create("cat")
    async with program.started("observe", pane) as process, asyncio.timeout(30):
        assert process.stdout is not None
        await process.stdout.readline()
        for number in range(70):  # without a pause: nothing can be delivered in between
            service.records.change(pane, replace(ENTRY, last_changed_at=number + 1))
        lines = [(await process.stdout.readline()).decode().rstrip() for _ in range(66)]
        assert [f"{revision} changed claude working" for revision in range(1, 65)] == lines[:64]
        assert ["gap from 65 to 70", "70 snapshot claude working"] == lines[64:]
        service.records.change(pane, ASKING)
        assert b"71 changed claude blocked\n" == await process.stdout.readline()
        await close(service, pane)
        await process.communicate()
        assert 0 == process.returncode


async def test_waiting(service: Service, create: Create, program: Program) -> None:
    """The answer names the state and what told it; an end of time is an error with the last view."""
    pane = await create("cat")
    async with program.started("wait", pane, "exit") as process:

        async def listening() -> bool:
            return service.records.listener_count(pane) == 1

        await until(listening)
        await close(service, pane)
        out, _ = await process.communicate()
        assert b"done by surface\n" == out
    pane = await create("cat")
    service.records.change(pane, ENTRY)
    status, shown, err = await program.run("wait", pane, "blocked", "1")
    assert (1, []) == (status, shown)
    assert ["WAIT_TIMEOUT: The time is over; the details hold the last view.", "last seen working"] == err.splitlines()


async def test_signalling(create: Create, program: Program, panes: Panes) -> None:
    """In a pane the service knows which; outside it, or for no pane at all, the error's code is shown."""
    script = '"$@"; echo "ended $?"; read x'
    pane = await create("sh", "-c", script, "sh", *program.command, "signal", "turn-ended", env=program.environment)
    shown = ""

    async def ended() -> bool:
        nonlocal shown
        shown = (await panes.ReadPane(panes_pb2.ReadPaneRequest(pane=pane))).text
        return "ended 0" in shown

    await until(ended, 30)
    assert f"{pane} unbound\nended 0" in shown
    status, out, err = await program.run("signal", "turn-ended")
    assert (1, [], "SOURCE_REQUIRED") == (status, out, err.partition(":")[0])
    status, out, err = await program.run("wait", "p77", "exit")
    assert (1, [], "TARGET_NOT_FOUND") == (status, out, err.partition(":")[0])


async def test_without_a_command(program: Program) -> None:
    """It says how it is used."""
    status, out, err = await program.run()
    assert (64, []) == (status, out)
    assert "observe PANE" in err
