"""``python -m tests.recorder record|cast --agent A [--version V]`` and ``python -m tests.recorder drift``."""

import argparse
import asyncio
import signal
import sys
from pathlib import Path

from tests.live.packages import PACKAGES
from tests.recorder.cast import record_cast
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
    casting = commands.add_parser("cast", help="record one short job of an agent as an asciicast")
    casting.add_argument("--agent", required=True, choices=sorted({item.agent for item in PACKAGES}))
    casting.add_argument("--version", help="a version of the package; the pinned one when not given")
    casting.add_argument("--out", required=True, type=Path, help="file to write")
    commands.add_parser("drift", help="classify all captures and print what is not read as it was")
    chosen = parser.parse_args()
    # Ended from outside, the recorder still has to end what it started.
    signal.signal(signal.SIGTERM, lambda *_: signal.raise_signal(signal.SIGINT))
    if chosen.command == "cast":
        chosen.out.write_text(asyncio.run(record_cast(chosen.agent, chosen.version)))
        return 0
    if chosen.command == "record":
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
