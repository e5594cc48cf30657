"""The process table through psutil, for macOS and as the reference for the Linux one."""

import os
import subprocess
from collections import defaultdict

import psutil

from prowl_svc.model.process import Job, Process
from prowl_svc.probe.table import MAX_MEMBERS

__all__ = ["PortableProcessTable", "PortableSnapshot"]

_GONE = (psutil.Error, OSError, ValueError)


class PortableProcessTable:
    """Any system that psutil knows. Start times are microseconds, so generations differ from those of Linux."""

    def snapshot(self) -> "PortableSnapshot":
        """Read the group of every process."""
        groups: dict[int, list[int]] = defaultdict(list)
        for pid in psutil.pids():
            try:
                groups[os.getpgid(pid)].append(pid)
            except OSError:
                continue
        return PortableSnapshot(groups)

    def process(self, pid: int) -> Process | None:
        """Read one process."""
        return _read(pid, arguments=False)

    def executable(self, pid: int) -> str | None:
        """Ask for the path of the executable."""
        try:
            return psutil.Process(pid).exe() or None
        except _GONE:
            return None

    def foreground(self, pid: int) -> int | None:
        """Ask ``ps``, since psutil does not tell; used only for terminals that another process hosts."""
        if pid <= 0:
            return None
        command = ["ps", "-o", "tpgid=", "-p", str(pid)]
        try:
            answer = subprocess.run(command, capture_output=True, text=True, timeout=2, check=False).stdout
            return int(answer) if int(answer) > 0 else None
        except (OSError, ValueError, subprocess.SubprocessError):
            return None


class PortableSnapshot:
    """Which processes each group had; their details are read when a group is asked for."""

    def __init__(self, groups: dict[int, list[int]]) -> None:
        self._groups = groups

    def job(self, pgrp: int) -> Job | None:
        """Return the living members of a group with their arguments, newest first."""
        pids = self._groups.get(pgrp, [])
        if not pids or len(pids) > MAX_MEMBERS:
            return None
        members = [member for pid in pids if (member := _read(pid, arguments=True)) and member.pgrp == pgrp]
        members.sort(key=lambda process: (process.start, process.pid), reverse=True)
        return Job(pgrp, tuple(members)) if members else None

    def inner_job(self, job: Job) -> Job | None:
        """Terminals below a job are not looked for here: psutil does not tell their foreground groups."""
        return None


def _read(pid: int, *, arguments: bool) -> Process | None:
    try:
        process = psutil.Process(pid)
        with process.oneshot():
            if process.status() == psutil.STATUS_ZOMBIE:
                return None
            return Process(
                pid=pid,
                ppid=process.ppid(),
                pgrp=os.getpgid(pid),
                name=process.name(),
                argv=_arguments(process) if arguments else None,
                start=round(process.create_time() * 1_000_000),
                sid=os.getsid(pid),
            )
    except _GONE:
        return None


def _arguments(process: psutil.Process) -> tuple[str, ...] | None:
    try:
        return tuple(part for part in process.cmdline() if part) or None
    except _GONE:
        return None
