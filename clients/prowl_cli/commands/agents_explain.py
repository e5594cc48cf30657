"""``prowl agents explain PANE``: how an agent was found and why it has its state."""

import argparse
from typing import Any

from prowl_cli import connect, parser, text
from prowl_cli.envelope import Reply

__all__ = ["register", "run"]


def register(commands: parser.Commands) -> None:
    """Add the command."""
    command = parser.add(
        commands,
        "explain",
        "tell how an agent was found and why it has its state",
        run,
        command="agents.explain",
        examples="prowl agents explain p1\nprowl agents explain p1 --show-text",
        start=False,
    )
    command.add_argument("pane", help="pane: pN or UUID")
    command.add_argument("--show-text", action="store_true", help="with the text of the screen, which is private")


def run(args: argparse.Namespace) -> Reply:
    """Explain the agent."""
    from prowl.v1 import agents_pb2

    from prowl_cli import encode

    with connect.client(args) as client:
        answer = client.explain_agent(agents_pb2.ExplainAgentRequest(pane=args.pane, show_text=args.show_text))
    data: dict[str, Any] = {
        "target": encode.target(answer.target),
        "agent": encode.entry(answer.agent) if answer.HasField("agent") else None,
        "probe": {
            "foreground_group": answer.foreground_group,
            "launch_pid": answer.launch_pid,
            "candidates": [
                {
                    "agent": item.agent,
                    "matched_name": item.matched_name,
                    "source": item.source,
                    "score": item.score,
                    "pid": item.pid,
                }
                for item in answer.candidates
            ],
        },
        "screen": {
            "state": encode.raw_state(answer.screen_state),
            "reason": answer.screen_reason,
            "regions": [
                {"name": item.name, "first_row": item.first_row, "end_row": item.end_row} for item in answer.regions
            ],
            "rules": [
                {"rule": item.rule, "state": encode.raw_state(item.state), "matched": item.matched, "why": item.why}
                for item in answer.rules
            ],
        },
        "evidence": list(answer.evidence),
    }
    if answer.HasField("text"):
        data["screen"]["text"] = answer.text
    return Reply(data, _shown(data))


def _shown(data: dict[str, Any]) -> str:
    agent, probe, screen = data["agent"], data["probe"], data["screen"]
    lines = ["No agent is detected." if agent is None else f"{agent['type']} is {agent['status']}."]
    if agent is not None:
        lines.append(f"decided by  {agent.get('detection_reason', '-')}")
        lines.append(f"screen      {screen['state']} by {screen['reason'] or '-'}")
    lines.append(f"foreground  group {probe['foreground_group'] or '-'}, launch process {probe['launch_pid'] or '-'}")
    if probe["candidates"]:
        rows = [
            (item["agent"], item["matched_name"], item["source"], str(item["score"]), str(item["pid"]))
            for item in probe["candidates"]
        ]
        lines += ["", text.table(("CANDIDATE", "NAME", "FROM", "SCORE", "PID"), rows)]
    if screen["regions"]:
        regions = [(item["name"], f"{item['first_row']}–{item['end_row']}") for item in screen["regions"]]
        lines += ["", text.table(("REGION", "ROWS"), regions)]
    if screen["rules"]:
        rules = [
            ("matched" if item["matched"] else "", item["rule"], item["state"], item["why"]) for item in screen["rules"]
        ]
        lines += ["", text.table(("", "RULE", "STATE", "WHY"), rules)]
    if data["evidence"]:
        lines += ["", *(text.clean(line) for line in data["evidence"])]
    if "text" in screen:
        lines += ["", screen["text"]]
    return "\n".join(lines)
