"""What panes write: how soon a pushed report is an event, and how little a flood in one pane disturbs the others.

Run it as ``python -m benchmarks.bench_output [PART…] [--check] [--json] [--realtime]``. The service is a process of its
own; programs in its panes write, and a gRPC client here observes. Parts: ``reports`` (OSC 7501 to the event at an
observer, counted from the program's write), ``random`` and ``screens`` (a pane writes 50 MB of random bytes, or of
recorded sessions, while another pane reports and a client calls). Latencies are wall-clock time.
"""

import argparse
import asyncio
import os
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import grpc
from prowl.v1 import agents_pb2, agents_pb2_grpc, panes_pb2
from prowl_client.sync import Client

from benchmarks.bench_service import channel, observing
from benchmarks.bench_terminal import recordings
from benchmarks.figures import Figure, quantile, run, under
from benchmarks.pane_program import CYCLE
from benchmarks.private import PaneProgram, PrivateService, pane_request, private_service

REPORT_MS, EVENT_MS, CALL_MS = 20.0, 50.0, 20.0
_REASONS = [f"osc.{state.replace(':kind=', '.')}" for state in CYCLE]
_Seen = list[tuple[int, int]]
"""When each event of a pane was here, and the number of the report that it shows."""


def reports(options: argparse.Namespace) -> Iterator[Figure]:
    """Ten agents that report ten times a second each."""
    count = int(options.reports / 10)
    with private_service() as service, service.client() as client:
        programs = [PaneProgram(service, client, "report", count, 10.0) for _ in range(10)]
        for program in programs:
            program.ready()
        taken = asyncio.run(_reported(service, programs))
    yield Figure("OSC 7501 written to event at an observer, p50", quantile(taken, 0.5), "ms")
    yield under("OSC 7501 written to event at an observer, p99", quantile(taken, 0.99), "ms", REPORT_MS)


async def _reported(service: PrivateService, programs: list[PaneProgram]) -> list[float]:
    """Return the milliseconds from each write to its event; every report changes the state, so none is left out."""
    arrived: list[_Seen] = [[] for _ in programs]
    async with channel(service) as connection:
        following = [
            asyncio.create_task(_follow(connection, program.pane, into))
            for program, into in zip(programs, arrived, strict=True)
        ]
        await asyncio.sleep(1)
        for program in programs:
            await asyncio.to_thread(program.go)
        written = await asyncio.gather(*(asyncio.to_thread(program.result) for program in programs))
        await asyncio.sleep(0.5)
        for task in following:
            task.cancel()
        await asyncio.gather(*following, return_exceptions=True)
    return [
        (seen - sent) / 1e6
        for times, events in zip(written, arrived, strict=True)
        for sent, seen in zip(times, _matched(len(times), events), strict=True)
    ]


async def _follow(connection: grpc.aio.Channel, pane: str, into: _Seen) -> None:
    async for body in observing(connection)(agents_pb2.ObserveRequest(pane=pane)):
        now = time.monotonic_ns()
        for event in agents_pb2.ObserveResponse.FromString(body).events:
            entry = event.changed
            if entry.title.isdigit() and entry.detection_reason == _REASONS[int(entry.title) % len(_REASONS)]:
                into.append((now, int(entry.title)))


def _matched(count: int, events: _Seen) -> list[int]:
    """Return when each of ``count`` reports was seen; one that was read together with the next is seen with that."""
    seen = [0] * count
    for now, number in events:
        seen[number] = seen[number] or now
    if not seen[-1]:
        raise RuntimeError(f"the last of {count} reports was not observed")
    for number in range(count - 2, -1, -1):
        seen[number] = seen[number] or seen[number + 1]
    return seen


