"""A screen as rules see it: rows plus the facts that rules ask for again and again, each computed once."""

from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from prowl_svc._fast.rows import lower, scan, squeeze, squeeze_rows

__all__ = ["Frame", "Region"]

T = TypeVar("T")


class Frame:
    """The rows of one screen (or of its tail) with shared facts; one frame lives for one classification.

    Row numbers count from 0 within the frame; ``start`` is where the frame begins on the screen. Rows are spans of
    ``range``. What the scan found, one entry a row: ``trimmed`` (blank space cut on both sides), ``heads`` (first
    scalar, blank rows a space), ``kinds`` (letters of ``Kind``), ``indents`` (leading U+0020, at most 255), ``masks``
    (bits of ``Glyph``). ``nonblank`` are the numbers of the rows that hold something, ``glyphs`` is the union of masks.

    ``heads`` and ``kinds`` are strings, so that ``heads.rfind("❯")`` is the last row that starts with a prompt and
    ``kinds.count(Kind.BRAILLE)`` the number of braille-led rows, without a loop.
    """

    __slots__ = (
        "_facts",
        "_foot",
        "_lower",
        "_said",
        "_text",
        "end",
        "glyphs",
        "heads",
        "indents",
        "kinds",
        "masks",
        "nonblank",
        "rows",
        "start",
        "trimmed",
    )

    def __init__(self, rows: Sequence[str], budget: int = 0) -> None:
        """Take the rows from the ``budget``-th non-blank row from the bottom on (0: all rows; detection.md §2.0)."""
        listed = rows if type(rows) is list else list(rows)
        (
            self.start,
            self.trimmed,
            self.heads,
            self.kinds,
            self.indents,
            self.masks,
            self.nonblank,
            self.glyphs,
        ) = scan(listed, budget)
        self.rows: list[str] = listed[self.start :] if self.start else listed
        self.end = len(self.trimmed)
        self._facts: dict[Callable[[Frame], Any], Any] = {}
        self._said: dict[tuple[int, int], str] = {}
        self._text: str | None = None
        self._lower: str | None = None
        self._foot: str | None = None

    @property
    def text(self) -> str:
        """The trimmed rows joined by newlines, blank rows kept as empty ones."""
        if self._text is None:
            self._text = "\n".join(self.trimmed)
        return self._text

    @property
    def lower(self) -> str:
        """``text`` with A to Z lowered; positions agree with ``text``."""
        if self._lower is None:
            self._lower = lower(self.text)
        return self._lower

    def fact(self, find: "Callable[[Frame], T]") -> T:
        """Return ``find(frame)``, computed once a frame: regions and whatever else rules share."""
        facts = self._facts
        found = facts.get(find)
        if found is None:
            found = facts[find] = find(self)
        return found

    def joined(self, span: range) -> str:
        """Return the trimmed rows of ``span`` joined by newlines, as drawn."""
        if len(span) == self.end:
            return self.text
        return "\n".join(self.trimmed[span.start : span.stop])

    def lowered(self, span: range) -> str:
        """Return ``joined`` with A to Z lowered."""
        return self.lower if len(span) == self.end else lower(self.joined(span))

    def said(self, span: range) -> str:
        """Return what ``span`` says however it is wrapped: lowered, without blank space, newlines and frames.

        Words that a narrow pane split over two rows, with or without a box border between, are whole again.
        """
        key = (span.start, span.stop)
        found = self._said.get(key)
        if found is None:
            found = self._said[key] = squeeze(self.joined(span))
        return found

    @property
    def foot(self) -> str:
        """What the last six non-blank rows say, squeezed: where dialogs and footers have their key hints."""
        if self._foot is None:
            self._foot = squeeze_rows(self.trimmed, self.nonblank, 6)
        return self._foot

    def hinted(self, hints: tuple[str, ...]) -> bool:
        """Tell whether one of the squeezed words stands in the foot."""
        return any(map(self.foot.__contains__, hints))

    def row_of(self, position: int) -> int:
        """Return the number of the row that holds a position of ``text`` (or of ``lower``)."""
        return self.text.count("\n", 0, position)

    def last_with(self, glyphs: int) -> int:
        """Return the lowest row that contains a scalar of one of the ``Glyph`` classes, -1 if there is none."""
        if self.glyphs & glyphs:
            masks = self.masks
            for number in range(self.end - 1, -1, -1):
                if masks[number] & glyphs:
                    return number
        return -1

    def last(self, count: int) -> range:
        """Return the rows from the ``count``-th non-blank row from the bottom to the end (empty for a blank frame)."""
        filled = self.nonblank
        if not filled:
            return range(self.end, self.end)
        return range(filled[-count] if count <= len(filled) else 0, self.end)

    def above(self, row: int, count: int) -> list[int]:
        """Return up to ``count`` non-blank rows above ``row``, nearest first."""
        found: list[int] = []
        for number in range(min(row, self.end) - 1, -1, -1):
            if self.trimmed[number]:
                found.append(number)
                if len(found) == count:
                    break
        return found

    def below(self, row: int) -> list[int]:
        """Return the non-blank rows below ``row``, top first."""
        return [number for number in range(row + 1, self.end) if self.trimmed[number]]


#: Chooses rows of a frame; an empty range says that the region is not on this screen. Its name is shown to people.
Region = Callable[[Frame], range]
