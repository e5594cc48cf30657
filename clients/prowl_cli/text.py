"""Text for people: aligned tables, colour only on terminals, and titles that cannot play tricks."""

import os
import sys
import unicodedata
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import IO

__all__ = ["age", "clean", "paint", "table", "terminal_width", "use_colour", "width"]

_COLOURS = {
    "blocked": "1;31",
    "working": "33",
    "done": "1;32",
    "idle": "2",
    "fault": "1;31",
    "warning": "33",
    "ok": "32",
}
_HIDDEN = {"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"}


def clean(text: str) -> str:
    """Return ``text`` without control characters and without invisible or direction-changing ones.

    A title is whatever a program says; printed as it is, it could move the cursor or turn the line around.
    """
    kept = (" " if char in "\t\n\r" else char for char in text if char in "\t\n\r" or not _hidden(char))
    return " ".join("".join(kept).split())


def _hidden(char: str) -> bool:
    code = ord(char)
    return (
        unicodedata.category(char) in _HIDDEN
        or 0xFE00 <= code <= 0xFE0F  # variation selectors
        or 0xE0100 <= code <= 0xE01EF
        or code in (0x034F, 0x115F, 0x1160, 0x17B4, 0x17B5, 0x3164, 0xFFA0)  # letters that draw nothing
    )


def width(text: str) -> int:
    """Return how many terminal cells ``text`` takes."""
    return sum(
        0 if unicodedata.combining(char) else 2 if unicodedata.east_asian_width(char) in "WF" else 1 for char in text
    )


def _cut(text: str, cells: int) -> str:
    if width(text) <= cells:
        return text
    out, used = [], 0
    for char in text:
        used += width(char)
        if used > cells - 1:
            break
        out.append(char)
    return "".join(out) + "…"


def use_colour(stream: IO[str], environ: Mapping[str, str] | None = None) -> bool:
    """Tell whether to colour: the stream is a terminal, and neither NO_COLOR nor TERM=dumb is set."""
    environ = os.environ if environ is None else environ
    return stream.isatty() and not environ.get("NO_COLOR") and environ.get("TERM") != "dumb"


def paint(word: str, colour: bool, shown: str | None = None) -> str:
    """Return ``shown`` (``word`` if None) in the colour of ``word``."""
    shown = word if shown is None else shown
    code = _COLOURS.get(word)
    return f"\x1b[{code}m{shown}\x1b[0m" if colour and code else shown


def table(head: Sequence[str], rows: Sequence[Sequence[str]], *, colour: bool = False, limit: int | None = None) -> str:
    """Return aligned columns, the last one not padded; lines are cut to ``limit`` cells, None for no limit.

    Cells that name a state are coloured when ``colour`` is set.
    """
    cells = [[clean(cell) for cell in row] for row in (head, *rows)]
    widths = [max(width(row[i]) for row in cells) for i in range(len(head))]
    lines = []
    for row in cells:
        parts, room = [], limit
        for i, cell in enumerate(row):
            shown = cell if room is None else _cut(cell, max(room, 1))
            last = i == len(row) - 1
            padded = shown if last else shown + " " * max(widths[i] - width(shown), 0)
            parts.append(paint(cell, colour, padded))
            if room is not None:
                room -= widths[i] + 2
                if room <= 0:
                    break
        lines.append("  ".join(parts).rstrip())
    return "\n".join(lines)


def age(since: datetime, now: datetime | None = None) -> str:
    """Return how long ago ``since`` was, in the largest unit that fits: ``12s``, ``4m``, ``3h``, ``2d``."""
    seconds = max(0, int(((now or datetime.now(UTC)) - since).total_seconds()))
    for unit, size in (("d", 86400), ("h", 3600), ("m", 60)):
        if seconds >= size:
            return f"{seconds // size}{unit}"
    return f"{seconds}s"


def terminal_width() -> int | None:
    """Return the width of standard output in cells, None when it is no terminal or one that does not know."""
    try:
        return os.get_terminal_size(sys.stdout.fileno()).columns or None if sys.stdout.isatty() else None
    except (OSError, ValueError):
        return None
