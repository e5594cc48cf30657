"""``prowl agents``: the roster, once or live, and the commands below it."""

import argparse
import sys
from datetime import datetime
from typing import TYPE_CHECKING

from prowl_cli import connect, parser, text
from prowl_cli.commands import agents_dispatch, agents_explain, agents_read, agents_signal, agents_wait
from prowl_cli.envelope import Reply, dumps, success

if TYPE_CHECKING:
    from prowl.v1 import agents_pb2, common_pb2

__all__ = ["register", "render", "run"]

_REDRAW = 5.0  # ages are shown, so a table on a terminal is drawn again now and then


def register(commands: parser.Commands) -> None:
    """Add the command and those below it."""
    command = parser.add(
        commands,
        "agents",
        "show which agents run, and whether they need you",
        run,
        examples="prowl agents\n"
        "prowl agents --watch\n"
        "prowl agents --json\n"
        "prowl agents wait p1 --until idle\n"
        "prowl agents explain p1",
    )
    command.add_argument("--watch", action="store_true", help="keep showing them, after every change")
    inner = command.add_subparsers(metavar="COMMAND", parser_class=parser.Parser)
    for module in (agents_read, agents_explain, agents_signal, agents_wait, agents_dispatch):
        module.register(inner)


def run(args: argparse.Namespace) -> Reply | None:
    """Show the roster."""
    from prowl_cli import encode

    if args.watch:
        import asyncio

        asyncio.run(_watch(args))
        return None
    with connect.client(args) as client:
        rows = encode.triage(list(client.list_agents().agents))
    return Reply(encode.roster(rows), render(rows, limit=text.terminal_width()))


def render(rows: "list[agents_pb2.Agent]", *, limit: int | None = None, now: datetime | None = None) -> str:
    """Return the roster as a table, in the order of ``rows``."""
    from prowl_cli import encode

    if not rows:
        return "No agents. Start one with: prowl run -- claude"
    lines = [
        (
            encode.status(row.entry.status),
            row.target.pane.handle,
            row.entry.name,
            text.age(encode.moment(row.entry.last_changed_at), now),
            row.project.name + (f" ({row.project.branch})" if row.project.branch else ""),
            _reason(row.entry),
            row.target.pane.title,
        )
        for row in rows
    ]
    head = ("STATUS", "PANE", "AGENT", "SINCE", "PROJECT", "REASON", "TITLE")
    return text.table(head, lines, colour=text.use_colour(sys.stdout), limit=limit)


def _reason(entry: "common_pb2.AgentEntry") -> str:
    """Return the rule of the screen where the decision only says that the screen decides."""
    fallback = entry.detection_reason.startswith("screen.") and entry.screen_reason
    return entry.screen_reason if fallback else entry.detection_reason


async def _watch(args: argparse.Namespace) -> None:
    """Print the roster after every change; on a terminal in place, with ages kept fresh."""
    import asyncio
    from contextlib import suppress

    from prowl_cli import encode

    live = sys.stdout.isatty() and not args.json
    rows: list[agents_pb2.Agent] = []
    async with connect.client_async(args) as client:
        rosters = client.watch_agents()
        pending = asyncio.ensure_future(anext(rosters))
        try:
            while True:
                done, _ = await asyncio.wait({pending}, timeout=_REDRAW if live and rows else None)
                if done:
                    try:
                        rows = encode.triage(list(pending.result().agents))
                    except StopAsyncIteration:
                        return
                    pending = asyncio.ensure_future(anext(rosters))
                if args.json:
                    print(dumps(success(args.command, encode.roster(rows))), flush=True)
                elif live:
                    shown = render(rows, limit=text.terminal_width())
                    print("\x1b[H\x1b[2J" + shown + "\n\n(ctrl-c to leave)", flush=True)
                else:
                    print(render(rows) + "\n", flush=True)
        finally:
            pending.cancel()
            with suppress(asyncio.CancelledError, StopAsyncIteration, Exception):
                await pending
            await rosters.aclose()
