"""``prowl profiles list``: the launch profiles."""

import argparse
import sys

from prowl_cli import connect, parser, text
from prowl_cli.envelope import EXIT_USAGE, Reply

__all__ = ["register", "run"]


def register(commands: parser.Commands) -> None:
    """Add the command."""
    group = parser.add(
        commands,
        "profiles",
        "launch profiles (not offered by version 0.1 of the service)",
        _help,
        json=False,
        service=False,
    )
    inner = group.add_subparsers(metavar="COMMAND", parser_class=parser.Parser)
    parser.add(
        inner,
        "list",
        "list the launch profiles",
        run,
        command="profiles.list",
        examples="prowl profiles list\nprowl profiles list --json",
    )


def _help(args: argparse.Namespace) -> int:
    args.parser.print_help(sys.stderr)
    return EXIT_USAGE


def run(args: argparse.Namespace) -> Reply:
    """List the profiles."""
    from prowl_cli import encode

    with connect.client(args) as client:
        profiles = [encode.profile(item) for item in client.list_profiles().profiles]
    rows = [
        (item["name"], item["runtime"], "yes" if item["enabled"] else "no", item["availability"]["status"])
        for item in profiles
    ]
    shown = text.table(("NAME", "RUNTIME", "ENABLED", "AVAILABLE"), rows) if rows else "No profiles."
    return Reply({"count": len(profiles), "profiles": profiles}, shown)
