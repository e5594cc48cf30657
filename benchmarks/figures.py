"""One measured figure a line: name, value, unit, what it is compared with, and the ratio (above 1 is better)."""

import argparse
import json
import os
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass

__all__ = ["Figure", "beside", "quantile", "run", "show", "under"]


@dataclass(frozen=True, slots=True)
class Figure:
    """A value beside ``peer``: another program's value, or a ``target`` to be kept; ``ratio`` above 1 is better."""

    name: str
    value: float
    unit: str
    peer: str = ""
    peer_value: float = 0.0
    ratio: float = 0.0


def under(name: str, value: float, unit: str, target: float) -> Figure:
    """Return a figure that should stay below ``target``."""
    return Figure(name, value, unit, "target", target, target / value if value > 0 else float("inf"))


def beside(name: str, value: float, unit: str, peer: str, peer_value: float) -> Figure:
    """Return a figure beside another program's, of which less is better."""
    return Figure(name, value, unit, peer, peer_value, peer_value / value if value > 0 else float("inf"))


def quantile(values: Sequence[float], part: float) -> float:
    """Return the value below which ``part`` of the values lies."""
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(part * len(ordered)))]


def show(figure: Figure, as_json: bool) -> None:
    """Print a figure as one line."""
    if as_json:
        print(json.dumps(asdict(figure)), flush=True)
    else:
        beside = f"{figure.peer} {figure.peer_value:g}  x{figure.ratio:.2f}" if figure.peer else ""
        print(f"{figure.name:62} {figure.value:10.3f} {figure.unit:10} {beside}", flush=True)


def run(
    description: str | None, parts: dict[str, Callable[[argparse.Namespace], Iterable[Figure]]], *arguments: str
) -> int:
    """Measure the named parts (all by default) and print them; with ``--check`` fail when a target is missed.

    ``arguments`` are ``name=default`` numbers that become options.
    """
    parser = argparse.ArgumentParser(description=(description or "").partition("\n")[0])
    parser.add_argument("parts", nargs="*", metavar="PART", help=f"of {', '.join(parts)} (default: all)")
    parser.add_argument("--json", action="store_true", help="print one JSON object a line")
    parser.add_argument("--check", action="store_true", help="fail when a target is missed")
    parser.add_argument(
        "--realtime", action="store_true", help="let nothing else on the machine go first (needs the right to)"
    )
    for argument in arguments:
        name, _, default = argument.partition("=")
        parser.add_argument(f"--{name}", metavar="N", type=float, default=float(default), help=f"(default: {default})")
    options = parser.parse_args()
    if unknown := set(options.parts) - set(parts):
        parser.error(f"unknown part {min(unknown)}")
    if options.realtime:
        os.sched_setscheduler(0, os.SCHED_RR, os.sched_param(1))
    good = True
    for figure in _measure(parts, options):
        good &= figure.peer != "target" or figure.ratio >= 1
        show(figure, options.json)
    if not options.json:
        print(f"load average of {os.cpu_count()} cores: {os.getloadavg()[0]:.1f}", file=sys.stderr)
    return 0 if good or not options.check else 1


def _measure(
    parts: dict[str, Callable[[argparse.Namespace], Iterable[Figure]]], options: argparse.Namespace
) -> Iterator[Figure]:
    for name, part in parts.items():
        if not options.parts or name in options.parts:
            yield from part(options)
