"""Signals, observers, waits and connections of a running service, over its socket.

Run it as ``python -m benchmarks.bench_service [PART…] [--check] [--json] [--realtime]``. The service is a process of
its own; senders are programs in its panes, observers are gRPC clients here. Parts: ``signals`` (200 panes, one observer
each), ``crowd`` (1,000 observers of one pane), ``waits``, ``connections``, ``restart``. Latencies are wall-clock time
and so include what other programs on the machine take, but for ``--realtime``.
"""

import argparse
import asyncio
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Iterator
from typing import Any

import grpc
from prowl.v1 import agents_pb2, agents_pb2_grpc, common_pb2, server_pb2, server_pb2_grpc
from prowl_client import address
from prowl_client.channel import OPTIONS
from prowl_client.sync import Client

from benchmarks.bare import EchoProgram, bare_server
from benchmarks.figures import Figure, beside, quantile, run, under
from benchmarks.private import PATHS, PaneProgram, PrivateService, pane_request, private_service

SIGNAL_TO_OBSERVER_MS, SIGNAL_CALL_MS, WAIT_MS = 5.0, 1.0, 10.0
CROWD_CPU_S, RESTART_S = 2.0, 1.0


def channel(service: PrivateService) -> grpc.aio.Channel:
    """Return a connection of its own."""
    return grpc.aio.insecure_channel(address.target(service.socket), options=OPTIONS)


def observing(connection: grpc.aio.Channel) -> Any:
    """Return the Observe method, its responses left as bytes: reading them must not slow the reader down."""
    return connection.unary_stream(
        "/prowl.v1.AgentService/Observe",
        request_serializer=agents_pb2.ObserveRequest.SerializeToString,
        response_deserializer=None,
    )


# Signals


def signals(options: argparse.Namespace) -> Iterator[Figure]:
    """200 panes with one observer each. One sender calls again and again; then ten do at random moments.

    The bare asyncio server of gRPC answers the same kind of client at the same moments beside it.
    """
    senders, panes, rate, count = 10, 200, 10.0, int(options.signals / 10)
    with private_service() as service, service.client() as client:
        busy = PaneProgram(service, client, "signal", int(options.signals), 0)
        programs = [PaneProgram(service, client, "signal", count, rate) for _ in range(senders)]
        quiet = [client.create_pane(pane_request(service, "cat")).target.pane.id for _ in range(panes - senders - 1)]
        for program in (busy, *programs):
            program.ready()
        one, told_one = asyncio.run(_observed(service, [busy], [program.pane for program in programs] + quiet))
        calls, told = asyncio.run(_observed(service, programs, [busy.pane, *quiet]))
        with bare_server(service.folder) as address_of_bare:
            bare_one = _echoes(service, address_of_bare, 1, int(options.signals), 0)
            bare = _echoes(service, address_of_bare, senders, count, rate)
    yield under("Signal call, one after the other, p50", quantile(one, 0.5), "ms", SIGNAL_CALL_MS)
    yield beside("  the same, p50", quantile(one, 0.5), "ms", "bare gRPC", quantile(bare_one, 0.5))
    yield Figure("  the same, p99", quantile(one, 0.99), "ms")
    yield under("  sent to observer, p99", quantile(told_one, 0.99), "ms", SIGNAL_TO_OBSERVER_MS)
    yield beside("Signal call, 100/s at random, p50", quantile(calls, 0.5), "ms", "bare gRPC", quantile(bare, 0.5))
    yield beside("  the same, p99", quantile(calls, 0.99), "ms", "bare gRPC", quantile(bare, 0.99))
    yield Figure("  sent to observer, p50", quantile(told, 0.5), "ms")
    yield under("  sent to observer, p99", quantile(told, 0.99), "ms", SIGNAL_TO_OBSERVER_MS)


def _echoes(service: PrivateService, address_of_bare: str, senders: int, count: int, rate: float) -> list[float]:
    """Return the milliseconds of calls to a bare server, by as many programs as send signals."""
    echoes = [EchoProgram(service.folder, address_of_bare, count, rate) for _ in range(senders)]
    for echo in echoes:
        echo.go()
    return [nanoseconds / 1e6 for echo in echoes for nanoseconds in echo.result()]


