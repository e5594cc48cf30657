"""Recordings of terminals: asciicast versions 2 and 3, read line by line."""

import json
import math
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from prowl_svc.tools.outcome import ToolError

__all__ = ["Cast", "Event", "open_cast"]


@dataclass(frozen=True, slots=True)
class Event:
    """One event: ``at`` in seconds from the start, ``kind`` o (output), i (input), r (resize) or m (marker)."""

    at: float
    kind: str
    data: str

    def size(self) -> tuple[int, int] | None:
        """Return the columns and rows of a resize, None when it names none."""
        columns, found, rows = self.data.partition("x")
        if not (found and columns.isdecimal() and rows.isdecimal() and len(self.data) < 12):
            return None
        return int(columns), int(rows)


@dataclass(frozen=True, slots=True)
class Cast:
    """A recording: where it is, its first size, its version."""

    path: Path
    columns: int
    rows: int
    version: int

    def events(self) -> Iterator[Event]:
        """Yield the events in order; raises ToolError where a line is none."""
        at = 0.0
        with self.path.open(encoding="utf-8", errors="surrogateescape") as lines:
            next(lines)
            for number, line in enumerate(lines, 2):
                if not line.strip() or line.startswith("#"):
                    continue
                event = _event(line)
                if event is None:
                    raise ToolError("INVALID_ARGUMENT", f"{self.path}:{number} is not an event of a recording.")
                at = at + event.at if self.version == 3 else event.at
                yield Event(at, event.kind, event.data)


def _event(line: str) -> Event | None:
    try:
        at, kind, data = json.loads(line)
        at = float(at)
    except (ValueError, TypeError, RecursionError):
        return None
    if not isinstance(kind, str) or not isinstance(data, str) or not math.isfinite(at):
        return None
    return Event(at, kind, data)


def open_cast(path: Path) -> Cast:
    """Read the header of a recording; raises ToolError when it is none."""
    try:
        with path.open(encoding="utf-8", errors="surrogateescape") as lines:
            header: Any = json.loads(lines.readline(1 << 20))
        version = int(header["version"])
        term = header["term"] if version == 3 else header
        columns, rows = (int(term["cols"]), int(term["rows"])) if version == 3 else (term["width"], term["height"])
    except OSError as error:
        raise ToolError("INVALID_ARGUMENT", f"{path} cannot be read: {error.strerror}") from None
    except (ValueError, TypeError, KeyError, RecursionError):
        raise ToolError("INVALID_ARGUMENT", f"{path} is not an asciicast recording.") from None
    if version not in (2, 3) or not (isinstance(columns, int) and isinstance(rows, int)):
        raise ToolError("INVALID_ARGUMENT", f"{path} is not an asciicast recording of version 2 or 3.")
    return Cast(path, min(max(columns, 1), 1000), min(max(rows, 1), 1000), version)
