"""``prowl agents dispatch``, ``dispatch-complete`` and ``dispatch-abandon``: a task, its receipt, its end."""

import argparse
import os

from prowl_cli import connect, parser
from prowl_cli.commands import create
from prowl_cli.envelope import Reply

__all__ = ["abandon", "complete", "dispatch", "register"]

MAX_TEXT_BYTES = 32_768


def register(commands: parser.Commands) -> None:
    """Add the three commands."""
    command = parser.add(
        commands,
        "dispatch",
        "hand a task to an idle agent",
        dispatch,
        command="agents.dispatch",
        examples="prowl agents dispatch p1 --prompt - < task.txt\n"
        "prowl agents wait --dispatch ID   # then wait for its receipt",
        start=False,
    )
    command.add_argument("pane", help="pane: pN or UUID")
    command.add_argument("--prompt", choices=("-",), required=True, help="- : the task comes on standard input")

    command = parser.add(
        commands,
        "dispatch-complete",
        "report the outcome of the task of the pane that this command runs in",
        complete,
        command="agents.dispatch-complete",
        examples='prowl agents dispatch-complete --outcome succeeded --summary "all tests pass"',
        start=False,
    )
    command.add_argument("--outcome", choices=("succeeded", "failed"), required=True)
    command.add_argument("--summary", type=parser.control_free(MAX_TEXT_BYTES), required=True, help="one line")

    command = parser.add(
        commands,
        "dispatch-abandon",
        "give a dispatch up; the worker is not stopped",
        abandon,
        command="agents.dispatch-abandon",
        examples='prowl agents dispatch-abandon --dispatch ID --reason "superseded"',
        start=False,
    )
    command.add_argument("--dispatch", metavar="ID", type=parser.control_free(256), required=True)
    command.add_argument("--reason", type=parser.control_free(MAX_TEXT_BYTES), required=True)


def dispatch(args: argparse.Namespace) -> Reply:
    """Type a task into an idle agent."""
    from prowl.v1 import dispatch_pb2

    from prowl_cli import encode

    request = dispatch_pb2.DispatchRequest(pane=args.pane, prompt=create.read_prompt())
    with connect.client(args) as client:
        answer = client.dispatch(request, timeout=60)
    return Reply(
        {"target": encode.target(answer.target), "dispatch": encode.record(answer.dispatch)},
        f"Dispatched {answer.dispatch.id} to {answer.target.pane.handle}.",
    )


def complete(args: argparse.Namespace) -> Reply:
    """Complete the dispatch of the caller's pane."""
    from prowl.v1 import dispatch_pb2

    from prowl_cli import encode

    outcome = dispatch_pb2.DispatchOutcome.Value(f"DISPATCH_OUTCOME_{args.outcome.upper()}")
    with connect.client(args) as client:
        answer = client.complete_dispatch(
            dispatch_pb2.CompleteDispatchRequest(
                outcome=outcome, summary=args.summary, dispatch_id=os.environ.get("PROWL_DISPATCH_ID") or None
            )
        )
    return Reply(
        {
            "target": encode.target(answer.target),
            "receipt": encode.record(answer.receipt),
            "replayed": answer.replayed,
        },
        f"Completed dispatch {answer.receipt.id}: {args.outcome}." + (" (again)" if answer.replayed else ""),
    )


def abandon(args: argparse.Namespace) -> Reply:
    """Give a dispatch up."""
    from prowl.v1 import dispatch_pb2

    from prowl_cli import encode

    with connect.client(args) as client:
        answer = client.abandon_dispatch(
            dispatch_pb2.AbandonDispatchRequest(dispatch_id=args.dispatch, reason=args.reason)
        )
    return Reply(
        {"target": encode.target(answer.target), "record": encode.record(answer.record), "replayed": answer.replayed},
        f"Abandoned dispatch {answer.record.id}." + (" (again)" if answer.replayed else ""),
    )
