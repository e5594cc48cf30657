"""The process table, interpreted: one pass over ``/proc/*/stat`` (detection.md §1.1, §5 trap 10)."""

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
    return _read(f"{root}/{pid}/stat", None)


def _read(path: str, directory: int | None) -> Row | None:
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC, dir_fd=directory)
    except OSError:
        return None
    try:
        return parse_stat(os.read(descriptor, _STAT_BYTES))
    except OSError:  # the process ended after it was opened
        return None
    finally:
        os.close(descriptor)


class Scan:
    """What one pass saw. Rows are in the order of the pass (ascending pids on Linux)."""

    def __init__(self, rows: Iterable[Row]) -> None:
        self._rows = {row[0]: row for row in rows}

    def __len__(self) -> int:
        return len(self._rows)

    def rows(self) -> list[Row]:
        """Return every row."""
        return list(self._rows.values())

    def row(self, pid: int) -> Row | None:
        """Return the row of ``pid``."""
        return self._rows.get(pid)

    def members(self, pgrp: int) -> list[Row]:
        """Return the rows of one process group."""
        return [row for row in self._rows.values() if row[2] == pgrp]

    def children(self, pid: int) -> list[Row]:
        """Return the rows whose parent is ``pid``."""
        return [row for row in self._rows.values() if row[1] == pid]


def scan(root: str = "/proc") -> Scan:
    """Read the ``stat`` of every process once; one that ends meanwhile is left out. Empty without procfs."""
    try:
        directory = os.open(root, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    except OSError:
        return Scan(())
    try:
        found = (
            _read(f"{name}/stat", directory) for name in os.listdir(directory) if name.isascii() and name.isdigit()
        )
        return Scan([row for row in found if row is not None])
    finally:
        os.close(directory)
