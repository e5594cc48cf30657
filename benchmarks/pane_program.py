"""What runs in the panes of the benchmarks as an agent: ``pane_program.py signal|turns|report FILE COUNT RATE``.

It waits for a line, does its thing ``COUNT`` times, ``RATE`` a second (0: one after the other), writes what it measured
to ``FILE`` as JSON, and stays until its terminal ends. ``signal`` and ``turns`` call Signal at random moments and note
how long each call took; ``report`` writes OSC 7501 at regular ones, another state each time, and notes when (monotonic
nanoseconds).
"""

import json
import os
import random
import sys
import time
import tty
from collections.abc import Callable, Iterator
from itertools import repeat

CYCLE = [
    state
    for kind, end in (("permission", "done"), ("question", "error"), ("auth", "idle"))
    for state in ("working", f"blocked:kind={kind}", end)
]
"""States of which each is a change from the one before."""


def main() -> None:
    """Say ready, wait, run, and stay."""
    what, path, count, rate = sys.argv[1], sys.argv[2], int(sys.argv[3]), float(sys.argv[4])
    act = {"signal": signal, "turns": turns, "report": report}[what]()
    tty.setraw(0)
    os.write(1, b"\x1b[2J\x1b[Hready\x1b]7501;state=idle:app=claude-code\x07")
    os.read(0, 100)
    measured = []
    moments = repeat(1 / rate if rate else 0.0) if what == "report" else gaps(path, rate)
    due = time.monotonic()
    for number in range(count):
        due += next(moments)
        if (left := due - time.monotonic()) > 0:
            time.sleep(left)
        measured.append(act(number))
    with open(f"{path}.new", "w", encoding="utf-8") as file:
        json.dump(measured, file)
    os.rename(f"{path}.new", path)
    while os.read(0, 100):
        pass


def gaps(seed: str, rate: float) -> Iterator[float]:
    """Yield the seconds between events that know nothing of each other; none for a rate of 0."""
    chance = random.Random(seed)
    while True:
        yield chance.expovariate(rate) if rate else 0.0


def turns() -> Callable[[int], int]:
    """Return a call that reports progress and the end of a turn, one after the other."""
    return signal(5, 1)


def signal(*kinds: int) -> Callable[[int], int]:
    """Return a call of Signal that carries its own time; nanoseconds until it was answered."""
    kinds = kinds or (1,)
    from prowl.v1 import agents_pb2  # noqa: PLC0415 - a reporter needs neither
    from prowl_client.sync import Client  # noqa: PLC0415

    client = Client()

    def act(number: int) -> int:
        begun = time.monotonic_ns()
        client.signal(agents_pb2.SignalRequest(kind=kinds[number % len(kinds)], detail=str(begun)))
        return time.monotonic_ns() - begun

    return act


def report() -> Callable[[int], int]:
    """Return a write of one report; when it was written."""

    def act(number: int) -> int:
        state = CYCLE[number % len(CYCLE)].encode()
        begun = time.monotonic_ns()
        # An event carries the newest title, which tells the reports apart.
        os.write(1, b"\x1b]0;%d\x07\x1b]7501;state=%s:app=claude-code\x07" % (number, state))
        return begun

    return act


if __name__ == "__main__":
    main()
