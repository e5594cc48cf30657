"""Interpreted twin of the Codex log scanner: every line is parsed, most are of no interest."""

import json
from typing import Any, NoReturn

__all__ = ["lifecycle"]

_EVENTS = frozenset({"task_started", "task_complete", "turn_aborted", "thread_settings_applied"})


def lifecycle(data: bytes) -> tuple[list[bytes], str]:
    """Return the complete lines of ``data`` that a decoder needs, and the fault of the first bad line.

    Every line is checked: the fault is ``json`` for one that is no JSON text, ``record`` for one that is no object
    with a string ``type`` and an object ``payload``, empty when all are good. What follows the last newline is left.
    """
    lines: list[bytes] = []
    complete = data[: data.rfind(b"\n") + 1]
    try:
        complete.decode("utf-8")
    except UnicodeDecodeError:
        return lines, "json"
    for line in complete.split(b"\n")[:-1]:
        try:
            record: Any = json.loads(line.decode(), parse_constant=_refuse, parse_int=_number, parse_float=_number)
        except (ValueError, RecursionError):
            return lines, "json"
        if not isinstance(record, dict):
            return lines, "record"
        payload = record.get("payload")
        if not isinstance(record.get("type"), str) or not isinstance(payload, dict):
            return lines, "record"
        if _wanted(record["type"], payload):
            lines.append(line)
    return lines, ""


def _wanted(kind: str, payload: dict[str, Any]) -> bool:
    event = payload.get("type")
    if kind == "event_msg":
        if event == "item_completed":
            item = payload.get("item")
            return isinstance(item, dict) and item.get("type") == "SubAgentActivity"
        return isinstance(event, str) and event in _EVENTS
    return kind == "response_item" and event == "function_call" and payload.get("name") == "followup_task"


def _number(_text: str) -> float:
    return 0.0  # its value is of no interest, and converting a very long one is refused


def _refuse(constant: str) -> NoReturn:
    raise ValueError(constant)
