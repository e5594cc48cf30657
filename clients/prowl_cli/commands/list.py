"""``prowl list``: every pane."""

import argparse
import sys

from prowl_cli import connect, parser, text
from prowl_cli.envelope import Reply

__all__ = ["register", "run"]


def register(commands: parser.Commands) -> None:
    """Add the command."""
    parser.add(commands, "list", "list every pane", run, examples="prowl list\nprowl list --json")


def run(args: argparse.Namespace) -> Reply:
    """List every pane."""
    from prowl_cli import encode

    with connect.client(args) as client:
        answer = client.list_panes()
    data = {"count": len(answer.panes), "items": [encode.pane_row(row) for row in answer.panes]}
    if answer.HasField("caller"):
        caller = answer.caller
        data["caller"] = {"pane": {"id": caller.pane_id}, "worktree": {"id": caller.worktree_id}}
    rows = [
        (
            row.target.pane.handle,
            row.target.tab.handle,
            row.agent or "-",
            "yes" if row.viewed else "no",
            row.target.worktree.name,
            row.target.pane.title,
            row.target.pane.cwd or "-",
        )
        for row in answer.panes
    ]
    head = ("PANE", "TAB", "AGENT", "VIEWED", "WORKTREE", "TITLE", "CWD")
    shown = (
        text.table(head, rows, colour=text.use_colour(sys.stdout), limit=text.terminal_width())
        if rows
        else "No panes. Start one with: prowl run -- claude"
    )
    return Reply(data, shown)
