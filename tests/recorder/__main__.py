"""``python -m tests.recorder record --agent A [--version V]`` and ``python -m tests.recorder drift``."""

import argparse
import asyncio
import signal
import sys

from tests.live.packages import PACKAGES
from tests.recorder.drift import drift
from tests.recorder.record import SIZES, record


def _size(text: str) -> tuple[int, int]:
    columns, _, rows = text.partition("x")
    return int(columns), int(rows)


def main() -> int:
    """Carry out one command; 1 when a capture is misread."""
    parser = argparse.ArgumentParser(prog="recorder", description="Records real agents and watches how they drift.")
    commands = parser.add_subparsers(dest="command", required=True)
    recording = commands.add_parser("record", help="run an agent through the scenarios and store its screens")
    recording.add_argument("--agent", required=True, choices=sorted({item.agent for item in PACKAGES}))
    recording.add_argument("--version", help="a version of the package; the pinned one when not given")
    recording.add_argument("--size", action="append", help="COLUMNSxROWS, may be repeated; all sizes when not given")
    commands.add_parser("drift", help="classify all captures and print what is not read as it was")
    chosen = parser.parse_args()
    if chosen.command == "record":
        # Ended from outside, the recorder still has to end what it started.
        signal.signal(signal.SIGTERM, lambda *_: signal.raise_signal(signal.SIGINT))
        sizes = tuple(_size(text) for text in chosen.size or ()) or SIZES
        asyncio.run(record(chosen.agent, chosen.version or None, sizes))
        return 0
    reports = drift()
    for report in reports:
        same = [other.reasons for other in reports if other.folder.agent == report.folder.agent and other is not report]
        print("\n".join(report.lines(frozenset().union(*same))))
    return 1 if any(report.misread for report in reports) else 0


if __name__ == "__main__":
    sys.exit(main())
