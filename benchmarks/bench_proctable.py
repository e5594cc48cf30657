"""Measures one pass over the process table with 300 processes, compiled, interpreted and by psutil (CPU time)."""

import argparse
import json
import os
import statistics
import sys
import time
from collections.abc import Callable

import psutil

from prowl_svc._fast import _proctable_py, proctable

PROCESSES = 300
LIMIT_MS = 5.0


def cpu_ms(action: Callable[[], object], rounds: int) -> float:
    """Return the median CPU milliseconds of one call."""
    times = []
    for _ in range(rounds):
        begin = time.process_time_ns()
        action()
        times.append((time.process_time_ns() - begin) / 1e6)
    return statistics.median(times)


def psutil_pass() -> list[tuple[int, int]]:
    """List the processes with parent, name and group, the portable way."""
    found = []
    for process in psutil.process_iter(["ppid", "name"]):
        try:
            found.append((process.pid, os.getpgid(process.pid)))
        except OSError:
            continue
    return found


def main() -> int:
    """Fill the table up to 300 processes, print one line a figure, and fail above the limit."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", action="store_true", help="print one JSON object a line")
    parser.add_argument("--rounds", type=int, default=50)
    options = parser.parse_args()
    sleeper = ["sleep", "600"]
    fillers: list[int] = []
    try:
        while len(proctable.scan()) < PROCESSES:
            fillers.append(os.posix_spawnp("sleep", sleeper, os.environ))
        count = len(proctable.scan())
        figures = {
            "process table pass, interpreted": cpu_ms(_proctable_py.scan, options.rounds),
            "process table pass, psutil": cpu_ms(psutil_pass, max(3, options.rounds // 10)),
        }
        if proctable.COMPILED:
            figures["process table pass, compiled"] = cpu_ms(proctable.scan, options.rounds)
    finally:
        for pid in fillers:
            os.kill(pid, 9)
            os.waitpid(pid, 0)
    peer = figures["process table pass, psutil"]
    for name, value in figures.items():
        if options.json:
            print(json.dumps({"name": name, "value": round(value, 3), "unit": "ms", "processes": count, "peer": peer}))
        else:
            print(f"{name:36} {value:8.2f} ms  {count} processes  psutil {peer:.2f} ms  x{peer / value:.1f}")
    return 0 if figures.get("process table pass, compiled", 0.0) <= LIMIT_MS else 1


if __name__ == "__main__":
    sys.exit(main())
