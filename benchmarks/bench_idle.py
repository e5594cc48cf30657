"""What a service costs at rest: a hundred panes with idle agents, one pane whose agent pushes its status, and none.

Run it as ``python -m benchmarks.bench_idle [PART…] [--seconds N] [--panes N] [--check] [--json]``. Recordings of real
sessions play to their end in panes, under the agents' process names; then the CPU time of the service's threads is
read, as a share of one core. Parts: ``silent`` leaves out what the recordings push by OSC 7501, so that every pane is
polled; ``recorded`` plays them as they are; ``pushed`` is one agent that said it is done.
"""

import argparse
import collections
import json
import statistics
import sys
import time
from collections.abc import Iterator
from pathlib import Path

from prowl.v1 import agents_pb2, common_pb2, panes_pb2
from prowl_client.sync import Client

from benchmarks.figures import Figure, run, under
from benchmarks.private import PrivateService, agent_program, pane_request, private_service
from prowl_svc.terminal.cast import read_cast

CASTS = Path(__file__).parents[1] / "tests" / "corpus" / "casts"
PLAYER = Path(__file__).parents[1] / "prowl_svc" / "demo" / "player.py"
NAMES = {"piold": "pi", "kimicode": "kimi", "claude-v21197": "claude"}
SHARE_OF_MANY, SHARE_OF_ONE = 3.0, 0.1
_SETTLED, _PATIENCE = 1.0, 120.0
_SPEED = 1e6


def recordings(folder: Path, *, pushed: bool) -> list[tuple[str, Path]]:
    """Return (agent, file) of every recording of 120x40, unpacked; reports are left out unless ``pushed``."""
    found = []
    for path in sorted(CASTS.glob("*-120x40.cast.gz")):
        name = path.name.partition("--")[0]
        cast = read_cast(path)
        lines = [json.dumps({"version": 2, "width": cast.columns, "height": cast.rows})]
        for event in cast.events:
            if event.kind == "o":
                data = event.data if pushed else event.data.replace("\x1b]7501;", "\x1b]7500;")
                lines.append(json.dumps([event.time, "o", data]))
        unpacked = folder / path.name.removesuffix(".gz")
        unpacked.write_text("\n".join(lines), "utf-8")
        found.append((NAMES.get(name, name), unpacked))
    return found


def many(options: argparse.Namespace, name: str, *, pushed: bool) -> Iterator[Figure]:
    """Measure the hundred panes."""
    with private_service() as service, service.client() as client:
        played = recordings(service.folder, pushed=pushed)
        count = int(options.panes)
        for number in range(count):
            agent, cast = played[number % len(played)]
            argv = (agent_program(service, agent), "-I", "-S", str(PLAYER), str(cast), str(_SPEED))
            client.create_pane(pane_request(service, *argv))
        listed = _settle(service, client, count)
        tell = ", ".join(f"{number} {state}" for state, number in sorted(_states(client).items()))
        yield Figure(f"{name}: agents listed ({tell})", listed, "panes")
        yield from _share(service, f"{name}: service CPU with {count} idle panes", options.seconds, SHARE_OF_MANY)
        yield Figure(f"{name}: memory of the service", service.memory(), "MiB")


def _states(client: Client) -> "collections.Counter[str]":
    names = (common_pb2.AgentStatus.Name(row.entry.status) for row in client.list_agents().agents)
    return collections.Counter(name.removeprefix("AGENT_STATUS_").lower() for name in names)


def _settle(service: PrivateService, client: Client, count: int) -> int:
    """Wait until the recordings have been played and looked at: nothing changes any more."""
    until, last, since = time.monotonic() + _PATIENCE, None, time.monotonic()
    while time.monotonic() < until:
        rows = [(row.id, row.revision) for row in client.list_agents().agents]
        if rows != last:
            last, since = rows, time.monotonic()
        elif time.monotonic() - since > 10 * _SETTLED and len(rows) >= min(count, 1):
            return len(rows)
        time.sleep(_SETTLED)
    raise RuntimeError(f"the panes never came to rest: {service.log()[-500:]}")


def _share(service: PrivateService, name: str, seconds: float, target: float) -> Iterator[Figure]:
    """Yield the median share of five stretches that make ``seconds``, and the largest."""
    shares = []
    for _ in range(5):
        began, cpu = time.monotonic(), service.cpu()
        time.sleep(seconds / 5)
        shares.append(100 * (service.cpu() - cpu) / (time.monotonic() - began))
    yield under(name, statistics.fmean(shares), "% of core", target)
    yield Figure(f"{name}, busiest fifth", max(shares), "% of core")


def silent(options: argparse.Namespace) -> Iterator[Figure]:
    """All panes are polled at the active cadence."""
    yield from many(options, "reports left out", pushed=False)


def recorded(options: argparse.Namespace) -> Iterator[Figure]:
    """Agents that push their status are not polled."""
    yield from many(options, "recordings as they are", pushed=True)


_REPORTER = r"""
import os, sys, termios, tty
tty.setraw(0)
os.write(1, b"\x1b[2J\x1b[Hready")
for line in iter(lambda: os.read(0, 100), b""):
    os.write(1, b"\x1b]7501;state=done:app=claude-code\x07")
"""


def pushed(options: argparse.Namespace) -> Iterator[Figure]:
    """One pane whose agent reported that it is done, beside a service without any pane."""
    with private_service() as service, service.client() as client:
        time.sleep(_SETTLED)
        yield from _share(service, "service CPU without panes", options.seconds, SHARE_OF_ONE)
        argv = (agent_program(service, "claude"), "-I", "-S", "-c", _REPORTER)
        pane = client.create_pane(pane_request(service, *argv)).target.pane.id
        time.sleep(3 * _SETTLED)
        client.send_text(panes_pb2.SendTextRequest(pane=pane, text="go", enter=True))
        time.sleep(3 * _SETTLED)
        told = client.explain_agent(agents_pb2.ExplainAgentRequest(pane=pane))
        if told.agent.detection_reason != "osc.done":
            raise RuntimeError(f"the report does not decide: {told.agent.detection_reason!r}")
        yield from _share(service, "service CPU with one pane of pushed status", options.seconds, SHARE_OF_ONE)


def main() -> int:
    """Print the figures."""
    return run(
        __doc__,
        {"silent": silent, "recorded": recorded, "pushed": pushed},
        "seconds=20",
        "panes=100",
    )


if __name__ == "__main__":
    sys.exit(main())
