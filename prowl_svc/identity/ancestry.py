"""Freezes a caller's ancestry, so that neither an exit nor a reused pid can lend a name (signals.md §2.4)."""

from collections.abc import Callable

from prowl_svc.identity.caller import Caller
from prowl_svc.model.process import Process

__all__ = ["ATTEMPTS", "MAX_HOPS", "ReadProcess", "freeze"]

MAX_HOPS = 32
ATTEMPTS = 3

ReadProcess = Callable[[int], Process | None]
"""Reads parent and start time of one process as it is now; None when it is gone or unreadable."""


def freeze(pid: int, uid: int, read: ReadProcess, alive: Callable[[], bool]) -> Caller:
    """Return the connector ``pid`` with its verified ancestry.

    Each hop is read twice: a parent can end, and its pid can be taken, only after its child changed parents, so a
    child that still names its parent after the parent was read vouches for it. ``alive`` tells whether the connector
    itself still runs and is asked last. What stays in doubt after three attempts gets no identity.
    """
    for _ in range(ATTEMPTS):
        chain = _chain(pid, read)
        if not chain or not alive():
            break
        if all(_same(hop, read(hop.pid)) for hop in chain):
            if not alive():
                break
            return Caller(pid, uid, tuple(hop.generation for hop in chain))
    return Caller(pid, uid).anonymous()


def _chain(pid: int, read: ReadProcess) -> list[Process]:
    chain: list[Process] = []
    while pid > 0 and len(chain) < MAX_HOPS and (pid > 1 or not chain):
        process = read(pid)
        if process is None or process.pid != pid:
            break
        chain.append(process)
        if process.ppid == pid:
            break
        pid = process.ppid
    return chain


def _same(before: Process, after: Process | None) -> bool:
    return after is not None and (before.ppid, before.start) == (after.ppid, after.start)
