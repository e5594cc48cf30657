# The terminal's memory: cells, rows, screens and everything else that one pane holds (design: terminal emulation).
#
# A cell is 32 bits: a code point or the number of a grapheme, what kind of cell it is, and whether it is dim or protected.
# Colours and other styles are not kept: nobody reads them here.

from libc.stdint cimport int32_t, uint8_t, uint16_t, uint32_t, uint64_t
from libc.stdlib cimport calloc, free, malloc, realloc
from libc.string cimport memcpy, memmove, memset

ctypedef uint32_t cell_t

cdef enum:
    CP_MASK = 0x1FFFFF
    GRAPHEME = 0x200000  # the low bits number a grapheme, not a code point
    TEXT_MASK = 0x3FFFFF
    WIDE = 0x400000  # first half of a wide character
    TAIL = 0x800000  # its second half
    HEAD = 0xC00000  # last column, left empty because a wide character wrapped
    KIND_MASK = 0xC00000
    DIM = 0x1000000
    PROTECTED = 0x2000000

    MAX_PARAMS = 24  # a longer CSI is dropped whole
    MAX_STRING = 8192  # bytes kept of an OSC, DCS or APC
    MAX_GRAPHEME = 32  # code points in one cell
    MAX_GRAPHEMES = 16384  # graphemes alive in one pane
    KITTY_DEPTH = 8

ctypedef enum ParserState:
    GROUND = 0
    ESCAPE
    ESCAPE_INTERMEDIATE
    CSI_ENTRY
    CSI_PARAM
    CSI_INTERMEDIATE
    CSI_IGNORE
    STRING
    STRING_ESCAPE

ctypedef enum EventKind:
    EV_BELL = 1
    EV_MODE = 2
    EV_RESET = 3
    EV_OSC = 4
    EV_DCS = 5
    EV_APC = 6
    EV_QUERY = 7
    EV_TITLE = 8

# Bits of Term.modes, one for each mode that can be set (mode_bit maps the number that programs use).
ctypedef enum ModeBit:
    M_CURSOR_KEYS = 0
    M_SLOW_SCROLL
    M_REVERSE
    M_ORIGIN
    M_WRAP
    M_AUTOREPEAT
    M_MOUSE_X10
    M_BLINK
    M_VISIBLE
    M_ALLOW_COLUMNS
    M_REVERSE_WRAP
    M_ALT_47
    M_KEYPAD
    M_MARGINS
    M_MOUSE_NORMAL
    M_MOUSE_HIGHLIGHT
    M_MOUSE_BUTTON
    M_MOUSE_ANY
    M_FOCUS
    M_MOUSE_UTF8
    M_MOUSE_SGR
    M_ALT_SCROLL
    M_MOUSE_URXVT
    M_MOUSE_PIXELS
    M_NUMLOCK
    M_META
    M_ALT_ESCAPE
    M_REVERSE_WRAP_2
    M_ALT_1047
    M_SAVE_CURSOR
    M_ALT_1049
    M_PASTE
    M_SYNC
    M_CLUSTER
    M_COLOR_SCHEME
    M_SIZE_REPORTS
    M_PASTE_EVENTS
    M_WIN32_INPUT
    M_KEYBOARD_LOCK
    M_INSERT
    M_SEND_RECEIVE
    M_NEWLINE

# Why printing cannot take the fast path (Term.slow).
cdef enum:
    SLOW_INSERT = 1
    SLOW_NOWRAP = 2
    SLOW_CHARSET = 4
    SLOW_STATUS_LINE = 8
    SLOW_CLUSTER = 16

ctypedef struct Row:
    cell_t *cells
    uint16_t used  # every cell from here on is empty
    uint8_t wrapped  # the text goes on in the row below
    uint8_t continues  # the row above went on here when this one was begun

ctypedef struct Charsets:
    uint8_t g[4]  # 0 is ASCII, else the final byte of the designation
    uint8_t gl
    uint8_t single  # 0, or 1 + the set used for one character

ctypedef struct Saved:
    uint8_t valid
    uint8_t pending
    uint8_t origin
    int32_t x
    int32_t y
    cell_t pen
    Charsets charsets

ctypedef struct Screen:
    cell_t *block
    Row *rows
    int32_t x
    int32_t y
    uint8_t pending  # the last column was written: the next character wraps first
    uint8_t iso_protected  # the last protection asked for was ISO's, which every erase respects
    uint8_t kitty_count
    uint8_t kitty[KITTY_DEPTH]
    cell_t pen
    Charsets charsets
    Saved saved

