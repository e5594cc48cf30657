"""An agent's last result, whole and proved by its own transcript, or not at all (signals.md §7.5)."""

import json
import os
from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from prowl_svc.evidence.regular import regular
from prowl_svc.model.agents import Agent
from prowl_svc.model.errors import Code
from prowl_svc.model.observation import SessionRef
from prowl_svc.model.state import DisplayState

__all__ = ["READABLE", "Result", "ResultState", "read_result"]

READABLE = frozenset({Agent.CODEX, Agent.CLAUDE})
"""The agents whose results can be read."""

_WINDOW = 16 << 20
_MAX_HOPS = 64
_STOPS = ("end_turn", "stop_sequence")
_NO_PROMPT = ("<command-name>", "<command-message>", "<local-command-")


class ResultState(StrEnum):
    """Whether the last result could be read."""

    PENDING = "pending"
    UNAVAILABLE = "unavailable"
    COMPLETE = "complete"
    MISSING = "missing"
    INCOMPLETE = "incomplete"
    TOO_LARGE = "too_large"


_ERRORS = {
    ResultState.PENDING: (Code.RESULT_NOT_FOUND, "The agent is still working or waits for a person."),
    ResultState.UNAVAILABLE: (Code.SESSION_UNRESOLVED, "The agent's session is not known surely enough."),
    ResultState.MISSING: (Code.RESULT_NOT_FOUND, "The transcript holds no result."),
    ResultState.INCOMPLETE: (Code.RESULT_INCOMPLETE, "The last turn is not proved complete."),
    ResultState.TOO_LARGE: (Code.RESULT_TOO_LARGE, "The result is larger than allowed."),
}


@dataclass(frozen=True, slots=True)
class Result:
    """A result: ``text`` is set only when the state is complete."""

    state: ResultState
    text: str | None = None

    @property
    def error(self) -> tuple[Code, str] | None:
        """The stable code and a text for people, when there is no text."""
        return _ERRORS.get(self.state)


def read_result(agent: Agent, status: DisplayState, session: SessionRef | None, max_bytes: int) -> Result:
    """Return the last result of an agent that is in ``READABLE``; blocking, reads at most the last 16 MiB.

    A working or blocked agent's transcript is not read; a session that is only a guess is not used.
    """
    if status in (DisplayState.WORKING, DisplayState.BLOCKED):
        return Result(ResultState.PENDING)
    if session is None or session.trusted is None or session.path is None:
        return Result(ResultState.UNAVAILABLE)
    try:
        lines = _backwards(session.path)
        if lines is None:
            return Result(ResultState.INCOMPLETE)
        found = _codex(lines) if agent is Agent.CODEX else _claude(lines, session.id)
        size = len(found.encode())  # half a surrogate pair is no text that can be given
    except FileNotFoundError:
        return Result(ResultState.MISSING)
    except (OSError, ValueError, RecursionError):
        # What cannot be read whole proves nothing.
        return Result(ResultState.INCOMPLETE)
    if isinstance(found, ResultState):  # which is a str, too
        return Result(found)
    return Result(ResultState.COMPLETE, found) if size <= max_bytes else Result(ResultState.TOO_LARGE)


def _backwards(path: str) -> Iterator[dict[str, Any]] | None:
    """Return the records from the last one on, or None while one is being written."""
    with open(path, "rb", opener=regular) as file:
        size = os.fstat(file.fileno()).st_size
        file.seek(max(0, size - _WINDOW))
        tail = file.read(_WINDOW)
    if tail and not tail.endswith(b"\n"):
        return None
    return _records(tail.split(b"\n")[:-1], cut=size > _WINDOW)


def _records(lines: list[bytes], cut: bool) -> Iterator[dict[str, Any]]:
    for line in reversed(lines[1:] if cut else lines):
        record = json.loads(line)
        if not isinstance(record, dict):
            raise ValueError
        yield record
    if cut:
        raise ValueError  # what would prove it lies further back than is looked


def _codex(records: Iterator[dict[str, Any]]) -> str | ResultState:
    for record in records:
        payload = record.get("payload")
        if record.get("type") != "event_msg" or not isinstance(payload, dict):
            continue
        match payload.get("type"):
            case "task_started" | "turn_aborted":
                return ResultState.INCOMPLETE
            case "task_complete":
                text = payload.get("last_agent_message")
                proved = (
                    isinstance(payload.get("turn_id"), str)
                    and payload["turn_id"]
                    and type(payload.get("completed_at")) is int
                    and not payload.get("error")
                )
                return text if proved and isinstance(text, str) and text else ResultState.INCOMPLETE
    return ResultState.MISSING


def _claude(records: Iterator[dict[str, Any]], session: str) -> str | ResultState:
    wanted: str | None = None
    message: object = None
    parts: list[str] = []
    hops, spoken, ended = 0, False, False
    for record in records:
        if record.get("isSidechain") or record.get("sessionId") != session:
            continue
        kind = record.get("type")
        if not ended:
            if kind == "system" and record.get("subtype") == "turn_duration":
                ended, wanted = True, _parent(record)
                if wanted is None:
                    return ResultState.INCOMPLETE
            elif kind == "assistant" or (kind == "user" and _prompt(record)):
                return ResultState.INCOMPLETE  # a turn that is not proved to be over
            continue
        if record.get("uuid") != wanted:
            continue
        hops += 1
        if kind == "assistant" and (message is None or _message(record).get("id") == message):
            message = _message(record).get("id")
            texts = _texts(record, first=not spoken)
            if texts is None:
                return ResultState.INCOMPLETE
            spoken = True
            parts[:0] = texts
        elif spoken:
            break
        elif kind in ("user", "assistant") or hops > _MAX_HOPS:
            return ResultState.INCOMPLETE
        wanted = _parent(record)
        if wanted is None:
            break
    text = "".join(parts)
    if text:
        return text
    return ResultState.INCOMPLETE if ended else ResultState.MISSING


def _parent(record: dict[str, Any]) -> str | None:
    parent = record.get("parentUuid")
    return parent if isinstance(parent, str) else None


def _message(record: dict[str, Any]) -> dict[str, Any]:
    message = record.get("message")
    return message if isinstance(message, dict) else {}


def _texts(record: dict[str, Any], first: bool) -> list[str] | None:
    """Return the texts of one record of the final message, or None when it is not the end of a turn in words.

    A message is written as one record for each block: thinking may stand before the words, in records of its own.
    """
    message = _message(record)
    blocks = message.get("content")
    if message.get("stop_reason") not in _STOPS or not isinstance(blocks, list) or not blocks:
        return None
    kinds = {block.get("type") if isinstance(block, dict) else None for block in blocks}
    if not first and kinds <= {"thinking", "redacted_thinking"}:
        return []
    if kinds != {"text"} or not all(isinstance(block.get("text"), str) for block in blocks):
        return None
    return [block["text"] for block in blocks]


def _prompt(record: dict[str, Any]) -> bool:
    """Tell whether a user's record begins or carries on a turn; commands of the interface do not."""
    if record.get("isMeta"):
        return False
    content = _message(record).get("content")
    return not (isinstance(content, str) and content.startswith(_NO_PROMPT))
