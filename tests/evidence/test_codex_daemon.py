"""The shared Codex daemon: each pane is given its own session, or none."""

import json
import os
import sqlite3
from collections.abc import Callable
from pathlib import Path

import pytest

from prowl_svc.evidence.codex_daemon import daemon_of, find_link, follow_link
from prowl_svc.evidence.codex_logs import CodexLogs
from prowl_svc.evidence.open_files import OpenFiles
from prowl_svc.evidence.throttle import Warnings
from prowl_svc.model.process import Generation
from tests.evidence.fakes import FakeHost, shown

DAEMON = Generation(900, 5000)
ONE = "01a00000-0000-7000-8000-000000000001"
TWO = "01a00000-0000-7000-8000-000000000002"
CHILD = "01a00000-0000-7000-8000-0000000000c1"
SCHEMA = """CREATE TABLE logs (id INTEGER PRIMARY KEY AUTOINCREMENT, ts INTEGER NOT NULL, ts_nanos INTEGER NOT NULL,
 level TEXT NOT NULL, target TEXT NOT NULL, feedback_log_body TEXT, thread_id TEXT, process_uuid TEXT)"""


class Root:
    """A config root with the daemon's files, written as Codex writes them."""

    def __init__(self, tmp_path: Path) -> None:
        self.path = tmp_path / ".codex"
        (self.path / "app-server-daemon").mkdir(parents=True)
        self.sessions = self.path / "sessions" / "2026" / "12" / "01"
        self.sessions.mkdir(parents=True)
        identity = {"pid": DAEMON.pid, "processIdentity": {"startTicks": DAEMON.start}}
        (self.path / "app-server-daemon" / "daemon.pid").write_text(json.dumps(identity))
        self.rows = sqlite3.connect(self.path / "logs_2.sqlite", isolation_level=None)
        self.rows.execute("PRAGMA journal_mode=WAL")
        self.rows.execute(SCHEMA)
        self.log(1, DAEMON.pid, "codex_app_server", "started")

    def log(self, at: float, pid: int, target: str, body: str, thread: str | None = None) -> None:
        values = (int(at), int(at % 1 * 1e9), target, body, thread, f"pid:{pid}:8730995d-26cf")
        self.rows.execute(
            "INSERT INTO logs (ts, ts_nanos, level, target, feedback_log_body, thread_id, process_uuid)"
            " VALUES (?, ?, 'TRACE', ?, ?, ?, ?)",
            values,
        )

    def initialize(self, at: float, connection: int, request: str = 'String("initialize")') -> None:
        body = f"app-server request: initialize connection_id=ConnectionId({connection}) request_id={request}"
        self.log(at, DAEMON.pid, "codex_app_server::message_processor", body)

    def connected(self, at: float, pid: int) -> None:
        self.log(at, pid, "codex_tui::app::startup", "connected app-server platform has_platform_os=true")

    def thread(self, at: float, connection: int, thread: str, method: str = "start", request: str = "4") -> None:
        body = (
            f'app_server.request{{otel.kind="server" rpc.system="jsonrpc" rpc.method="thread/{method}" '
            f'rpc.request_id={request} app_server.connection_id={connection} app_server.api_version="v2"}}'
            f":shell_snapshot{{thread_id={thread}}}: Shell snapshot successfully created"
        )
        self.log(at, DAEMON.pid, "codex_core::shell_snapshot", body, thread)

    def program(self, pid: int, at: float, connection: int) -> None:
        self.initialize(at + 0.2, connection)
        self.connected(at + 0.4, pid)

    def rollout(self, thread: str, *records: dict, parent: str | None = None) -> Path:
        source = {"subagent": {"thread_spawn": {"parent_thread_id": parent}}} if parent else "vscode"
        header = {"type": "session_meta", "payload": {"id": thread, "source": source}}
        path = self.sessions / f"rollout-2026-12-01T06-00-00-{thread}.jsonl"
        path.write_text("".join(json.dumps(record) + "\n" for record in (header, *records)))
        return path


