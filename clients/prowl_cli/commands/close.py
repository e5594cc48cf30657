"""``prowl close TARGET``: end a pane or a whole tab."""

import argparse

from prowl_cli import connect, parser
from prowl_cli.envelope import CliError, Reply

__all__ = ["register", "run"]


def register(commands: parser.Commands) -> None:
    """Add the command."""
    command = parser.add(
        commands, "close", "end a pane or a tab", run, examples="prowl close p1\nprowl close t2 --force", start=False
    )
    command.add_argument("target", help="pane or tab: pN, tN or UUID")
    command.add_argument("--force", action="store_true", help="although an agent in it works or needs a person")


def run(args: argparse.Namespace) -> Reply:
    """Close the target."""
    from prowl.v1 import panes_pb2

    from prowl_cli import encode

    with connect.client(args) as client:
        answer = client.close_pane(panes_pb2.ClosePaneRequest(target=args.target, force=args.force))
    if not answer.targets:
        raise CliError("CLOSE_FAILED", "The service did not say what it closed.")
    handles = ", ".join(item.pane.handle for item in answer.targets)
    return Reply(
        {"resource": answer.resource, "target": encode.target(answer.targets[0])},
        f"Closed {answer.resource} {args.target}" + ("." if handles == args.target else f" ({handles})."),
    )
