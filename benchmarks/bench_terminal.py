"""Terminal engine: bytes fed and rows read, beside pyte, avt and libghostty-vt (CPU time, 120x40, 4 KiB chunks).

Run it as ``python -m benchmarks.bench_terminal [--json] [--rounds N] [--check]``. Each engine plays the same bytes, the
best of the rounds counts, and the rounds of all engines take turns, so that a busy machine is fair to all. A figure is
one line: name, value, unit, the peer's value and the ratio (above 1 is better than the peer). ``--check`` fails when a
ratio that must hold does not.
"""

import argparse
import importlib
import importlib.util
import json
import random
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from prowl_svc.terminal.cast import read_cast
from prowl_svc.terminal.engine_screen import EngineScreen

COLUMNS, ROWS, CHUNK = 120, 40, 4096
CASTS = Path(__file__).parents[1] / "tests" / "corpus" / "casts"
PYTE_BYTES = 150_000  # enough to time pyte, which is slow
LEAST = {"pyte": 100.0, "libghostty-vt": 1.0, "avt": 1.0}


@dataclass(frozen=True, slots=True)
class Engine:
    """How to make one terminal, feed it and read all its rows; ``text`` engines take str."""

    name: str
    make: Callable[[], Any]
    feed: Callable[[Any], Callable[[Any], object]]
    read: Callable[[Any], Callable[[], object]]
    text: bool = False
    limit: int = 0


class Figure(NamedTuple):
    """One measured line."""

    name: str
    value: float
    unit: str
    peer: str = ""
    peer_value: float = 0.0
    ratio: float = 0.0


def installed(name: str) -> Any:
    """Return a module, or None where it is not installed."""
    return importlib.import_module(name) if importlib.util.find_spec(name) else None


def engines() -> list[Engine]:
    """Return ours first, then the peers that are installed."""
    found = [Engine("prowl", lambda: EngineScreen(COLUMNS, ROWS), lambda t: t.feed, lambda t: t.active_rows)]
    if pyte := installed("pyte"):

        def make_pyte() -> Any:
            screen = pyte.Screen(COLUMNS, ROWS)
            return screen, pyte.ByteStream(screen)

        def feed_pyte(pair: Any) -> Callable[[Any], object]:
            def feed(data: bytes) -> None:
                try:
                    pair[1].feed(data)
                except Exception:  # sequences that it fails on
                    pair[1].attach(pair[0])

            return feed

        found.append(Engine("pyte", make_pyte, feed_pyte, lambda pair: lambda: pair[0].display, limit=PYTE_BYTES))
    if avt := installed("avt"):

        def read_avt(vt: Any) -> Callable[[], object]:
            return lambda: [line.text for line in vt.view()]

        found.append(Engine("avt", lambda: avt.Vt(COLUMNS, ROWS), lambda vt: vt.feed_str, read_avt, text=True))
    if ghostty := installed("pyghostty"):

        def make_ghostty() -> Any:
            return ghostty.Terminal(COLUMNS, ROWS, 1000)

        found.append(Engine("libghostty-vt", make_ghostty, lambda t: t.feed, lambda t: t.text))
    return found


def recordings() -> bytes:
    """Return the output of all recordings of that size, one after the other."""
    return b"".join(
        event.raw
        for path in sorted(CASTS.glob("*-120x40.cast.gz"))
        for event in read_cast(path).events
        if event.kind == "o"
    )


def synthetic() -> bytes:
    """Return a made-up full-screen program: synchronized frames of placed, coloured words and box lines."""
    source = random.Random(7)
    words = [
        "the",
        "agent",
        "reads",
        "a",
        "file",
        "and",
        "writes",
        "the",
        "patch",
        "then",
        "runs",
        "every",
        "test",
        "again",
    ]
    parts: list[str] = []
    for frame in range(1500):
        parts.append("\x1b[?2026h\x1b[?25l")
        for _ in range(source.randint(5, 40)):
            row, column = source.randint(1, ROWS), source.randint(1, 90)
            parts.append(f"\x1b[{row};{column}H\x1b[38;2;{frame % 256};99;{row}m{' '.join(source.choices(words, k=4))}")
            parts.append(
                source.choice(["\x1b[0m\x1b[K", "\x1b[2m…\x1b[22m", "\x1b[1m│\x1b[22m", "\x1b[39m" + "─" * 12])
            )
        parts.append(f"\x1b[{ROWS};1H\x1b[?25h\x1b[?2026l")
    return "".join(parts).encode()


def plain() -> bytes:
    """Return lines of text, as a build or a log prints them."""
    line = "{:07d} the quick brown fox jumps over the lazy dog and goes on for a while\r\n"
    return "".join(line.format(number) for number in range(60_000)).encode()