@pytest.fixture
def root(tmp_path: Path):
    root = Root(tmp_path)
    yield root
    root.rows.close()


def event(kind: str, turn: str, at: str = "2026-12-01T06:00:01.000Z") -> dict:
    return {"timestamp": at, "type": "event_msg", "payload": {"type": kind, "turn_id": turn}}


class Host(FakeHost):
    """A host on which only the daemon holds logs open."""

    def __init__(self) -> None:
        super().__init__()
        self.rollouts: list[Path] = []

    def open_files(self, pid: int, wanted: Callable[[str], bool]) -> OpenFiles:
        return OpenFiles(tuple(str(path) for path in self.rollouts) if pid == DAEMON.pid else ())


def provider(root: Root, host: Host, pid: int, started: float, since: float = 0.0) -> CodexLogs:
    return CodexLogs(
        host,
        Generation(pid, 1),
        str(root.path),
        own_root=True,
        since=since,
        started=started,
        warnings=Warnings(lambda line: None),
    )


def test_daemon_is_proved_by_its_process(root):
    """The pid file counts only while that very process lives."""
    host = FakeHost()
    assert DAEMON == daemon_of(str(root.path), host)
    host.living = False
    assert daemon_of(str(root.path), host) is None
    (root.path / "app-server-daemon" / "daemon.pid").write_text('{"pid": 900')
    host.living = True
    assert daemon_of(str(root.path), host) is None


def test_each_program_has_its_own_session(root):
    """Two programs on one daemon are told apart by when they connected."""
    for pid, at, connection, thread in ((11, 100.0, 2, ONE), (12, 110.0, 5, TWO)):
        root.initialize(at + 0.1, connection - 2, "Integer(1)")
        root.initialize(at + 0.15, connection - 1)
        root.program(pid, at, connection)
        root.thread(at + 0.6, connection, thread)

    assert ONE == find_link(str(root.path), DAEMON, 11, 100.0).thread
    assert TWO == find_link(str(root.path), DAEMON, 12, 110.0).thread


def test_new_and_resumed_sessions_are_followed(root):
    """The session is the last one that the connection started or resumed; the title's own turn is none."""
    root.program(11, 100.0, 2)
    link = find_link(str(root.path), DAEMON, 11, 100.0)
    assert link.thread is None
    for method, thread, request in (
        ("start", ONE, "8"),
        ("start", CHILD, "temporary-structured-1"),
        ("resume", TWO, "9"),
    ):
        root.thread(101.0, 2, thread, method, request)
        link = follow_link(str(root.path), link)
        assert (TWO if method == "resume" else ONE) == link.thread


@pytest.mark.parametrize(
    ("notes", "begins", "expected"),
    [
        pytest.param((102.0, 112.0), (102.1, 112.1), (ONE, TWO), id="waited-for-a-person"),
        pytest.param((102.0, 102.3), (102.1, 102.4), (ONE, TWO), id="at-once"),
        pytest.param((102.0, 102.05), (102.1, 102.2), (None, None), id="no-telling"),
        pytest.param((102.0, 102.3), (105.0, 107.0), (None, None), id="both-chose-later"),
        pytest.param((102.0, 102.3), (107.0, 102.4), (None, TWO), id="one-chose-later"),
    ],
)
def test_programs_that_start_together(root, notes, begins, expected):
    """The connection that begins a session right after a program's note is its own; in doubt it has none.

    Both started at the same time, so that each connection may be either's.
    """
    root.initialize(101.2, 2)
    root.initialize(101.3, 3)
    for at, pid in zip(notes, (11, 12), strict=True):
        root.connected(at, pid)
    for at, connection, thread in sorted(zip(begins, (2, 3), (ONE, TWO), strict=True)):
        root.thread(at, connection, thread)

    assert expected == tuple(find_link(str(root.path), DAEMON, pid, 101.0).thread for pid in (11, 12))


