"""What happens to a pane when a file of its agent is damaged: the category, the fall-back, the memory, the recovery."""

import json
import os
import tracemalloc
from collections.abc import Callable
from pathlib import Path

import pytest

from prowl_svc.decision.coordinator import Binding, Coordinator, Observation
from prowl_svc.evidence.claude_registry import ClaudeRegistry, RegistryProcess
from prowl_svc.evidence.codex_logs import CodexLogs
from prowl_svc.evidence.open_files import OpenFiles
from prowl_svc.evidence.throttle import Warnings
from prowl_svc.model.agents import Agent
from prowl_svc.model.state import Detection, RawState
from tests.evidence.fakes import AGENT, FakeHost

ROOT = "01a00000-0000-7000-8000-00000000000a"
SCREEN = Detection(RawState.WORKING, "demo.spinner")
MEMORY = 20 << 20
"""Bytes that no damage may cost: what may be appended at once, and a copy of it, fits."""

HUGE = 100 << 20


class Pane:
    """A pane whose screen shows work, with the file provider of its agent."""

    def __init__(self, agent: Agent, provider: object, path: Path, lines: list[str]) -> None:
        self.path = path
        self.lines = lines
        self._binding = Binding(agent, AGENT, None)
        self._now = 0.0
        self._coordinator = Coordinator(lambda _: provider, lambda _: None, lambda: self._now)  # type: ignore[arg-type,return-value]

    async def look(self) -> tuple[str, str]:
        """Observe once; returns state and reason."""
        self._now += 0.3
        decision = await self._coordinator.observe(Observation(self._now, self._binding, SCREEN, None))
        assert decision is not None
        return decision.state.value, decision.reason

    @property
    def categories(self) -> list[str]:
        """The warnings so far, by their first word."""
        return [line.split()[0] for line in self.lines]


def record(**changes: object) -> bytes:
    """A record of Claude's registry."""
    values = {
        "pid": AGENT.pid,
        "sessionId": ROOT,
        "cwd": "/p",
        "kind": "interactive",
        "pidDomain": "linux::pid:[1]",
        "procStart": "77",
        "status": "idle",
        "updatedAt": 2000.0,
        "statusUpdatedAt": 2000.0,
    }
    return json.dumps({**values, **changes}).encode()


def event(kind: str, turn: str) -> bytes:
    """A record of Codex's log."""
    return json.dumps({"type": "event_msg", "payload": {"type": kind, "turn_id": turn}}).encode() + b"\n"


def header(identity: str = ROOT) -> bytes:
    """The first line of Codex's log."""
    return json.dumps({"type": "session_meta", "payload": {"id": identity, "source": "cli"}}).encode() + b"\n"


@pytest.fixture
def claude(tmp_path: Path) -> Pane:
    path = tmp_path / "sessions" / f"{AGENT.pid}.json"
    path.parent.mkdir()
    lines: list[str] = []
    process = RegistryProcess(AGENT.pid, "linux::pid:[1]", 1.0, 77)
    provider = ClaudeRegistry(
        FakeHost(), AGENT, process, str(tmp_path), wall=lambda: 0.0, warnings=Warnings(lines.append)
    )
    path.write_bytes(record())
    return Pane(Agent.CLAUDE, provider, path, lines)


@pytest.fixture
def codex(tmp_path: Path) -> Pane:
    path = tmp_path / ".codex" / "sessions" / f"rollout-x-{ROOT}.jsonl"
    path.parent.mkdir(parents=True)
    lines: list[str] = []
    host = FakeHost()
    host.files = OpenFiles((str(path),))
    provider = CodexLogs(
        host,
        AGENT,
        str(tmp_path / ".codex"),
        own_root=True,
        since=0.0,
        started=0.0,
        warnings=Warnings(lines.append),
    )
    path.write_bytes(header() + event("task_started", "t1") + event("task_complete", "t1"))
    return Pane(Agent.CODEX, provider, path, lines)


def grow(path: Path) -> None:
    """Make a file of 100 MB out of one, without writing that much."""
    os.truncate(path, HUGE)


def replace(path: Path, content: bytes) -> None:
    """Put another file in a file's place."""
    other = path.with_suffix(".new")
    other.write_bytes(content)
    other.rename(path)


