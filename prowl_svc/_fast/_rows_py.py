"""The row scan, interpreted: the twin of ``_rows.pyx`` and the reference it is tested against."""

import re
from typing import Final

from prowl_svc._fast.rows_glyphs import BLANKS, FRAMES, GLYPHS, KINDS, Kind

__all__ = ["logical", "lower", "scan", "squeeze", "squeeze_rows"]

_MASK: Final[dict[str, int]] = {}
for _bit, _scalars in GLYPHS.items():
    for _scalar in _scalars:
        _MASK[_scalar] = _MASK.get(_scalar, 0) | _bit
_KIND: Final[dict[str, str]] = {scalar: kind for kind, scalars in KINDS.items() for scalar in scalars}
_RULE: Final = KINDS[Kind.DASH]
_SQUEEZED: Final = re.compile(f"[{re.escape(BLANKS + FRAMES)}\n]+")


def _kind(trimmed: str) -> str:
    head = trimmed[0]
    kind = _KIND.get(head)
    if kind is None:
        return Kind.LETTER if head.isalpha() else Kind.OTHER
    if kind == Kind.DASH and len(trimmed) >= 3 and not trimmed.strip(_RULE):
        return Kind.RULE
    return kind


def scan(rows: list[str], budget: int) -> tuple[int, list[str], str, str, bytes, list[int], list[int], int]:
    """Look at rows once, from the bottom up until ``budget`` non-blank rows were met (0 = all).

    Returns ``start`` and, for the rows from it on: the trimmed rows, their first scalars (blank rows: a space), their
    kinds, their leading U+0020 counts (at most 255), their glyph masks, the numbers of the non-blank rows, and the
    union of the masks.
    """
    trimmed: list[str] = []
    heads: list[str] = []
    kinds: list[str] = []
    indents = bytearray()
    masks: list[int] = []
    nonblank: list[int] = []
    glyphs = 0
    start = len(rows)
    left = budget if budget > 0 else -1
    while start:
        start -= 1
        row = rows[start]
        text = row.strip(BLANKS)
        trimmed.append(text)
        indents.append(min(255, len(row) - len(row.lstrip(" "))))
        mask = 0
        if text:
            if not text.isascii():
                for scalar in set(text):
                    mask |= _MASK.get(scalar, 0)
                glyphs |= mask
            heads.append(text[0])
            kinds.append(_kind(text))
            nonblank.append(start)
            left -= 1
        else:
            heads.append(" ")
            kinds.append(Kind.BLANK)
        masks.append(mask)
        if left == 0:
            break
    for facts in (trimmed, heads, kinds, indents, masks, nonblank):
        facts.reverse()
    numbers = [number - start for number in nonblank]
    return start, trimmed, "".join(heads), "".join(kinds), bytes(indents), masks, numbers, glyphs


def lower(text: str) -> str:
    """Return ``text`` with A to Z lowered and everything else kept, so that positions stay the same."""
    return text.encode("utf-8", "surrogatepass").lower().decode("utf-8", "surrogatepass")


def squeeze(text: str) -> str:
    """Return ``text`` lowered, without blank space, newlines, box drawing and block elements."""
    return lower(_SQUEEZED.sub("", text))


def squeeze_rows(trimmed: list[str], numbers: list[int], count: int) -> str:
    """Return what the last ``count`` rows of ``numbers`` say, squeezed."""
    return squeeze("".join([trimmed[number] for number in numbers[-count:]])) if count > 0 else ""


def logical(trimmed: list[str], indents: bytes, start: int, stop: int, starts: frozenset[str]) -> list[tuple[int, str]]:
    """Join the rows that a narrow pane wrapped onto deeper indented rows (detection.md §2.1.1).

    Returns (number of the first row, text) for each. A blank row separates; a row whose first scalar is in ``starts``
    never continues another one; the rest continue a head that is less indented.
    """
    found: list[tuple[int, str]] = []
    parts: list[str] = []
    head = indent = 0
    for number in range(start, stop):
        text = trimmed[number]
        if parts and text and indents[number] > indent and text[0] not in starts:
            parts.append(text)
            continue
        if parts:
            found.append((head, " ".join(parts)))
            parts = []
        if text:
            head, indent, parts = number, indents[number], [text]
    if parts:
        found.append((head, " ".join(parts)))
    return found
