"""pyte's grid with its faults mended: wrap, wide and joined characters, dim, bounded saves, scrollback, resize.

Only text, width and dim are kept of a cell; dim lives in pyte's ``blink``, which nothing else reads.
"""

import unicodedata
from collections.abc import Callable
from functools import lru_cache
from itertools import repeat
from operator import itemgetter

import pyte
from pyte import modes
from pyte.screens import Char, Cursor, Margins, StaticDefaultDict
from wcwidth import wcwidth

__all__ = ["Grid", "Row"]

Row = StaticDefaultDict[int, Char]

_BLANK = Char(" ")
_DIM = Char(" ", blink=True)
_DATA = itemgetter(0)
_MAX_CELL = 32  # code points of one cell, so that a flood of marks stays bounded
_SUBCOLORS = {5: 2, 2: 4}  # fields after 38, 48 or 58 that belong to the colour


@lru_cache(maxsize=8192)
def _width(char: str) -> int:
    """Return the cells that ``char`` takes; -1 for what is never drawn."""
    width = wcwidth(char)
    if width == 0 and unicodedata.category(char) == "Cc":
        return -1
    return width


class Grid(pyte.Screen):
    """One screen: primary (``scrolled`` takes the rows that leave at the top) or alternate (None)."""

    def __init__(self, columns: int, rows: int, scrolled: Callable[[str], None] | None = None) -> None:
        self._scrolled = scrolled
        self._wide: set[str] = set()  # wide characters seen, so that rows without any are read quickly
        self._saved: tuple[Cursor, str, str, int, bool] | None = None
        super().__init__(columns, rows)

    def reset(self) -> None:
        """Blank everything and set every default, as RIS does."""
        super().reset()
        self._saved = None

    # Text

    def draw(self, data: str) -> None:
        """Write text at the cursor, wrapping as the modes say."""
        if self.charset or self.g0_charset is not pyte.charsets.LAT1_MAP:
            data = data.translate(self.g1_charset if self.charset else self.g0_charset)
        cursor, columns = self.cursor, self.columns
        blink = cursor.attrs.blink
        wraps, inserts = modes.DECAWM in self.mode, modes.IRM in self.mode
        line = self.buffer[cursor.y]
        self.dirty.add(cursor.y)
        for char in data:
            width = 1 if " " <= char <= "~" else _width(char)
            if width <= 0:
                if width == 0:
                    self._join(char)
                continue
            if width > columns or (width == 2 and self._continues(char)):
                continue
            if cursor.x + width > columns:
                if wraps:
                    cursor.x = 0
                    self.index()
                    line = self.buffer[cursor.y]
                    self.dirty.add(cursor.y)
                else:
                    cursor.x = columns - width
            if inserts:
                self.insert_characters(width)
            x = cursor.x
            line[x] = Char(char, blink=blink)
            if width == 2:
                line[x + 1] = Char("", blink=blink)
                self._wide.add(char)
            x += width
            cursor.x = x if x < columns or wraps else columns - 1

    def _previous(self) -> tuple[Row, int] | None:
        """Find the cell that was written last before the cursor."""
        line = self.buffer[self.cursor.y]
        x = min(self.cursor.x, self.columns) - 1
        if x > 0 and line[x].data == "":
            x -= 1
        return (line, x) if x >= 0 else None

    def _join(self, char: str) -> None:
        if (found := self._previous()) is None:
            return
        line, x = found
        cell = line[x]
        if cell.data not in ("", " ") and len(cell.data) < _MAX_CELL:
            line[x] = cell._replace(data=unicodedata.normalize("NFC", cell.data + char))

    def _continues(self, char: str) -> bool:
        """Take the second half of a joined emoji into the cell before."""
        found = self._previous()
        if found is None or not found[0][found[1]].data.endswith("\u200d"):
            return False
        self._join(char)
        return True

    # Movement and scrolling

    def settle(self) -> None:
        """Give up a pending wrap, as every movement and erasure does."""
        if self.cursor.x >= self.columns:
            self.cursor.x = self.columns - 1

    def cursor_up(self, count: int | None = None) -> None:
        """Move up, stopping at the top margin only from below it."""
        top = self.margins.top if self.margins and self.cursor.y >= self.margins.top else 0
        self.cursor.y = max(self.cursor.y - (count or 1), top)

    def cursor_down(self, count: int | None = None) -> None:
        """Move down, stopping at the bottom margin only from above it."""
        last = self.lines - 1
        bottom = self.margins.bottom if self.margins and self.cursor.y <= self.margins.bottom else last
        self.cursor.y = min(self.cursor.y + (count or 1), bottom)

    def cursor_to_line(self, line: int | None = None) -> None:
        """Move to a row, counted from the top margin in origin mode."""
        top = self.margins.top if self.margins and modes.DECOM in self.mode else 0
        self.cursor.y = (line or 1) - 1 + top
        self.ensure_vbounds()

    def index(self) -> None:
        """Move down, scrolling at the bottom margin; rows that leave a full-height region go to the scrollback."""
        top, bottom = self.margins or Margins(0, self.lines - 1)
        if self.cursor.y == bottom:
            self._shift_up(top, bottom)
        elif self.cursor.y < self.lines - 1:
            self.cursor.y += 1

    def reverse_index(self) -> None:
        """Move up, scrolling down at the top margin."""
        top = self.margins.top if self.margins else 0
        if self.cursor.y == top:
            self.scroll_down(1)
        elif self.cursor.y > 0:
            self.cursor.y -= 1

    def _shift_up(self, top: int, bottom: int) -> None:
        if top == 0 and self._scrolled:
            self._scrolled(self.row_text(0))
        buffer = self.buffer
        for y in range(top, bottom):
            buffer[y] = buffer[y + 1]
        buffer.pop(bottom, None)
        self.dirty.update(range(top, bottom + 1))

    def scroll_up(self, count: int) -> None:
        """SU: move the region's content up, the cursor stays."""
        top, bottom = self.margins or Margins(0, self.lines - 1)
        for _ in range(min(count, bottom - top + 1)):
            self._shift_up(top, bottom)

    def scroll_down(self, count: int) -> None:
        """SD: move the region's content down, the cursor stays."""
        top, bottom = self.margins or Margins(0, self.lines - 1)
        buffer = self.buffer
        for _ in range(min(count, bottom - top + 1)):
            for y in range(bottom, top, -1):
                buffer[y] = buffer[y - 1]
            buffer.pop(top, None)
        self.dirty.update(range(top, bottom + 1))

    def set_region(self, top: int, bottom: int) -> None:
        """DECSTBM with one-based rows, 0 for omitted: set the margins and home the cursor."""
        first, last = max(top, 1) - 1, min(bottom or self.lines, self.lines) - 1
        if first < last:
            self.margins = None if (first, last) == (0, self.lines - 1) else Margins(first, last)
            self.cursor_position()

    # Editing

    def insert_characters(self, count: int | None = None) -> None:
        """Open blanks at the cursor; what is pushed over the edge is lost."""
        x, line = self.cursor.x, self.buffer[self.cursor.y]
        cells = [line[i] for i in range(x, self.columns)]
        width = min(count or 1, len(cells))
        for i, cell in enumerate([_BLANK] * width + cells[: len(cells) - width], x):
            line[i] = cell
        self.dirty.add(self.cursor.y)

    def clear(self) -> None:
        """Blank the whole screen, the cursor stays."""
        self.buffer.clear()
        self.dirty.update(range(self.lines))

    def select_graphic_rendition(self, *attrs: int) -> None:
        """SGR: keep whether text is dim, skipping the fields of colours."""
        dim, index = self.cursor.attrs.blink, 0
        while index < len(attrs):
            attr = attrs[index]
            if attr in (0, 22):
                dim = False
            elif attr == 2:
                dim = True
            elif attr in (38, 48, 58):
                index += _SUBCOLORS.get(attrs[index + 1], 1) if index + 1 < len(attrs) else 0
            index += 1
        self.cursor.attrs = _DIM if attrs and dim else _BLANK

    # State

    def save_cursor(self) -> None:
        """DECSC: keep cursor, character sets and origin mode; one save, as terminals have."""
        cursor = Cursor(self.cursor.x, self.cursor.y, self.cursor.attrs)
        self._saved = (cursor, self.g0_charset, self.g1_charset, self.charset, modes.DECOM in self.mode)

    def restore_cursor(self) -> None:
        """DECRC: bring back what was saved, or the defaults."""
        saved = self._saved or (Cursor(0, 0), pyte.charsets.LAT1_MAP, pyte.charsets.VT100_MAP, 0, False)
        cursor, self.g0_charset, self.g1_charset, self.charset, origin = saved
        (self.mode.add if origin else self.mode.discard)(modes.DECOM)
        self.cursor = Cursor(min(cursor.x, self.columns), cursor.y, cursor.attrs)
        self.ensure_vbounds()

    def soft_reset(self) -> None:
        """DECSTR: modes, margins, character sets, rendition and save; the text and the cursor stay."""
        self.mode = {modes.DECAWM, modes.DECTCEM}
        self.margins = None
        self.charset, self.g0_charset, self.g1_charset = 0, pyte.charsets.LAT1_MAP, pyte.charsets.VT100_MAP
        self.cursor.attrs = _BLANK
        self._saved = None

    def take_cursor(self, other: "Grid") -> None:
        """Go on where ``other`` stood, when the screens change places."""
        self.cursor = Cursor(other.cursor.x, other.cursor.y, other.cursor.attrs)
        self.mode = set(other.mode)
        self.charset, self.g0_charset, self.g1_charset = other.charset, other.g0_charset, other.g1_charset

    def resize(self, lines: int | None = None, columns: int | None = None) -> None:
        """Change the size: rows below the cursor go first, then rows leave at the top; columns are cut, not wrapped."""
        lines, columns = lines or self.lines, columns or self.columns
        excess = self.lines - lines
        if excess > 0:
            drop = max(0, excess - (self.lines - 1 - self.cursor.y))
            for y in range(drop):
                if self._scrolled:
                    self._scrolled(self.row_text(y))
            kept = {y: self.buffer[y + drop] for y in range(lines)}
            self.buffer.clear()
            self.buffer.update(kept)
            self.cursor.y -= drop
        for line in self.buffer.values():
            for x in [x for x in line if x >= columns]:
                del line[x]
        self.tabstops = {x for x in self.tabstops if x < columns} | {
            x for x in range(8, columns, 8) if x >= self.columns
        }
        self.lines, self.columns, self.margins = lines, columns, None
        self.settle()
        self.ensure_vbounds()
        self.dirty = set(range(lines))

    # Reading

    def row_text(self, y: int) -> str:
        """Return a row as drawn: a wide character is one item, half of one is a blank, trailing blanks are cut."""
        line = self.buffer.get(y)
        if not line:
            return ""
        cells = list(map(_DATA, map(line.get, range(self.columns), repeat(_BLANK))))
        text = "".join(cells)
        if "" in cells or not self._wide.isdisjoint(text):
            text = "".join(_whole(cells))
        return text.rstrip(" ")

    def dim_from(self, y: int) -> int:
        """Return the first column from which on every cell of the row is blank or dim."""
        line = self.buffer.get(y)
        if not line:
            return 0
        get = line.get
        for x in range(self.columns - 1, -1, -1):
            cell = get(x, _BLANK)
            if cell.data not in ("", " ") and not cell.blink:
                return x + 1
        return 0


def _whole(cells: list[str]) -> list[str]:
    result, x = [], 0
    while x < len(cells):
        data = cells[x]
        if data == "":
            result.append(" ")
        elif data > "\u10ff" and _width(data[0]) == 2:
            if x + 1 < len(cells) and cells[x + 1] == "":
                result.append(data)
                x += 1
            else:
                result.append(" ")
        else:
            result.append(data)
        x += 1
    return result
