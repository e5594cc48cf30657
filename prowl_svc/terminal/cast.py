"""Read recordings of terminals: asciicast version 2, plain or gzipped.

A header line, then one JSON array a line: seconds since the start, kind, data. Kinds are ``o`` (output), ``i`` (input),
``r`` (resize, ``COLSxROWS``) and ``m`` (marker); others are skipped. A file whose last line was cut off
is read up to it.
"""

import gzip
import json
import math
import re
import zlib
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import TypeGuard

__all__ = ["Cast", "CastError", "CastEvent", "parse_cast", "read_cast"]

_MAX_BYTES = 256 << 20
_KINDS = ("o", "i", "r", "m")
_SIZE = re.compile(r"([0-9]{1,4})x([0-9]{1,4})")
_GZIP = b"\x1f\x8b"


class CastError(ValueError):
    """A recording that cannot be read; the message says which line and why."""


@dataclass(frozen=True, slots=True)
class CastEvent:
    """One event: ``time`` in seconds since the start, ``kind`` of ``o i r m``, ``data`` as recorded."""

    time: float
    kind: str
    data: str

    @property
    def size(self) -> tuple[int, int]:
        """Columns and rows of an ``r`` event."""
        return _size(self.data)

    @property
    def raw(self) -> bytes:
        """The bytes of an ``o`` or ``i`` event."""
        return self.data.encode("utf-8", "replace")


@dataclass(frozen=True, slots=True)
class Cast:
    """A recording; ``cut`` tells that its last line was incomplete and left out."""

    columns: int
    rows: int
    title: str
    events: tuple[CastEvent, ...]
    cut: bool = False

    @property
    def duration(self) -> float:
        """Seconds up to the last event."""
        return self.events[-1].time if self.events else 0.0


def read_cast(path: Path) -> Cast:
    """Read a file, gzipped or not; CastError when it is no recording, OSError when it cannot be read."""
    with path.open("rb") as file:
        data = file.read(_MAX_BYTES + 1)
    if data.startswith(_GZIP):
        try:
            with gzip.open(path) as unpacked:
                data = unpacked.read(_MAX_BYTES + 1)
        except (EOFError, zlib.error, gzip.BadGzipFile) as error:
            raise CastError(f"damaged gzip data: {error}") from None
    if len(data) > _MAX_BYTES:
        raise CastError(f"larger than {_MAX_BYTES >> 20} MiB")
    return parse_cast(data.decode("utf-8", "replace").splitlines())


def parse_cast(lines: Iterable[str]) -> Cast:
    """Read the lines of a recording; CastError names the first bad line that is not the last."""
    numbered = iter(enumerate(lines, 1))
    columns, rows, title = _header(next(numbered, (1, ""))[1])
    events: list[CastEvent] = []
    failure: CastError | None = None
    last = 0.0
    for number, line in numbered:
        if not line.strip():
            continue
        if failure:
            raise failure
        try:
            event = _event(json.loads(line))
        except (ValueError, RecursionError) as error:
            failure = CastError(f"line {number}: {error}")
            continue
        if event is None:
            continue
        if event.time < last:
            event = CastEvent(last, event.kind, event.data)
        last = event.time
        events.append(event)
    return Cast(columns, rows, title, tuple(events), cut=failure is not None)


def _header(line: str) -> tuple[int, int, str]:
    try:
        header = json.loads(line)
    except (ValueError, RecursionError):
        header = None
    if not isinstance(header, dict) or "version" not in header:
        raise CastError("line 1: not an asciicast header")
    if header["version"] != 2:
        raise CastError(f"line 1: asciicast version {header['version']!r} is not supported, only 2")
    columns, rows, title = header.get("width"), header.get("height"), header.get("title")
    if not _is_size(columns) or not _is_size(rows):
        raise CastError("line 1: width and height must be 1 to 1000")
    return columns, rows, title if isinstance(title, str) else ""


def _is_size(value: object) -> TypeGuard[int]:
    return isinstance(value, int) and not isinstance(value, bool) and 1 <= value <= 1000


def _size(data: str) -> tuple[int, int]:
    match = _SIZE.fullmatch(data)
    if not match or not _is_size(int(match[1])) or not _is_size(int(match[2])):
        raise ValueError("a resize must be COLSxROWS, each 1 to 1000")
    return int(match[1]), int(match[2])


def _event(value: object) -> CastEvent | None:
    if not isinstance(value, list) or len(value) != 3:
        raise ValueError("an event must be [time, kind, data]")
    time, kind, data = value
    if isinstance(time, bool) or not isinstance(time, int | float) or not math.isfinite(time) or time < 0:
        raise ValueError("the time of an event must be a number of seconds")
    if not isinstance(kind, str) or not isinstance(data, str):
        raise ValueError("kind and data of an event must be strings")
    if kind not in _KINDS:
        return None
    if kind == "r":
        _size(data)
    return CastEvent(float(time), kind, data)
