"""Which session of the shared Codex daemon belongs to a pane (providers.md §2.7).

A hand-typed ``codex`` attaches to a daemon that writes every session's log; the terminal program itself writes none.
Both write diagnostics to one database under the config root: the program when it has connected, the daemon each
connection's handshake and the thread it starts or resumes. The handshake that lies between the program's start and its
note of the connection is its own. Programs that start together have each other's connections between, too: then the
one counts that begins a session right after the program's note, with no other program's note in between; when that does
not tell either, no session is attributed.
"""

import json
import os
import re
import sqlite3
from collections.abc import Iterable, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from pathlib import Path

from prowl_svc.evidence.host import Host
from prowl_svc.evidence.regular import regular
from prowl_svc.model.process import Generation

__all__ = ["DaemonLink", "daemon_of", "find_link", "follow_link", "notes_of"]

_MAX_PID_FILE = 65_536
_BUSY_TIMEOUT = 0.05
_MAX_ROWS = 50_000
_SLACK = 0.05
"""Seconds by which a process may seem to start late, its start being known in clock ticks."""

_PROMPT = 1.0
"""Seconds within which a program that was not asked to choose a session begins one."""

_TEMPORARY = "temporary-structured"  # the title's own turn, which has no log
_REQUEST = re.compile(r"app-server request: (\S+) connection_id=ConnectionId\((\d+)\) request_id=(\w+)")
_THREAD_SET = re.compile(r'rpc\.method="thread/(?:start|resume|fork)"[^}]* app_server\.connection_id=(\d+) ')


@dataclass(frozen=True, slots=True)
class _Shown:
    """A connection that shows sessions: when it began its first one (wall seconds), and the one it began last."""

    connection: int
    began: float
    thread: str | None = None


@dataclass(frozen=True, slots=True)
class DaemonLink:
    """A program's connection to its daemon: ``thread`` is the session it shows now, None before its first one.

    ``program`` is the name under which it writes notes, ``connected`` when it noted its connection (wall seconds).
    ``connections`` are those that may be the program's, ``shown`` what those show. ``seen`` is the last row of the
    database that was looked at.
    """

    daemon: Generation
    program: str
    connected: float
    connections: tuple[int, ...]
    shown: tuple[_Shown, ...] = ()
    thread: str | None = None
    seen: int = 0


def daemon_of(root: str, host: Host) -> Generation | None:
    """Return the live daemon of a config root, proved by pid and start time; None where there is none."""
    try:
        with open(os.path.join(root, "app-server-daemon", "daemon.pid"), "rb", opener=regular) as file:
            record = json.loads(file.read(_MAX_PID_FILE))
        generation = Generation(int(record["pid"]), int(record["processIdentity"]["startTicks"]))
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        return None
    return generation if host.alive(generation) else None


def find_link(root: str, daemon: Generation, pid: int, started: float) -> DaemonLink | None:
    """Return the connection of the program ``pid`` that started at ``started`` (wall seconds), once it is noted."""
    for database in _databases(root):
        try:
            with closing(_open(database)) as rows:
                return _find(rows, daemon, pid, started)
        except sqlite3.Error:
            continue
    return None


def follow_link(root: str, link: DaemonLink) -> DaemonLink:
    """Return the link with the thread that its connection started or resumed last; unchanged when nothing is new."""
    for database in _databases(root):
        try:
            with closing(_open(database)) as rows:
                return _follow(rows, link)
        except sqlite3.Error:
            continue
    return link


def notes_of(root: str) -> str | None:
    """Return the file that is written when a program or its daemon notes something; None where nothing was noted.

    They write seconds after the fact, and only when there is something: its change is worth a look.
    """
    newest = next(iter(_databases(root)), None)
    return f"{newest}-wal" if newest is not None else None


def _databases(root: str) -> Iterable[Path]:
    return sorted(filter(Path.is_file, Path(root).glob("logs_*.sqlite")), reverse=True)


def _open(database: Path) -> sqlite3.Connection:
    return sqlite3.connect(f"{database.as_uri()}?mode=ro", uri=True, timeout=_BUSY_TIMEOUT)


