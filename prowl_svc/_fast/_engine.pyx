# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""The compiled terminal screen: plain text and control sequences never leave C (design: terminal emulation).

String sequences and queries come out as records in stream order, with the state that an answer needs;
``prowl_svc.terminal.engine_screen`` reads them.
"""

from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_FromStringAndSize, PyBytes_GET_SIZE
from libc.stdint cimport int32_t, uint8_t, uint16_t, uint32_t, uint64_t
from libc.stdlib cimport calloc, free, malloc, realloc
from libc.string cimport memset

from prowl_svc._fast._engine_cells cimport *
from prowl_svc._fast._engine_csi cimport *
from prowl_svc._fast._engine_frame cimport *
from prowl_svc._fast._engine_graphemes cimport *
from prowl_svc._fast._engine_modes cimport *
from prowl_svc._fast._engine_parser cimport *
from prowl_svc._fast._engine_resize cimport *
from prowl_svc._fast._engine_term cimport *

__all__ = ["Engine", "char_columns"]

cdef extern from "Python.h":
    object PyUnicode_New(Py_ssize_t size, Py_UCS4 maxchar)
    void *PyUnicode_DATA(object text)
    int PyUnicode_KIND(object text)

# Cells to the units of a Python string; an empty cell is a space.
cdef extern from *:
    """
    static inline uint32_t prowl_cells_union(const uint32_t *cells, size_t length)
    {
        uint32_t all = 0;
        for (size_t i = 0; i < length; i++)
            all |= cells[i];
        return all;
    }
    #define PROWL_COPY(NAME, TYPE) \\
        static inline void NAME(TYPE *restrict out, const uint32_t *restrict cells, size_t length) \\
        { \\
            for (size_t i = 0; i < length; i++) { \\
                uint32_t point = cells[i] & 0x1FFFFF; \\
                out[i] = (TYPE)(point | (point ? 0 : 0x20)); \\
            } \\
        }
    PROWL_COPY(prowl_copy_1, uint8_t)
    PROWL_COPY(prowl_copy_2, uint16_t)
    PROWL_COPY(prowl_copy_4, uint32_t)
    """
    uint32_t prowl_cells_union(const uint32_t *cells, size_t length) noexcept nogil
    void prowl_copy_1(uint8_t *out, const uint32_t *cells, size_t length) noexcept nogil
    void prowl_copy_2(uint16_t *out, const uint32_t *cells, size_t length) noexcept nogil
    void prowl_copy_4(uint32_t *out, const uint32_t *cells, size_t length) noexcept nogil

cdef enum:
    LARGEST = 1000


def char_columns(str text not None):
    """Return how many columns the first character of ``text`` takes: 0, 1 or 2."""
    cdef Py_UCS4 point = ord(text[0])
    return char_width(point)


cdef inline int32_t clamp(object size):
    if size < 1:
        return 1
    return LARGEST if size > LARGEST else size


cdef object plain_row(const cell_t *cells, Py_ssize_t length, uint32_t largest):
    """Return a row in which every cell is one character."""
    cdef object text
    if largest < 0x80:
        text = PyUnicode_New(length, 0x7F)
        prowl_copy_1(<uint8_t *>PyUnicode_DATA(text), cells, length)
    elif largest < 0x100:
        text = PyUnicode_New(length, 0xFF)
        prowl_copy_1(<uint8_t *>PyUnicode_DATA(text), cells, length)
    elif largest < 0x10000:
        text = PyUnicode_New(length, 0xFFFF)
        prowl_copy_2(<uint16_t *>PyUnicode_DATA(text), cells, length)
    else:
        text = PyUnicode_New(length, 0x10FFFF)
        prowl_copy_4(<uint32_t *>PyUnicode_DATA(text), cells, length)
    return text


cdef object row_text(Term *term, const cell_t *cells, Py_ssize_t length):
    """Return a row as drawn, trailing blanks cut: a wide character once, a grapheme whole."""
    cdef uint32_t points[MAX_GRAPHEME]
    cdef uint32_t *text
    cdef uint32_t all
    cdef uint32_t count
    cdef Py_ssize_t size = 0
    cdef Py_ssize_t room
    cdef Py_ssize_t i
    cdef object result
    while length:
        if cells[length - 1] & KIND_MASK == TAIL:
            if length < 2 or cells[length - 2] & TEXT_MASK != 0x20:
                break
        elif cells[length - 1] & TEXT_MASK and cells[length - 1] & TEXT_MASK != 0x20:
            break
        length -= 1
    if length == 0:
        return ""
    all = prowl_cells_union(cells, length)
    if not all & (GRAPHEME | KIND_MASK):
        return plain_row(cells, length, all & CP_MASK)
    room = length * (MAX_GRAPHEME if all & GRAPHEME else 1)
    text = <uint32_t *>malloc(room * sizeof(uint32_t))
    if text == NULL:
        raise MemoryError
    for i in range(length):
        if cells[i] & KIND_MASK == TAIL:
            continue
        count = cell_points(term, cells[i], text + size)
        if count == 0:
            text[size] = 0x20
            count = 1
        size += count
    try:
        result = plain_row(text, size, prowl_cells_union(text, size))
    finally:
        free(text)
    return result


cdef class Engine:
    """A terminal of ``columns`` by ``rows`` cells; sizes are clamped to 1..1000, ``scrollback`` to 0..100,000 rows."""

    cdef Term term
    cdef list _texts  # per row of the visible frame, None when it must be read again
    cdef uint64_t _texts_revision
    cdef object _joined

    def __cinit__(self, columns, rows, *, scrollback=1000, **_):
        cdef Term *term = &self.term
        term.columns = clamp(columns)
        term.rows = clamp(rows)
        term.history.limit = 0 if scrollback < 0 else 100000 if scrollback > 100000 else scrollback
        term.front = <cell_t *>calloc(<size_t>term.columns * term.rows, sizeof(cell_t))
        term.front_revision = <uint64_t *>calloc(term.rows, sizeof(uint64_t))
        term.dirty = <uint8_t *>calloc(term.rows, 1)
        term.tabs = <uint8_t *>calloc(term.columns, 1)
        term.scratch = <Row *>malloc(term.rows * sizeof(Row))
        term.screen = &term.main
        if (not screen_alloc(&term.main, term.columns, term.rows)
                or not screen_alloc(&term.alt, term.columns, term.rows)
                or term.front == NULL or term.front_revision == NULL or term.dirty == NULL or term.tabs == NULL
                or term.scratch == NULL):
            raise MemoryError
        term.modes = default_modes()
        term.grapheme_goal = 256
        reset_margins(term)
        reset_tabs(term)
        update_slow(term)
        self._texts = [""] * term.rows

    def __dealloc__(self):
        cdef Term *term = &self.term
        history_clear(&term.history)
        free(term.history.rows)
        free(term.history.room)
        graphemes_free(term)
        screen_free(&term.main)
        screen_free(&term.alt)
        free(term.front)
        free(term.front_revision)
        free(term.dirty)
        free(term.tabs)
        free(term.scratch)
        free(term.string)
        free(term.events)
        free(term.arena)

    # Taking bytes

    cpdef list feed_records(self, bytes data):
        """Take bytes; return ``(kind, offset, a, b, c, payload)`` for what happened beside the text, in stream order."""
        cdef Term *term = &self.term
        cdef const uint8_t *text = <const uint8_t *>PyBytes_AS_STRING(data)
        cdef size_t length = PyBytes_GET_SIZE(data)
        feed_bytes(term, text, length)  # the GIL is kept: a piece takes microseconds, getting it back may take longer
        if term.event_count == 0:
            return []
        return self.take_records()

    cdef list take_records(self):
        cdef Term *term = &self.term
        cdef Event *event
        cdef list records = []
        cdef int32_t i
        try:
            for i in range(term.event_count):
                event = &term.events[i]
                payload = None
                if EV_OSC <= event.kind <= EV_APC:
                    payload = PyBytes_FromStringAndSize(<char *>term.arena + event.start, event.length)
                records.append((event.kind, event.offset, event.a, event.b, event.c, payload))
        finally:
            term.event_count = 0
            term.arena_length = 0
            if term.event_room > 1024:
                free(term.events)
                term.events = NULL
                term.event_room = 0
            if term.arena_room > 16384:
                free(term.arena)
                term.arena = NULL
                term.arena_room = 0
            if term.string_room > 1024 and term.state < STRING:
                free(term.string)
                term.string = NULL
                term.string_room = 0
        return records

    def flush(self):
        """End an open synchronized update, so that what arrived so far is visible."""
        set_bit(&self.term, M_SYNC, False)

    def resize(self, columns, rows):
        """Change the size, content kept as terminals do; an open synchronized update ends."""
        cdef int32_t width = clamp(columns)
        cdef int32_t height = clamp(rows)
        cdef bint good
        if width == self.term.columns and height == self.term.rows:
            return
        set_bit(&self.term, M_SYNC, False)
        before = self.rows_now()
        good = resize_term(&self.term, width, height)
        if not good:
            return
        self._texts = [None] * height
        self._joined = None
        revision = self.term.revision
        publish(&self.term)
        self.term.revision = revision
        for y in range(height):
            self.term.front_revision[y] = revision
        self._texts_revision = revision
        if self.rows_now() != before:
            self.term.revision = revision + 1
            self._texts_revision = revision + 1
            for y in range(height):
                self.term.front_revision[y] = revision + 1

    # Reading

    cdef inline void look(self):
        """Bring the visible frame and the texts of its rows up to date."""
        cdef Term *term = &self.term
        cdef int32_t y
        if not mode_on(term, M_SYNC):
            publish(term)
        if term.revision != self._texts_revision:
            for y in range(term.rows):
                if term.front_revision[y] > self._texts_revision:
                    self._texts[y] = None
            self._texts_revision = term.revision
            self._joined = None

    cdef list rows_now(self):
        cdef Term *term = &self.term
        cdef int32_t y
        cdef list texts
        self.look()
        texts = self._texts
        for y in range(term.rows):
            if texts[y] is None:
                texts[y] = row_text(term, term.front + <size_t>y * term.columns, term.columns)
        return texts

    def active_rows(self):
        """Return the rows of the visible frame, trailing blanks cut."""
        return self.rows_now().copy()

    def text(self):
        """Return the rows of the visible frame joined by newlines."""
        texts = self.rows_now()
        if self._joined is None:
            self._joined = "\n".join(texts)
        return self._joined

    def scrollback_rows(self, limit=None):
        """Return the newest ``limit`` rows that scrolled off the primary screen (all if None), oldest first."""
        cdef Term *term = &self.term
        cdef int32_t count = term.history.count
        cdef int32_t i
        cdef Row *row
        if limit is not None and limit < count:
            count = limit if limit > 0 else 0
        rows = []
        for i in range(term.history.count - count, term.history.count):
            row = history_row(&term.history, i)
            rows.append(row_text(term, row.cells, row.used))
        return rows

    def changed_rows(self, uint64_t since):
        """Return which rows' text changed after revision ``since``."""
        cdef int32_t y
        self.look()
        return [y for y in range(self.term.rows) if self.term.front_revision[y] > since]

    def empty_or_dim(self, row, column):
        """Tell whether every cell of ``row`` from ``column`` on is blank or dim; what is outside the screen is."""
        cdef Term *term = &self.term
        cdef const cell_t *cells
        cdef cell_t text
        cdef int32_t x
        if not 0 <= row < term.rows or column >= term.columns:
            return True
        self.look()
        cells = term.front + <size_t>row * term.columns
        for x in range(column if column > 0 else 0, term.columns):
            text = cells[x] & TEXT_MASK
            if text and text != 0x20 and not cells[x] & DIM:
                return False
        return True

    def row_cells(self, row):
        """Return the cells of a row of the visible frame that show something: column, text, width and dim."""
        cdef Term *term = &self.term
        cdef const cell_t *cells
        cdef int32_t x
        result = []
        if not 0 <= row < term.rows:
            return result
        self.look()
        cells = term.front + <size_t>row * term.columns
        for x in range(term.columns):
            if cells[x] & TEXT_MASK and cells[x] & TEXT_MASK != 0x20:
                result.append((x, row_text(term, cells + x, 1), 2 if cells[x] & KIND_MASK == WIDE else 1,
                               bool(cells[x] & DIM)))
        return result

    @property
    def columns(self):
        """Width in cells."""
        return self.term.columns

    @property
    def rows(self):
        """Height in cells."""
        return self.term.rows

    @property
    def revision(self):
        """Moves only when visible text changes; several changes between two looks may count as one."""
        self.look()
        return self.term.revision

    @property
    def alternate(self):
        """Whether the alternate screen is in use."""
        return self.term.screen == &self.term.alt

    @property
    def synchronizing(self):
        """Whether a synchronized update is open."""
        return mode_on(&self.term, M_SYNC)

    @property
    def position(self):
        """Row, column and visibility of the cursor; of the visible frame while a synchronized update is open."""
        cdef Term *term = &self.term
        if mode_on(term, M_SYNC):
            return term.front_y, term.front_x, bool(term.front_visible)
        return term.screen.y, term.screen.x, mode_on(term, M_VISIBLE)

    @property
    def kitty_flags(self):
        """The kitty keyboard flags in force on the screen in use."""
        cdef Screen *screen = self.term.screen
        return screen.kitty[screen.kitty_count - 1] if screen.kitty_count else 0

    @property
    def offset(self):
        """Bytes taken so far."""
        return self.term.consumed

    @property
    def ground(self):
        """Whether the stream stands between sequences and characters."""
        return self.term.state == GROUND and self.term.utf8_need == 0

    @property
    def lost(self):
        """Whether memory ran out for something, which was then left out."""
        return bool(self.term.lost)

    def mode(self, number):
        """Tell whether DEC private mode ``number`` is set; one that is not known is not."""
        cdef int32_t bit
        if not 0 < number < 65536:
            return False
        bit = mode_bit(number)
        return bit >= 0 and mode_on(&self.term, bit)

    def ansi_mode(self, number):
        """Tell whether ANSI mode ``number`` is set, None when it is not known."""
        cdef int32_t bit
        if not 0 < number < 65536:
            return None
        bit = ansi_mode_bit(number)
        return None if bit < 0 else mode_on(&self.term, bit)

    def __sizeof__(self):
        """Bytes held, scrollback included."""
        cdef Term *term = &self.term
        cdef size_t total = sizeof(Term) + 64
        cdef size_t area = <size_t>term.columns * term.rows
        cdef int32_t i
        total += 3 * area * sizeof(cell_t) + term.rows * (3 * sizeof(Row) + sizeof(uint64_t) + 1) + term.columns
        total += term.string_room + term.arena_room + term.event_room * sizeof(Event)
        total += term.grapheme_room * (sizeof(void *) + 2 * sizeof(int32_t))
        for i in range(term.grapheme_count):
            if term.graphemes[i] != NULL:
                total += (term.graphemes[i][0] + 1) * sizeof(uint32_t)
        if term.history.rows != NULL:
            total += term.history.limit * (sizeof(Row) + sizeof(uint16_t))
            for i in range(term.history.limit):
                total += term.history.room[i] * sizeof(cell_t)
        return total
