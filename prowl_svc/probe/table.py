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

_MAX_NESTING: Final = 3  # generations between a relay and the leader on its terminal
_ARGV_BYTES: Final = 256 * 1024


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
    """Reads ``/proc``: a pass reads only ``stat``, arguments are read for the groups that are asked for."""

    def __init__(self, root: str = "/proc") -> None:
        self._root = root

    def snapshot(self) -> "LinuxSnapshot":
        """Read the ``stat`` of every process."""
        return LinuxSnapshot(proctable.scan(self._root), self._root)

    def process(self, pid: int) -> Process | None:
        """Read one ``stat``."""
        row = proctable.read_stat(pid, self._root) if pid > 0 else None
        return None if row is None else _process(row)

    def executable(self, pid: int) -> str | None:
        """Follow ``/proc/<pid>/exe``."""
        try:
            return os.readlink(f"{self._root}/{pid}/exe")
        except (OSError, ValueError):
            return None

    def foreground(self, pid: int) -> int | None:
        """Read ``tpgid``, field 8 of ``stat``."""
        process = self.process(pid)
        return process.tpgid if process is not None and process.tpgid > 0 else None


class LinuxSnapshot:
    """One pass over ``/proc/*/stat``."""

    def __init__(self, scan: proctable.Scan, root: str) -> None:
        self._scan = scan
        self._root = root

    def __len__(self) -> int:
        return len(self._scan)

    def job(self, pgrp: int) -> Job | None:
        """Return the living members of a group with their arguments, newest first."""
        rows = self._scan.members(pgrp)
        if not rows or len(rows) > MAX_MEMBERS:
            return None
        members = [member for row in rows if (member := self._member(row)) is not None]
        members.sort(key=lambda process: (process.start, process.pid), reverse=True)
        return Job(pgrp, tuple(members)) if members else None

    def inner_job(self, job: Job) -> Job | None:
        """Look below the members for the one session leader whose terminal has a foreground group of its own."""
        inner: set[int] = set()
        level = [process.pid for process in job.processes]
        for _ in range(_MAX_NESTING):
            below = [row for pid in level for row in self._scan.children(pid) if row[2] != job.pgrp]
            inner.update(row[5] for row in below if row[0] == row[3] and row[5] not in (-1, 0, job.pgrp))
            level = [row[0] for row in below]
        return self.job(inner.pop()) if len(inner) == 1 else None

    def _member(self, row: proctable.Row) -> Process | None:
        """Read a member again with its arguments; None when it ended, is a zombie or left the group meanwhile."""
        argv = self._argv(row[0])
        now = proctable.read_stat(row[0], self._root)
        if now is None or now[6] != row[6] or now[2] != row[2] or now[7] in "ZX" or not now[8]:
            return None
        return _process(now, argv)

    def _argv(self, pid: int) -> tuple[str, ...] | None:
        try:
            with open(f"{self._root}/{pid}/cmdline", "rb", buffering=0) as file:
                data = file.read(_ARGV_BYTES)
        except OSError:
            return None
        return tuple(part.decode("utf-8", "replace") for part in (data or b"").split(b"\0") if part) or None


def _process(row: proctable.Row, argv: tuple[str, ...] | None = None) -> Process:
    pid, ppid, pgrp, session, _, tpgid, start, _, name = row
    return Process(pid=pid, ppid=ppid, pgrp=pgrp, name=name, argv=argv, start=start, sid=session, tpgid=tpgid)
