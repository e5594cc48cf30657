"""Named regions and row tests that the agents' files share (detection.md §2.0)."""

import re
from collections.abc import Iterator
from functools import cache

from prowl_svc._fast.rows import logical
from prowl_svc._fast.rows_glyphs import ANIMATED, BLANKS, KINDS, Kind
from prowl_svc.model.state import Style
from prowl_svc.screens.frame import Frame, Region

__all__ = [
    "asks_to_confirm",
    "box_above",
    "boxed_composer",
    "boxes",
    "choice_number",
    "final_box",
    "inner",
    "interrupts",
    "is_braille_row",
    "is_numbered",
    "is_rule",
    "is_spinner_row",
    "labelled_braille",
    "last_box",
    "last_rows",
    "logical_rows",
    "rows_upwards",
    "rule_above",
    "ruled_composer",
    "run_above",
    "screen",
    "selected_choice",
    "style_of",
]

_ANIMATED = frozenset(ANIMATED)
_SIDES = KINDS[Kind.SIDE] + BLANKS
_NUMBERED = re.compile(r"[0-9]+\.(?=\s|$)")
_CURSORS = "❯›>→▶▸●‣"


def screen(frame: Frame) -> range:
    """The whole frame."""
    return range(frame.end)


@cache
def last_rows(count: int) -> Region:
    """Return the region from the ``count``-th non-blank row from the bottom to the end."""

    def region(frame: Frame) -> range:
        return frame.last(count)

    region.__doc__ = f"The last {count} non-blank rows."
    return region


# -- row tests: all take a trimmed row ---------------------------------------------------------------------------------


def is_braille_row(row: str) -> bool:
    """A braille-led row with a letter (braille activity row)."""
    return bool(row) and "\u2800" <= row[0] <= "\u28ff" and any(map(str.isalpha, row))


def labelled_braille(row: str) -> str | None:
    """Return the label of a row that is one braille scalar, one space and text with a letter, else None."""
    if len(row) > 2 and "\u2800" <= row[0] <= "\u28ff" and row[1] == " ":
        label = row[2:].strip(BLANKS)
        if any(map(str.isalpha, label)):
            return label
    return None


def is_spinner_row(row: str) -> bool:
    """A row led by an animated glyph and a space, with ``…`` and a letter (spinner activity row)."""
    return len(row) > 2 and row[0] in _ANIMATED and row[1] == " " and "…" in row and any(map(str.isalpha, row[2:]))


def is_numbered(row: str) -> bool:
    """A row whose first word is digits and one dot (numbered choice)."""
    return _NUMBERED.match(row) is not None


def choice_number(row: str) -> int | None:
    """Return the number of a numbered choice, with or without a cursor glyph before it, else None."""
    if row and row[0] in _CURSORS:
        row = row[1:].lstrip(BLANKS)
    found = _NUMBERED.match(row)
    return int(found[0][:-1][:9]) if found else None


def selected_choice(row: str, cursors: str = _CURSORS) -> str | None:
    """Return the numbered choice that a cursor glyph points at (``❯ 1. Yes`` gives ``1. Yes``), else None."""
    if row and row[0] in cursors:
        rest = row[1:].strip(BLANKS)
        if is_numbered(rest):
            return rest
    return None


def inner(row: str) -> str:
    """Return a trimmed row without the box sides and blank space around it."""
    return row.strip(_SIDES)


def is_rule(frame: Frame, row: int) -> bool:
    """Tell whether a whole row is a horizontal rule."""
    return 0 <= row < frame.end and frame.kinds[row] == Kind.RULE


def style_of(scalar: str) -> Style | None:
    """Return the glyph family of a row's first scalar (detection.md §3.1)."""
    if "\u2800" <= scalar <= "\u28ff":
        return Style.BRAILLE
    if scalar in "⬡⬢":
        return Style.HEXAGON
    if scalar in KINDS[Kind.MOON]:
        return Style.MOON
    if scalar in "●•◦⏺":
        return Style.BULLET
    if scalar in "∙∘○◎◉":
        return Style.DOT_CYCLE
    return Style.SYMBOL_CYCLE if scalar in _ANIMATED else None


def rule_above(frame: Frame, row: int, scalars: str) -> int:
    """Return the last horizontal rule above ``row`` that is drawn with one of ``scalars``, or -1."""
    kinds, heads = frame.kinds, frame.heads
    found = kinds.rfind(Kind.RULE, 0, max(0, row))
    while found >= 0 and heads[found] not in scalars:
        found = kinds.rfind(Kind.RULE, 0, found)
    return found


# -- texts: all take lowered text --------------------------------------------------------------------------------------


