"""Whether a process is still there, told of real ones."""

import errno
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace

import pytest

from prowl_svc.model.process import Generation
from prowl_svc.probe.prober import system_table
from prowl_svc.watch.liveness import Liveness
from tests.identity.doors import descriptors

TABLE = system_table()


@pytest.fixture(params=["pidfd", "table"])
def liveness(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[Liveness]:
    """Every test holds with pidfds and where there are none."""
    if request.param == "table":
        monkeypatch.delattr(os, "pidfd_open", raising=False)
    elif not hasattr(os, "pidfd_open"):
        pytest.skip("pidfds are Linux's")
    liveness = Liveness(TABLE)
    yield liveness
    liveness.close()


@contextmanager
def sleeper() -> Iterator[tuple["subprocess.Popen[bytes]", Generation]]:
    """A process that does nothing, and which one it is."""
    child = subprocess.Popen(["sleep", "60"])
    try:
        process = TABLE.process(child.pid)
        assert process is not None
        yield child, process.generation
    finally:
        child.kill()
        child.wait()


def kill(child: "subprocess.Popen[bytes]") -> None:
    """End a process, but leave it to be waited for."""
    child.kill()
    os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOWAIT)


def test_process_is_there_until_it_was_waited_for(liveness: Liveness) -> None:
    """A process is alive, also as one that ended and that nobody waited for, and then gone for good."""
    with sleeper() as (child, generation):
        assert liveness.alive(generation)
        kill(child)
        assert liveness.alive(generation)
        child.wait()
        assert not liveness.alive(generation)
        assert not liveness.alive(generation)


def test_process_first_asked_about_when_it_has_ended(liveness: Liveness) -> None:
    """What comes too late for the life of a process gets the same answers."""
    with sleeper() as (child, generation):
        kill(child)
        assert liveness.alive(generation)
        child.wait()
        liveness.close()
        assert not liveness.alive(generation)


def test_same_pid_of_another_time_is_another_process(liveness: Liveness) -> None:
    """A pid with another start time is not it, whichever of the two is asked about first."""
    with sleeper() as (_, generation):
        former = replace(generation, start=generation.start - 1)
        assert [False, True, False] == [liveness.alive(each) for each in (former, generation, former)]


def test_one_process_after_the_other(liveness: Liveness) -> None:
    """The answer is always of the process asked about, never of the one before."""
    with sleeper() as (first, one), sleeper() as (_, two):
        assert liveness.alive(one)
        assert liveness.alive(two)
        kill(first)
        first.wait()
        assert [True, False, True] == [liveness.alive(each) for each in (two, one, two)]


@pytest.mark.skipif(sys.platform != "linux", reason="descriptors are counted in /proc")
def test_nothing_stays_open(liveness: Liveness) -> None:
    """However many processes came and went, one descriptor is held, and none once it is closed, even twice."""
    before = descriptors()
    for _ in range(5):
        with sleeper() as (_, generation):
            assert liveness.alive(generation)
            assert not liveness.alive(replace(generation, start=generation.start - 1))
            assert liveness.alive(generation)
        assert not liveness.alive(generation)
        assert descriptors() <= before + 1
    liveness.close()
    liveness.close()
    assert descriptors() == before


def test_no_pidfd_to_be_had_leaves_it_to_the_table(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where a pidfd is refused, as when descriptors have run out, the table tells; later one is asked for again."""
    asked = []

    def refuse(pid: int) -> int:
        asked.append(pid)
        raise OSError(errno.EMFILE, "Too many open files")

    monkeypatch.setattr(os, "pidfd_open", refuse, raising=False)
    liveness = Liveness(TABLE)
    with sleeper() as (child, generation):
        assert liveness.alive(generation)
        assert liveness.alive(generation)
        assert [child.pid] * 2 == asked
    assert not liveness.alive(generation)
    liveness.close()


@pytest.mark.skipif(not hasattr(signal, "pidfd_send_signal"), reason="pidfds are Linux's")
@pytest.mark.parametrize("error", [errno.EPERM, errno.ENOSYS])
def test_process_that_may_not_be_signalled(monkeypatch: pytest.MonkeyPatch, error: int) -> None:
    """Of a process with another user's rights, and where nobody may ask, the table tells: it is there until it ends."""

    def refuse(pidfd: int, number: int) -> None:
        raise OSError(error, os.strerror(error))

    liveness = Liveness(TABLE)
    with sleeper() as (_, generation):
        monkeypatch.setattr(signal, "pidfd_send_signal", refuse)
        assert liveness.alive(generation)
    assert not liveness.alive(generation)
    liveness.close()


TAKEN = """
import os, sys, time
sys.path.insert(0, sys.argv[1])
from pathlib import Path
from prowl_svc.probe.prober import system_table
from prowl_svc.watch.liveness import Liveness
table = system_table()
liveness, late = Liveness(table), Liveness(table)
first = os.fork()
if not first:
    time.sleep(60)
generation = table.process(first).generation
assert liveness.alive(generation)
os.kill(first, 9)
os.waitpid(first, 0)
time.sleep(0.05)  # the start time is told in hundredths of a second
Path("/proc/sys/kernel/ns_last_pid").write_text(str(first - 1))
taker = os.fork()
if not taker:
    time.sleep(60)
assert taker == first, (taker, first)
assert not liveness.alive(generation)
assert not late.alive(generation)
assert liveness.alive(table.process(taker).generation)
os.kill(taker, 9)
"""


@pytest.mark.root
@pytest.mark.skipif(sys.platform != "linux" or os.getuid() != 0, reason="needs root")
def test_taker_of_a_pid_is_not_who_had_it() -> None:
    """In a pid namespace a process takes the pid of a dead one and is not taken for it."""
    home = os.path.dirname(os.path.dirname(os.path.dirname(__file__)))
    command = ["unshare", "--pid", "--fork", "--mount-proc", sys.executable, "-c", TAKEN, home]
    done = subprocess.run(command, capture_output=True, timeout=60, check=False)
    if b"unshare failed" in done.stderr or b"Operation not permitted" in done.stderr:
        pytest.skip("pid namespaces are not to be had here")
    assert 0 == done.returncode, done.stderr.decode()