def _process(rows: sqlite3.Connection, pid: int, since: float) -> str | None:
    """Return the name under which a process writes its rows."""
    query = (
        "SELECT process_uuid FROM logs WHERE process_uuid >= ? AND process_uuid < ? AND thread_id IS NULL AND ts >= ?"
        " ORDER BY ts DESC LIMIT 1"
    )
    found = rows.execute(query, (f"pid:{pid}:", f"pid:{pid};", int(since) - 1)).fetchone()
    return found[0] if found else None


def _find(rows: sqlite3.Connection, daemon: Generation, pid: int, started: float) -> DaemonLink | None:
    own, its = _process(rows, pid, started), _process(rows, daemon.pid, 0)
    if own is None or its is None:
        return None
    connected = rows.execute(
        "SELECT ts + ts_nanos / 1e9 FROM logs WHERE process_uuid = ? AND thread_id IS NULL AND ts >= ?"
        " AND target LIKE 'codex_tui::%startup' ORDER BY ts, ts_nanos LIMIT 1",
        (own, int(started) - 1),
    ).fetchone()
    if connected is None:
        return None
    query = (
        "SELECT feedback_log_body FROM logs WHERE process_uuid = ? AND thread_id IS NULL AND ts BETWEEN ? AND ?"
        " AND ts + ts_nanos / 1e9 BETWEEN ? AND ? AND feedback_log_body LIKE 'app-server request: initialize %'"
    )
    window = (int(started) - 1, int(connected[0]) + 1, started - _SLACK, connected[0])
    connections = []
    for (body,) in rows.execute(query, (its, *window)):
        match = _REQUEST.match(body)
        if match and match[3] == "String":  # a number is the probe that looks whether a daemon is there
            connections.append(int(match[2]))
    return _follow(rows, DaemonLink(daemon, own, connected[0], tuple(connections))) if connections else None


def _follow(rows: sqlite3.Connection, link: DaemonLink) -> DaemonLink:
    query = (
        "SELECT ts + ts_nanos / 1e9, thread_id, feedback_log_body FROM logs WHERE id > ?"
        " AND process_uuid >= ? AND process_uuid < ? AND feedback_log_body LIKE '%rpc.method=\"thread/%'"
        " ORDER BY id LIMIT ?"
    )
    last = rows.execute("SELECT max(id) FROM logs").fetchone()[0] or 0
    bounds = (max(link.seen, last - _MAX_ROWS), f"pid:{link.daemon.pid}:", f"pid:{link.daemon.pid};", _MAX_ROWS)
    shown = {one.connection: one for one in link.shown}
    for at, thread, body in rows.execute(query, bounds):
        match = _THREAD_SET.search(body)
        if match is None or _TEMPORARY in body or int(match[1]) not in link.connections:
            continue
        one = shown.setdefault(int(match[1]), _Shown(int(match[1]), at))
        if thread is not None:
            shown[one.connection] = replace(one, thread=thread)
    own = _own(rows, link, sorted(shown.values(), key=lambda one: one.began))
    return replace(link, shown=tuple(shown.values()), thread=own.thread if own is not None else None, seen=last)


def _own(rows: sqlite3.Connection, link: DaemonLink, shown: Sequence[_Shown]) -> _Shown | None:
    """Return the one of the connections that is the program's; ``shown`` is in the order in which they began."""
    later = [one for one in shown if one.began >= link.connected]  # before its note no program begins a session
    if len(later) < 2:
        return later[0] if later else None
    first, second = later[:2]
    query = (
        "SELECT min(ts + ts_nanos / 1e9) AS noted FROM logs WHERE process_uuid <> ? AND thread_id IS NULL AND ts >= ?"
        " AND target LIKE 'codex_tui::%startup' GROUP BY process_uuid"
    )
    others = [noted for (noted,) in rows.execute(query, (link.program, int(link.connected) - 1))]

    def passed(until: float) -> bool:
        return any(link.connected <= noted <= until for noted in others)

    if first.began - link.connected > _PROMPT or passed(first.began):
        return None
    return first if second.began - link.connected > _PROMPT or passed(second.began) else None
