"""Processes that try to be somebody else, against the whole running service: each gets nothing, and the log says so.

How the front door freezes an ancestry, whatever exits or reuses pids meanwhile, is in tests/identity; here is what an
attacker gets to see of it.
"""

import asyncio
import json
import logging
import os
import secrets
import subprocess
import sys
import uuid
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import grpc
import pytest
from google.protobuf.message import Message
from grpc_health.v1 import health_pb2, health_pb2_grpc
from prowl.v1 import agents_pb2, agents_pb2_grpc, common_pb2, dispatch_pb2, panes_pb2, panes_pb2_grpc

from prowl_svc.app import Service
from prowl_svc.config import Config
from prowl_svc.signals.dispatch import DispatchBinding
from tests.service.conftest import Create, dial, until
from tests.service.test_robustness import reason

ADVERSARY = Path(__file__).with_name("adversary.py")
BARE = (sys.executable, "-S", "-E")
SIGNAL = "prowl.v1.AgentService/Signal"
COMPLETE = "prowl.v1.DispatchService/CompleteDispatch"
LIST = "prowl.v1.PaneService/ListPanes"
TURN_ENDED = agents_pb2.SignalRequest(kind=common_pb2.SIGNAL_KIND_TURN_ENDED)
BINDING = panes_pb2.LaunchBinding(
    runtime="claude", declared_events={"SessionStart": common_pb2.SIGNAL_KIND_SESSION_START}
)

Call = tuple[str, Message, list[tuple[str, str]]]
Attack = Callable[..., Awaitable[list[bytes | None]]]


def job(folder: Path, plan: str, calls: list[Call], **fields: Any) -> Path:
    """Write down what an adversary shall do."""
    path = folder / f"job-{uuid.uuid4()}"
    told = [(method, request.SerializeToString().hex(), metadata) for method, request, metadata in calls]
    path.write_text(json.dumps({"plan": plan, "calls": told, "times": 1, **fields}), "utf-8")
    return path


async def answers(path: Path, seconds: float = 60.0) -> list[bytes | None]:
    """Wait for what an adversary was answered."""
    found: list[str | None] = []

    async def written() -> bool:
        with suppress(FileNotFoundError):
            found[:] = _written(path)
        return bool(found)

    await until(written, seconds)
    return [None if answer is None else bytes.fromhex(answer) for answer in found]


def _written(path: Path) -> list[str | None]:
    answered: list[str | None] = json.loads(Path(f"{path}.out").read_text("utf-8"))
    return answered


@contextmanager
def adversary(path: Path, *, uid: int | None = None, **environ: str) -> Iterator[None]:
    """Let an adversary do its work outside any pane, as another user if told so."""
    # Another user may not reach the interpreter and its library, so it becomes that one when it has all it needs.
    become = "" if uid is None else f"import json, secrets, socket, os\nos.setuid({uid})\n"
    script = become + ADVERSARY.read_text("utf-8")
    process = subprocess.Popen([*BARE, "-c", script, str(path)], env=environ)
    try:
        yield
    finally:
        process.kill()
        process.wait()


@pytest.fixture
def attack(service: Service, folder: Path, create: Create) -> Attack:
    """Let an adversary do its work in a pane that is made for it, which stays; ``launch`` binds hooks to it."""

    async def attack(plan: str, *calls: Call, launch: bool = False, **fields: Any) -> list[bytes | None]:
        path = job(folder, plan, list(calls), **({"socket": str(service.config.socket)} | fields))
        # The pane's own program stays, whatever the adversary does.
        script = '"$@"; read x'
        await create(
            "sh", "-c", script, "sh", *BARE, str(ADVERSARY), str(path), launch_binding=BINDING if launch else None
        )
        return await answers(path)

    return attack


@pytest.fixture
async def victim(create: Create) -> str:
    """A pane with a launch that has a token; nothing may ever be reported in its name here."""
    return await create("cat", launch_binding=BINDING)


def token_of(service: Service, pane: str) -> str:
    record = service.records.read(pane)
    assert record is not None
    assert record.hook is not None
    return record.hook.token


def untouched(service: Service, pane: str) -> bool:
    record = service.records.read(pane)
    return record is not None and record.latest_signal is None and not (record.hook and record.hook.parked)


def warnings(log: pytest.LogCaptureFixture, words: str) -> int:
    return sum(words in record.getMessage() for record in log.records if record.levelno == logging.WARNING)


