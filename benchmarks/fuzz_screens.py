"""Mutated and random screens through every classifier: none may raise, and none may be slow.

Run it as ``python -m benchmarks.fuzz_screens [--count N] [--timed N] [--seed N]``. The first ``--timed`` screens are
also timed; one that takes over 2 ms of CPU in each of five calls is a failure. It exits 1 on any failure.
"""

import argparse
import gc
import json
import random
import sys
import time
import traceback
from pathlib import Path

from prowl_svc._fast.rows_glyphs import BLANKS, GLYPHS, KINDS
from prowl_svc.model.agents import Agent
from prowl_svc.screens.classify import classify, explain, screen_of

CORPUS = Path(__file__).parent.parent / "tests" / "corpus"
LIMIT_MS = 2.0
VARIANTS = {"ampold": "amp", "piold": "pi", "kimicode": "kimi"}
SCALARS = "".join([*GLYPHS.values(), *KINDS.values()]) + BLANKS * 4 + "aeiou nt YES(12.5s)•·/:…\x00\ud800\U0010ffff漢é"
PHRASES = (
    "esc to interrupt", "Esc to cancel", "enter to select", "1. Yes", "2. No", "Do you want to proceed?", "(3s · ↓ 2k)",
    "waiting for 1 ", "background agent", "to finish", " (", "(1s", "… (", "* a", "❯ ", "› ", "> ", "● ", "• Working (",
)  # fmt: skip


def corpus() -> list[tuple[Agent, list[str], str]]:
    """Return (agent, rows, title) of every recorded and drawn screen."""
    found = []
    paths = [path for pattern in ("captures/*.json", "screens/*.json", "bug*.json") for path in CORPUS.glob(pattern)]
    for path in sorted(paths):
        for raw in json.loads(path.read_text(encoding="utf-8")):
            agent = Agent.from_name(VARIANTS.get(raw["agent"], raw["agent"]))
            found.append((agent, list(raw["screen"]), raw.get("title", "")))
    return found


def noise(chance: random.Random, length: int) -> str:
    """Return random text of at most ``length`` scalars, sometimes one phrase over and over."""
    kind = chance.random()
    if kind < 0.3:
        phrase = chance.choice(PHRASES)
        return (phrase * (length // len(phrase) + 1))[: chance.randint(0, length)]
    if kind < 0.5:
        return chance.choice(SCALARS) * chance.randint(0, length)
    return "".join(chance.choices(SCALARS, k=chance.randint(0, length)))


def mutate(chance: random.Random, rows: list[str], others: list[str]) -> list[str]:
    """Return a changed copy: rows dropped, doubled, swapped, cut, wrapped, replaced by noise or by foreign rows."""
    rows = list(rows)
    for _ in range(chance.randint(1, 6)):
        where = chance.randrange(len(rows)) if rows else 0
        kind = chance.randrange(9)
        if not rows or kind == 0:
            rows.insert(where, noise(chance, 120))
        elif kind == 1:
            del rows[where]
        elif kind == 2:
            rows.insert(where, rows[where])
        elif kind == 3:
            other = chance.randrange(len(rows))
            rows[where], rows[other] = rows[other], rows[where]
        elif kind == 4:
            rows[where] = rows[where][: chance.randint(0, len(rows[where]))]
        elif kind == 5:
            width = chance.randint(10, 60)
            rows = [row[start : start + width] for row in rows for start in range(0, max(1, len(row)), width)]
        elif kind == 6:
            at = chance.randint(0, len(rows[where]))
            rows[where] = rows[where][:at] + noise(chance, 30) + rows[where][at:]
        elif kind == 7:
            rows[where] = " " * chance.randint(0, 40) + rows[where].lstrip()
        else:
            rows.insert(where, chance.choice(others))
    return rows[-60:]


def cpu_ms(agent: Agent, rows: list[str], title: str) -> float:
    """Return the CPU time of one call in milliseconds, measured again when it looks slow."""
    best = float("inf")
    for _ in range(5):
        start = time.thread_time_ns()
        classify(agent, rows, title)
        best = min(best, (time.thread_time_ns() - start) / 1e6)
        if best < LIMIT_MS / 4:
            break
    return best


def main() -> int:
    """Run the screens; return the number of failures, at most 1."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--count", type=int, default=1_000_000)
    parser.add_argument("--timed", type=int, default=100_000)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    chance = random.Random(options.seed)
    cases = corpus()
    agents = [agent for agent in Agent if screen_of(agent) is not None]
    others = [row for _, rows, _ in cases for row in rows if row.strip()]
    titles = ["", *{title for _, _, title in cases}]
    failures = 0
    slowest = 0.0
    gc.disable()
    for number in range(options.count):
        agent, rows, title = chance.choice(cases)
        rows = [noise(chance, 120) for _ in range(40)] if chance.random() < 0.05 else mutate(chance, rows, others)
        if chance.random() < 0.2 or agent not in agents:
            agent = chance.choice(agents)
        if chance.random() < 0.3:
            title = chance.choice(titles)
        try:
            if number < options.timed:
                taken = cpu_ms(agent, rows, title)
                slowest = max(slowest, taken)
                if taken > LIMIT_MS:
                    failures += 1
                    print(f"slow: {taken:.2f} ms, screen {number}, {agent}")
            else:
                classify(agent, rows, title)
            if number % 97 == 0:
                explain(agent, rows, title)
        except Exception:
            failures += 1
            print(f"raised: screen {number}, {agent}, {rows!r}")
            traceback.print_exc()
        if number % 20_000 == 19_999:
            gc.collect()
    print(f"{options.count} screens, {failures} failures; slowest of {options.timed}: {slowest:.3f} ms of CPU")
    return min(failures, 1)


if __name__ == "__main__":
    sys.exit(main())
