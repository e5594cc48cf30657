"""Sessions that were written since a process started: files of the runtime's folders and rows of its store (§8.1)."""

import os
import sqlite3
from collections.abc import Callable, Iterable, Sequence
from contextlib import closing
from datetime import UTC, datetime, timedelta
from pathlib import Path

from prowl_svc.evidence.session_paths import header_session, session_id
from prowl_svc.model.agents import Agent

__all__ = ["WALK_LIMIT", "Recent", "WideScanError", "codex_folders", "store_sessions"]

WALK_LIMIT = 20_000
_MAX_DAYS = 32
_KEEP = 1.0
_MAX_WALKS = 64
_STORE_LIMIT = 8
_STORE_TIMEOUT = 0.05


class WideScanError(Exception):
    """A folder holds too many entries; the whole round is void."""


def codex_folders(sessions: str, started: float, now: float) -> list[str]:
    """Return the day folders of a process's life, a day earlier included; none when it lives for a month."""
    first = datetime.fromtimestamp(started, UTC).astimezone() - timedelta(days=1)
    days = (datetime.fromtimestamp(now, UTC).astimezone().date() - first.date()).days + 1
    if not 0 < days < _MAX_DAYS:
        return []
    return [os.path.join(sessions, (first + timedelta(days=day)).strftime("%Y/%m/%d")) for day in range(days)]


class Recent:
    """Looks for recent session files; what a folder holds is remembered for a second, for other panes of it."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._walks: dict[str, tuple[float, list[tuple[str, float]]]] = {}

    def sessions(self, agent: Agent, folders: Sequence[str], root: str | None, since: float) -> dict[str, list[str]]:
        """Return sessions written at ``since`` (wall seconds) or later with their files, newest first.

        Raises WideScanError when more than 20,000 entries would have to be looked at.
        """
        found: list[tuple[float, str, str]] = []
        budget = WALK_LIMIT
        for folder in folders:
            files, used = self._walk(folder, budget)
            budget -= used
            for path, modified in files:
                named = session_id(agent, path, root) if modified >= since else None
                if named is None:
                    continue
                identity = header_session(path) if agent is Agent.GEMINI else named[0]
                if identity is not None:
                    found.append((modified, identity, path if named[1] else ""))
        sessions: dict[str, list[str]] = {}
        for _, identity, path in sorted(found, reverse=True):
            if path not in sessions.setdefault(identity, []) and path:
                sessions[identity].append(path)
        return sessions

    def _walk(self, folder: str, budget: int) -> tuple[list[tuple[str, float]], int]:
        now = self._clock()
        kept = self._walks.get(folder)
        if kept is None or now - kept[0] >= _KEEP:
            kept = (now, list(_files(folder, budget)))
            if len(self._walks) >= _MAX_WALKS:
                self._walks = {name: walk for name, walk in self._walks.items() if now - walk[0] < _KEEP}
            self._walks[folder] = kept
        return kept[1], len(kept[1])


def _files(folder: str, budget: int) -> Iterable[tuple[str, float]]:
    stack, seen = [folder], 0
    while stack:
        try:
            with os.scandir(stack.pop()) as entries:
                for entry in entries:
                    seen += 1
                    if seen > budget:
                        raise WideScanError
                    if entry.is_dir(follow_symlinks=False):
                        stack.append(entry.path)
                    elif entry.is_file(follow_symlinks=False):
                        yield entry.path, entry.stat(follow_symlinks=False).st_mtime
        except OSError:
            continue


def store_sessions(database: str, cwds: Sequence[str], since: float) -> list[str]:
    """Return the top sessions of OpenCode's store in a folder, written since then, newest first; at most 8.

    The store is opened for reading only and waited for at most 50 ms; a store that cannot be read has none.
    """
    marks = ",".join("?" * len(cwds))
    query = (
        f"SELECT id FROM session WHERE parent_id IS NULL AND directory IN ({marks}) AND time_updated >= ?"
        " ORDER BY time_updated DESC LIMIT ?"
    )
    if not os.path.isfile(database):
        return []
    try:
        uri = f"{Path(database).absolute().as_uri()}?mode=ro"
        with closing(sqlite3.connect(uri, uri=True, timeout=_STORE_TIMEOUT)) as store:
            rows = store.execute(query, (*cwds, int(since * 1000), _STORE_LIMIT)).fetchall()
    except sqlite3.Error:
        return []
    return [str(identity) for (identity,) in rows]
