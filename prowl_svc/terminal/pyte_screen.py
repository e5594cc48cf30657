"""The interpreted screen: our scanner in front, pyte's grids behind (terminal.md §1).

It is the fallback where the compiled engine is not built. What goes wrong inside pyte loses one sequence and is
counted, never raised.
"""

from collections import deque
from collections.abc import Callable, Sequence

from pyte import modes

from prowl_svc.model.terminal import Bell, CursorPosition, ModeChange, Reset, SideEvent, StatusQuery, Title
from prowl_svc.terminal.answers import KNOWN_MODES, KittyStack, apc_answer, csi_answer, dcs_answer, osc_answer
from prowl_svc.terminal.grid import Grid
from prowl_svc.terminal.osc import NotificationChunks, decode_osc
from prowl_svc.terminal.scanner import Control, ControlSequence, Escape, Scanner, String, Text, Token

__all__ = ["PyteScreen"]

_MAX_SIZE = 1000
_MAX_ANSWERS = 1 << 16
_MAX_TITLES = 10
_DEFAULT_MODES = frozenset({7, 25})
_DRAWING_MODES = (7, 12, 25, 2026)
_TRACKED_MODES = KNOWN_MODES | {5, 9, 12, 47, 66, 1007, 1015, 1016, 1047, 2027, 2048}
_ALTERNATE_MODES = (47, 1047, 1049)
_GRID_MODES = {6: modes.DECOM, 7: modes.DECAWM}
_ANSI_MODES = {4: modes.IRM, 20: modes.LNM}
_SYNC = 2026


def _clamp(size: int) -> int:
    return min(max(size, 1), _MAX_SIZE)


