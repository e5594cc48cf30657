"""``prowl config``: the effective settings, and where each comes from."""

import argparse
import sys

from prowl_cli import connect, parser, plugins, text
from prowl_cli.envelope import Reply

__all__ = ["register", "run"]


def register(commands: parser.Commands) -> None:
    """Add the command."""
    parser.add(
        commands,
        "config",
        "show the effective settings and where each comes from",
        run,
        examples="prowl config\nprowl config --json",
        start=False,
    )


def run(args: argparse.Namespace) -> Reply:
    """Show the running service's settings; without one, those that it would start with."""
    from prowl_client import address
    from prowl_client.sync import Client

    path = connect.socket_of(args)
    if address.diagnose(path) == "absent":
        source = "files"
        settings = [dict(item) for item in plugins.load_part("settings")()]
    else:
        source = "service"
        with Client(path) as client:
            settings = [
                {"name": item.name, "value": item.value, "origin": item.origin} for item in client.get_info().settings
            ]
    rows = [(item["name"], item["origin"], item["value"] or "-") for item in settings]
    note = "" if source == "service" else "No service runs; it would start with these.\n"
    shown = note + text.table(("SETTING", "FROM", "VALUE"), rows, colour=text.use_colour(sys.stdout))
    return Reply({"source": source, "settings": settings}, shown)