def asks_to_confirm(lower: str) -> bool:
    """Confirmation vocabulary: ``yes`` or ``❯`` after the first ``do you want`` (else ``would you like``)."""
    start = lower.find("do you want")
    if start < 0:
        start = lower.find("would you like")
    return start >= 0 and (lower.find("yes", start) >= 0 or lower.find("❯", start) >= 0)


def interrupts(lower: str) -> bool:
    """Interrupt pattern: ``ctrl+c to interrupt``, or ``esc`` and ``interrupt`` anywhere."""
    return ("interrupt" in lower and "esc" in lower) or "ctrl+c to interrupt" in lower


# -- structure ---------------------------------------------------------------------------------------------------------


def boxes(frame: Frame) -> Iterator[range]:
    """Yield the boxes from the bottom up: a top corner row, rows that are framed, a bottom corner row."""
    kinds = frame.kinds
    bottom = kinds.rfind(Kind.BOTTOM)
    while bottom > 0:
        top = _box_top(kinds, bottom)
        if top is not None:
            yield range(top, bottom + 1)
        bottom = kinds.rfind(Kind.BOTTOM, 0, bottom if top is None else top)


def _box_top(kinds: str, bottom: int) -> int | None:
    row = bottom - 1
    while row >= 0 and kinds[row] == Kind.SIDE:
        row -= 1
    return row if row >= 0 and kinds[row] == Kind.TOP else None


def last_box(frame: Frame) -> range:
    """The lowest box."""
    return next(boxes(frame), range(0))


def final_box(frame: Frame, under: int = 0) -> range:
    """The box that ends the screen, whole or with its top scrolled off; at most ``under`` rows may follow it."""
    kinds = frame.kinds
    bottom = kinds.rfind(Kind.BOTTOM)
    if bottom < 1 or (len(frame.nonblank) > under and frame.nonblank[-1 - under] > bottom):
        return range(0)
    row = bottom - 1
    while row >= 0 and kinds[row] == Kind.SIDE:
        row -= 1
    if row < 0:
        return range(bottom + 1)
    return range(row, bottom + 1) if kinds[row] == Kind.TOP else range(0)


def run_above(frame: Frame, row: int) -> range:
    """Return the non-blank rows directly above ``row``, up to the nearest blank one."""
    return range(frame.kinds.rfind(Kind.BLANK, 0, row) + 1, row)


def box_above(frame: Frame, row: int) -> range:
    """Return the box whose bottom is the nearest non-blank row above ``row``, or an empty range."""
    for bottom in frame.above(row, 1):
        if frame.kinds[bottom] == Kind.BOTTOM:
            top = _box_top(frame.kinds, bottom)
            if top is not None:
                return range(top, bottom + 1)
    return range(0)


def boxed_composer(glyph: str) -> Region:
    """Return the region of the lowest box whose first inner row starts with ``glyph`` (a boxed composer)."""

    def region(frame: Frame) -> range:
        for box in boxes(frame):
            if len(box) > 2 and inner(frame.trimmed[box.start + 1]).startswith(glyph):
                return box
        return range(0)

    region.__doc__ = f"The lowest box whose first row starts with {glyph}."
    return region


def ruled_composer(glyph: str) -> Region:
    """Return the region rule, row that starts with ``glyph``, draft rows, rule: the lowest such composer."""

    def region(frame: Frame) -> range:
        prompt = frame.heads.rfind(glyph)
        while prompt > 0:
            if frame.kinds[prompt - 1] == Kind.RULE:
                bottom = frame.kinds.find(Kind.RULE, prompt + 1)
                if bottom > 0:
                    return range(prompt - 1, bottom + 1)
            prompt = frame.heads.rfind(glyph, 0, prompt)
        return range(0)

    region.__doc__ = f"The rows between two rules that start with {glyph}."
    return region


def logical_rows(frame: Frame, span: range, starts: frozenset[str]) -> list[tuple[int, str]]:
    """Rebuild the rows that a narrow pane wrapped onto deeper indented rows (detection.md §2.1.1).

    Returns (number of the first physical row, text) for each; ``starts`` are the first scalars of rows that never
    continue another one. Blank rows separate and are left out.
    """
    return logical(frame.trimmed, frame.indents, span.start, span.stop, starts)


def rows_upwards(frame: Frame, end: int, starts: frozenset[str]) -> Iterator[tuple[int, str]]:
    """Yield the logical rows above ``end`` from the bottom up, each run of adjacent rows rebuilt when it is met."""
    trimmed, kinds, indents = frame.trimmed, frame.kinds, frame.indents
    while end > 0:
        if not trimmed[end - 1]:
            end -= 1
            continue
        start = kinds.rfind(Kind.BLANK, 0, end) + 1
        found = logical(trimmed, indents, start, end, starts)
        found.reverse()
        yield from found
        end = start
