"""``prowl agents signal EVENT``: report what happened in the pane that this command runs in."""

import argparse
from typing import Any

from prowl_cli import connect, parser
from prowl_cli.envelope import Reply

__all__ = ["register", "run"]

_EVENTS = ("turn-ended", "needs-input", "session-start", "session-end", "progress")


def register(commands: parser.Commands) -> None:
    """Add the command."""
    command = parser.add(
        commands,
        "signal",
        "report an event of the pane that this command runs in",
        run,
        command="agents.signal",
        examples="prowl agents signal turn-ended\n"
        "prowl agents signal progress --progress 75\n"
        'prowl agents signal needs-input --detail "which branch?"',
        start=False,
    )
    command.add_argument("event", choices=_EVENTS, metavar="EVENT", help=", ".join(_EVENTS))
    command.add_argument("--progress", metavar="PERCENT", type=parser.between(0, 100), help="only with progress")
    command.add_argument("--session", metavar="ID", type=parser.control_free(256), help="the runtime's session")
    command.add_argument("--detail", metavar="TEXT", type=parser.control_free(32_768), help="text for people")
    command.add_argument("--origin", metavar="TEXT", type=parser.control_free(256), help="what the sender says it is")


def run(args: argparse.Namespace) -> Reply:
    """Report the event; the kernel tells the service which pane this process runs in."""
    from prowl.v1 import agents_pb2

    from prowl_cli import encode

    if args.progress is not None and args.event != "progress":
        args.parser.error("--progress only goes with the progress event")
    with connect.client(args) as client:
        answer = client.signal(
            agents_pb2.SignalRequest(
                kind=encode.kind_value(args.event),
                progress=args.progress,
                session_id=args.session,
                detail=args.detail,
                claimed_origin=args.origin,
            )
        )
    signal = encode.signal(answer.signal)
    signal["binding"] = encode.binding(answer.binding)
    data: dict[str, Any] = {"pane": {"id": answer.pane_id, "worktree_id": answer.worktree_id}, "signal": signal}
    if answer.warnings:
        data["warnings"] = [{"code": item.code, "message": item.message} for item in answer.warnings]
    what = args.event if args.progress is None else f"progress={args.progress}"
    return Reply(
        data,
        f"Signaled {what} for pane {answer.pane_id}.",
        tuple(f"[{item.code}] {item.message}" for item in answer.warnings),
    )
