"""Codex log evidence: what the process writes into its session logs, read incrementally (providers.md §2)."""

import asyncio
import os
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from functools import partial

from prowl_svc.evidence.birth import birth_time
from prowl_svc.evidence.codex_cursor import Cursor, append, check, last_line, last_turn, read_at, read_line
from prowl_svc.evidence.codex_daemon import DaemonLink, daemon_of, find_link, follow_link, notes_of
from prowl_svc.evidence.codex_header import ContinuityError, Header, LineageError, parse_header, roots_of
from prowl_svc.evidence.codex_records import Decoder, Session
from prowl_svc.evidence.host import Host
from prowl_svc.evidence.throttle import Warnings
from prowl_svc.model.facts import InventoryFact, ProviderFact, Suspended, Unavailable
from prowl_svc.model.process import Generation

__all__ = ["CodexLogs", "LogState", "read_logs", "session_log"]

MAX_SESSIONS = 32
_IN_THREAD = 64 << 10
"""Bytes from which on reading leaves the event loop."""
_MAX_CLOSED = 256
_LAST_YEAR = 253_000_000_000
_LISTED_FOR = 2.0
"""Seconds for which an unchanged number of descriptors stands for unchanged descriptors."""
_LINK_INTERVAL = 1.0
"""Seconds between two looks into the daemon's diagnostics."""
_UUID = re.compile(r"[0-9a-fA-F]{8}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{12}")
_DEFAULT = "/.codex/sessions/"


def session_log(path: str, sessions: str, own_root: bool) -> bool:
    """Tell whether a path is a session log: under ``sessions``, or also under any ``.codex/sessions``.

    ``own_root`` tells that the launch has a config root of its own, which replaces the default layout.
    """
    under = path.startswith(sessions.rstrip("/") + "/") or (not own_root and _DEFAULT in path)
    name = path.rpartition("/")[2]
    return under and name.endswith(".jsonl") and _UUID.search(name) is not None


@dataclass(frozen=True, slots=True)
class LogState:
    """All that is known of a process's logs; ``LogState()`` is the start.

    ``headers`` holds each path's inode and header; ``closed`` the files that were open before, which are history when
    they are opened again; ``rebaseline`` makes the next sample start every file at its end.
    """

    headers: Mapping[str, tuple[int, Header]] = field(default_factory=dict)
    cursors: Mapping[str, Cursor] = field(default_factory=dict)
    closed: tuple[tuple[str, int], ...] = ()
    rebaseline: bool = False


def read_logs(
    state: LogState,
    paths: Sequence[str],
    since: float,
    *,
    birth: Callable[[str], float | None] = birth_time,
    late: bool = False,
) -> tuple[LogState, list[ProviderFact], tuple[str, str] | None]:
    """Read what was appended to the open logs; return the new state, the facts, and a failure (category, detail).

    ``since`` is the wall time in seconds from which on a new file is read from its beginning. ``late`` tells that files
    are found some time after they were opened: an old one then begins with its last turn, if that began since. A
    suspension keeps cursors and the headers that could be read.
    """
    try:
        if len(paths) > MAX_SESSIONS:
            raise ContinuityError("incomplete")
        state, partial = _headers(state, paths)
        if partial:
            return state, [Suspended()], ("partialHeader", "none")
        places = roots_of({path: header for path, (_, header) in state.headers.items()})
        state = _open(state, paths, since, birth, late)
        sizes = check(state.cursors)
        cursors, facts = dict(state.cursors), _inventory(state, places)
        for path in sorted(paths, key=lambda path: (places[path][1], path)):
            cursor = cursors[path]
            if sizes[path] == cursor.offset:
                continue
            cursors[path], lines = append(cursor, read_at(path, cursor.inode, cursor.offset, sizes[path]))
            session = Session(state.headers[path][1].id, places[path][0])
            facts.extend(cursors[path].decoder.decode(lines, session))
        return replace(state, cursors=cursors, rebaseline=False), facts, None
    except LineageError:
        return state, [Suspended()], ("unknownLineage", "none")
    except ContinuityError as error:
        return LogState(rebaseline=True), [Unavailable()], ("continuityLost", str(error))