def test_a_session_that_began_before_the_programs_note_is_anothers(root):
    """While the other's own note was not written yet, the first session seemed to be this one's; then it is told."""
    root.initialize(101.2, 2)
    root.initialize(101.3, 3)
    root.connected(102.0, 11)
    root.thread(102.1, 2, ONE)
    link = find_link(str(root.path), DAEMON, 11, 101.0)
    assert ONE == link.thread
    root.thread(102.4, 3, TWO)
    link = follow_link(str(root.path), link)
    assert link.thread is None
    root.connected(102.3, 12)
    assert ONE == follow_link(str(root.path), link).thread
    assert TWO == find_link(str(root.path), DAEMON, 12, 101.0).thread


def test_without_notes_there_is_no_link(root):
    """A program that did not connect yet, or an unreadable database, gives none."""
    assert find_link(str(root.path), DAEMON, 11, 100.0) is None
    (root.path / "logs_3.sqlite").write_bytes(b"not a database")
    root.program(11, 100.0, 2)
    assert find_link(str(root.path), DAEMON, 11, 100.0) is not None


async def test_only_the_panes_own_tree_is_read(root):
    """The provider reads its session and its children from the daemon, not its neighbours'."""
    host = Host()
    root.program(11, 100.0, 2)
    root.thread(101.0, 2, ONE)
    one = provider(root, host, 11, 100.0)
    assert [["inventory", []]] == shown(await one.sample(0.0))
    host.rollouts = [
        root.rollout(TWO, event("task_started", "other")),
        root.rollout(ONE, event("task_started", "own")),
        root.rollout(CHILD, event("task_started", "kid"), parent=ONE),
    ]

    assert [["inventory", [ONE]], ["turnStarted", ONE, "own"], ["childStarted", ONE, CHILD, "kid"]] == shown(
        await one.sample(0.3)
    )


async def test_a_note_that_comes_late_is_news(root):
    """The file of the notes is watched, and what it tells is found at once, however short ago it was looked at."""
    host = Host()
    root.program(11, 100.0, 2)
    one = provider(root, host, 11, 100.0)
    await one.sample(0.0)
    notes = str(root.path / "logs_2.sqlite-wal")
    assert [notes] == list(one.watched)
    await one.sample(0.1)
    path = root.rollout(ONE, event("task_started", "own"))
    host.rollouts = [path]
    root.thread(101.0, 2, ONE)
    os.utime(notes, ns=(1, 1))  # whatever the resolution of file times

    assert ["turnStarted", ONE, "own"] in shown(await one.sample(0.2))
    assert [str(path), notes] == list(one.watched)


async def test_a_program_that_writes_its_own_log_watches_no_notes(root):
    """Without the daemon there is nothing to be told."""
    host = FakeHost()
    path = root.rollout(ONE, event("task_started", "own"))
    host.files = OpenFiles((str(path),))
    one = provider(root, host, 11, 100.0)
    await one.sample(0.0)

    assert [str(path)] == list(one.watched)


async def test_resumed_session_begins_with_its_turn(root):
    """An old log that the daemon opened for a turn is read from that turn on, not from its history."""
    host = Host()
    root.program(11, 100.0, 2)
    root.thread(101.0, 2, ONE)
    since = 1796106300.0  # 2026-12-01T06:25:00Z
    one = provider(root, host, 11, 100.0, since)
    path = root.rollout(
        ONE,
        event("task_started", "old"),
        event("task_complete", "old"),
        event("task_started", "now", "2026-12-01T06:26:00.000Z"),
    )
    host.rollouts = [path]
    host.born = 0.0

    assert ["turnStarted", ONE, "now"] in shown(await one.sample(0.0))


async def test_dead_daemon_leaves_the_screen(root):
    """When the daemon's process is gone, its sessions are gone too."""
    host = Host()
    root.program(11, 100.0, 2)
    root.thread(101.0, 2, ONE)
    host.rollouts = [root.rollout(ONE, event("task_started", "own"))]
    one = provider(root, host, 11, 100.0)
    await one.sample(0.0)
    host.lives = [True, False, False, True]

    assert [["inventory", []]] == shown(await one.sample(2.0))
