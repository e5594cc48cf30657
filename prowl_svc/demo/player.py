"""Plays a recording on its own terminal, under whatever name it was started as: ``player.py CAST SPEED``.

Needs nothing but the standard library, so that it starts under an agent's name with a bare interpreter. What arrives on
the terminal is thrown away; a ``q`` after the end, or the terminal's end, ends it.
"""

import json
import os
import select
import sys
import termios
import time
import tty

__all__ = ["main"]


def main() -> None:
    """Play, then wait as an agent does that waits for its next task."""
    path, speed = sys.argv[1], float(sys.argv[2])
    before = termios.tcgetattr(0)
    tty.setraw(0)
    try:
        with open(path, encoding="utf-8") as lines:
            next(lines)
            start = time.monotonic()
            for line in lines:
                at, kind, data = json.loads(line)
                _pause(start + at / speed)
                if kind == "o":
                    _write(data.encode())
        while select.select([0], [], []) and (typed := os.read(0, 4096)):
            if b"q" in typed or b"\x03" in typed:
                break
    finally:
        termios.tcsetattr(0, termios.TCSADRAIN, before)


def _pause(until: float) -> None:
    """Wait until a moment, reading away what is typed or answered."""
    while (left := until - time.monotonic()) > 0:
        if select.select([0], [], [], left)[0] and not os.read(0, 4096):
            sys.exit(0)


def _write(data: bytes) -> None:
    view = memoryview(data)
    while view:
        view = view[os.write(1, view) :]


if __name__ == "__main__":
    main()
