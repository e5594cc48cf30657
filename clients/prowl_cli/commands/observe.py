"""``prowl observe PANE``: the live events of one pane."""

import argparse
import sys
from typing import Any

from prowl_cli import connect, parser, text
from prowl_cli.envelope import dumps, success

__all__ = ["register", "run"]


def register(commands: parser.Commands) -> None:
    """Add the command."""
    command = parser.add(
        commands,
        "observe",
        "print the events of one pane as they happen, until it closes",
        run,
        examples="prowl observe p1\nprowl observe p1 --json | jq -c .data",
    )
    command.add_argument("pane", help="pane: pN or UUID")


def run(args: argparse.Namespace) -> None:
    """Print one event a line: first a snapshot, a gap wherever events were lost to slowness."""
    from prowl_cli import encode

    count = 0
    with connect.client(args) as client:
        for event in client.observe(args.pane):
            count += 1
            data = encode.observed(event)
            print(dumps(success("observe", data)) if args.json else _line(data), flush=True)
    if count == 2 and (data["event"], data["revision"]) == ("surface_closed", 0) and not args.json:
        print(f"There is no pane {text.clean(args.pane)}; it may have been closed.", file=sys.stderr)


def _line(data: dict[str, Any]) -> str:
    match data:
        case {"event": "gap"}:
            return f"gap       events from revision {data['first_lost_revision']} on were lost; a new snapshot follows"
        case {"agent": None}:
            what = "no agent"
        case {"agent": agent}:
            what = f"{agent['type']} {agent['status']} {agent.get('detection_reason', '')}"
        case {"signal": signal}:
            what = f"{signal['event']} from {signal['source']}, {data['binding']}"
        case _:
            what = ""
    return f"{data['revision']:>8}  {data['event']:<14}  {text.clean(what)}".rstrip()