SHADOWED = ("idle", "screen.retainedCompletion")
"""After a suspension the frame that was shown at the end of the work does not bring it back."""
BARE = ("working", "screen.logUnavailable")


@pytest.mark.parametrize(
    ("damage", "category", "decision"),
    [
        pytest.param(lambda path: path.write_bytes(b"\xff{]"), "snapshotUnavailable", SHADOWED, id="malformed"),
        pytest.param(
            lambda path: os.truncate(path, len(record()) // 2), "snapshotUnavailable", SHADOWED, id="truncated"
        ),
        pytest.param(lambda path: os.truncate(path, 0), "snapshotUnavailable", SHADOWED, id="emptied"),
        pytest.param(lambda path: path.unlink(), "snapshotUnavailable", SHADOWED, id="removed"),
        pytest.param(lambda path: os.mkfifo(_gone(path)), "snapshotUnavailable", SHADOWED, id="no-file"),
        pytest.param(lambda path: _gone(path).mkdir(), "snapshotUnavailable", SHADOWED, id="folder"),
        pytest.param(lambda path: replace(path, record(procStart="78")), "unsupportedSnapshot", BARE, id="replaced"),
        pytest.param(
            lambda path: replace(path, record(updatedAt=1500.0, statusUpdatedAt=1500.0)),
            "olderSnapshot",
            SHADOWED,
            id="rewound",
        ),
        pytest.param(grow, "unsupportedSnapshot", BARE, id="huge"),
    ],
)
async def test_a_damaged_registry(claude: Pane, damage: Callable[[Path], object], category, decision) -> None:
    """One warning of the right category, the screen's word, little memory, and one recovery when it is whole again."""
    await claude.look()
    claude.path.write_bytes(record(updatedAt=1900.0, statusUpdatedAt=1900.0, status="busy"))
    claude.path.write_bytes(record(updatedAt=2100.0, statusUpdatedAt=2100.0))
    assert ("idle", "native.idle") == await claude.look()
    damage(claude.path)
    tracemalloc.start()
    decisions = {await claude.look() for _ in range(5)}
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()

    assert {decision} == decisions
    assert [category] == claude.categories
    assert peak < MEMORY
    if claude.path.is_dir():
        claude.path.rmdir()
    replace(claude.path, record(updatedAt=2200.0, statusUpdatedAt=2200.0, status="busy"))
    assert [("working", "native.working")] * 2 == [await claude.look() for _ in range(2)]
    assert [category, "recovered"] == claude.categories


def _gone(path: Path) -> Path:
    path.unlink()
    return path


LOG = header() + event("task_started", "t1")


@pytest.mark.parametrize(
    "damage",
    [
        pytest.param(lambda path: _append(path, b"\xff{]\n"), id="malformed"),
        pytest.param(lambda path: _append(path, b"{}\n"), id="no-record"),
        pytest.param(lambda path: os.truncate(path, len(LOG)), id="truncated"),
        pytest.param(lambda path: os.truncate(path, 0), id="emptied"),
        pytest.param(
            lambda path: replace(path, LOG + event("task_complete", "t1") + event("task_started", "t9")), id="replaced"
        ),
        pytest.param(lambda path: path.write_bytes(header()), id="rewound"),
        pytest.param(grow, id="huge"),
        pytest.param(lambda path: _append(path, b'{"type": "' + b"x" * (2 << 20)), id="endless-line"),
    ],
)
async def test_a_damaged_log(codex: Pane, damage: Callable[[Path], object]) -> None:
    """One warning, the screen's word although the log had authority, little memory, and one recovery at what is new."""
    await codex.look()
    _append(codex.path, event("task_started", "t2"))
    assert ("working", "log.openWork") == await codex.look()
    damage(codex.path)
    tracemalloc.start()
    first = await codex.look()
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()

    assert BARE == first
    assert ["continuityLost"] == codex.categories
    assert peak < MEMORY
    replace(codex.path, LOG)
    assert {("working", "screen.noLiveTurn")} >= {await codex.look() for _ in range(3)} - {BARE}
    assert ["continuityLost", "recovered"] == codex.categories
    _append(codex.path, event("task_started", "t3"))
    assert ("working", "log.openWork") == await codex.look()
    assert 2 == len(codex.lines)


def _append(path: Path, data: bytes) -> None:
    with path.open("ab") as file:
        file.write(data)