def _headers(state: LogState, paths: Sequence[str]) -> tuple[LogState, bool]:
    """Read the headers of new paths and drop what is not open any more; tell whether one is not whole yet."""
    headers, partial = {}, False
    for path in paths:
        known = state.headers.get(path)
        if known is None or (path not in state.cursors and known[0] != _inode(path)):
            inode, line = read_line(path)
            if line is None:
                partial = True
                continue
            known = (inode, parse_header(line))
        headers[path] = known
    cursors = {path: cursor for path, cursor in state.cursors.items() if path in paths}
    gone = [(path, cursor.inode) for path, cursor in state.cursors.items() if path not in cursors]
    closed = (*state.closed, *gone)[-_MAX_CLOSED:]
    return replace(state, headers=headers, cursors=cursors, closed=closed), partial


def _inode(path: str) -> int | None:
    try:
        return os.stat(path).st_ino
    except OSError:
        return None


def _open(
    state: LogState, paths: Sequence[str], since: float, birth: Callable[[str], float | None], late: bool
) -> LogState:
    cursors = dict(state.cursors)
    for path in paths:
        if path in cursors:
            continue
        inode, header = state.headers[path]
        born = birth(path)
        if state.rebaseline or born is None or born < since or (path, inode) in state.closed:
            start = last_turn(path, inode, _iso(since)) if late and not state.rebaseline else last_line(path, inode)
            cursors[path] = Cursor(inode, start, Decoder(live=True))
        else:
            cursors[path] = Cursor(inode, header.end, Decoder(live=not header.forked))
    return replace(state, cursors=cursors)


def _header(path: str) -> Header | None:
    try:
        line = read_line(path)[1]
        return parse_header(line) if line is not None else None
    except ContinuityError:
        return None


def _descends(session: str | None, thread: str, parents: Mapping[str, str | None]) -> bool:
    for _ in range(len(parents)):
        if session == thread or session is None:
            break
        session = parents.get(session)
    return session == thread