def flood(options: argparse.Namespace, name: str, data: bytes) -> Iterator[Figure]:
    """Measure events of one pane and calls of a client, at rest and while another pane writes."""
    size = int(options.megabytes * 1e6)
    with private_service() as service, service.client() as client:
        source = service.folder / "flood"
        source.write_bytes((data * (size // len(data) + 1))[:size])
        calm_events, calm_calls, _ = _disturbed(service, client, None)
        events, calls, seconds = [], [], []
        for _ in range(int(options.rounds)):
            more_events, more_calls, took = _disturbed(service, client, source)
            events += more_events
            calls += more_calls
            seconds.append(took)
    what = f"while a pane writes {size / 1e6:.0f} MB of {name}"
    yield Figure(f"{what}: it is read at", size / 1e6 / quantile(seconds, 0.5), "MB/s")
    yield under(f"{what}: event of another pane, p99", quantile(events, 0.99), "ms", EVENT_MS)
    yield Figure(f"{what}: event of another pane, p50 ({len(events)} events)", quantile(events, 0.5), "ms")
    yield Figure("at rest: event of that pane, p99", quantile(calm_events, 0.99), "ms")
    yield under(f"{what}: call of a client, p99", quantile(calls, 0.99), "ms", CALL_MS)
    yield Figure(f"{what}: call of a client, p50 ({len(calls)} calls)", quantile(calls, 0.5), "ms")
    yield Figure("at rest: call of a client, p99", quantile(calm_calls, 0.99), "ms")


def _disturbed(service: PrivateService, client: Client, source: Path | None) -> tuple[list[float], list[float], float]:
    """Return the latencies of events and of calls in milliseconds, and how many seconds the flood took."""
    reporter = PaneProgram(service, client, "report", 2000, 100.0)
    reporter.ready()
    return asyncio.run(_measure(service, client, reporter, source))


async def _measure(
    service: PrivateService, client: Client, reporter: PaneProgram, source: Path | None
) -> tuple[list[float], list[float], float]:
    arrived: _Seen = []
    calls: list[float] = []
    over = asyncio.Event()
    async with channel(service) as watching, channel(service) as calling:

        async def call() -> None:
            stub = agents_pb2_grpc.AgentServiceStub(calling)
            while not over.is_set():
                began = time.monotonic_ns()
                await stub.ListAgents(agents_pb2.ListAgentsRequest())
                calls.append((time.monotonic_ns() - began) / 1e6)
                await asyncio.sleep(0.005)

        following = asyncio.create_task(_follow(watching, reporter.pane, arrived))
        await asyncio.sleep(0.5)
        await asyncio.to_thread(reporter.go)
        await asyncio.sleep(0.3)
        began = time.monotonic_ns()
        calling_task = asyncio.create_task(call())
        if source is not None:
            done = source.with_suffix(".done")
            done.unlink(missing_ok=True)
            script = f"stty raw -echo; cat {source}; touch {done}; sleep 60"
            flooding = await asyncio.to_thread(client.create_pane, pane_request(service, "sh", "-c", script))
            while not done.exists():  # noqa: ASYNC110 - another process makes it
                await asyncio.sleep(0.01)
        else:
            await asyncio.sleep(3)
        ended = time.monotonic_ns()
        over.set()
        await calling_task
        if source is not None:
            await asyncio.to_thread(_close, client, flooding.target.pane.id)
        written = await asyncio.to_thread(reporter.result)
        await asyncio.sleep(0.5)
        following.cancel()
        await asyncio.gather(following, return_exceptions=True)
    seen = _matched(len(written), arrived)
    events = [(at - sent) / 1e6 for sent, at in zip(written, seen, strict=True) if began <= sent <= ended]
    await asyncio.to_thread(_close, client, reporter.pane)
    return events, calls, (ended - began) / 1e9


def _close(client: Client, pane: str) -> None:
    client.close_pane(panes_pb2.ClosePaneRequest(target=pane, force=True))


def random_bytes(options: argparse.Namespace) -> Iterator[Figure]:
    """Random bytes: what a binary on the terminal is."""
    yield from flood(options, "random bytes", os.urandom(5_000_000))


def screens(options: argparse.Namespace) -> Iterator[Figure]:
    """Recorded sessions, one after the other."""
    yield from flood(options, "recorded sessions", recordings())


def main() -> int:
    """Print the figures."""
    parts = {"reports": reports, "random": random_bytes, "screens": screens}
    return run(__doc__, parts, "reports=1000", "megabytes=50", "rounds=5")


if __name__ == "__main__":
    sys.exit(main())