async def _observed(
    service: PrivateService, programs: list[PaneProgram], quiet: list[str]
) -> tuple[list[float], list[float]]:
    """Let programs signal; return the milliseconds of each call, and from before each until its event was here."""
    arrived: list[tuple[int, bytes]] = []
    async with channel(service) as connection:
        watching = [
            asyncio.create_task(_collect(connection, pane, arrived))
            for pane in [*(program.pane for program in programs), *quiet]
        ]
        await asyncio.sleep(1)
        await asyncio.gather(*(asyncio.to_thread(program.go) for program in programs))
        results = await asyncio.gather(*(asyncio.to_thread(program.result) for program in programs))
        await asyncio.sleep(0.5)
        for task in watching:
            task.cancel()
        await asyncio.gather(*watching, return_exceptions=True)
    calls = [nanoseconds / 1e6 for result in results for nanoseconds in result]
    told = [
        (at - int(event.signal.signal.detail)) / 1e6
        for at, body in arrived
        for event in agents_pb2.ObserveResponse.FromString(body).events
        if event.HasField("signal")
    ]
    if len(told) != len(calls):
        raise RuntimeError(f"{len(calls)} signals were sent and {len(told)} observed")
    return calls, told


async def _collect(connection: grpc.aio.Channel, pane: str, into: list[tuple[int, bytes]]) -> None:
    async for body in observing(connection)(agents_pb2.ObserveRequest(pane=pane)):
        into.append((time.monotonic_ns(), body))


# A crowd of observers

_OBSERVERS = """
import asyncio, sys
from pathlib import Path
from benchmarks.bench_service import crowd_client
sys.exit(asyncio.run(crowd_client(Path(sys.argv[1]), sys.argv[2], int(sys.argv[3]), int(sys.argv[4]))))
"""


async def crowd_client(socket: Any, pane: str, observers: int, events: int) -> int:
    """Observe with so many observers; say ready, then how many got all events in order, and how many messages."""
    async with grpc.aio.insecure_channel(address.target(socket), options=OPTIONS) as connection:
        calls = [observing(connection)(agents_pb2.ObserveRequest(pane=pane)) for _ in range(observers)]
        bodies: list[list[bytes]] = [[await call.read()] for call in calls]
        print("ready", flush=True)
        reading = [asyncio.create_task(_read_on(call, held)) for call, held in zip(calls, bodies, strict=True)]
        # Observers of one pane get the same bytes: once the first has all events, the others' amounts are compared.
        async with asyncio.timeout(120):
            while not _all_have(bodies, events):  # noqa: ASYNC110 - no event tells when all have read
                await asyncio.sleep(0.05)
        for task in reading:
            task.cancel()
        complete = sum(_in_order(held) >= events for held in bodies)
        print(complete, sum(map(len, bodies)), flush=True)
        for call in calls:
            call.cancel()
    return 0


async def _read_on(call: Any, held: list[bytes]) -> None:
    while (body := await call.read()) is not grpc.aio.EOF:
        held.append(body)


def _all_have(bodies: list[list[bytes]], events: int) -> bool:
    total = sum(map(len, bodies[0]))
    return _in_order(bodies[0]) >= events and all(sum(map(len, held)) >= total for held in bodies)


def _in_order(bodies: list[bytes]) -> int:
    """Return how many events followed the snapshot without a gap."""
    revisions = [event.revision for body in bodies for event in agents_pb2.ObserveResponse.FromString(body).events]
    return len(revisions) - 1 if revisions == list(range(revisions[0], revisions[0] + len(revisions))) else 0


