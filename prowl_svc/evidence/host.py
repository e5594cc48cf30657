"""What providers ask of the machine about processes, and how Linux answers; tests pass another object."""

import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Protocol

from prowl_svc.evidence.birth import birth_time
from prowl_svc.evidence.open_files import OpenFiles, list_open_files
from prowl_svc.model.process import Generation

__all__ = ["Host", "SystemHost"]

_STAT_SIZE = 4096


class Host(Protocol):
    """Facts of this machine."""

    def alive(self, generation: Generation) -> bool:
        """Tell whether that very process still runs: same pid, same start."""
        ...

    def open_files(self, pid: int, wanted: Callable[[str], bool]) -> OpenFiles:
        """Return the files that a process holds open for writing and whose path is wanted."""
        ...

    def open_count(self, pid: int) -> int | None:
        """Return how many descriptors a process holds, where the system tells that at once, else None."""
        ...

    def environment(self, pid: int) -> dict[str, str]:
        """Return the environment a process was started with; empty where it cannot be read."""
        ...

    def cwd(self, pid: int) -> str | None:
        """Return a process's working directory."""
        ...

    def birth(self, path: str) -> float | None:
        """Return a file's creation time in wall-clock seconds, or None where it is not known."""
        ...


class SystemHost:
    """The machine we run on: ``/proc`` on Linux, process info calls on macOS."""

    def alive(self, generation: Generation) -> bool:
        """Tell whether that very process still runs."""
        return _start(generation.pid) == generation.start

    def open_files(self, pid: int, wanted: Callable[[str], bool]) -> OpenFiles:
        """Return the files that a process holds open for writing and whose path is wanted."""
        return list_open_files(pid, wanted)

    def open_count(self, pid: int) -> int | None:
        """Return how many descriptors a process holds: the size of its folder, on Linux from 6.2 on."""
        try:
            return os.stat(f"/proc/{pid}/fd").st_size or None
        except OSError:
            return None

    def environment(self, pid: int) -> dict[str, str]:
        """Return the environment a process was started with; macOS does not tell."""
        if sys.platform != "linux":
            return {}
        try:
            raw = Path(f"/proc/{pid}/environ").read_bytes()
        except OSError:
            return {}
        pairs = (os.fsdecode(item).partition("=") for item in raw.split(b"\0") if item)
        return {key: value for key, _, value in pairs}

    def cwd(self, pid: int) -> str | None:
        """Return a process's working directory."""
        try:
            if sys.platform == "linux":
                return os.readlink(f"/proc/{pid}/cwd")
            import psutil  # noqa: PLC0415 - only where the kernel has no file for it

            return psutil.Process(pid).cwd() or None
        except Exception:
            # Gone, or not ours to look at.
            return None

    def birth(self, path: str) -> float | None:
        """Return a file's creation time in wall-clock seconds, or None where it is not known."""
        return birth_time(path)


def _start(pid: int) -> int | None:
    """Return a process's raw start time: clock ticks since boot on Linux, microseconds elsewhere."""
    if sys.platform == "linux":
        try:
            descriptor = os.open(f"/proc/{pid}/stat", os.O_RDONLY | os.O_CLOEXEC)
        except OSError:
            return None
        try:
            stat = os.read(descriptor, _STAT_SIZE)
        except OSError:
            return None
        finally:
            os.close(descriptor)
        return int(stat[stat.rindex(b")") + 2 :].split()[19])
    import psutil  # noqa: PLC0415 - only where the kernel has no file for it

    try:
        return round(psutil.Process(pid).create_time() * 1_000_000)
    except psutil.Error:
        return None
