"""``prowl serve``: run the service in the foreground."""

import argparse
import os
import sys

from prowl_cli import connect, parser

__all__ = ["register", "run"]


def register(commands: parser.Commands) -> None:
    """Add the command."""
    command = parser.add(
        commands,
        "serve",
        "run the service in the foreground (commands start one by themselves when they need it)",
        run,
        examples="prowl serve\nprowl serve --log-level debug\nPROWL_SOCKET=/tmp/mine/prowl.sock prowl serve",
        json=False,
        service=False,
    )
    command.add_argument("--socket", metavar="PATH", help="absolute path of the socket (PROWL_SOCKET)")
    command.add_argument("--log-level", choices=("debug", "info", "warning", "error"))
    command.add_argument("--log-format", choices=("text", "json"))


def run(args: argparse.Namespace) -> int:
    """Become the service; it is another program, so nothing of it is imported here."""
    argv = connect.serve_command()
    for name in ("socket", "log_level", "log_format"):
        value = getattr(args, name)
        if value:
            argv += [f"--{name.replace('_', '-')}", value]
    sys.stdout.flush()
    os.execvp(argv[0], argv)
