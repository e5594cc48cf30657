"""How far each Codex log was read: incremental, bounded, and only while the file continues (providers.md §2.3)."""

import os
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

from prowl_svc.evidence.codex_header import ContinuityError
from prowl_svc.evidence.codex_records import Decoder
from prowl_svc.evidence.regular import regular

__all__ = [
    "MAX_APPENDED",
    "MAX_LINE",
    "Cursor",
    "append",
    "check",
    "io_error",
    "last_line",
    "last_turn",
    "read_at",
    "read_line",
]

MAX_APPENDED = 8 << 20
MAX_LINE = 1 << 20
_FIRST_READ = 64 << 10
_TIMESTAMP = re.compile(rb'"timestamp" ?: ?"([0-9TZ:.-]{1,40})"')


@dataclass(frozen=True, slots=True)
class Cursor:
    """The reading position of one file: ``pending`` is the start of a line whose end was not written yet."""

    inode: int
    offset: int
    decoder: Decoder
    pending: bytes = b""


def io_error(error: OSError) -> ContinuityError:
    """Return the continuity failure that a failed read is, with its code and nothing else."""
    return ContinuityError(f"ioOrJSON(code={error.errno or 0})")


def check(cursors: Mapping[str, Cursor]) -> dict[str, int]:
    """Return each file's size; raises ContinuityError when any was replaced, rewound or grew too much at once."""
    sizes = {}
    appended = 0
    for path, cursor in cursors.items():
        try:
            status = os.stat(path)
        except OSError as error:
            raise io_error(error) from None
        if status.st_ino != cursor.inode or status.st_size < cursor.offset:
            raise ContinuityError("incomplete")
        appended += status.st_size - cursor.offset
        sizes[path] = status.st_size
    if appended > MAX_APPENDED:
        raise ContinuityError("incomplete")
    return sizes


def append(cursor: Cursor, data: bytes) -> tuple[Cursor, bytes]:
    """Advance over newly read bytes; return the new cursor, with a decoder of its own, and the complete lines."""
    whole = cursor.pending + data
    end = whole.rfind(b"\n") + 1
    rest = whole[end:]
    if len(rest) > MAX_LINE:
        raise ContinuityError("incomplete")
    after = replace(cursor, offset=cursor.offset + len(data), pending=rest, decoder=cursor.decoder.copy())
    return after, whole[:end]


def read_at(path: str, inode: int, offset: int, size: int) -> bytes:
    """Read a file from ``offset`` to ``size``; raises ContinuityError when it is not that file any more."""
    try:
        with open(path, "rb", buffering=0, opener=regular) as file:
            if os.fstat(file.fileno()).st_ino != inode:
                raise ContinuityError("incomplete")
            return b"".join(_pieces(file.fileno(), offset, size))
    except OSError as error:
        raise io_error(error) from None


def _pieces(descriptor: int, offset: int, size: int) -> Iterable[bytes]:
    while offset < size:
        piece = os.pread(descriptor, size - offset, offset)
        if not piece:
            return
        offset += len(piece)
        yield piece


def read_line(path: str) -> tuple[int, bytes | None]:
    """Return a file's inode and its first line with the newline, or None in place of one that is not whole yet.

    Raises ContinuityError when the file cannot be read or its first MiB holds no newline.
    """
    try:
        with open(path, "rb", buffering=0, opener=regular) as file:
            inode, start, want = os.fstat(file.fileno()).st_ino, b"", _FIRST_READ
            while True:
                piece = os.pread(file.fileno(), want - len(start), len(start))
                end = piece.find(b"\n")
                if end >= 0:
                    return inode, start + piece[: end + 1]
                start += piece
                if len(start) >= MAX_LINE:
                    raise ContinuityError("incomplete")
                if not piece:
                    return inode, None
                want = MAX_LINE
    except OSError as error:
        raise io_error(error) from None


def last_line(path: str, inode: int) -> int:
    """Return the offset after the last newline: what is written from there on is news (the baseline of history)."""
    try:
        size = os.stat(path).st_size
    except OSError as error:
        raise io_error(error) from None
    # A line may be half written at this moment: starting in its middle would misread it.
    tail = read_at(path, inode, max(0, size - MAX_LINE), size)
    end = tail.rfind(b"\n") + 1
    if not end:
        raise ContinuityError("incomplete")
    return max(0, size - MAX_LINE) + end


def last_turn(path: str, inode: int, since: str) -> int:
    """Return where the last turn that began at ``since`` (ISO 8601 UTC) or later begins, else the baseline.

    For a log of the daemon's, which is found only some time after the turn that opened it was written (§2.7).
    """
    end = last_line(path, inode)
    start = max(0, end - MAX_LINE)
    tail = read_at(path, inode, start, end)
    at = len(tail)
    while (found := tail.rfind(b'"task_started"', 0, at)) >= 0:
        line = tail.rfind(b"\n", 0, found) + 1
        match = _TIMESTAMP.search(tail, line, found)
        if line and match and match[1].decode() >= since:
            return start + line
        at = max(line - 1, 0)
        if match and match[1].decode() < since:
            break
    return end
