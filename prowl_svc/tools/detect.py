"""``prowl detect``: classify saved screens, or replay a recording, without a service."""

import argparse
import json
import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from prowl_svc.model.agents import Agent
from prowl_svc.screens.classify import classify, explain
from prowl_svc.tools.outcome import Outcome, ToolError, load_cast
from prowl_svc.tools.replay import replay

__all__ = ["COMMAND", "Detect"]

_ESCAPES = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)|[@-Z\\-_])")
_MAX_BYTES = 64 << 20


@dataclass(frozen=True, slots=True)
class _Case:
    """One screen: where it came from, its id in there, whose it is, and what it should be, if the file says so."""

    file: str
    agent: Agent
    rows: list[str]
    title: str = ""
    id: str | None = None
    state: str | None = None
    rule: str | None = None


class Detect:
    """The command, as the CLI wants it."""

    summary = "Classify saved screens, or replay a recording, without a service."
    examples = """examples:
  prowl detect --agent codex screen.txt              one saved screen
  tmux capture-pane -p | prowl detect --agent claude -
  prowl detect cases.json                            screens with agent, rows and perhaps the right answer
  prowl detect --cast session.cast --agent claude    each change of state, with its time
  prowl detect --agent claude --explain screen.txt   which rules were tried, and why

A JSON file holds one case or a list: {"agent": "claude", "screen": ["row", ...], "title": "",
"expect": {"state": "blocked", "rule": "claude.blockedPrompt"}}. Saved screens with an expectation are
compared with it. A recording is an asciicast; only its screen counts as evidence."""

    def configure(self, parser: argparse.ArgumentParser) -> None:
        """Add the arguments."""
        parser.add_argument("files", nargs="*", metavar="FILE", help="plain text or JSON cases; - is standard input")
        parser.add_argument(
            "--agent", metavar="A", type=_named, help="whose screens these are, such as claude or codex"
        )
        parser.add_argument("--title", default="", help="the terminal's title, for plain text")
        parser.add_argument("--cast", metavar="FILE", help="replay this recording instead")
        parser.add_argument("--explain", action="store_true", help="say which rules were tried, and why")

    def run(self, args: argparse.Namespace) -> Outcome:
        """Classify, or replay."""
        if bool(args.cast) == bool(args.files):
            args.parser.error("name files with screens, or a recording with --cast")
        if args.cast:
            return _replayed(Path(args.cast), args.agent, args.explain)
        cases = [case for file in args.files for case in _cases(file, args.agent, args.title)]
        return _classified(cases, args.explain)


COMMAND = Detect()


def _agent(name: str) -> Agent:
    try:
        return Agent.from_name(name)
    except ValueError:
        known = ", ".join(sorted(agent.short for agent in Agent))
        raise ToolError("INVALID_ARGUMENT", f"{name!r} is no agent; use one of: {known}") from None


def _named(name: str) -> Agent:
    """Argument type of an agent's name: another name is wrong usage, not a fault of a file."""
    try:
        return _agent(name)
    except ToolError as error:
        raise argparse.ArgumentTypeError(error.message) from None


def _cases(file: str, agent: Agent | None, title: str) -> Iterator[_Case]:
    text = _read(file)
    if text.lstrip()[:1] in ("[", "{"):
        try:
            found = json.loads(text)
        except (ValueError, RecursionError):
            found = None  # a screen may well begin with a bracket
        if found is not None:
            for number, item in enumerate(found if isinstance(found, list) else [found], 1):
                yield _case(file, number, item, agent)
            return
    if agent is None:
        raise ToolError("INVALID_ARGUMENT", f"{file} is plain text: say whose screen it is with --agent.")
    rows = _ESCAPES.sub("", text).replace("\r", "").removesuffix("\n").split("\n")
    yield _Case(file, agent, [row.rstrip() for row in rows], title)


def _read(file: str) -> str:
    try:
        data = sys.stdin.buffer.read(_MAX_BYTES) if file == "-" else Path(file).read_bytes()
    except OSError as error:
        raise ToolError("INVALID_ARGUMENT", f"{file} cannot be read: {error.strerror}") from None
    return data.decode("utf-8", "replace")