class PyteScreen:
    """A :class:`prowl_svc.terminal.screen.Screen` on pyte.

    ``answer_status_query`` echoes ``OSC 7501;?``: only for a host that consumes the records.
    """

    def __init__(self, columns: int, rows: int, *, scrollback: int = 1000, answer_status_query: bool = False) -> None:
        self.faults = 0
        """Sequences that pyte failed on."""
        self._answer_status_query = answer_status_query
        self._scrollback: deque[str] = deque(maxlen=scrollback)
        columns, rows = _clamp(columns), _clamp(rows)
        self._primary = Grid(columns, rows, self._scrollback.append)
        self._alternate = Grid(columns, rows)
        self._grid = self._primary
        self._scanner = Scanner()
        self._chunks = NotificationChunks()
        self._modes = set(_DEFAULT_MODES)
        self._primary_keys, self._alternate_keys = KittyStack(), KittyStack()
        self._title = ""
        self._titles: list[str] = []
        self._events: list[SideEvent] = []
        self._answers = bytearray()
        self._last = " "
        self._revision = 0
        self._frozen: CursorPosition | None = None
        self._rows: list[str] = [""] * rows
        self._dim_from: list[int] = [0] * rows

    # What the screen shows

    @property
    def columns(self) -> int:
        """Width in cells."""
        return self._grid.columns

    @property
    def rows(self) -> int:
        """Height in cells."""
        return self._grid.lines

    @property
    def revision(self) -> int:
        """Moves only when visible text changes; several changes between two looks may count as one."""
        self._refresh()
        return self._revision

    @property
    def title(self) -> str:
        """The last title."""
        return self._title

    @property
    def cursor(self) -> CursorPosition:
        """Where the cursor is; where it was while a synchronized update is open."""
        return self._frozen or self._cursor()

    @property
    def alternate(self) -> bool:
        """Whether the alternate screen is in use."""
        return self._grid is self._alternate

    @property
    def synchronizing(self) -> bool:
        """Whether a synchronized update is open."""
        return self._frozen is not None

    @property
    def kitty_flags(self) -> int:
        """The kitty keyboard flags of the screen in use."""
        return self._keys.flags

    def mode(self, number: int) -> bool:
        """Tell whether a DEC private mode is set."""
        return number in self._modes

    def ansi_mode(self, number: int) -> bool | None:
        """Tell whether an ANSI mode is set, None when it is unknown."""
        return _ANSI_MODES[number] in self._grid.mode if number in _ANSI_MODES else None

    @property
    def report_position(self) -> tuple[int, int]:
        """The one-based position that a cursor report tells."""
        grid = self._grid
        top = grid.margins.top if grid.margins and modes.DECOM in grid.mode else 0
        return grid.cursor.y - top + 1, min(grid.cursor.x, grid.columns - 1) + 1

    def active_rows(self) -> list[str]:
        """Return the rows of the visible frame."""
        self._refresh()
        return list(self._rows)

    def text(self) -> str:
        """Return the rows of the visible frame joined by newlines."""
        self._refresh()
        return "\n".join(self._rows)

    def scrollback_rows(self, limit: int | None = None) -> Sequence[str]:
        """Return the newest ``limit`` rows that scrolled off, oldest first."""
        rows = list(self._scrollback)
        return rows if limit is None else rows[max(0, len(rows) - limit) :]

    def empty_or_dim(self, row: int, column: int) -> bool:
        """Tell whether a row is blank or dim from a column on; rows outside the screen are."""
        self._refresh()
        return not 0 <= row < len(self._dim_from) or self._dim_from[row] <= column

    # What changes it

    def feed(self, data: bytes) -> list[SideEvent]:
        """Take bytes, return the events that completed in them."""
        for token in self._scanner.feed(data):
            try:
                self._take(token)
            except Exception:
                self.faults += 1
        events, self._events = self._events, []
        return events

    def take_answers(self) -> bytes:
        """Return and clear the bytes to write back."""
        answers = bytes(self._answers)
        self._answers.clear()
        return answers

    def resize(self, columns: int, rows: int) -> None:
        """Change the size of both screens; an open synchronized update ends."""
        columns, rows = _clamp(columns), _clamp(rows)
        if (columns, rows) == (self.columns, self.rows):
            return
        self.flush()
        for grid in (self._primary, self._alternate):
            grid.resize(rows, columns)
        del self._rows[rows:], self._dim_from[rows:]
        self._rows += [""] * (rows - len(self._rows))
        self._dim_from += [0] * (rows - len(self._dim_from))
        self._refresh()

    def flush(self) -> None:
        """End an open synchronized update."""
        self._frozen = None
        self._modes.discard(_SYNC)

    # Inside

    @property
    def _keys(self) -> KittyStack:
        return self._alternate_keys if self.alternate else self._primary_keys

    def _cursor(self) -> CursorPosition:
        grid = self._grid
        return CursorPosition(grid.cursor.y, min(grid.cursor.x, grid.columns - 1), 25 in self._modes)

    def _refresh(self) -> None:
        """Bring the visible frame up to date, unless it is frozen."""
        grid = self._grid
        if self._frozen or not grid.dirty:
            return
        changed = False
        for y in grid.dirty:
            if y < grid.lines:
                text = grid.row_text(y)
                changed |= text != self._rows[y]
                self._rows[y] = text
                self._dim_from[y] = grid.dim_from(y)
        grid.dirty.clear()
        self._revision += changed

    def _answer(self, data: bytes) -> None:
        if len(self._answers) + len(data) <= _MAX_ANSWERS:
            self._answers += data

    def _take(self, token: Token) -> None:
        if isinstance(token, Text):
            self._on_text(token)
        elif isinstance(token, ControlSequence):
            self._on_sequence(token)
        elif isinstance(token, Control):
            self._on_control(token)
        elif isinstance(token, Escape):
            self._on_escape(token)
        else:
            self._on_string(token)

    def _on_text(self, token: Text) -> None:
        self._grid.draw(token.text)
        self._last = token.text[-1]

    def _on_control(self, token: Control) -> None:
        code, grid = token.code, self._grid
        if code == 0x07:
            self._events.append(Bell(token.end))
        elif code == 0x0D:
            grid.carriage_return()
        elif code in (0x0A, 0x0B, 0x0C):
            grid.settle()
            grid.linefeed()
        elif code == 0x08:
            grid.backspace()
        elif code == 0x09:
            grid.settle()
            grid.tab()
        elif code == 0x0E:
            grid.shift_out()
        elif code == 0x0F:
            grid.shift_in()

    def _on_escape(self, token: Escape) -> None:
        grid = self._grid
        if token.intermediates in (b"(", b")"):
            grid.define_charset(token.final.decode(), token.intermediates.decode())
        elif token.intermediates == b"#" and token.final == b"8":
            grid.alignment_display()
        elif not token.intermediates:
            if token.final == b"c":
                self._hard_reset()
                self._events.append(Reset(token.end, True))
            elif action := _ESCAPES.get(token.final):
                if token.final != b"7":
                    grid.settle()
                action(grid)

    def _hard_reset(self) -> None:
        self.flush()
        self._primary.reset()
        self._alternate.reset()
        self._grid = self._primary
        self._modes = set(_DEFAULT_MODES)
        self._primary_keys.reset()
        self._alternate_keys.reset()
        self._scrollback.clear()
        self._titles.clear()
        self._chunks.clear()

    def _on_sequence(self, token: ControlSequence) -> None:
        key = (token.prefix, token.intermediates, token.final)
        if action := _MOVES.get(key):
            self._grid.settle()
            action(self._grid, token)
        elif handler := _SEQUENCES.get(key):
            handler(self, token)
        self._answer(csi_answer(token.prefix, token.params, token.intermediates, token.final, self))

    def _on_string(self, token: String) -> None:
        if token.kind == b"P":
            self._answer(dcs_answer(token.body))
        elif token.kind == b"_":
            self._answer(apc_answer(token.body))
        else:
            event = decode_osc(token.body, token.terminator, token.end, self._chunks)
            if event is None:
                self._answer(osc_answer(token.body, token.terminator))
                return
            if isinstance(event, Title):
                self._title = event.text
            elif isinstance(event, StatusQuery) and self._answer_status_query:
                self._answer(b"\x1b]7501;?" + event.terminator)
            self._events.append(event)

    def _rendition(self, token: ControlSequence) -> None:
        self._grid.select_graphic_rendition(*token.params)

    def _erase_display(self, token: ControlSequence) -> None:
        how = token.param(0)
        self._grid.settle()
        if how == 3:
            self._scrollback.clear()
        elif how == 2:
            self._grid.clear()
        elif how in (0, 1):
            self._grid.erase_in_display(how)

    def _repeat(self, token: ControlSequence) -> None:
        limit = self.columns * self.rows
        self._grid.draw(self._last * min(token.param(0, 1), limit))

    def _set_ansi_modes(self, token: ControlSequence) -> None:
        for number in token.params:
            if number in _ANSI_MODES:
                self._toggle(self._grid.mode, _ANSI_MODES[number], token.final == b"h")

    def _set_modes(self, token: ControlSequence) -> None:
        on = token.final == b"h"
        for number in token.params:
            if number in _GRID_MODES:
                self._toggle(self._grid.mode, _GRID_MODES[number], on)
                if number == 6:
                    self._grid.cursor_position()
            elif number in _ALTERNATE_MODES:
                self._switch(number, on)
            elif number == 1048:
                (self._grid.save_cursor if on else self._grid.restore_cursor)()
            elif number == _SYNC:
                self._synchronize(on)
            if number in _TRACKED_MODES:
                self._toggle(self._modes, number, on)
            if number > 0 and number not in _DRAWING_MODES:
                self._events.append(ModeChange(token.end, number, on))

    @staticmethod
    def _toggle(numbers: set[int], number: int, on: bool) -> None:
        (numbers.add if on else numbers.discard)(number)

    def _synchronize(self, on: bool) -> None:
        if on and not self._frozen:
            self._refresh()
            self._frozen = self._cursor()
        elif not on:
            self._frozen = None

    def _switch(self, number: int, on: bool) -> None:
        source, target = self._grid, self._alternate if on else self._primary
        if number == 1049 and on and source is not target:
            source.save_cursor()
        if source is not target:
            target.take_cursor(source)
            self._grid = target
            target.dirty.update(range(target.lines))
            for other in _ALTERNATE_MODES:
                self._toggle(self._modes, other, False)
        if number == 1049:
            if on:
                target.clear()
            elif source is not target:
                target.restore_cursor()
        elif number == 1047 and not on:
            self._alternate.clear()

    def _soft_reset(self, token: ControlSequence) -> None:
        self._grid.soft_reset()
        self._modes = (self._modes - {1, 6}) | {7, 25}
        self._keys.reset()
        self._events.append(Reset(token.end, False))

    def _window(self, token: ControlSequence) -> None:
        operation, which = token.param(0), token.param(1)
        if which not in (0, 2):
            return
        if operation == 22:
            self._titles.append(self._title)
            del self._titles[:-_MAX_TITLES]
        elif operation == 23 and self._titles:
            self._title = self._titles.pop()
            self._events.append(Title(token.end, self._title))

    def _push_keys(self, token: ControlSequence) -> None:
        self._keys.push(token.param(0))

    def _pop_keys(self, token: ControlSequence) -> None:
        self._keys.pop(token.param(0, 1))

    def _assign_keys(self, token: ControlSequence) -> None:
        self._keys.assign(token.param(0), token.param(1, 1))