async def test_outside_any_pane(service: Service, folder: Path, victim: str, caplog: pytest.LogCaptureFixture) -> None:
    """What a process says of itself in metadata, variables and requests does not put it into a pane."""
    claims = [("prowl-pid", str(os.getpid())), ("x-prowl-pane-id", victim), ("x-peer-pid", "1")]
    issued = service.dispatches.issue()
    service.dispatches.bind(issued.id, DispatchBinding(victim, "any"))
    completion = dispatch_pb2.CompleteDispatchRequest(outcome=1, summary="mine", dispatch_id=issued.id)
    path = job(
        folder,
        "plain",
        [(SIGNAL, TURN_ENDED, claims), (COMPLETE, completion, claims), (LIST, panes_pb2.ListPanesRequest(), claims)],
        socket=str(service.config.socket),
        times=20,
    )
    with adversary(path, PROWL_PANE_ID=victim):
        signalled, completed, listed = (await answers(path))[:3]
    assert (None, None) == (signalled, completed)
    assert listed is not None
    assert not panes_pb2.ListPanesResponse.FromString(listed).HasField("caller")
    assert untouched(service, victim)
    assert issued == service.dispatches.pending(victim)
    # Twenty attempts of each kind, one line of each.
    assert 1 == warnings(caplog, "a signal of a process in no pane is refused")
    assert 1 == warnings(caplog, "the completion of a task by a process in no pane is refused")


async def test_forged_pid_in_metadata(service: Service, folder: Path, create: Create, victim: str) -> None:
    """A process in one pane that claims to be in another is answered with its own."""
    root = next(generation.pid for generation, pane in service.host.roots.items() if pane == victim)
    claims = [("prowl-pid", str(root)), ("x-peer-pid", str(root)), ("prowl-pane-id", victim)]
    path = job(folder, "plain", [(SIGNAL, TURN_ENDED, claims)], socket=str(service.config.socket))
    own = await create(*BARE, str(ADVERSARY), str(path), env={"PROWL_PANE_ID": victim})
    (answer,) = await answers(path)
    assert answer is not None
    assert own == agents_pb2.SignalResponse.FromString(answer).pane_id
    assert untouched(service, victim)


def hook(service: Service, pane: str, **changes: object) -> Call:
    """The call of a pane's own bridge, with changes."""
    record = service.records.read(pane)
    assert record is not None
    assert record.hook is not None
    good: dict[str, Any] = {
        "kind": common_pb2.SIGNAL_KIND_SESSION_START,
        "launch_token": record.hook.token,
        "runtime": "claude",
        "native_event": "SessionStart",
        "cwd": record.hook.cwd,
        "session_id": "s",
    }
    return SIGNAL, agents_pb2.SignalRequest(**(good | changes)), []


@pytest.mark.parametrize("launch", [False, True])
async def test_anothers_token(
    service: Service, victim: str, attack: Attack, caplog: pytest.LogCaptureFixture, launch: bool
) -> None:
    """A pane's token is worth nothing in another pane, with or without a launch of its own."""
    caplog.set_level(logging.DEBUG, "prowl")
    assert [None] == await attack("plain", hook(service, victim), launch=launch)
    assert f"hook signal refused: {'token-mismatch' if launch else 'no-registration'}" in caplog.text
    assert untouched(service, victim)
    assert token_of(service, victim) not in caplog.text


async def test_a_token_outside_its_bounds(
    service: Service, folder: Path, create: Create, caplog: pytest.LogCaptureFixture
) -> None:
    """In its own pane a token counts only for its directory, its runtime and the declared events; all look alike."""
    caplog.set_level(logging.DEBUG, "prowl")
    path = folder / "job-later"
    script = f'while ! test -e {path}; do sleep 0.05; done; "$@"; read x'
    pane = await create("sh", "-c", script, "sh", *BARE, str(ADVERSARY), str(path), launch_binding=BINDING)
    calls = [
        hook(service, pane, cwd="/"),
        hook(service, pane, runtime="codex"),
        hook(service, pane, native_event="Stop", kind=common_pb2.SIGNAL_KIND_TURN_ENDED),
        hook(service, pane, kind=common_pb2.SIGNAL_KIND_TURN_ENDED),
        hook(service, pane, launch_token=secrets.token_urlsafe(32)),
    ]
    job(folder, "plain", calls, socket=str(service.config.socket)).rename(path)
    assert [None] * 5 == await answers(path)
    refusals = [record.getMessage() for record in caplog.records if "hook signal refused" in record.getMessage()]
    assert ["cwd-mismatch", "runtime-mismatch", "event-not-declared", "event-not-declared", "token-mismatch"] == [
        text.rpartition(" ")[2] for text in refusals
    ]
    assert untouched(service, pane)


