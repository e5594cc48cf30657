"""Learn of a child's end and reap it, without a signal handler."""

import asyncio
import os
import sys
import threading
from collections.abc import Callable

__all__ = ["UNKNOWN_STATUS", "watch_exit"]

UNKNOWN_STATUS = 255
"""Reported when somebody else reaped the child."""


def watch_exit(loop: asyncio.AbstractEventLoop, pid: int, ended: Callable[[int], None]) -> None:
    """Reap ``pid`` when it ends and tell ``ended``, on the loop, its exit code, or 128 plus the signal."""
    if sys.platform.startswith("linux"):
        try:
            descriptor = os.pidfd_open(pid)
        except OSError:  # kernels before 5.3, or no descriptors left
            pass
        else:
            loop.add_reader(descriptor, _readable, loop, descriptor, pid, ended)
            return
    threading.Thread(target=_wait, args=(loop, pid, ended), name=f"exit of {pid}", daemon=True).start()


def _readable(loop: asyncio.AbstractEventLoop, descriptor: int, pid: int, ended: Callable[[int], None]) -> None:
    loop.remove_reader(descriptor)
    os.close(descriptor)
    ended(_reap(pid))


def _wait(loop: asyncio.AbstractEventLoop, pid: int, ended: Callable[[int], None]) -> None:
    status = _reap(pid)
    if not loop.is_closed():
        loop.call_soon_threadsafe(ended, status)


def _reap(pid: int) -> int:
    try:
        code = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
        return code if code >= 0 else 128 - code
    except ChildProcessError:
        return UNKNOWN_STATUS