def _tabs(grid: Grid, count: int) -> None:
    for _ in range(min(count, grid.columns)):
        grid.tab()


def _back_tabs(grid: Grid, count: int) -> None:
    for _ in range(min(count, grid.columns)):
        grid.cursor.x = max((stop for stop in grid.tabstops if stop < grid.cursor.x), default=0)


def _next_line(grid: Grid) -> None:
    grid.index()
    grid.carriage_return()


def _erase_line(grid: Grid, how: int) -> None:
    if how in (0, 1, 2):
        grid.erase_in_line(how)


_ESCAPES: dict[bytes, Callable[[Grid], None]] = {
    b"7": Grid.save_cursor,
    b"8": Grid.restore_cursor,
    b"D": Grid.index,
    b"E": _next_line,
    b"M": Grid.reverse_index,
    b"H": Grid.set_tab_stop,
}

_MOVES: dict[tuple[bytes, bytes, bytes], Callable[[Grid, ControlSequence], None]] = {
    (b"", b"", final): action
    for final, action in {
        b"@": lambda grid, token: grid.insert_characters(token.param(0, 1)),
        b"A": lambda grid, token: grid.cursor_up(token.param(0, 1)),
        b"B": lambda grid, token: grid.cursor_down(token.param(0, 1)),
        b"C": lambda grid, token: grid.cursor_forward(token.param(0, 1)),
        b"D": lambda grid, token: grid.cursor_back(token.param(0, 1)),
        b"E": lambda grid, token: grid.cursor_down1(token.param(0, 1)),
        b"F": lambda grid, token: grid.cursor_up1(token.param(0, 1)),
        b"G": lambda grid, token: grid.cursor_to_column(token.param(0, 1)),
        b"`": lambda grid, token: grid.cursor_to_column(token.param(0, 1)),
        b"H": lambda grid, token: grid.cursor_position(token.param(0, 1), token.param(1, 1)),
        b"f": lambda grid, token: grid.cursor_position(token.param(0, 1), token.param(1, 1)),
        b"I": lambda grid, token: _tabs(grid, token.param(0, 1)),
        b"K": lambda grid, token: _erase_line(grid, token.param(0)),
        b"L": lambda grid, token: grid.insert_lines(token.param(0, 1)),
        b"M": lambda grid, token: grid.delete_lines(token.param(0, 1)),
        b"P": lambda grid, token: grid.delete_characters(token.param(0, 1)),
        b"S": lambda grid, token: grid.scroll_up(token.param(0, 1)),
        b"T": lambda grid, token: grid.scroll_down(token.param(0, 1)),
        b"X": lambda grid, token: grid.erase_characters(token.param(0, 1)),
        b"Z": lambda grid, token: _back_tabs(grid, token.param(0, 1)),
        b"a": lambda grid, token: grid.cursor_forward(token.param(0, 1)),
        b"d": lambda grid, token: grid.cursor_to_line(token.param(0, 1)),
        b"e": lambda grid, token: grid.cursor_down(token.param(0, 1)),
        b"g": lambda grid, token: grid.clear_tab_stop(token.param(0)),
        b"r": lambda grid, token: grid.set_region(token.param(0), token.param(1)),
        b"s": lambda grid, token: grid.save_cursor(),
        b"u": lambda grid, token: grid.restore_cursor(),
    }.items()
}

_SEQUENCES: dict[tuple[bytes, bytes, bytes], Callable[[PyteScreen, ControlSequence], None]] = {
    (b"", b"", b"m"): PyteScreen._rendition,
    (b"", b"", b"J"): PyteScreen._erase_display,
    (b"", b"", b"b"): PyteScreen._repeat,
    (b"", b"", b"h"): PyteScreen._set_ansi_modes,
    (b"", b"", b"l"): PyteScreen._set_ansi_modes,
    (b"?", b"", b"h"): PyteScreen._set_modes,
    (b"?", b"", b"l"): PyteScreen._set_modes,
    (b"", b"!", b"p"): PyteScreen._soft_reset,
    (b"", b"", b"t"): PyteScreen._window,
    (b">", b"", b"u"): PyteScreen._push_keys,
    (b"<", b"", b"u"): PyteScreen._pop_keys,
    (b"=", b"", b"u"): PyteScreen._assign_keys,
}
