"""Which session an agent's process is in: the ladder of evidence, first hit wins (providers.md §8.1)."""

import glob
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from prowl_svc.evidence.codex_cursor import read_line
from prowl_svc.evidence.codex_header import ContinuityError, parse_header
from prowl_svc.evidence.host import Host
from prowl_svc.evidence.session_artifacts import START_SLACK, process_session
from prowl_svc.evidence.session_match import Fragments, best_match
from prowl_svc.evidence.session_paths import folders, header_session, layouts, session_id
from prowl_svc.evidence.session_recent import Recent, WideScanError, codex_folders, store_sessions
from prowl_svc.model.agents import Agent
from prowl_svc.model.observation import SessionConfidence, SessionRef
from prowl_svc.model.process import Generation

__all__ = ["Attribution", "Ladder", "SessionQuery"]

_HEADERS = 512


@dataclass(frozen=True, slots=True)
class SessionQuery:
    """What is known of the process.

    ``pids`` are the detected process first, then others of its job that may hold or note the session. ``started`` is
    the process start in wall-clock seconds, ``root`` the launch's own config root, ``home`` the home that the process
    was started with. ``noted`` is a session that a provider proved for this very process: the registry's or the
    daemon's.
    """

    agent: Agent
    generation: Generation
    pids: tuple[int, ...]
    started: float
    cwd: str | None
    screen: str
    home: str
    root: str | None = None
    noted: str | None = None


@dataclass(frozen=True, slots=True)
class Attribution:
    """A round's answer; ``wide`` tells that a folder was too large to be looked through."""

    session: SessionRef | None
    wide: bool = False


class Ladder:
    """Looks for sessions; holds only caches, and may be used from one worker thread at a time."""

    def __init__(self, host: Host, clock: Callable[[], float], wall: Callable[[], float]) -> None:
        self._host = host
        self._wall = wall
        self._recent = Recent(clock)
        self._fragments = Fragments()
        self._children: dict[str, bool] = {}

    def attribute(self, query: SessionQuery) -> Attribution:
        """Return the session of a process; blocking, bounded, and never raising for what files hold."""
        opened = self._open(query)
        if len(opened) == 1:
            ((identity, paths),) = opened.items()
            return Attribution(_ref(identity, paths, SessionConfidence.EXACT, "open_file"))
        noted = query.noted or self._noted(query)
        if noted is not None:
            paths = opened.get(noted) or self._transcripts(query, noted)
            return Attribution(_ref(noted, paths, SessionConfidence.EXACT, "process_log"))
        if opened and (matched := self._match(opened, query.screen)):
            return Attribution(_ref(matched, opened[matched], SessionConfidence.HIGH, "transcript_match"))
        try:
            recent = self._written(query)
        except WideScanError:
            return Attribution(None, wide=True)
        rows = self._rows(query)
        if not rows and recent and (matched := self._match(recent, query.screen)):
            return Attribution(_ref(matched, recent[matched], SessionConfidence.HIGH, "transcript_match"))
        sole = {*recent, *rows}
        if len(sole) != 1:
            return Attribution(None)
        (identity,) = sole
        source = "store_record" if identity in rows else "recent_file"
        return Attribution(_ref(identity, recent.get(identity, ()), SessionConfidence.MEDIUM, source))

    def _open(self, query: SessionQuery) -> dict[str, list[str]]:
        found: dict[str, list[str]] = {}
        for pid in query.pids:
            for path in self._host.open_files(
                pid, lambda path: session_id(query.agent, path, query.root) is not None
            ).paths:
                named = session_id(query.agent, path, query.root)
                if named is None or (query.agent is Agent.CODEX and self._is_child(path)):
                    continue
                identity = header_session(path) if query.agent is Agent.GEMINI else named[0]
                if identity is not None and path not in found.setdefault(identity, []) and named[1]:
                    found[identity].append(path)
        return found

    def _noted(self, query: SessionQuery) -> str | None:
        chats = folders(query.agent, query.cwd, query.root, query.home) if query.agent is Agent.QWEN else ()
        for base, _ in layouts(query.agent, query.root, query.home)[:1]:
            return process_session(query.agent, query.pids, query.started, base, chats)
        return None

    def _written(self, query: SessionQuery) -> dict[str, list[str]]:
        since = query.started - START_SLACK
        places = [one for place in folders(query.agent, query.cwd, query.root, query.home) for one in _expand(place)]
        if query.agent is not Agent.CODEX:
            return self._recent.sessions(query.agent, places, query.root, since)
        for tree in ([day for place in places for day in codex_folders(place, query.started, self._wall())], places):
            sessions = self._recent.sessions(query.agent, tree, query.root, since)
            sessions = {one: paths for one, paths in sessions.items() if not (paths and self._is_child(paths[0]))}
            if sessions:
                return sessions
        return {}

    def _rows(self, query: SessionQuery) -> list[str]:
        if query.agent is not Agent.OPENCODE or query.cwd is None or query.root is not None:
            return []
        database = os.path.join(query.home, ".local", "share", "opencode", "opencode.db")
        cwds = list(dict.fromkeys([query.cwd, os.path.realpath(query.cwd)]))
        return store_sessions(database, cwds, query.started - START_SLACK)

    def _match(self, sessions: Mapping[str, Sequence[str]], screen: str) -> str | None:
        return best_match({one: self._fragments.of(paths) for one, paths in sessions.items()}, screen)

    def _transcripts(self, query: SessionQuery, identity: str) -> list[str]:
        """Return the files of a session that is known by its id only."""
        for place in folders(query.agent, query.cwd, query.root, query.home):
            for pattern in (f"*{identity}*", f"{identity}/*", f"*/*/*/*{identity}*"):
                for path in glob.glob(os.path.join(glob.escape(place), pattern)):
                    named = session_id(query.agent, path, query.root)
                    if named == (identity, True):
                        return [path]
        return []

    def _is_child(self, path: str) -> bool:
        """Tell whether a Codex log is that of a session's child, which is no session of a pane."""
        if path not in self._children:
            try:
                line = read_line(path)[1]
                if line is None:
                    return False
                child = parse_header(line).parent is not None
            except ContinuityError:
                return False
            if len(self._children) >= _HEADERS:
                self._children.clear()
            self._children[path] = child
        return self._children[path]


def _expand(place: str) -> list[str]:
    return glob.glob(place) if "*" in os.path.basename(place) else [place]


def _ref(identity: str, paths: Sequence[str], confidence: SessionConfidence, source: str) -> SessionRef:
    return SessionRef(identity, paths[0] if paths else None, confidence, source)