ctypedef struct History:
    Row *rows  # ring; a slot's `used` is its length, its capacity is in `room`
    uint16_t *room
    int32_t limit
    int32_t count
    int32_t start

ctypedef struct Event:
    uint8_t kind
    int32_t a
    int32_t b
    int32_t c
    uint64_t offset
    uint32_t start
    uint32_t length

ctypedef struct Term:
    int32_t columns
    int32_t rows
    Screen main
    Screen alt
    Screen *screen
    int32_t top
    int32_t bottom
    int32_t left
    int32_t right
    uint64_t modes
    uint64_t saved_modes
    uint8_t slow
    uint8_t status_line
    uint8_t *tabs
    uint32_t previous  # what REP repeats; 0 is nothing
    Row *scratch
    History history
    # what readers see: the last complete frame
    cell_t *front
    uint64_t *front_revision
    uint8_t *dirty
    uint64_t revision
    int32_t front_x
    int32_t front_y
    uint8_t front_visible
    # parser
    uint8_t state
    uint8_t string_kind
    uint8_t string_overflow
    uint8_t marker
    uint8_t intermediates
    uint8_t intermediate[2]
    uint8_t have
    uint32_t accumulator
    uint32_t separators
    int32_t parameters
    uint32_t parameter[MAX_PARAMS]
    uint32_t utf8
    uint8_t utf8_need
    uint8_t utf8_low
    uint8_t utf8_high
    uint64_t consumed
    uint8_t *string
    uint32_t string_length
    uint32_t string_room
    # events of this feed
    Event *events
    int32_t event_count
    int32_t event_room
    uint8_t *arena
    uint32_t arena_length
    uint32_t arena_room
    int32_t bells
    # graphemes: interned, so equal text has equal numbers
    uint32_t **graphemes  # each [length, code points…]
    int32_t grapheme_count
    int32_t grapheme_room
    int32_t grapheme_free  # a free number + 1, chained through the table
    int32_t *grapheme_next
    int32_t *grapheme_bucket
    int32_t grapheme_buckets
    int32_t grapheme_live
    int32_t grapheme_goal  # collect when this many are alive
    uint8_t lost  # memory ran out somewhere; the screen went on without it


cdef inline bint screen_alloc(Screen *screen, int32_t columns, int32_t rows) noexcept nogil:
    cdef int32_t y
    screen.block = <cell_t *>calloc(<size_t>columns * rows, sizeof(cell_t))
    screen.rows = <Row *>calloc(rows, sizeof(Row))
    if screen.block == NULL or screen.rows == NULL:
        free(screen.block)
        free(screen.rows)
        screen.block = NULL
        screen.rows = NULL
        return False
    for y in range(rows):
        screen.rows[y].cells = screen.block + <size_t>y * columns
    return True


cdef inline void screen_free(Screen *screen) noexcept nogil:
    free(screen.block)
    free(screen.rows)
    screen.block = NULL
    screen.rows = NULL


cdef inline void history_clear(History *history) noexcept nogil:
    """Forget the rows and give their memory back."""
    cdef int32_t i
    if history.rows != NULL and history.count:
        for i in range(history.limit):
            free(history.rows[i].cells)
            history.rows[i].cells = NULL
            history.room[i] = 0
    history.count = 0
    history.start = 0


cdef inline Row *history_row(History *history, int32_t index) noexcept nogil:
    """Return the row ``index`` places after the oldest."""
    index += history.start
    if index >= history.limit:
        index -= history.limit
    return &history.rows[index]


