"""``prowl read PANE``: the text of a pane."""

import argparse
from typing import Any

from prowl_cli import connect, parser
from prowl_cli.envelope import Reply

__all__ = ["register", "run"]


def register(commands: parser.Commands) -> None:
    """Add the command."""
    command = parser.add(
        commands,
        "read",
        "print the text of a pane",
        run,
        examples="prowl read p1\nprowl read p1 --last 100\nprowl read p1 --source detection --wait-stable",
    )
    command.add_argument("pane", help="pane: pN, UUID, or anything that names one pane")
    command.add_argument(
        "--source",
        choices=("viewport", "detection"),
        default="viewport",
        help="viewport: what a person sees; detection: exactly what the classifier reads (default: viewport)",
    )
    command.add_argument("--last", metavar="N", type=parser.between(1, 100_000), help="only the last N lines")
    command.add_argument("--wait-stable", action="store_true", help="wait until the screen stops changing")
    command.add_argument("--stable-interval", metavar="MS", type=parser.between(50, 5000), help="between looks (200)")
    command.add_argument(
        "--stable-period", metavar="MS", type=parser.between(100, 60_000), help="without change that counts (800)"
    )
    command.add_argument("--wait-timeout", metavar="S", type=parser.between(1, 300), help="longest wait (10)")


def run(args: argparse.Namespace) -> Reply:
    """Read the pane."""
    from prowl.v1 import panes_pb2

    from prowl_cli import encode

    if not args.wait_stable and (args.stable_interval or args.stable_period or args.wait_timeout):
        args.parser.error("--stable-interval, --stable-period and --wait-timeout need --wait-stable")
    stable = None
    if args.wait_stable:
        stable = panes_pb2.StableWait(
            interval_ms=args.stable_interval or 0,
            period_ms=args.stable_period or 0,
            timeout_seconds=args.wait_timeout or 0,
        )
    source = panes_pb2.READ_SOURCE_DETECTION if args.source == "detection" else panes_pb2.READ_SOURCE_VIEWPORT
    with connect.client(args) as client:
        answer = client.read_pane(
            panes_pb2.ReadPaneRequest(pane=args.pane, last=args.last or 0, source=source, stable=stable)
        )
    data: dict[str, Any] = {"target": encode.target(answer.target), "mode": "last" if args.last else "snapshot"}
    if args.last:
        data["last"] = args.last
    data |= {
        "source": answer.source,
        "truncated": answer.truncated,
        "line_count": answer.line_count,
        "text": answer.text,
    }
    for name in ("stabilized", "waited_ms", "samples"):
        if answer.HasField(name):
            data[name] = getattr(answer, name)
    return Reply(data, answer.text.rstrip("\n") if args.source == "viewport" else answer.text)
