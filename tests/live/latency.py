"""``python -m tests.live.latency [AGENT [TURNS]]``: from an agent's own report to the event at an observer.

The clock starts when an attached client has the bytes that carry an OSC 7501 report, and stops when an observer in the
same process has the event: the way through the service, as a client sees it.
"""

import asyncio
import re
import statistics
import sys

from prowl.v1 import panes_pb2

from tests.live.service import ServicePane
from tests.live.walk import Walk, walking

_REPORT = re.compile(rb"\x1b\]7501;state=([a-z]+)(?![^\x07\x1b]*:id=)")


async def _reports(walk: Walk, seen: list[tuple[float, str]]) -> None:
    """Note each change of the root record's state at the moment its bytes arrive."""
    loop = asyncio.get_running_loop()
    opening = panes_pb2.AttachPaneRequest(open=panes_pb2.AttachOpen(pane=walk.pane.ident, read_only=True))
    call = walk.service.client.panes.AttachPane()
    await call.write(opening)
    async for message in call:
        if message.WhichOneof("message") != "output":
            continue
        now = loop.time()
        for state in _REPORT.findall(message.output):
            if not seen or seen[-1][1] != state.decode():
                seen.append((now, state.decode()))


def _delays(reports: list[tuple[float, str]], events: list[tuple[float, str]]) -> list[float]:
    """Pair each report with the first event of its state that came after the report before it."""
    delays = []
    for index, (at, state) in enumerate(reports):
        since = reports[index - 1][0] if index else at - 1
        found = next((time for time, reason in events if time > since and reason.startswith(f"osc.{state}")), None)
        if found is not None:
            delays.append(max(0.0, found - at) * 1000)
    return delays


async def measure(agent: str, turns: int) -> list[float]:
    """Return the delays in milliseconds of an agent's reports over some turns."""
    async with walking(agent) as walk:
        await walk.session.start()
        reports: list[tuple[float, str]] = []
        watching = asyncio.create_task(_reports(walk, reports))
        pane: ServicePane = walk.pane
        for _ in range(turns):
            await walk.session.say("Go on [[slow 0.5]]")
            await walk.session.working("slow")
            await pane.until("working")
            await walk.session.quiet()
            await pane.until("done", "idle")
        watching.cancel()
        return _delays(reports, pane.reasons)


def main() -> None:
    """Print one line for each agent: count, median, 99th percentile and worst delay."""
    agents = sys.argv[1:2] or ["claude", "codex", "pi"]
    turns = int(sys.argv[2]) if len(sys.argv) > 2 else 20
    for agent in agents:
        delays = sorted(asyncio.run(measure(agent, turns)))
        p99 = statistics.quantiles(delays, n=100)[98]
        print(
            f"{agent}: {len(delays)} reports, p50 {statistics.median(delays):.1f} ms, p99 {p99:.1f} ms, "
            f"worst {delays[-1]:.1f} ms"
        )


if __name__ == "__main__":
    main()
