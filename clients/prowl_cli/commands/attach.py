"""``prowl attach PANE``: connect this terminal to a pane."""

import argparse
import os
import sys

from prowl_cli import parser
from prowl_cli.envelope import CliError
from prowl_cli.keys import detach_patterns

__all__ = ["add_attach_options", "attach_to", "register", "require_terminal", "run"]


def register(commands: parser.Commands) -> None:
    """Add the command."""
    command = parser.add(
        commands,
        "attach",
        "connect this terminal to a pane",
        run,
        examples="prowl attach p1                    # leave it with ctrl-\\\n"
        "prowl attach p1 --detach-key ctrl-]\n"
        "prowl attach p1 --read-only",
        json=False,
        start=False,
    )
    command.add_argument("pane", help="pane: pN or UUID")
    add_attach_options(command)


def add_attach_options(command: argparse.ArgumentParser) -> None:
    """Add the options of an attachment."""
    command.add_argument(
        "--detach-key",
        metavar="KEY",
        type=_key,
        default=os.environ.get("PROWL_DETACH_KEY") or "ctrl-\\",
        help="key that leaves the pane running and returns here (PROWL_DETACH_KEY, ctrl-\\)",
    )
    command.add_argument(
        "--no-report-status",
        dest="report_status",
        action="store_false",
        default=None,
        help="do not tell this terminal the agent's state by OSC 7501 (PROWL_REPORT_STATUS, report_status)",
    )
    command.add_argument("--read-only", action="store_true", help="look only: only the detach key does something")


def _key(text: str) -> tuple[bytes, ...]:
    try:
        return detach_patterns(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from None


def require_terminal() -> None:
    """Raise CliError unless both standard input and output are terminals."""
    if not (sys.stdin.isatty() and sys.stdout.isatty()):
        raise CliError("INVALID_ARGUMENT", "Attaching needs a terminal; use `prowl run --detach` or `prowl read`.")


def run(args: argparse.Namespace) -> int:
    """Attach to the pane."""
    require_terminal()
    return attach_to(args, args.pane)


def attach_to(args: argparse.Namespace, pane: str) -> int:
    """Attach to ``pane`` until its program ends, the pane closes, or the detach key; returns the exit status.

    That is the program's when it ended, else 0.
    """
    import asyncio

    from prowl_cli.attachment import Attachment

    return asyncio.run(Attachment(args, pane).run())
