"""CPU time of one classification over the recorded screens: median and 99th percentile, per agent.

Run it as ``python -m benchmarks.bench_screens [--agent NAME] [--rounds N]``; ``PROWL_PURE=1`` measures the interpreted
row scan. Every screen is padded to its terminal's height, as a live pane gives it.
"""

import argparse
import gc
import json
import statistics
import time
from pathlib import Path

from benchmarks.figures import quantile, show, under
from prowl_svc._fast import rows as fast_rows
from prowl_svc.model.agents import Agent
from prowl_svc.screens.classify import classify, screen_of

CAPTURES = Path(__file__).parent.parent / "tests" / "corpus" / "captures"
VARIANTS = {"ampold": "amp", "piold": "pi", "kimicode": "kimi"}


def screens() -> list[tuple[str, Agent, list[str], str]]:
    """Return (id, agent, padded rows, title) of every recorded screen."""
    found = []
    for path in sorted(CAPTURES.glob("*.json")):
        for raw in json.loads(path.read_text(encoding="utf-8")):
            rows = list(raw["screen"])
            rows += [""] * (raw.get("rows", 0) - len(rows))
            agent = Agent.from_name(VARIANTS.get(raw["agent"], raw["agent"]))
            found.append((raw["id"], agent, rows, raw.get("title", "")))
    return found


def best_of(agent: Agent, rows: list[str], title: str, rounds: int) -> float:
    """Return the CPU time of one call in microseconds: the best of ``rounds`` runs of five calls each."""
    best = float("inf")
    for _ in range(rounds):
        start = time.process_time_ns()
        for _ in range(5):
            classify(agent, rows, title)
        best = min(best, (time.process_time_ns() - start) / 5000)
    return best


MEDIAN_US, P99_US = 20.0, 80.0


def main() -> None:
    """Measure and print one line per agent and one for all."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--agent", help="only this agent (short id)")
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--json", action="store_true", help="print one JSON object a line")
    parser.add_argument("--slowest", type=int, default=0, help="name this many of the slowest screens")
    options = parser.parse_args()
    how = "compiled" if fast_rows.COMPILED else "interpreted"
    times: dict[str, list[float]] = {}
    named: list[tuple[float, str]] = []
    gc.disable()
    for name, agent, rows, title in screens():
        if screen_of(agent) is None or (options.agent and agent.short != options.agent):
            continue
        taken = best_of(agent, rows, title, options.rounds)
        times.setdefault(agent.short, []).append(taken)
        named.append((taken, name))
    everything = [taken for each in times.values() for taken in each]
    for agent_name, each in [*sorted(times.items()), ("all", everything)]:
        if each:
            of = f"{agent_name}, {len(each)} screens, {how}"
            show(under(f"classification median, {of}", statistics.median(each), "µs", MEDIAN_US), options.json)
            show(under(f"classification p99, {of}", quantile(each, 0.99), "µs", P99_US), options.json)
    for taken, name in sorted(named, reverse=True)[: options.slowest]:
        print(f"  {taken:6.1f} µs  {name}")


if __name__ == "__main__":
    main()