def _iso(since: float) -> str:
    if not 0 <= since < _LAST_YEAR:
        return "9999"
    return datetime.fromtimestamp(since, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def _inventory(state: LogState, places: Mapping[str, tuple[str, int]]) -> list[ProviderFact]:
    return [InventoryFact(frozenset(root for root, _ in places.values()))]


class CodexLogs:
    """The log provider of one Codex process (a ``Provider`` of decision.coordinator).

    ``root`` is the config root and ``own_root`` tells that it is not the default one. ``since`` is the wall time in
    seconds at which the provider begins, ``started`` that of the process. Warnings carry pid, status, cursor count and
    detail only.
    """

    def __init__(
        self,
        host: Host,
        generation: Generation,
        root: str,
        *,
        own_root: bool,
        since: float,
        started: float,
        warnings: Warnings,
    ) -> None:
        self._host = host
        self._generation = generation
        self._root = root
        self._sessions = os.path.realpath(os.path.join(root, "sessions"))
        self._own_root = own_root
        self._since = since
        self._started = started
        self._warnings = warnings
        self._state = LogState()
        self._link: DaemonLink | None = None
        self._linked_at = float("-inf")
        self._notes: str | None = None
        self._noted_at: int | None = None
        self._embedded = False
        self._others: Mapping[str, Header] = {}
        self._listed: tuple[float, tuple[int, ...] | None] | None = None

    @property
    def state(self) -> LogState:
        """What is known now, for explanations."""
        return self._state

    @property
    def watched(self) -> Sequence[str]:
        """The files whose change is news; with a shared daemon also that of its notes of who shows which session."""
        notes = (self._notes,) if self._notes is not None and not self._embedded else ()
        return (*self._state.cursors, *notes)

    @property
    def noted(self) -> str | None:
        """The session that the shared daemon runs for this process; one that it writes itself needs no note."""
        return self._link.thread if self._link is not None and not self._embedded else None

    @property
    def daemon(self) -> Generation | None:
        """The shared daemon, while it runs the session for this process."""
        return self._link.daemon if self._link is not None and not self._embedded else None

    async def sample(self, now: float) -> Sequence[ProviderFact]:
        """Return what the logs say since the last sample."""
        self._listed = None
        if not self._host.alive(self._generation):
            return [Unavailable()]
        counts = self._open_counts()  # before the listing: what is opened meanwhile counts as new
        paths, late = self._logs(self._generation.pid), False
        if paths:
            self._embedded = True
        elif paths is not None and not self._embedded:
            thread = await self._daemon_thread(now)
            if self._link is not None and thread is not None:
                paths, late = self._tree(self._logs(self._link.daemon.pid), thread), True
        if paths is None:
            self._failed("incompleteInventory", "suspended", "none", now)
            return [Suspended()]
        read = partial(read_logs, self._state, paths, self._since, birth=self._host.birth, late=late)
        state, facts, failure = await asyncio.to_thread(read) if self._growth(paths) > _IN_THREAD else read()
        if not self._host.alive(self._generation):
            return [Unavailable()]  # what was read may be another process's: cursors stay as they were
        self._state = state
        if failure is None:
            self._listed = (now, counts)
            self._warnings.succeeded(self._details("available", "none"))
        else:
            category, detail = failure
            self._failed(category, "unavailable" if category == "continuityLost" else "suspended", detail, now)
        return facts

    def unchanged(self, now: float) -> bool:
        """Tell that nothing was appended, opened or closed since the last sample, if that was healthy.

        Where the system does not count descriptors, nothing is known to be unchanged. The process is not looked at.
        """
        if self._listed is None or self._listed[1] is None or self._open_counts() != self._listed[1]:
            return False
        try:
            for path, cursor in self._state.cursors.items():
                status = os.stat(path)
                if status.st_size != cursor.offset or status.st_ino != cursor.inode:
                    return False
        except OSError:
            return False
        return now - self._listed[0] < _LISTED_FOR or self._same_files(now)

    def _same_files(self, now: float) -> bool:
        """List the descriptors again; with a shared daemon, or where there may be one now, a sample has to."""
        if self._link is not None or not (self._embedded or daemon_of(self._root, self._host) is None):
            return False
        counts = self._open_counts()
        paths = self._logs(self._generation.pid)
        if paths is None or self._state.cursors.keys() != set(paths):
            return False
        self._listed = now, counts
        return True

    def close(self) -> None:
        """Nothing is held."""

    def _open_counts(self) -> tuple[int, ...] | None:
        pids = [self._generation.pid, *([self._link.daemon.pid] if self._link is not None else [])]
        counts = [self._host.open_count(pid) for pid in pids]
        return None if None in counts else tuple(count or 0 for count in counts)

    def _logs(self, pid: int) -> list[str] | None:
        files = self._host.open_files(pid, lambda path: session_log(path, self._sessions, self._own_root))
        return list(files.paths) if files.complete else None

    def _tree(self, paths: list[str] | None, thread: str) -> list[str] | None:
        """Return the logs of a session and of its descendants; those of other panes do not concern this one."""
        if paths is None:
            return None
        headers = {path: self._others.get(path) or _header(path) for path in paths}
        self._others = {path: header for path, header in headers.items() if header is not None}
        parents = {header.id: header.parent for header in self._others.values()}
        return [path for path, header in self._others.items() if _descends(header.id, thread, parents)]

    async def _daemon_thread(self, now: float) -> str | None:
        """Return the session of the shared daemon that this program shows.

        It is looked up when something was noted, and else at most once a second.
        """
        link = self._link
        if link is not None and not self._host.alive(link.daemon):
            link = self._link = None
        noted_at = self._note_time()
        if noted_at != self._noted_at or now - self._linked_at >= _LINK_INTERVAL:
            self._linked_at, self._noted_at = now, noted_at
            if link is not None:
                link = await asyncio.to_thread(follow_link, self._root, link)
            elif daemon := daemon_of(self._root, self._host):
                link = await asyncio.to_thread(find_link, self._root, daemon, self._generation.pid, self._started)
                self._notes = notes_of(self._root)
            else:
                self._notes = None
            self._link = link
        return link.thread if link else None

    def _note_time(self) -> int | None:
        try:
            return os.stat(self._notes).st_mtime_ns if self._notes is not None else None
        except OSError:
            return None

    def _growth(self, paths: Sequence[str]) -> int:
        total = 0
        for path in paths:
            cursor = self._state.cursors.get(path)
            try:
                total += os.stat(path).st_size - (cursor.offset if cursor else 0)
            except OSError:
                continue
        return total

    def _failed(self, category: str, status: str, detail: str, now: float) -> None:
        self._warnings.failed(category, now, self._details(status, detail))

    def _details(self, status: str, detail: str) -> str:
        return f"pid={self._generation.pid} status={status} cursors={len(self._state.cursors)} detail={detail}"
