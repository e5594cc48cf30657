"""What runtimes note about a process under its own pid (providers.md §8.1, step 2)."""

import glob
import json
import os
import re
from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import Any

from prowl_svc.evidence.regular import regular
from prowl_svc.model.agents import Agent

__all__ = ["START_SLACK", "process_session"]

START_SLACK = 2.0
"""Seconds before the process start from which on a file's time still counts as the process's own."""

_MAX_FILE = 1 << 20
_LOG_TAIL = 256 << 10
_UUID = "[0-9a-fA-F]{8}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{12}"
_FOREGROUND = re.compile(rb"Registering foreground session: (" + _UUID.encode() + rb")")
_HOLD = re.compile(rf"/({_UUID})/inuse\.\d+\.hold$")


def process_session(
    agent: Agent, pids: Sequence[int], started: float, base: str, chats: Sequence[str] = ()
) -> str | None:
    """Return the session that a runtime notes for one of ``pids``, if the note is not older than the process.

    ``base`` is the agent's folder (a config root replaces it), ``chats`` the folders of Qwen's running sessions,
    ``started`` the process start in wall-clock seconds.
    """
    since = started - START_SLACK
    for pid in pids:
        for session in _NOTES[agent](base, pid, since, chats) if agent in _NOTES else ():
            return session
    return None


def _copilot(base: str, pid: int, since: float, _chats: Sequence[str]) -> Iterable[str]:
    logs = sorted(glob.glob(os.path.join(glob.escape(base), "logs", f"process-*-{pid}.log")))
    if logs and (raw := _tail(logs[-1], since)) is not None and (found := _FOREGROUND.findall(raw)):
        yield found[-1].decode()
    holds = glob.glob(os.path.join(glob.escape(base), "session-state", "*", f"inuse.{pid}.hold"))
    sessions = {match[1] for path in holds if _fresh(path, since) and (match := _HOLD.search(path))}
    if len(sessions) == 1:
        yield from sessions


def _qwen(base: str, pid: int, since: float, chats: Sequence[str]) -> Iterable[str]:
    for folder in chats:
        for path in glob.glob(os.path.join(glob.escape(folder), "*.runtime.json")):
            note = _object(path)
            if note.get("schema_version") == 1 and note.get("pid") == pid and _time(note.get("started_at")) >= since:
                yield from _text(note.get("session_id"))
    path = os.path.join(base, "sessions", f"{pid}.json")
    note = _object(path)
    if note.get("schemaVersion") == 1 and note.get("pid") == pid and _fresh(path, since):
        yield from _text(note.get("sessionId"))


def _grok(base: str, pid: int, since: float, _chats: Sequence[str]) -> Iterable[str]:
    rows: Any = _json(os.path.join(base, "active_sessions.json"))
    if isinstance(rows, dict):
        rows = rows.get("sessions", list(rows.values()))
    for row in rows if isinstance(rows, list) else ():
        if isinstance(row, dict) and row.get("pid") == pid and _time(row.get("opened_at")) >= since:
            yield from _text(row.get("session_id") or row.get("id"))


_NOTES = {Agent.COPILOT: _copilot, Agent.QWEN: _qwen, Agent.GROK: _grok}


def _text(value: object) -> Iterable[str]:
    if isinstance(value, str) and value:
        yield value


def _time(value: object) -> float:
    """Return a time as seconds: ISO 8601, seconds or milliseconds; minus infinity for anything else."""
    if isinstance(value, str):
        try:
            return datetime.fromisoformat(value.replace("Z", "+00:00")).timestamp()
        except (ValueError, OverflowError):
            return float("-inf")
    if isinstance(value, int | float) and not isinstance(value, bool):
        return value / 1000 if value > 1e11 else float(value)
    return float("-inf")


def _fresh(path: str, since: float) -> bool:
    try:
        return os.stat(path).st_mtime >= since
    except OSError:
        return False


def _tail(path: str, since: float) -> bytes | None:
    try:
        with open(path, "rb", opener=regular) as file:
            status = os.fstat(file.fileno())
            if status.st_mtime < since:
                return None
            file.seek(max(0, status.st_size - _LOG_TAIL))
            return file.read(_LOG_TAIL)
    except OSError:
        return None


def _json(path: str) -> Any:
    try:
        with open(path, "rb", opener=regular) as file:
            return json.loads(file.read(_MAX_FILE))
    except (OSError, ValueError, RecursionError):
        return None


def _object(path: str) -> dict[str, Any]:
    value = _json(path)
    return value if isinstance(value, dict) else {}