def _case(file: str, number: int, item: Any, agent: Agent | None) -> _Case:
    where = f"{file}, case {number}"
    if not isinstance(item, dict) or not isinstance(item.get("screen"), (list, str)):
        raise ToolError("INVALID_ARGUMENT", f"{where} has no screen.")
    screen = item["screen"].split("\n") if isinstance(item["screen"], str) else item["screen"]
    if not all(isinstance(row, str) for row in screen):
        raise ToolError("INVALID_ARGUMENT", f"{where} has a row that is no text.")
    named = item.get("agent")
    if named is None and agent is None:
        raise ToolError("INVALID_ARGUMENT", f"{where} names no agent; say whose screen it is with --agent.")
    height = item.get("rows")
    missing = height - len(screen) if isinstance(height, int) and height <= 1000 else 0
    expect = item.get("expect")
    if not isinstance(expect, dict):
        expect = {}
    return _Case(
        file,
        agent if named is None and agent is not None else _agent(str(named)),
        [*screen, *[""] * missing],
        str(item.get("title") or ""),
        str(item.get("id") or number),
        expect.get("state"),
        expect.get("rule"),
    )


def _classified(cases: list[_Case], explained: bool) -> Outcome:
    out: list[dict[str, Any]] = []
    lines: list[str] = []
    right = wrong = 0
    for case in cases:
        detection = classify(case.agent, case.rows, case.title)
        found: dict[str, Any] = {
            "file": case.file,
            "agent": case.agent.value,
            "state": detection.state.value,
            "reason": detection.reason,
        }
        label = case.file
        if case.id is not None:
            found["id"] = case.id
            label += f" {case.id}"
        verdict = ""
        if case.state is not None:
            found["expected"] = {"state": case.state} | ({"reason": case.rule} if case.rule else {})
            found["right"] = detection.state.value == case.state and case.rule in (None, detection.reason)
            right += found["right"]
            wrong += not found["right"]
            if not found["right"]:
                verdict = f"  WRONG: should be {case.state}" + (f" by {case.rule}" if case.rule else "")
        lines.append(f"{label}: {case.agent.short} {detection.state} by {detection.reason}{verdict}")
        if explained:
            found["explanation"], shown = _explained(case.agent, case.rows, case.title)
            lines += shown
        out.append(found)
    if right or wrong:
        lines.append(f"{right} right, {wrong} wrong")
    return Outcome(
        {"mode": "screens", "count": len(out), "right": right, "wrong": wrong, "cases": out}, "\n".join(lines)
    )


def _explained(agent: Agent, rows: list[str], title: str) -> tuple[dict[str, Any], list[str]]:
    found = explain(agent, rows, title)
    data = {
        "rows": found.rows,
        "first_row": found.first_row,
        "regions": [{"name": item.name, "first_row": item.first, "end_row": item.last + 1} for item in found.regions],
        "rules": [
            {"rule": item.id, "state": item.state.value, "matched": item.matched, "why": item.why}
            for item in found.tried
        ],
    }
    lines = [f"    {found.title}"]
    for item in found.tried:
        where = f" (rows {item.region.first}-{item.region.last})" if item.region else ""
        lines.append(f"    {'MATCHED' if item.matched else 'no':7} {item.id}: {item.why}{where}")
    return data, lines


def _replayed(path: Path, agent: Agent | None, explained: bool) -> Outcome:
    cast = load_cast(path)
    agent = agent or _agent_of(path)
    changes: list[dict[str, Any]] = []
    lines = [f"{'TIME':>9}  {'REV':>4}  {'STATE':<8}  {'SCREEN':<8}  REASON"]
    for change in replay(agent, cast):
        item: dict[str, Any] = {
            "at": round(change.at, 3),
            "status": change.status.value,
            "raw_state": change.detection.state.value,
            "reason": change.decision.reason,
            "screen_reason": change.decision.screen_reason,
            "revision": change.revision,
        }
        marker = ""
        if change.marker is not None:
            item["marker"] = change.marker
            marker = f"  (recorded as {change.marker})"
        lines.append(
            f"{change.at:9.3f}  {change.revision:>4}  {change.status:<8}  {change.detection.state:<8}  "
            f"{change.decision.reason}{marker}"
        )
        if explained:
            item["explanation"], shown = _explained(agent, list(change.rows), change.title)
            lines += shown
        changes.append(item)
    data = {
        "mode": "replay",
        "file": str(path),
        "agent": agent.value,
        "columns": cast.columns,
        "rows": cast.rows,
        "duration": round(cast.duration, 3),
        "changes": changes,
    }
    return Outcome(data, "\n".join(lines))


def _agent_of(path: Path) -> Agent:
    """Return the agent that a recording's name begins with."""
    begin = re.match(r"[a-z]+", path.name.lower())
    for agent in Agent:
        if begin is not None and begin[0] == agent.short:
            return agent
    raise ToolError("INVALID_ARGUMENT", f"Say whose recording {path.name} is with --agent.")
