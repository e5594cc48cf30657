"""``python -m tests.live.latency [AGENT [TURNS]]``: from an agent's own report to the event at an observer.

The agent runs behind a relay, which notes the time right before it writes an OSC 7501 report to the pane's terminal;
the clock starts no later than the read that carries it, and stops when an observer in another process has the event.
Claude's ``done`` is an event only when its registry is idle, too, which Claude writes 10 to 60 ms after its report.
"""

import asyncio
import re
import statistics
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from tests.live.walk import RELAY, walking

_NOTE = re.compile(r"^([\d.]+) state=(working|done)(?!.*:id=)", re.MULTILINE)


def _delays(notes: str, since: float, events: list[tuple[float, str]]) -> Iterator[tuple[str, float]]:
    """Yield each change of the root record's state after ``since`` with its delay in milliseconds."""
    before = ""
    for at, state in _NOTE.findall(notes):
        if state != before and float(at) > since:
            found = next(time for time, reason in events if time > float(at) and reason == f"osc.{state}")
            yield state, (found - float(at)) * 1000
        before = state


async def measure(agent: str, turns: int) -> dict[str, list[float]]:
    """Return the sorted delays of an agent's reports over some turns, by the state that was reported."""
    with tempfile.TemporaryDirectory() as folder:
        notes = Path(folder) / "notes"
        async with walking(agent, through=(*RELAY, "note", str(notes))) as walk:
            await walk.session.start()
            since = asyncio.get_running_loop().time()
            for _ in range(turns):
                await walk.session.say("Go on [[slow 0.5]]")
                await walk.session.working("slow")
                await walk.pane.until("working")
                await walk.session.quiet()
                await walk.pane.until("done", "idle")
            delays: dict[str, list[float]] = {}
            for state, delay in _delays(notes.read_text(), since, walk.pane.reasons):
                delays.setdefault(state, []).append(delay)
            return {state: sorted(found) for state, found in delays.items()}


def main() -> None:
    """Print one line for each agent and state: count, median, 99th percentile and worst delay."""
    agents = sys.argv[1:2] or ["claude", "codex", "pi"]
    turns = int(sys.argv[2]) if len(sys.argv) > 2 else 20
    for agent in agents:
        for state, delays in asyncio.run(measure(agent, turns)).items():
            p99 = statistics.quantiles(delays, n=100, method="inclusive")[98]
            print(
                f"{agent} {state}: {len(delays)} reports, p50 {statistics.median(delays):.1f} ms, p99 {p99:.1f} ms, "
                f"worst {delays[-1]:.1f} ms",
                flush=True,
            )


if __name__ == "__main__":
    main()
