"""``prowl focus PANE``: give a pane the keyboard focus of its tab."""

import argparse

from prowl_cli import connect, parser
from prowl_cli.envelope import Reply

__all__ = ["register", "run"]


def register(commands: parser.Commands) -> None:
    """Add the command."""
    command = parser.add(
        commands, "focus", "give a pane the focus among those of its tab", run, examples="prowl focus p1", start=False
    )
    command.add_argument("pane", help="pane: pN or UUID")


def run(args: argparse.Namespace) -> Reply:
    """Focus the pane."""
    from prowl.v1 import panes_pb2

    from prowl_cli import encode

    with connect.client(args) as client:
        answer = client.focus_pane(panes_pb2.FocusPaneRequest(pane=args.pane))
    return Reply({"target": encode.target(answer.target)}, f"Focused {answer.target.pane.handle}.")
