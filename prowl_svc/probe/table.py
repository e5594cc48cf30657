"""The process table as the probe sees it, and the Linux one (detection.md §1.1, §1.6)."""

import os
from collections.abc import Iterator
from typing import Final, Protocol

from prowl_svc._fast import proctable
from prowl_svc.model.process import Job, Process

__all__ = ["MAX_HOPS", "MAX_MEMBERS", "LinuxProcessTable", "ProcessTable", "Snapshot", "walk"]

MAX_MEMBERS: Final = 4096
"""A foreground group with more members is not a job."""

MAX_HOPS: Final = 32
"""Parents that an ancestry walk follows at most."""

_MAX_JOBS: Final = 1024
_MAX_NESTING: Final = 3  # generations between a relay and the leader on its terminal
_ARGV_BYTES: Final = 256 * 1024
_ARGV_USUALLY: Final = 4096


class Snapshot(Protocol):
    """One pass over the process table; it serves every pane until it is thrown away."""

    def job(self, pgrp: int) -> Job | None:
        """Return the readable members of a process group, newest first; None when there are none."""
        ...

    def inner_job(self, job: Job) -> Job | None:
        """Return the foreground job of a terminal that a member of ``job`` hosts for a child, or None.

        ``script``, ``sudo`` and other relays run their command on a terminal of their own, where the outer group
        does not show it. With several such terminals below, the program is a host of terminals and not a relay.
        """
        ...


class ProcessTable(Protocol):
    """The operating system's processes."""

    def snapshot(self) -> Snapshot:
        """Read the table once."""
        ...

    def process(self, pid: int) -> Process | None:
        """Return one process as it is now, without its arguments; None when it is gone or unreadable."""
        ...

    def executable(self, pid: int) -> str | None:
        """Return the resolved executable of a process, or None when it cannot be read."""
        ...

    def foreground(self, pid: int) -> int | None:
        """Return the foreground group of the terminal of ``pid``, or None without a terminal."""
        ...


def walk(table: ProcessTable, pid: int, hops: int = MAX_HOPS) -> Iterator[Process]:
    """Yield ``pid`` and its ancestors, nearest first.

    The walk stops at pid 1, at an unreadable process, at one that is its own parent, and after ``hops`` parents.
    """
    for _ in range(hops + 1):
        process = table.process(pid)
        if process is None:
            return
        yield process
        if process.ppid <= 1 or process.ppid == pid:
            return
        pid = process.ppid


class LinuxProcessTable:
    """Reads ``/proc``: a pass sees groups and sessions, the rest is read for the groups that are asked for."""

    def __init__(self) -> None:
        self._jobs: Jobs = {}

    def snapshot(self) -> "LinuxSnapshot":
        """Look at the group and session of every process."""
        if len(self._jobs) > _MAX_JOBS:
            self._jobs.clear()
        return LinuxSnapshot(proctable.scan(), self._jobs)

    def process(self, pid: int) -> Process | None:
        """Read one ``stat``."""
        row = proctable.read_stat(pid) if pid > 0 else None
        return None if row is None else _process(row)

    def executable(self, pid: int) -> str | None:
        """Follow ``/proc/<pid>/exe``."""
        try:
            return os.readlink(f"/proc/{pid}/exe")
        except OSError:
            return None

    def foreground(self, pid: int) -> int | None:
        """Read ``tpgid``, field 8 of ``stat``."""
        process = self.process(pid)
        return process.tpgid if process is not None and process.tpgid > 0 else None


Jobs = dict[int, tuple[list[tuple[proctable.Row, bytes | None]], Job]]
"""What was read of each group the last time, and the job that was made of it."""


class LinuxSnapshot:
    """One pass over ``/proc``; processes that ended since are left out when they are read.

    A group of which everything reads as in ``jobs`` is that very job.
    """

    def __init__(self, scan: proctable.Scan, jobs: Jobs) -> None:
        self.scan = scan
        self._jobs = jobs
        self._inner: list[tuple[int, tuple[int, ...]]] | None = None

    def job(self, pgrp: int) -> Job | None:
        """Return the living members of a group with their arguments, newest first."""
        pids = self.scan.members(pgrp)
        if len(pids) > MAX_MEMBERS:
            return None
        read = [member for pid in pids if (member := _member(pid, pgrp)) is not None]
        last = self._jobs.get(pgrp)
        if last is not None and last[0] == read:
            return last[1]
        if not read:
            self._jobs.pop(pgrp, None)
            return None
        members = [_process(row, _arguments(data)) for row, data in read]
        members.sort(key=lambda process: (process.start, process.pid), reverse=True)
        job = Job(pgrp, tuple(members))
        self._jobs[pgrp] = read, job
        return job

    def inner_job(self, job: Job) -> Job | None:
        """Look for the one session below the members whose terminal has a foreground group of its own."""
        inner: set[int] = set()
        members = {process.pid for process in job.processes}
        for pgrp, above in self._sessions():
            if pgrp != job.pgrp and not members.isdisjoint(above):
                inner.add(pgrp)
        return self.job(inner.pop()) if len(inner) == 1 else None

    def _sessions(self) -> list[tuple[int, tuple[int, ...]]]:
        """Return each terminal session: its foreground group and the processes above its leader; read once a pass."""
        if self._inner is None:
            parents: dict[int, int] = {}
            rows = (proctable.read_stat(pid) for pid in self.scan.leaders())
            self._inner = [
                (row[5], _above(row[1], parents)) for row in rows if row is not None and row[5] not in (-1, 0)
            ]
        return self._inner


def _above(pid: int, parents: dict[int, int]) -> tuple[int, ...]:
    """Return a process and those above it, by a few generations; ``parents`` keeps what was read."""
    chain: list[int] = []
    while len(chain) < _MAX_NESTING:
        chain.append(pid)
        if pid not in parents:
            row = proctable.read_stat(pid)
            parents[pid] = row[1] if row is not None else 0
        if (pid := parents[pid]) <= 1:
            break
    return tuple(chain)


def _member(pid: int, pgrp: int) -> tuple[proctable.Row, bytes | None] | None:
    """Read a member and its arguments; None when it ended, is a zombie or left the group meanwhile."""
    data = _command_line(pid)
    row = proctable.read_stat(pid)
    if row is None or row[2] != pgrp or row[7] in "ZX" or not row[8]:
        return None
    return (*row[:7], "", row[8]), data  # whether it runs or sleeps just now is no difference


def _arguments(data: bytes | None) -> tuple[str, ...] | None:
    return tuple(part for part in (data or b"").decode("utf-8", "replace").split("\0") if part) or None


def _command_line(pid: int) -> bytes | None:
    try:
        descriptor = os.open(f"/proc/{pid}/cmdline", os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return None
    try:
        data = os.read(descriptor, _ARGV_USUALLY)
        if len(data) == _ARGV_USUALLY:
            data += os.read(descriptor, _ARGV_BYTES - _ARGV_USUALLY)
        return data
    except OSError:
        return None
    finally:
        os.close(descriptor)


def _process(row: proctable.Row, argv: tuple[str, ...] | None = None) -> Process:
    pid, ppid, pgrp, session, _, tpgid, start, _, name = row
    return Process(pid=pid, ppid=ppid, pgrp=pgrp, name=name, argv=argv, start=start, sid=session, tpgid=tpgid)
