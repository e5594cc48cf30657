"""``prowl run -- CMD…``: start a program in a new pane and attach to it."""

import argparse
import sys

from prowl_cli import connect, parser
from prowl_cli.commands import attach, create
from prowl_cli.envelope import Reply
from prowl_cli.terminal import size_of

__all__ = ["register", "run"]


def register(commands: parser.Commands) -> None:
    """Add the command."""
    command = parser.add(
        commands,
        "run",
        "start a program in a new pane and attach to it",
        run,
        examples="prowl run -- claude\nprowl run --cwd ~/project -- codex resume\nprowl run --detach -- claude",
    )
    create.add_pane_options(command)
    attach.add_attach_options(command)
    command.add_argument("--detach", action="store_true", help="do not attach; --json implies it")
    command.add_argument("argv", nargs=argparse.REMAINDER, metavar="-- CMD", help="program and arguments")


def run(args: argparse.Namespace) -> Reply | int:
    """Start the program; attached, the exit status is the program's, or 0 after detaching."""
    from prowl_cli import encode

    interactive = not (args.detach or args.json)
    if interactive:
        attach.require_terminal()
        if args.size is None:
            args.size = size_of(sys.stdout.fileno())
    with connect.client(args) as client:
        made = client.create_pane(create.request(args))
    pane = made.target.pane
    if interactive:
        return _attached(args, pane.id)
    return Reply(
        {"resource": made.resource, "target": encode.target(made.target)},
        f"{create.created(made)} Attach with: prowl attach {pane.handle}",
    )


def _attached(args: argparse.Namespace, pane: str) -> int:
    """Attach; a program that ended before that gives its status all the same."""
    from prowl_client.errors import ProwlError

    try:
        return attach.attach_to(args, pane)
    except ProwlError as error:
        status = error.metadata.get("exit_status", "")
        if error.code != "TARGET_NOT_FOUND" or not status.isdecimal():
            raise
        print(f"[exited with status {status} before this terminal was attached]", file=sys.stderr)
        return int(status)
