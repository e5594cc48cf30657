"""``prowl key PANE TOKEN``: press a key in a pane."""

import argparse

from prowl_cli import connect, parser
from prowl_cli.envelope import Reply

__all__ = ["register", "run"]


def register(commands: parser.Commands) -> None:
    """Add the command."""
    command = parser.add(
        commands,
        "key",
        "press a key in a pane",
        run,
        examples="prowl key p1 enter\nprowl key p1 ctrl-c\nprowl key p1 down --repeat 3",
    )
    command.add_argument("pane", help="pane: pN, UUID, or anything that names one pane")
    command.add_argument("key", help="enter, escape, tab, up, f5, ctrl-c, shift-tab, alt-x or one character")
    command.add_argument("--repeat", metavar="N", type=parser.between(1, 100), default=1, help="how often (1)")


def run(args: argparse.Namespace) -> Reply:
    """Press the key."""
    from prowl.v1 import panes_pb2

    from prowl_cli import encode

    with connect.client(args) as client:
        answer = client.send_key(panes_pb2.SendKeyRequest(pane=args.pane, key=args.key, repeat=args.repeat))
    return Reply(
        {
            "requested": {"token": args.key, "repeat": args.repeat},
            "key": {"normalized": answer.key},
            "delivery": {"attempted": args.repeat, "delivered": answer.repeat},
            "target": encode.target(answer.target),
        },
        f"Pressed {answer.key} {answer.repeat} time{'s' if answer.repeat != 1 else ''} in {answer.target.pane.handle}.",
    )