async def test_a_token_of_an_earlier_run(folder: Path, caplog: pytest.LogCaptureFixture) -> None:
    """A token is in memory alone: after a restart it opens nothing, neither in a pane nor outside."""
    caplog.set_level(logging.DEBUG, "prowl")
    config = Config(socket=folder / "s" / "prowl.sock", state_directory=folder / "state", close_grace=0.5)
    environ = {"PATH": os.environ["PATH"]}
    first = Service(config, environ)
    await first.start()
    request = panes_pb2.CreatePaneRequest(argv=["cat"], cwd=str(folder), launch_binding=BINDING)
    async with dial(first) as channel:
        made = await panes_pb2_grpc.PaneServiceStub(channel).CreatePane(request)
    old = hook(first, made.target.pane.id)
    await first.stop()
    second = Service(config, environ)
    await second.start()
    try:
        inside, outside = (job(folder, "plain", [old], socket=str(config.socket)) for _ in range(2))
        request.argv[:] = ["sh", "-c", '"$@"; read x', "sh", *BARE, str(ADVERSARY), str(inside)]
        async with dial(second) as channel:
            made = await panes_pb2_grpc.PaneServiceStub(channel).CreatePane(request)
            assert [None] == await answers(inside)
        with adversary(outside):
            assert [None] == await answers(outside)
        assert untouched(second, made.target.pane.id)
        assert "hook signal refused: token-mismatch" in caplog.text
        assert 1 == warnings(caplog, "a hook's signal of a process in no pane is refused")
    finally:
        await second.stop()


async def test_a_connector_that_is_gone(service: Service, attack: Attack, caplog: pytest.LogCaptureFixture) -> None:
    """While the connector lives a child on its connection speaks as the connector, and afterwards as nobody."""
    before, beside, after = await attack("inherit", (SIGNAL, TURN_ENDED, []))
    assert before is not None
    assert beside is not None
    named = [agents_pb2.SignalResponse.FromString(answer).pane_id for answer in (before, beside)]
    assert named[0] == named[1] == next(iter(service.host.roots.values()))
    assert after is None
    assert 1 == warnings(caplog, "a signal of a process in no pane is refused (pid 0)")


async def test_a_connector_that_exits_at_once(service: Service, attack: Attack) -> None:
    """Whoever uses the connection of a process that is gone is that process's heir in nothing."""
    answered = await attack("orphans", (SIGNAL, TURN_ENDED, []), (LIST, panes_pb2.ListPanesRequest(), []), times=20)
    assert [None] * 10 == answered[::2]
    for answer in answered[1::2]:
        assert answer is not None
        assert not panes_pb2.ListPanesResponse.FromString(answer).HasField("caller")
    assert untouched(service, next(iter(service.host.roots.values())))


async def test_round_the_front_door(service: Service, caplog: pytest.LogCaptureFixture) -> None:
    """The private socket answers nobody that dials it, whatever the method; the log tells once."""
    async with grpc.aio.insecure_channel(f"unix:{service._private}") as channel:
        calls: list[Awaitable[object]] = [
            panes_pb2_grpc.PaneServiceStub(channel).ListPanes(panes_pb2.ListPanesRequest()),
            agents_pb2_grpc.AgentServiceStub(channel).Signal(TURN_ENDED),
            agents_pb2_grpc.AgentServiceStub(channel).WatchAgents(agents_pb2.WatchAgentsRequest()).read(),
            health_pb2_grpc.HealthStub(channel).Check(health_pb2.HealthCheckRequest()),
        ]
        for call in calls:
            with pytest.raises(grpc.aio.AioRpcError) as failure:
                await call
            assert (grpc.StatusCode.PERMISSION_DENIED, "SOURCE_REQUIRED") == (
                failure.value.code(),
                reason(failure.value),
            )
    assert 1 == warnings(caplog, "a call that went round the public socket is refused")