cdef inline void history_push(Term *term, Row *row, int32_t length) noexcept nogil:
    """Keep a copy of a row that leaves the primary screen; the oldest goes when the bound is reached."""
    cdef History *history = &term.history
    cdef int32_t slot
    cdef Row *target
    cdef cell_t *cells
    if history.limit == 0:
        return
    if history.rows == NULL:
        history.rows = <Row *>calloc(history.limit, sizeof(Row))
        history.room = <uint16_t *>calloc(history.limit, sizeof(uint16_t))
        if history.rows == NULL or history.room == NULL:
            free(history.rows)
            free(history.room)
            history.rows = NULL
            history.room = NULL
            term.lost = 1
            return
    if history.count < history.limit:
        slot = history.start + history.count
        if slot >= history.limit:
            slot -= history.limit
        history.count += 1
    else:
        slot = history.start
        history.start += 1
        if history.start == history.limit:
            history.start = 0
    target = &history.rows[slot]
    target.used = 0
    target.wrapped = row.wrapped
    target.continues = row.continues
    if not row.wrapped:
        while length and not row.cells[length - 1] & (TEXT_MASK | KIND_MASK):
            length -= 1
    if length > history.room[slot]:
        cells = <cell_t *>realloc(target.cells, length * sizeof(cell_t))
        if cells == NULL:
            term.lost = 1
            return
        target.cells = cells
        history.room[slot] = length
    if length:
        memcpy(target.cells, row.cells, length * sizeof(cell_t))
    target.used = length


cdef inline bint row_is_empty(Row *row) noexcept nogil:
    cdef int32_t x
    for x in range(row.used):
        if row.cells[x] & TEXT_MASK:
            return False
    return True


cdef inline void mark(Term *term, int32_t y) noexcept nogil:
    term.dirty[y] = 1


cdef inline void mark_rows(Term *term, int32_t first, int32_t last) noexcept nogil:
    memset(term.dirty + first, 1, last - first + 1)


cdef inline bint mode_on(Term *term, int32_t bit) noexcept nogil:
    return (term.modes >> bit) & 1


cdef inline uint64_t default_modes() noexcept nogil:
    return ((<uint64_t>1 << M_WRAP) | (<uint64_t>1 << M_VISIBLE) | (<uint64_t>1 << M_ALT_SCROLL)
            | (<uint64_t>1 << M_NUMLOCK) | (<uint64_t>1 << M_META) | (<uint64_t>1 << M_SEND_RECEIVE))


cdef inline void update_slow(Term *term) noexcept nogil:
    """Work out whether characters can be written without asking modes one by one."""
    cdef Charsets *charsets = &term.screen.charsets
    term.slow = 0
    if mode_on(term, M_INSERT):
        term.slow |= SLOW_INSERT
    if not mode_on(term, M_WRAP):
        term.slow |= SLOW_NOWRAP
    if charsets.g[charsets.gl] or charsets.single:
        term.slow |= SLOW_CHARSET
    if term.status_line:
        term.slow |= SLOW_STATUS_LINE
    if mode_on(term, M_CLUSTER):
        term.slow |= SLOW_CLUSTER


cdef inline void reset_tabs(Term *term) noexcept nogil:
    cdef int32_t x
    for x in range(term.columns):
        term.tabs[x] = x % 8 == 0


cdef inline void reset_margins(Term *term) noexcept nogil:
    term.top = 0
    term.bottom = term.rows - 1
    term.left = 0
    term.right = term.columns - 1


cdef inline void emit(Term *term, int32_t kind, int32_t a, int32_t b, int32_t c) noexcept nogil:
    """Note an event at the current position of the stream."""
    cdef Event *event
    cdef Event *grown
    cdef int32_t room
    if term.event_count == term.event_room:
        room = term.event_room * 2 if term.event_room else 16
        grown = <Event *>realloc(term.events, room * sizeof(Event))
        if grown == NULL:
            term.lost = 1
            return
        term.events = grown
        term.event_room = room
    event = &term.events[term.event_count]
    term.event_count += 1
    event.kind = kind
    event.a = a
    event.b = b
    event.c = c
    event.offset = term.consumed
    event.start = 0
    event.length = 0


cdef inline void emit_string(Term *term, int32_t kind, int32_t a) noexcept nogil:
    """Note a string sequence with its payload."""
    cdef uint8_t *grown
    cdef uint32_t room = term.arena_room
    cdef int32_t count = term.event_count
    if term.arena_length + term.string_length > room:
        room = room if room else 256
        while term.arena_length + term.string_length > room:
            room *= 2
        grown = <uint8_t *>realloc(term.arena, room)
        if grown == NULL:
            term.lost = 1
            return
        term.arena = grown
        term.arena_room = room
    emit(term, kind, a, 0, 0)
    if term.event_count == count:
        return
    if term.string_length:
        memcpy(term.arena + term.arena_length, term.string, term.string_length)
    term.events[count].start = term.arena_length
    term.events[count].length = term.string_length
    term.arena_length += term.string_length
