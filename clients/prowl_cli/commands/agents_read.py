"""``prowl agents read PANE``: an agent's status, its blocker and its last complete result."""

import argparse
import sys
from typing import TYPE_CHECKING, Any

from prowl_cli import connect, parser, text
from prowl_cli.envelope import CliError, Reply

if TYPE_CHECKING:
    from prowl.v1 import agents_pb2

__all__ = ["register", "run"]

_DEFAULT_BYTES = 1 << 20
_REFUSALS = {
    "pending": ("RESULT_NOT_FOUND", "The agent is not finished."),
    "unavailable": ("SESSION_UNRESOLVED", "The agent's session is not known surely enough."),
    "missing": ("RESULT_NOT_FOUND", "The session holds no result."),
    "incomplete": ("RESULT_INCOMPLETE", "The last turn was not completed."),
    "too_large": ("RESULT_TOO_LARGE", "The result is larger than --max-bytes."),
}


def register(commands: parser.Commands) -> None:
    """Add the command."""
    command = parser.add(
        commands,
        "read",
        "read an agent's status, blocker and last result (Claude and Codex)",
        run,
        command="agents.read",
        examples="prowl agents read p1\nprowl agents read p1 --result-only > answer.md",
        start=False,
    )
    command.add_argument("pane", help="pane: pN or UUID")
    command.add_argument("--max-bytes", metavar="N", type=parser.between(1, 4 << 20), help="largest result (1048576)")
    command.add_argument("--result-only", action="store_true", help="print exactly the result's bytes, or fail")


def run(args: argparse.Namespace) -> Reply | int:
    """Read the agent."""
    from prowl.v1 import agents_pb2

    from prowl_cli import encode

    if args.result_only and args.json:
        args.parser.error("--result-only prints bytes, so it goes without --json")
    with connect.client(args) as client:
        answer = client.read_agent(
            agents_pb2.ReadAgentRequest(pane=args.pane, max_bytes=args.max_bytes or _DEFAULT_BYTES)
        )
    state = agents_pb2.ResultState.Name(answer.result.state).removeprefix("RESULT_STATE_").lower()
    if args.result_only:
        return _result_only(answer.result, state)
    agent = encode.entry(answer.agent)
    agent.pop("name")
    if "session" in agent:
        agent["session"].pop("path")
    data: dict[str, Any] = {"output_mode": "snapshot", "target": encode.target(answer.target), "agent": agent}
    if answer.HasField("blocker"):
        data["blocker"] = {"text": answer.blocker}
    data["result"] = {"state": state}
    if answer.result.HasField("text"):
        data["result"]["text"] = answer.result.text
    if answer.result.HasField("error_code"):
        data["result"]["error"] = {"code": answer.result.error_code, "message": answer.result.error_message}
    shown = f"{agent['type']} is {agent['status']}."
    if "blocker" in data:
        shown += "\n\n" + answer.blocker
    shown += "\n\n" + (
        answer.result.text if "text" in data["result"] else f"No result: {_refusal(answer.result, state)[1]}"
    )
    return Reply(data, "\n".join(text.clean(line) if not line.isprintable() else line for line in shown.split("\n")))


def _refusal(result: "agents_pb2.AgentResult", state: str) -> tuple[str, str]:
    code, message = _REFUSALS.get(state, ("RESULT_NOT_FOUND", "There is no result."))
    return result.error_code or code, result.error_message or message


def _result_only(result: "agents_pb2.AgentResult", state: str) -> int:
    if state != "complete":
        raise CliError(*_refusal(result, state))
    sys.stdout.buffer.write(result.text.encode())
    sys.stdout.buffer.flush()
    return 0
