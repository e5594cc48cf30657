"""The process table's two implementations, on texts and on a made-up /proc."""

import os
import signal
from pathlib import Path
from types import ModuleType

import pytest
from hypothesis import given
from hypothesis import strategies as st

from prowl_svc._fast import _proctable_py

IMPLEMENTATIONS: list[ModuleType] = [_proctable_py]
try:
    from prowl_svc._fast import _proctable
except ImportError:
    pass
else:
    IMPLEMENTATIONS.append(_proctable)


@pytest.fixture(params=IMPLEMENTATIONS, ids=lambda module: module.__name__.rpartition(".")[2])
def table(request: pytest.FixtureRequest) -> ModuleType:
    module: ModuleType = request.param
    return module


def stat(
    pid: int = 42, name: bytes = b"claude", ppid: int = 7, pgrp: int = 42, tpgid: int = 42, *, start: int = 999
) -> bytes:
    """Return a line as the kernel writes it, with all 52 fields."""
    rest = b"4194304 1 2 3 4 5 6 7 8 20 0 1 0 %d 10 11 12" % start
    return b"%d (%s) S %d %d 40 34816 %d %s %s\n" % (pid, name, ppid, pgrp, tpgid, rest, b" ".join([b"0"] * 27))


def test_fields(table: ModuleType) -> None:
    """Parent, group, session, terminal, foreground group, start ticks (field 22), state and name are found."""
    assert (42, 7, 42, 40, 34816, 42, 999, "S", "claude") == table.parse_stat(stat())


@pytest.mark.parametrize("name", [b"a b", b"x) S 1 1 (y", b"(sd-pam)", b"", b")", b"((", b"\n"])
def test_names_with_blanks_and_parentheses(table: ModuleType, name: bytes) -> None:
    """The name ends at the last closing parenthesis, whatever it holds."""
    row = table.parse_stat(stat(name=name))
    assert (name.decode(), 999) == (row[8], row[6])


def test_name_that_is_not_utf8(table: ModuleType) -> None:
    """A name that the kernel cut inside a character is still text."""
    assert "ab\ufffd" == table.parse_stat(stat(name=b"ab\xe2\x82"))[8]


def test_no_terminal(table: ModuleType) -> None:
    """A process without a terminal has the foreground group -1."""
    assert -1 == table.parse_stat(stat(tpgid=-1))[5]


@pytest.mark.parametrize("length", [0, 1, 5, 12, 40, 60])
def test_cut_text_is_no_row(table: ModuleType, length: int) -> None:
    """A text that ends before the start time is not a row."""
    assert None is table.parse_stat(stat()[:length])


_PIECES = st.sampled_from(
    [b"(", b")", b" ", b"1 ", b"-", b"S", b"9" * 20, b"42 (x) S ", b" 1" * 19, b"\0", b"\xff", b"\n"]
)


@pytest.mark.skipif(len(IMPLEMENTATIONS) < 2, reason="the compiled table is not built")
@given(st.one_of(st.binary(max_size=80), st.lists(_PIECES, max_size=30).map(b"".join)))
def test_both_read_any_text_alike(data: bytes) -> None:
    """Compiled and interpreted agree on whatever a stat file might hold."""
    assert IMPLEMENTATIONS[0].parse_stat(data) == IMPLEMENTATIONS[1].parse_stat(data)


def test_reading_one_process(table: ModuleType, tmp_path: Path) -> None:
    """One process is read from its stat file; one that is gone, or whose file is empty, is None."""
    for pid, line in {20: stat(20, b"npm exec claude"), 30: b""}.items():
        (tmp_path / str(pid)).mkdir()
        (tmp_path / str(pid) / "stat").write_bytes(line)
    assert "npm exec claude" == table.read_stat(20, str(tmp_path))[8]
    assert None is table.read_stat(30, str(tmp_path))
    assert None is table.read_stat(31, str(tmp_path))


def test_scan(table: ModuleType) -> None:
    """One pass holds this process with its group and session, and finds groups and session leaders."""
    scan = table.scan()
    rows = scan.rows()
    me = os.getpid()
    assert (me, os.getpgrp(), os.getsid(0)) in rows
    assert len(rows) == len(scan)
    assert sorted(pid for pid, pgrp, _ in rows if pgrp == os.getpgrp()) == sorted(scan.members(os.getpgrp()))
    assert sorted(pid for pid, _, session in rows if pid == session) == sorted(scan.leaders())
    assert [] == scan.members(-7)


def test_many_processes(table: ModuleType) -> None:
    """A table that outgrows its first memory is complete."""
    crowd = [os.posix_spawnp("sleep", ["sleep", "60"], os.environ) for _ in range(150)]
    try:
        assert set(crowd) <= set(table.scan().members(os.getpgrp()))
    finally:
        for pid in crowd:
            os.kill(pid, signal.SIGKILL)
            os.waitpid(pid, 0)


def test_passes_leak_no_descriptor(table: ModuleType, tmp_path: Path) -> None:
    """Passes and reads close all that they opened."""
    before = len(os.listdir("/proc/self/fd"))
    for _ in range(50):
        table.scan()
        table.read_stat(1)
        table.read_stat(2, str(tmp_path))
    assert before == len(os.listdir("/proc/self/fd"))


@pytest.mark.skipif(len(IMPLEMENTATIONS) < 2, reason="the compiled table is not built")
def test_both_see_the_same_system() -> None:
    """What both implementations see of a process that lives through both passes is equal."""
    first, second = (module.scan().rows() for module in IMPLEMENTATIONS)
    pids = {row[0] for row in first} & {row[0] for row in second}
    differing = {row for row in set(first) ^ set(second) if row[0] in pids}
    assert len(pids) > 3
    assert len(differing) <= 2  # one process may have changed its group just then
    mine = [module.read_stat(os.getppid()) for module in IMPLEMENTATIONS]
    assert mine[0] == mine[1]
