"""The process table and the whole probe on real processes in real terminals."""

import json
import os
import shutil
import signal
import sys
import time
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

import psutil
import pytest

from prowl_svc._fast import _proctable_py, proctable
from prowl_svc.model.agents import Agent
from prowl_svc.model.process import Identification
from prowl_svc.probe.portable import PortableProcessTable
from prowl_svc.probe.prober import Prober
from prowl_svc.probe.table import LinuxProcessTable, LinuxSnapshot, ProcessTable, walk
from tests.probe.terminals import BASH, WAIT, Terminal, link, terminal, until

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")

HERE = Path(__file__).parent


@pytest.fixture(params=["compiled", "interpreted"])
def table(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> LinuxProcessTable:
    """Return the Linux table on each implementation."""
    if request.param == "interpreted":
        monkeypatch.setattr(proctable, "scan", _proctable_py.scan)
        monkeypatch.setattr(proctable, "read_stat", _proctable_py.read_stat)
    elif not proctable.COMPILED:
        pytest.skip("the compiled table is not built")
    return LinuxProcessTable()


def look(table: ProcessTable, pane: Terminal) -> Identification | None:
    prober = Prober(table, time.monotonic)
    return prober.identify(prober.foreground(pane.master, pane.pid))


def test_program_under_an_agent_name(table: LinuxProcessTable, tmp_path: Path) -> None:
    """A native program is found by its name, with its executable, arguments and generation."""
    with terminal(link(tmp_path, "claude"), "claude", "-c", WAIT) as pane:
        pane.expect()
        found = look(table, pane)
        assert found is not None
        assert (Agent.CLAUDE, pane.pid, pane.pid) == (found.agent, found.process.pid, found.launch.pid)
        assert ("claude", "-c", WAIT) == found.process.argv
        assert os.path.realpath(BASH) == table.executable(pane.pid)
        again = table.process(pane.pid)
        assert again is not None
        assert (again.generation, os.getpid(), pane.pid) == (found.process.generation, again.ppid, again.sid)


def test_launch_process_of_a_wrapper(table: LinuxProcessTable, tmp_path: Path) -> None:
    """An agent below a shell of the same group is detected itself, and launched by the shell."""
    link(tmp_path, "codex")
    command = f'"{tmp_path}/codex" -c "{WAIT}"; true'
    with terminal("/bin/sh", "sh", "-c", command) as pane:
        pane.expect()
        found = look(table, pane)
        assert found is not None
        assert (Agent.CODEX, 80, pane.pid) == (found.agent, found.score, found.launch.pid)
        assert found.process.pid != pane.pid
        assert [found.process.pid, pane.pid, os.getpid()] == [p.pid for p in walk(table, found.process.pid)][:3]


def test_script_of_an_interpreter(table: LinuxProcessTable, tmp_path: Path) -> None:
    """A script named like an agent is found by the token that its interpreter got."""
    script = tmp_path / "gemini"
    script.write_text(f"#!{BASH}\n{WAIT}\n")
    script.chmod(0o755)
    with terminal(str(script), "gemini") as pane:
        pane.expect()
        found = look(table, pane)
        assert found is not None
        assert (Agent.GEMINI, "gemini") == (found.agent, found.matched_name)


@pytest.mark.parametrize(
    ("name", "title", "agent"),
    [
        ("Kimi Code", "Kimi Code", Agent.KIMI),
        ("kimi-code", "kimi-code", Agent.KIMI),
        ("pi", "pi", Agent.PI),
        ("MainThread", "qodercli --chat now", Agent.QODER),
        ("a) S 1 (b", "x", None),
        ("python3", "vim claude", None),
    ],
)
def test_title_setters(table: LinuxProcessTable, name: str, title: str, agent: Agent | None) -> None:
    """Programs that overwrite their name and arguments are what they say, whatever characters they say it with."""
    with terminal(sys.executable, sys.executable, str(HERE / "title.py"), name, title) as pane:
        pane.expect()
        found = look(table, pane)
        assert agent is (found.agent if found else None)
        member = table.snapshot().job(pane.pid)
        assert member is not None
        assert (name, (title,)) == (member.processes[0].name, member.processes[0].argv)


def test_grok_by_its_resolved_executable(table: LinuxProcessTable, tmp_path: Path) -> None:
    """A bare ``agent`` found on PATH is Grok when its executable lies in Grok's home, and else nobody."""
    home = tmp_path / ".grok" / "bin"
    home.mkdir(parents=True)
    for path in (home / "agent", tmp_path / "agent"):
        shutil.copy(BASH, path)
    with terminal(str(home / "agent"), "agent", "-c", WAIT) as pane:
        pane.expect()
        found = look(table, pane)
        assert (Agent.GROK, "grok") == (found and found.agent, found and found.icon)
    with terminal(str(tmp_path / "agent"), "agent", "-c", WAIT) as pane:
        pane.expect()
        assert None is look(table, pane)


def test_agent_under_another_name(table: LinuxProcessTable, tmp_path: Path) -> None:
    """A link with a private name is found by what it resolves to, also after an update removed the file."""
    version = tmp_path / "claude" / "versions" / "2.1.332"
    version.parent.mkdir(parents=True)
    shutil.copy(BASH, version)
    with terminal(link(tmp_path, "cc", str(version)), "cc", "-c", WAIT) as pane:
        pane.expect()
        version.unlink()
        found = look(table, pane)
        assert (Agent.CLAUDE, 35) == (found and found.agent, found and found.score)


def test_job_control(table: LinuxProcessTable, tmp_path: Path) -> None:
    """In an interactive shell the agent is there while it is in the foreground, and not while it is stopped."""
    link(tmp_path, "claude")
    env = {"PATH": f"{tmp_path}:{os.environ['PATH']}", "PS1": "prompt> ", "INPUTRC": "/dev/null"}
    with terminal(BASH, "bash", "--norc", "--noprofile", "-i", env=env) as pane:
        pane.expect(b"prompt> ")
        assert None is look(table, pane)
        pane.type(f'claude -c "{WAIT}"\n')
        pane.expect(b"ready")
        found = look(table, pane)
        assert found is not None
        assert Agent.CLAUDE is found.agent
        assert found.process.pid == found.launch.pid != pane.pid
        assert found.process.pgrp == table.foreground(pane.pid)
        pane.type("\x1a")
        pane.expect(b"prompt> ")
        until(lambda: os.tcgetpgrp(pane.master) == pane.pid)
        assert None is look(table, pane)


def test_relay_with_a_terminal_of_its_own(table: LinuxProcessTable, tmp_path: Path) -> None:
    """An agent on the inner terminal of a program that only relays it is the pane's agent."""
    command = [link(tmp_path, "claude"), "-c", WAIT]
    env = {"RELAYED": json.dumps(command)}
    with terminal(sys.executable, sys.executable, str(HERE / "relay.py"), env=env) as pane:
        pane.expect()
        found = look(table, pane)
        assert found is not None
        assert Agent.CLAUDE is found.agent
        assert pane.pid == found.launch.ppid


@pytest.fixture
def detached(tmp_path: Path) -> Iterator[Terminal]:
    """Run an ordinary program that left a daemon of an agent behind, in a session of its own without a terminal."""
    link(tmp_path, "cline")
    daemon = f"'{tmp_path}/cline' -c 'echo $$ ready; read x < \"{tmp_path}/fifo\"'"
    os.mkfifo(tmp_path / "fifo")
    with terminal(BASH, "bash", "-c", f"setsid {daemon} & exec cat", env={}) as pane:
        pane.expect(b" ready")
        yield pane
        with open(tmp_path / "fifo", "w") as fifo:  # its end ends the daemon
            fifo.write("\n")


def test_detached_daemon_is_not_in_the_pane(table: LinuxProcessTable, detached: Terminal) -> None:
    """What an agent left behind in a session of its own is nobody's foreground job."""
    assert None is look(table, detached)


def test_zombies_and_the_gone(table: LinuxProcessTable, tmp_path: Path) -> None:
    """A member that ended is no member, whether or not its parent took note, and its group is no job."""
    with terminal(link(tmp_path, "claude"), "claude", "-c", WAIT) as pane:
        pane.expect()
        before = table.snapshot()
        os.kill(pane.pid, signal.SIGKILL)
        until(lambda: (proctable.read_stat(pane.pid) or [""] * 8)[7] == "Z")
        assert None is table.snapshot().job(pane.pid)
        assert None is before.job(pane.pid)
        os.waitpid(pane.pid, 0)
        assert None is before.job(pane.pid)
        assert None is table.process(pane.pid)
        assert None is table.executable(pane.pid)
        assert None is table.foreground(pane.pid)
        assert [] == list(walk(table, pane.pid))


def test_walk_ends_at_the_first_process(table: LinuxProcessTable) -> None:
    """Ancestors are yielded nearest first, at most 32, and never pid 1's parent."""
    chain = list(walk(table, os.getpid()))
    assert [os.getpid(), os.getppid()] == [process.pid for process in chain][:2]
    assert all(child.ppid == parent.pid for child, parent in pairwise(chain))
    assert 1 == len(list(walk(table, os.getpid(), hops=0)))
    assert [] == list(walk(table, 0))


def test_equals_psutil(table: LinuxProcessTable, tmp_path: Path) -> None:
    """Members of a job are what psutil says of them."""
    link(tmp_path, "codex")
    with terminal("/bin/sh", "sh", "-c", f'"{tmp_path}/codex" -c "{WAIT}"; true') as pane:
        pane.expect()
        ours = table.snapshot().job(pane.pid)
        theirs = PortableProcessTable().snapshot().job(pane.pid)
        assert ours is not None
        assert theirs is not None
        assert [(p.pid, p.ppid, p.pgrp, p.sid, p.name, p.argv) for p in theirs.processes] == [
            (p.pid, p.ppid, p.pgrp, p.sid, p.name, p.argv) for p in ours.processes
        ]
        tick = 1_000_000 / os.sysconf("SC_CLK_TCK")
        starts = [(a.start * tick, b.start) for a, b in zip(ours.processes, theirs.processes, strict=True)]
        assert abs((starts[0][0] - starts[1][0]) - (starts[0][1] - starts[1][1])) <= 2 * tick
        portable = PortableProcessTable()
        assert portable.foreground(pane.pid) == table.foreground(pane.pid) == pane.pid
        assert portable.executable(pane.pid) == table.executable(pane.pid)
        found = look(portable, pane)
        assert (Agent.CODEX, pane.pid) == (found and found.agent, found and found.launch.pid)


def test_whole_system_equals_psutil(table: LinuxProcessTable) -> None:
    """Every process that psutil lists before and after a pass is in it, and is what psutil says of it."""
    before = set(psutil.pids())
    seen = {pid: (pgrp, session) for pid, pgrp, session in table.snapshot().scan.rows()}
    both = before & set(psutil.pids())
    assert both <= set(seen)
    wrong = []
    for pid in both:
        ours = table.process(pid)
        try:
            theirs = psutil.Process(pid)
            expected = (theirs.ppid(), os.getpgid(pid), os.getsid(pid))
            name = theirs.name()
        except (psutil.Error, OSError):
            continue
        if ours is None or expected != (ours.ppid, *seen[pid]) or not name.startswith(ours.name):
            wrong.append(pid)
    assert len(wrong) <= 3  # a few may end, be adopted or leave their group just then


class _Crowd:
    """A pass that saw very many members of one group."""

    def __init__(self, count: int) -> None:
        self.count = count

    def members(self, pgrp: int) -> list[int]:
        return [os.getpid()] * self.count

    def leaders(self) -> list[int]:
        return []

    def rows(self) -> list[tuple[int, int, int]]:
        return []

    def __len__(self) -> int:
        return self.count


@pytest.mark.parametrize(("count", "seen"), [(4096, 4096), (4097, 0)])
def test_big_groups_are_no_job(count: int, seen: int) -> None:
    """A group of more than 4,096 members is not looked at."""
    job = LinuxSnapshot(_Crowd(count), {}).job(os.getpgrp())  # type: ignore[arg-type]
    assert seen == len(job.processes if job else ())


def test_a_job_that_did_not_change_is_the_same_job(table: LinuxProcessTable, tmp_path: Path) -> None:
    """Another pass gives the very same job while nothing differs, and a new one once another program runs."""
    with terminal(link(tmp_path, "claude"), "claude", "-c", WAIT) as pane:
        pane.expect()
        first = table.snapshot().job(pane.pid)
        assert first is not None
        assert first is table.snapshot().job(pane.pid)
    until(lambda: table.snapshot().job(pane.pid) is None)
