"""The process table, interpreted (detection.md §1.1, §5 trap 10).

A pass asks the kernel for the group and session of every pid, a fifth of the price of reading every ``stat``; the rest
is read for the few processes that matter.
"""

import os
from collections.abc import Iterable
from typing import TypeAlias

__all__ = ["Row", "Scan", "parse_stat", "read_stat", "scan"]

Row: TypeAlias = tuple[int, int, int, int, int, int, int, str, str]
"""pid, ppid, pgrp, session, terminal device, foreground group of the terminal, start ticks, state letter, short name"""

_STAT_BYTES = 1024  # far more than the first 22 fields can take
_NAME_BYTES = 64  # the kernel writes 15, and up to 63 for kernel threads
_FIELDS = 20  # from the state (field 3) to the start time (field 22)
_LIMIT = 1 << 63


def parse_stat(data: bytes) -> Row | None:
    """Return the row in the text of a ``stat`` file, or None when it is cut or not one.

    The name may hold blanks and parentheses: it ends at the last closing one.
    """
    opening = data.find(b"(")
    closing = data.rfind(b")")
    if opening < 2 or closing < opening or data[opening - 1] != 32:
        return None
    fields = data[closing + 1 :].split(b" ", _FIELDS + 1)
    if len(fields) <= _FIELDS or fields[0] or len(fields[1]) != 1:
        return None
    numbers = [_number(text) for text in (data[: opening - 1], *fields[2:7], fields[20])]
    if None in numbers:
        return None
    pid, ppid, pgrp, session, tty, tpgid, start = (number or 0 for number in numbers)
    name = data[opening + 1 : closing][:_NAME_BYTES].decode("utf-8", "replace")
    return pid, ppid, pgrp, session, tty, tpgid, start, fields[1].decode("latin-1"), name


def _number(text: bytes) -> int | None:
    digits = text.removeprefix(b"-")
    if not digits.isdigit() or len(digits) > 19:
        return None
    value = int(text)
    return value if -_LIMIT < value < _LIMIT else None


def read_stat(pid: int, root: str = "/proc") -> Row | None:
    """Return the row of one process, or None when it is gone or cannot be read."""
    try:
        descriptor = os.open(f"{root}/{pid}/stat", os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return None
    try:
        return parse_stat(os.read(descriptor, _STAT_BYTES))
    except OSError:  # the process ended after it was opened
        return None
    finally:
        os.close(descriptor)


class Scan:
    """The pid, group and session of every process that one pass saw."""

    def __init__(self, found: Iterable[tuple[int, int, int]]) -> None:
        self._found = tuple(found)

    def __len__(self) -> int:
        return len(self._found)

    def rows(self) -> list[tuple[int, int, int]]:
        """Return pid, group and session of every process."""
        return list(self._found)

    def members(self, pgrp: int) -> list[int]:
        """Return the pids of one process group."""
        return [pid for pid, group, _ in self._found if group == pgrp]

    def leaders(self) -> list[int]:
        """Return the pids of the session leaders."""
        return [pid for pid, _, session in self._found if pid == session]


def scan() -> Scan:
    """Look once at every process; one that ends meanwhile is left out. Empty without a ``/proc``."""
    try:
        names = os.listdir("/proc")
    except OSError:
        return Scan(())
    return Scan(found for name in names if name.isdigit() if (found := _groups(int(name))) is not None)


def _groups(pid: int) -> tuple[int, int, int] | None:
    try:
        return pid, os.getpgid(pid), os.getsid(pid)
    except OSError:
        return None
