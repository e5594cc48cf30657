"""Feeds the terminal engine a long seeded run of random and mutated sequences; fails on growth or a broken screen.

Run it as ``python -m benchmarks.fuzz_terminal [--count 10000000] [--seed N]``. Sequences are made from every final byte
with random parameters, from strings of every kind, from random bytes and from cut, doubled and mixed pieces of the
recordings. Screens of many sizes are fed, read, resized and dropped; the resident memory is printed first and last.
"""

import argparse
import random
import sys
import time
from pathlib import Path

from prowl_svc.terminal.cast import read_cast
from prowl_svc.terminal.engine_screen import EngineScreen

CASTS = Path(__file__).parents[1] / "tests" / "corpus" / "casts"
POOL, PIECES, REUSES = 4000, 500, 100
GROWTH_KB = 40_000
"""Resident memory that may be added after the warm-up: allocator slack, not a leak that grows with the count."""
LARGEST_PANE = 12_000_000
"""Bytes that a pane may hold: 200x60 cells, 1,000 rows of scrollback, 16,384 graphemes."""
GLYPHS = "a─中👍❤\u0301\ufe0f\u200d🇩각क्षेé\u00ad\u3000\uffff\U0010ffff"


def resident_kb() -> int:
    """Return the resident memory of this process."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * 4


def number(source: random.Random) -> str:
    """Return a parameter, often an edge."""
    return source.choice(["", "0", "1", "2", "7", "40", "120", "65535", "99999999999", str(source.randint(0, 3000))])


def sequence(source: random.Random, recorded: bytes) -> bytes:
    """Return one sequence, run of text or piece of a recording."""
    kind = source.random()
    if kind < 0.35:
        marker = source.choice(["", "", "", "?", ">", "<", "="])
        middle = source.choice(["", "", "", "", "$", " ", "!", '"', "'", "*", "#$"])
        values = source.choice([";", ";", ":"]).join(number(source) for _ in range(source.randint(0, 5)))
        return f"\x1b[{marker}{values}{middle}{chr(source.randint(0x40, 0x7E))}".encode()
    if kind < 0.45:
        mode = source.choice(
            [1, 6, 7, 25, 45, 47, 69, 1045, 1047, 1048, 1049, 2004, 2026, 2027, source.randint(0, 9999)]
        )
        return b"\x1b[?%d%c" % (mode, source.choice(b"hlsr"))
    if kind < 0.52:
        return b"\x1b" + bytes(source.choices(range(0x20, 0x7F), k=source.randint(1, 3)))
    if kind < 0.6:
        body = source.choice(
            [b"0;t", b"9;4;1;5", b"99;d=0:i=1;x", b"133;A", b"7501;?", b"+q54", b"Ga=q,i=1;", b"52;c;?"]
        )
        body += source.randbytes(source.choice([0, 1, 5, 40])) + b"x" * source.choice([0, 0, 0, 9000])
        return (
            b"\x1b"
            + source.choice([b"]", b"P", b"_", b"^", b"X", b"k"])
            + body
            + source.choice([b"\x07", b"\x1b\\", b""])
        )
    if kind < 0.75:
        return "".join(source.choices(GLYPHS, k=source.randint(1, 12))).encode()
    if kind < 0.85:
        return source.choice([b"\r\n", b"\n", b"\r", b"\b", b"\t", b"\x0e", b"\x0f", b"hello world", b"x" * 150])
    if kind < 0.9:
        return source.randbytes(source.randint(1, 12))
    start = source.randrange(len(recorded))
    piece = bytearray(recorded[start : start + source.randint(1, 60)])
    for _ in range(source.randint(0, 3)):
        piece[source.randrange(len(piece))] = source.randrange(256)
    return bytes(piece)


def check(screen: EngineScreen) -> None:
    """Read everything and look at its shape."""
    rows = screen.active_rows()
    cursor = screen.cursor
    assert len(rows) == screen.rows
    assert all(len(row) <= 32 * screen.columns and row == row.rstrip(" ") for row in rows)
    assert screen.text() == "\n".join(rows)
    assert 0 <= cursor.row < screen.rows
    assert 0 <= cursor.column < screen.columns
    assert len(screen.take_answers()) <= 1 << 16
    assert screen.__sizeof__() < LARGEST_PANE
    assert not screen.lost
    screen.scrollback_rows(50)
    screen.empty_or_dim(cursor.row, 0)


def main() -> int:
    """Run until ``--count`` sequences are fed; return 1 when memory grew."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=10_000_000)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    source = random.Random(options.seed)
    paths = sorted(CASTS.glob("*.cast.gz"))[::6]
    recorded = b"".join(event.raw for path in paths for event in read_cast(path).events if event.kind == "o")
    screens = [EngineScreen(80, 24) for _ in range(8)]
    begin, fed, volume, warm = time.monotonic(), 0, 0, 0
    print(f"start: {resident_kb()} KB resident, seed {options.seed}", flush=True)
    while fed < options.count:
        pool = [sequence(source, recorded) for _ in range(POOL)]
        for _ in range(REUSES):
            data = b"".join(source.choices(pool, k=PIECES))
            which = source.randrange(len(screens))
            if source.random() < 0.02:
                screens[which] = EngineScreen(source.randint(1, 200), source.randint(1, 60))
            screen = screens[which]
            cut = source.randrange(len(data) + 1)
            screen.feed(data[:cut])
            if source.random() < 0.1:
                screen.resize(source.randint(1, 200), source.randint(1, 60))
            screen.feed(data[cut:])
            if source.random() < 0.3:
                check(screen)
            fed += PIECES
            volume += len(data)
        if not warm and fed >= options.count // 5:
            warm = resident_kb()
    end, seconds = resident_kb(), time.monotonic() - begin
    print(f"warm:  {warm} KB resident")
    print(f"end:   {end} KB resident, {fed} sequences, {volume / 1e6:.0f} MB in {seconds:.0f} s")
    return 0 if end - warm <= GROWTH_KB else 1


if __name__ == "__main__":
    sys.exit(main())
