"""What this machine says of real processes and files."""

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from prowl_svc.evidence.acquire import Providers, config_root, pid_domain
from prowl_svc.evidence.birth import birth_time
from prowl_svc.evidence.host import SystemHost
from prowl_svc.evidence.open_files import OpenFiles, list_open_files
from prowl_svc.evidence.watch import NoWatch, open_watch
from prowl_svc.model.agents import Agent
from prowl_svc.model.facts import InventoryFact, NativeFact
from prowl_svc.model.process import Generation
from prowl_svc.model.state import RawState
from tests.evidence.fakes import FakeHost

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")


def start_of(pid: int) -> int:
    stat = Path(f"/proc/{pid}/stat").read_bytes()
    return int(stat[stat.rindex(b")") + 2 :].split()[19])


@pytest.fixture
def child(tmp_path: Path):
    """A process with one file open for writing and one for reading, in its own folder and environment."""
    (tmp_path / "read").write_text("")
    with open(tmp_path / "written", "w") as written, open(tmp_path / "read") as read:
        process = subprocess.Popen(
            [sys.executable, "-c", "import sys; sys.stdin.read()"],
            stdin=subprocess.PIPE,
            pass_fds=(written.fileno(), read.fileno()),
            cwd=tmp_path,
            env={"HOME": str(tmp_path), "A": "b=c"},
        )
    yield process
    process.kill()
    process.communicate()


def test_a_process_and_its_files(child, tmp_path):
    """Its generation, folder, environment and writable files are told; what is only read is not."""
    host = SystemHost()

    assert host.alive(Generation(child.pid, start_of(child.pid)))
    assert not host.alive(Generation(child.pid, start_of(child.pid) + 1))
    assert str(tmp_path) == host.cwd(child.pid)
    assert "b=c" == host.environment(child.pid)["A"]
    mine = f"{tmp_path}/"
    assert OpenFiles((f"{tmp_path}/written",)) == host.open_files(child.pid, lambda path: path.startswith(mine))


def test_a_process_that_is_gone(child):
    """Nothing is told of a process that ended, and its list of files is incomplete."""
    host, generation = SystemHost(), Generation(child.pid, start_of(child.pid))
    child.kill()
    child.wait()

    assert not host.alive(generation)
    assert host.cwd(child.pid) is None
    assert {} == host.environment(child.pid)
    assert not host.open_files(child.pid, lambda path: True).complete


def test_deleted_files_and_pipes_are_no_logs(tmp_path):
    """A descriptor whose file was deleted, and a pipe, are passed over."""
    proc = tmp_path / "proc" / "7"
    (proc / "fd").mkdir(parents=True)
    (proc / "fdinfo").mkdir()
    for number, target in enumerate(["/a/log (deleted)", "pipe:[1]", "/a/log"]):
        os.symlink(target, proc / "fd" / str(number))
        (proc / "fdinfo" / str(number)).write_text("pos:\t0\nflags:\t0102001\n")

    assert OpenFiles(("/a/log",)) == list_open_files(7, lambda path: path.endswith("log"), str(tmp_path / "proc"))
    (proc / "fdinfo" / "2").unlink()
    assert not list_open_files(7, lambda path: path.endswith("log"), str(tmp_path / "proc")).complete


def test_birth_time(tmp_path):
    """A file's creation time is that of its creation, not of its last write; a missing file has none."""
    path = tmp_path / "a"
    path.write_text("")
    born = birth_time(str(path))
    os.utime(path, (1, 1))

    assert born is None or (abs(born - time.time()) < 60 and born == birth_time(str(path)))
    assert birth_time(str(tmp_path / "none")) is None


def test_config_root():
    """The launch's root comes first, then the process's own environment, then its home."""
    own = {"HOME": "/home/x", "CLAUDE_CONFIG_DIR": "/srv/c"}

    assert "/srv/l" == config_root(Agent.CLAUDE, "/srv/l", own, "/home/u")
    assert "/srv/c" == config_root(Agent.CLAUDE, None, own, "/home/u")
    assert "/home/x/.codex" == config_root(Agent.CODEX, None, own, "/home/u")
    assert "/home/u/.claude" == config_root(Agent.CLAUDE, None, {}, "/home/u")


class WallClock:
    def wall_ns(self) -> int:
        return time.time_ns()

    def started_wall(self, start: int) -> float:
        return time.time() - time.clock_gettime(time.CLOCK_BOOTTIME) + start / os.sysconf("SC_CLK_TCK")


async def test_registry_of_a_real_process(child, tmp_path):
    """A record that the process's own home holds is believed, and its change wakes."""
    import asyncio
    import json

    woken = asyncio.Event()
    watch = open_watch()
    generation = Generation(child.pid, start_of(child.pid))
    provider = Providers(SystemHost(), watch, WallClock()).acquire(Agent.CLAUDE, generation, None, woken.set)
    path = tmp_path / ".claude" / "sessions" / f"{child.pid}.json"
    path.parent.mkdir(parents=True)
    now = time.time_ns() // 1_000_000
    record = {
        "pid": child.pid,
        "sessionId": "d0000000-aaaa-4bbb-8ccc-000000000001",
        "cwd": str(tmp_path),
        "kind": "interactive",
        "pidDomain": pid_domain(),
        "procStart": str(generation.start),
        "status": "busy",
        "updatedAt": now,
        "statusUpdatedAt": now,
    }
    path.write_text(json.dumps(record))
    assert [NativeFact(record["sessionId"], RawState.WORKING, now)] == await provider.sample(0.0)
    assert record["sessionId"] == provider.noted
    path.write_text(json.dumps({**record, "status": "idle", "updatedAt": now + 1, "statusUpdatedAt": now + 1}))
    await asyncio.wait_for(woken.wait(), 5)
    assert [NativeFact(record["sessionId"], RawState.IDLE, now + 1)] == await provider.sample(1.0)
    provider.close()
    watch.close()


async def test_codex_of_a_real_process(child, tmp_path):
    """A process that writes no log has an empty, healthy inventory; other agents have no provider."""
    watch = open_watch()
    providers = Providers(SystemHost(), watch, WallClock())
    generation = Generation(child.pid, start_of(child.pid))
    provider = providers.acquire(Agent.CODEX, generation, None, lambda: None)

    assert [InventoryFact(frozenset())] == await provider.sample(0.0)
    assert providers.acquire(Agent.PI, generation, None, lambda: None) is None
    watch.close()


def test_a_program_that_is_being_executed_names_its_root_a_moment_later(tmp_path):
    """A process has its name before its environment: its root is not settled before that is there, or for a second."""
    seconds = [1000.0]

    class Clock(WallClock):
        def wall_ns(self) -> int:
            return int(seconds[0] * 1e9)

    host, generation, other = FakeHost(), Generation(42, 7), Generation(43, 8)
    providers = Providers(host, NoWatch(), Clock())

    def root(of: Generation) -> str | None:
        provider = providers.acquire(Agent.CLAUDE, of, None, lambda: None)
        return None if provider is None else provider.watched[0].removesuffix(f"/sessions/{of.pid}.json")

    assert root(generation) is None
    host.environments[42] = {"CLAUDE_CONFIG_DIR": str(tmp_path)}
    assert str(tmp_path) == root(generation)
    assert root(other) is None
    seconds[0] += 0.9
    assert root(other) is None
    seconds[0] += 0.2
    assert os.path.expanduser("~/.claude") == root(other)