async def test_ten_thousand_attempts(service: Service, victim: str, attack: Attack) -> None:
    """Guessed names of relays, guessed tokens, forged claims, connections of the dead: none is ever the victim."""
    claims = [("prowl-pane-id", victim), ("x-pane-id", victim)]
    listing: Call = (LIST, panes_pb2.ListPanesRequest(), claims)
    signal: Call = (SIGNAL, TURN_ENDED, claims)
    token = token_of(service, victim)
    guessed = await attack("guesses", signal, listing, times=2000, socket=str(service._private))
    tried = await attack("tokens", hook(service, victim), launch=True, times=7000, token=token)
    assert [None] * 9000 == guessed + tried
    forged = await attack("plain", signal, listing, times=400)
    orphaned = await attack("orphans", signal, listing, times=200)
    own = list(service.host.roots.values())[3]  # after the victim and the two above
    assert {own} == {agents_pb2.SignalResponse.FromString(answer or b"").pane_id for answer in forged[::2]}
    assert [None] * 100 == orphaned[::2]
    listed = [panes_pb2.ListPanesResponse.FromString(answer or b"") for answer in forged[1::2] + orphaned[1::2]]
    assert [own] * 400 + [""] * 100 == [answer.caller.pane_id for answer in listed]
    assert untouched(service, victim)


@pytest.mark.root
@pytest.mark.skipif(os.getuid() != 0, reason="needs root")
async def test_another_uid(service: Service, folder: Path, victim: str, caplog: pytest.LogCaptureFixture) -> None:
    """Even with folder and socket open to everyone another user gets no answer to anything; the log names the uid."""
    for path in (folder, service.config.socket.parent, service.config.socket):
        os.chmod(path, 0o777)
    calls: list[Call] = [(SIGNAL, TURN_ENDED, []), hook(service, victim), (LIST, panes_pb2.ListPanesRequest(), [])]
    path = job(folder, "plain", calls, socket=str(service.config.socket))
    with adversary(path, uid=65534):
        assert [None] * 3 == await answers(path)
    assert 1 == warnings(caplog, "a connection of uid 65534 is refused")
    assert untouched(service, victim)


REUSE = """
import asyncio, os, sys
from pathlib import Path
from prowl.v1 import panes_pb2, panes_pb2_grpc
from prowl_svc.app import Service
from prowl_svc.config import Config
from tests.service.conftest import dial
from tests.service.test_adversaries import LIST, SIGNAL, TURN_ENDED, ADVERSARY, BARE, answers, job

async def main(folder):
    config = Config(socket=folder / "s" / "prowl.sock", state_directory=folder / "state", close_grace=0.5)
    service = Service(config, {"PATH": os.environ["PATH"]})
    await service.start()
    async with dial(service) as channel:
        panes = panes_pb2_grpc.PaneServiceStub(channel)
        request = panes_pb2.CreatePaneRequest(argv=["cat"], cwd=str(folder))
        first, second = [(await panes.CreatePane(request)).target.pane.id for _ in range(2)]
        old = {pane: root for root, pane in service.host.roots.items()}
        await service.host.close(service.host.registry.resolve_pane(first))
        path = job(folder, "plain", [(SIGNAL, TURN_ENDED, []), (LIST, panes_pb2.ListPanesRequest(), [])],
                   socket=str(config.socket))
        # The dead root still stands for a pane, and for one that lives: only its start time tells it from the taker.
        service.host._roots[old[first]] = second
        while service.clocks.process_clock() <= old[first].start + 1:
            await asyncio.sleep(0.002)  # start times are in ticks of a clock: the taker starts in another one
        Path("/proc/sys/kernel/ns_last_pid").write_text(str(old[first].pid - 1))
        taker = os.posix_spawn(BARE[0], [*BARE, str(ADVERSARY), str(path)], os.environ)
        assert taker == old[first].pid, (taker, old)
        signalled, listed = await answers(path)
        assert signalled is None
        assert not panes_pb2.ListPanesResponse.FromString(listed).HasField("caller")
        assert service.records.read(second).latest_signal is None
        os.waitpid(taker, 0)
        del service.host._roots[old[first]]
    await service.stop()

asyncio.run(main(Path(sys.argv[1])))
"""


@pytest.mark.root
@pytest.mark.skipif(os.getuid() != 0, reason="needs root")
async def test_a_reused_pid(folder: Path) -> None:
    """In a pid namespace a process takes the pid of a dead pane's root: it is in no pane, though the root is known."""
    command = ["unshare", "--pid", "--fork", "--mount-proc", sys.executable, "-c", REUSE, str(folder)]
    environ = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    done = await asyncio.to_thread(
        subprocess.run, command, env=environ, capture_output=True, text=True, timeout=60, check=False
    )
    if "unshare failed" in done.stderr or "Operation not permitted" in done.stderr:
        pytest.skip("pid namespaces are not to be had here")
    assert 0 == done.returncode, done.stderr
