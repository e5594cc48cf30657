"""``prowl agents wait``: wait for an agent's state, or for the receipt of a dispatch."""

import argparse
from typing import TYPE_CHECKING, Any

from prowl_cli import connect, parser
from prowl_cli.envelope import Reply

if TYPE_CHECKING:
    from prowl.v1 import agents_pb2

__all__ = ["register", "run"]

_KINDS = {"idle": "turn-ended", "blocked": "needs-input", "exit": "session-end"}
_CONFIDENCES = ("auto", "exact", "high", "heuristic")


def register(commands: parser.Commands) -> None:
    """Add the command."""
    command = parser.add(
        commands,
        "wait",
        "wait for an agent's state, or for the receipt of a dispatch",
        run,
        command="agents.wait",
        examples="prowl agents wait p1 --until idle\n"
        "prowl agents wait p1 --until blocked --timeout 60 --include-screen 20\n"
        "prowl agents wait --dispatch 0f1c…",
        start=False,
    )
    command.set_defaults(why=_why)
    command.add_argument("pane", nargs="?", help="pane: pN or UUID")
    command.add_argument(
        "--until", choices=("idle", "blocked", "changed", "exit"), help="what to wait for; done counts as idle"
    )
    command.add_argument("--dispatch", metavar="ID", type=parser.control_free(256), help="wait for this receipt")
    command.add_argument("--timeout", metavar="S", type=parser.between(1, 600), default=600, help="longest wait (600)")
    command.add_argument("--min-confidence", choices=_CONFIDENCES, help="which evidence may answer (auto)")
    command.add_argument(
        "--include-screen", metavar="N", type=parser.between(1, 200), default=0, help="with N lines of the screen"
    )


def _request(args: argparse.Namespace) -> "agents_pb2.WaitRequest":
    from prowl.v1 import agents_pb2

    request = agents_pb2.WaitRequest(timeout_seconds=args.timeout, include_screen_lines=args.include_screen)
    if args.dispatch is not None:
        if args.pane or args.until or args.min_confidence:
            args.parser.error("--dispatch goes without a pane, --until and --min-confidence")
        request.dispatch.dispatch_id = args.dispatch
        return request
    if not args.pane or not args.until:
        args.parser.error("name a pane and --until, or a --dispatch")
    request.condition.pane = args.pane
    request.condition.until = agents_pb2.WaitCondition.Value(f"WAIT_CONDITION_{args.until.upper()}")
    request.condition.min_confidence = agents_pb2.MinConfidence.Value(
        f"MIN_CONFIDENCE_{(args.min_confidence or 'auto').upper()}"
    )
    return request


def run(args: argparse.Namespace) -> Reply:
    """Wait."""
    from prowl_cli import encode

    request = _request(args)
    with connect.client(args) as client:
        answer = client.wait(request)
    data: dict[str, Any] = {"mode": "dispatch" if args.dispatch is not None else "condition"}
    if args.dispatch is None:
        data["condition"] = args.until
    data |= {"waited_ms": answer.waited_ms, "target": encode.target(answer.target)}
    handle = answer.target.pane.handle
    if args.dispatch is not None:
        data["receipt"] = encode.record(answer.receipt)
        shown = f"Dispatch {answer.receipt.id} {data['receipt'].get('outcome', '')}: {answer.receipt.summary}"
    else:
        data["observation"] = encode.observation(answer.observation)
        seen = data["observation"]
        shown = f"{handle} is {seen['status']} after {answer.waited_ms} ms ({seen['source']}, {seen['confidence']})."
    data["signals"] = encode.signals(answer.signals)
    if answer.HasField("screen"):
        data["screen"] = encode.screen(answer.screen)
        shown += "\n\n" + (answer.screen.text if answer.screen.captured else "The screen could not be captured.")
    return Reply(data, shown)


def _why(args: argparse.Namespace, details: dict[str, Any]) -> str | None:
    """Tell people why a state that was seen did not answer (signals.md §3.5); None when it was not seen."""
    if details.get("record", {}).get("state") == "pending":
        return "the dispatch is still pending: the agent did not run `prowl agents dispatch-complete` yet"
    until, seen = str(details.get("condition")), details.get("observation")
    if not seen or seen["source"] != "detection" or not _shows(seen, until):
        return None
    minimum = args.min_confidence or "auto"
    needed = "the detector's word needs --min-confidence heuristic"
    if minimum in ("exact", "high"):
        return f"--min-confidence {minimum} takes signals only; {needed}"
    reporting = [
        channel["source"]
        for channel in details.get("signals", {"channels": ()})["channels"]
        if channel["state"] == "verified_live" and _KINDS[until] in channel["events"]
    ]
    if minimum == "auto" and reporting:
        return f"--min-confidence auto waits for {reporting[0]} to report it; {needed}"
    if until == "exit":
        return None
    return (
        f"no rule recognised the screen as {until}, or not for 2 s, and no --min-confidence takes a mere fallback; "
        f"see: prowl agents explain {args.pane}"
    )


def _shows(seen: dict[str, Any], until: str) -> bool:
    """Tell whether an observation looks like what was waited for."""
    if seen["raw_state"] == "gone":
        return until == "exit"
    return bool(seen["status"] == until or (seen["status"], until) == ("done", "idle"))