def play(engine: Engine, data: bytes, read: bool) -> float:
    """Return megabytes per second of CPU time for one run."""
    if engine.limit:
        data = data[: engine.limit]
    chunks: list[Any] = [data[start : start + CHUNK] for start in range(0, len(data), CHUNK)]
    if engine.text:
        chunks = [chunk.decode("utf-8", "replace") for chunk in chunks]
    terminal = engine.make()
    feed, rows = engine.feed(terminal), engine.read(terminal)
    begin = time.process_time()
    if read:
        for chunk in chunks:
            feed(chunk)
            rows()
    else:
        for chunk in chunks:
            feed(chunk)
    return len(data) / max(time.process_time() - begin, 1e-9) / 1e6


def compare(name: str, data: bytes, read: bool, rounds: int) -> Iterator[Figure]:
    """Play the same bytes in all engines."""
    found = engines()
    best = dict.fromkeys((engine.name for engine in found), 0.0)
    for turn in range(rounds):
        for engine in found:
            if engine.limit and turn > rounds // 3:
                continue
            best[engine.name] = max(best[engine.name], play(engine, data, read))
    ours = best.pop("prowl")
    for peer, value in best.items():
        yield Figure(name, ours, "MB/s", peer, value, ours / value)


def read_cost(rounds: int) -> Iterator[Figure]:
    """Time reading all rows when every one of them changed, and when none did."""
    screen = EngineScreen(COLUMNS, ROWS)
    frames = [
        "".join(f"\x1b[{row};1H{(chr(97 + (row + turn) % 26) + ' ─') * 40}" for row in range(1, ROWS + 1)).encode()
        for turn in range(2)
    ]
    best = [1e9, 1e9]
    for turn in range(rounds * 40):
        screen.feed(frames[turn % 2])
        for which in range(2):
            begin = time.perf_counter_ns()
            screen.active_rows()
            best[which] = min(best[which], (time.perf_counter_ns() - begin) / 1000)
    yield Figure("full read, every row changed", best[0], "us")
    yield Figure("full read, nothing changed", best[1], "us")


def side_by_side(data: bytes, rounds: int) -> Iterator[Figure]:
    """Feed a hundred panes in turns, each its own place in the stream."""
    chunks = [data[start : start + CHUNK] for start in range(0, len(data), CHUNK)]
    best = 0.0
    for _ in range(max(1, rounds // 2)):
        panes = [EngineScreen(COLUMNS, ROWS) for _ in range(100)]
        begin, fed = time.process_time(), 0
        for turn in range(20):
            for number, pane in enumerate(panes):
                chunk = chunks[(turn + 13 * number) % len(chunks)]
                pane.feed(chunk)
                pane.active_rows()
                fed += len(chunk)
        best = max(best, fed / (time.process_time() - begin) / 1e6)
    yield Figure("a hundred panes in turns, feed and read", best, "MB/s")


def memory(data: bytes) -> Iterator[Figure]:
    """Count the bytes that a pane holds, without scrollback and with a full one."""
    bare, full = EngineScreen(COLUMNS, ROWS, scrollback=0), EngineScreen(COLUMNS, ROWS)
    bare.feed(data)
    bare.active_rows()
    full.feed(plain())
    yield Figure("memory of a pane without scrollback", bare.__sizeof__() / 1000, "KB")
    yield Figure("memory of a pane with 1000 rows of scrollback", full.__sizeof__() / 1000, "KB")


def figures(rounds: int) -> Iterator[Figure]:
    """Measure everything."""
    streams = {"recordings": recordings(), "synthetic TUI": synthetic(), "plain text": plain()}
    for name, data in streams.items():
        for read in (False, True):
            yield from compare(f"{'feed and read' if read else 'feed'}, {name}", data, read, rounds)
    yield from read_cost(rounds)
    yield from side_by_side(streams["recordings"], rounds)
    yield from memory(streams["recordings"])


def main() -> int:
    """Print the figures; with ``--check`` tell whether the ratios hold."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", action="store_true", help="print one JSON object a line")
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--check", action="store_true", help="fail when a ratio that must hold does not")
    options = parser.parse_args()
    good = True
    for figure in figures(options.rounds):
        good &= not figure.peer or figure.ratio >= LEAST[figure.peer] * (0.5 if figure.peer == "pyte" else 1)
        if options.json:
            print(json.dumps(figure._asdict()), flush=True)
        else:
            beside = f"{figure.peer} {figure.peer_value:.2f}  x{figure.ratio:.1f}" if figure.peer else ""
            print(f"{figure.name:46} {figure.value:9.2f} {figure.unit:5} {beside}", flush=True)
    return 0 if good or not options.check else 1


if __name__ == "__main__":
    sys.exit(main())
