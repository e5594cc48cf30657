"""Screens redrawn at another width, as agents wrap, cut and align their rows."""

import re
import textwrap
import unicodedata

from tests.screens.anatomy import Screen

__all__ = ["resized"]

_RULE = re.compile(r"([─▄▀━╌▔═])\1{9,}")
_RUN = re.compile(r"([─▀])\1+")
_SPREAD = re.compile(r"(.*\S)( {3,})(\S.*)")
_CUTTING = ("omp", "opencode", "droid", "grok")
_BULLET = re.compile(r"\s*[^\w\s(\[\"'/~$#-]\ufe0e? +")


def width(text: str) -> int:
    """Return how many columns a text takes."""
    return sum(2 if unicodedata.east_asian_width(scalar) in "WF" else 1 for scalar in text if scalar != "\ufe0e")


def _stretched(text: str, by: int) -> str | None:
    """Return a border with its longest run made longer or shorter, None where it has no room."""
    runs = sorted(_RUN.finditer(text), key=lambda run: len(run[0]))
    if not runs or len(runs[-1][0]) + by < 1:
        return None
    run = runs[-1]
    return text[: run.start()] + run[1] * (len(run[0]) + by) + text[run.end() :]


def _wrapped(text: str, columns: int) -> list[str]:
    indent = len(text) - len(text.lstrip())
    lead = _BULLET.match(text)
    hanging = len(lead[0]) if lead else indent
    if columns - max(indent, hanging) < 8:
        return [text.strip().rjust(columns)[: max(columns, 1)]]
    rows = textwrap.wrap(
        text.strip(),
        columns,
        initial_indent=" " * indent,
        subsequent_indent=" " * hanging,
        break_on_hyphens=False,
    )
    return rows or [text]


def _row(text: str, old: int, new: int) -> list[str] | None:
    """Return what a row that ends where ``old`` columns end becomes at ``new`` columns."""
    by = new - old
    full = width(text) >= old - 2
    stripped = text.strip()
    indent = text[: len(text) - len(text.lstrip())]
    if _RULE.fullmatch(stripped) or (full and stripped[:1] in "╭╰┌└├─" and _RUN.search(stripped)):
        stretched = _stretched(stripped, by) if full else stripped
        return None if stretched is None else [indent + stretched]
    if not full and width(text) > new and stripped[:1] in "┌└╭╰":
        return None
    if full and len(stripped) > 2 and stripped[0] in "│┃" and stripped[-1] in "│█┃":
        side, end, content = stripped[0], stripped[-1], stripped[1:-1]
        room = width(content) + by
        inner = content.rstrip()
        if inner.strip()[:1] in "╭│╰┌└" and inner.strip():
            parts = _row(inner, width(content), room)
            if parts is None:
                return None
        else:
            parts = [inner] if width(inner) <= room else _wrapped(inner, room - 1)
        return [indent + side + part + " " * (room - width(part)) + end for part in parts]
    if text[-1:] in "█▄▆┃" and full:  # a scrollbar
        parts = _row(text[:-1].rstrip(), old - 1, new - 1) if text[:-1].strip() else [""]
        return None if parts is None else [part + " " * (new - 1 - width(part)) + text[-1] for part in parts]
    spread = _SPREAD.fullmatch(text)
    if spread and width(text) >= old - 4:
        left, gap, right = spread.groups()
        if len(gap) + by >= 2:
            return [left + " " * (len(gap) + by) + right]
        return [(left + "  " + right)[: new - 1] + "…"]
    if not spread and width(text) >= old - 4 and len(indent) > old // 3:
        return [" " * (len(indent) + by) + stripped] if len(indent) + by >= 0 else None
    if stripped[:1] in "┃│" and width(text) > new:
        inner = stripped[1:]
        lead = inner[: len(inner) - len(inner.lstrip())]
        return [
            f"{indent}{stripped[0]}{lead}{part}" for part in _wrapped(inner.strip(), new - len(indent) - len(lead) - 2)
        ]
    return [text] if width(text) <= new else _wrapped(text, new)


def resized(screen: Screen, columns: int, live: int) -> Screen | None:
    """Return the screen at another width, None where something has no room.

    ``live`` is the first row of the live area, whose rows some agents cut instead of wrapping them.
    """
    rows: list[str] = []
    for number, row in enumerate(screen.rows):
        parts = _row(row.rstrip(), screen.columns, columns) if row.strip() else [""]
        if parts is None:
            return None
        if (
            len(parts) > 1
            and (screen.family in _CUTTING or (screen.family == "codex" and number == live))
            and number >= live >= 0
            and screen.state != "blocked"
            and parts[0].strip()[:1] not in "│┃"
        ):
            parts = [row[: columns - 1] + "…"]
        rows += parts
    return Screen(**{**screen.__dict__, "rows": tuple(rows), "columns": columns})