def crowd(options: argparse.Namespace) -> Iterator[Figure]:
    """1,000 observers of one pane, 1,000 events; the calls that cause the events cost something too."""
    observers, events = int(options.observers), 1000
    what = f"{observers} observers x {events} events"
    with private_service() as service, service.client() as client:
        alone, _, _ = _crowd(service, client, 2, events, options.rate)
        spent, took, messages = _crowd(service, client, observers, events, options.rate)
    yield under(f"{what}: service CPU beside the calls", spent - alone, "s", CROWD_CPU_S)
    yield under(f"{what}: service CPU with the {events} calls of Signal", spent, "s", CROWD_CPU_S)
    yield Figure(f"{what}: until all had all", took, "s")
    yield Figure(f"{what}: messages to each", messages / observers, "messages")


def _crowd(
    service: PrivateService, client: Client, observers: int, events: int, rate: float
) -> tuple[float, float, int]:
    """Return CPU seconds, seconds and messages of a run."""
    program = PaneProgram(service, client, "signal", events, rate)
    program.ready()
    environ = dict(os.environ) | {"PYTHONPATH": PATHS}
    argv = [sys.executable, "-c", _OBSERVERS, str(service.socket), program.pane, str(observers // 2), str(events)]
    crowds = [subprocess.Popen(argv, stdout=subprocess.PIPE, text=True, env=environ) for _ in range(2)]
    try:
        for one in crowds:
            assert one.stdout is not None
            if one.stdout.readline() != "ready\n":
                raise RuntimeError("the observers did not get ready")
        time.sleep(1)
        cpu, began = service.cpu(), time.monotonic()
        program.go()
        told = [one.stdout.readline().split() for one in crowds if one.stdout is not None]
        spent, took = service.cpu() - cpu, time.monotonic() - began
    finally:
        for one in crowds:
            one.kill()
            one.wait()
    complete = sum(int(one[0]) for one in told if one)
    if complete != observers:
        raise RuntimeError(f"only {complete} of {observers} observers got every event in order")
    return spent, took, sum(int(one[1]) for one in told)


# Waits


def waits(options: argparse.Namespace) -> Iterator[Figure]:
    """A wait on each of twenty agents that end their turns at random moments; then twenty waits on one of them.

    Counted from the evidence's own time.
    """
    crowd, count = 20, 2 * int(options.waits / 20)
    with private_service() as service, service.client() as client:
        programs = [PaneProgram(service, client, "turns", count, 4.0) for _ in range(crowd)]
        for program in programs:
            program.ready()
        each = asyncio.run(_waited(service, programs, [program.pane for program in programs]))
        (shared,) = programs = [PaneProgram(service, client, "turns", count, 4.0)]
        shared.ready()
        together = asyncio.run(_waited(service, programs, [shared.pane] * crowd))
    yield Figure("wait answered after its evidence, p50", quantile(each, 0.5), "ms")
    yield under("wait answered after its evidence, p99", quantile(each, 0.99), "ms", WAIT_MS)
    yield Figure(f"{crowd} waits for the same evidence, p50", quantile(together, 0.5), "ms")
    yield Figure(f"{crowd} waits for the same evidence, p99", quantile(together, 0.99), "ms")


async def _waited(service: PrivateService, programs: list[PaneProgram], panes: list[str]) -> list[float]:
    taken: list[float] = []

    async def wait_again(pane: str) -> None:
        request = agents_pb2.WaitRequest(
            condition=agents_pb2.ConditionWait(
                pane=pane,
                until=agents_pb2.WAIT_CONDITION_IDLE,
                min_confidence=agents_pb2.MIN_CONFIDENCE_EXACT,
            ),
            timeout_seconds=60,
        )
        async with channel(service) as connection:
            stub = agents_pb2_grpc.AgentServiceStub(connection)
            async for body in observing(connection)(agents_pb2.ObserveRequest(pane=pane)):
                events = agents_pb2.ObserveResponse.FromString(body).events
                # A turn goes on: only then does a wait not find its answer there at once.
                if any(event.signal.signal.kind == common_pb2.SIGNAL_KIND_PROGRESS for event in events):
                    answer = await stub.Wait(request)
                    taken.append((time.time_ns() - answer.observation.at.ToNanoseconds()) / 1e6)

    waiting = [asyncio.create_task(wait_again(pane)) for pane in panes]
    await asyncio.sleep(1)
    await asyncio.gather(*(asyncio.to_thread(program.go) for program in programs))
    await asyncio.gather(*(asyncio.to_thread(program.result) for program in programs))
    await asyncio.sleep(0.2)
    for task in waiting:
        task.cancel()
    for outcome in await asyncio.gather(*waiting, return_exceptions=True):
        if isinstance(outcome, Exception):
            raise outcome
    return taken


# Connections

_MANY = """
import asyncio, sys
from pathlib import Path
from benchmarks.bench_service import connect_many
asyncio.run(connect_many(Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3])))
"""


async def connect_many(socket: Any, count: int, at_once: int) -> None:
    """Open connections, ``at_once`` at a time, each with an answered call and an open stream; wait to be killed."""
    held: list[object] = []

    async def connect() -> None:
        connection = grpc.aio.insecure_channel(address.target(socket), options=OPTIONS)
        await server_pb2_grpc.ServerServiceStub(connection).GetInfo(server_pb2.GetInfoRequest(), timeout=60)
        stream = agents_pb2_grpc.AgentServiceStub(connection).WatchAgents(agents_pb2.WatchAgentsRequest())
        await stream.read()
        held.append((connection, stream))

    worst = 0.0
    for start in range(0, count, at_once):
        began = time.monotonic()
        await asyncio.gather(*(connect() for _ in range(min(at_once, count - start))))
        worst = max(worst, time.monotonic() - began)
    print(worst, flush=True)
    await asyncio.Event().wait()


def connections(options: argparse.Namespace) -> Iterator[Figure]:
    """1,000 connections with a stream each, 300 of them opened at once, killed; three times."""
    count, at_once = int(options.connections), 300
    with private_service() as service, service.client() as client:
        client.create_pane(pane_request(service, "cat"))
        time.sleep(1)
        descriptors, memory = service.descriptors(), []
        for turn in range(3):
            argv = [sys.executable, "-c", _MANY, str(service.socket), str(count), str(at_once)]
            environ = dict(os.environ) | {"PYTHONPATH": PATHS}
            crowd = subprocess.Popen(argv, stdout=subprocess.PIPE, text=True, env=environ)
            assert crowd.stdout is not None
            opened = crowd.stdout.readline()
            if turn == 0:
                yield Figure(f"{at_once} connections at once, each with a call and a stream", float(opened), "s")
                yield Figure(f"descriptors with {count} connections", service.descriptors() - descriptors, "more")
                yield Figure(f"memory with {count} connections", service.memory(), "MiB")
            crowd.kill()
            crowd.wait()
            began = time.monotonic()
            while service.descriptors() > descriptors and time.monotonic() - began < 30:
                time.sleep(0.01)
            if turn == 0:
                yield under("kill -9 of the client: until all is let go", time.monotonic() - began, "s", 5.0)
            time.sleep(1)
            memory.append(service.memory())
        left = service.descriptors() - descriptors
        yield under("descriptors left after three such clients", left, "more", 0.5)
        yield under("memory after the third client, beside after the first", memory[-1] / memory[0], "times", 1.1)
        client.get_info()


def restart(options: argparse.Namespace) -> Iterator[Figure]:
    """The service is killed with observers and panes, and started again."""
    taken = []
    with private_service() as service:
        for _ in range(5):
            with service.client() as client:
                pane = client.create_pane(pane_request(service, "cat")).target.pane.id
                stream = iter(client.observe(pane))
                next(stream)
                service.kill()
                taken.append(service.start())
    yield under("kill -9 of the service: until a new one serves, median", statistics.median(taken), "s", RESTART_S)
    yield Figure("kill -9 of the service: until a new one serves, slowest", max(taken), "s")


def main() -> int:
    """Print the figures."""
    parts = {"signals": signals, "crowd": crowd, "waits": waits, "connections": connections, "restart": restart}
    return run(__doc__, parts, "signals=2000", "observers=1000", "rate=0", "waits=2000", "connections=1000")


if __name__ == "__main__":
    sys.exit(main())
