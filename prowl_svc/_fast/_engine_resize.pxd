# Changing the size: the alternate screen is cut, the primary screen and its scrollback are wrapped anew.
#
# The order of steps, and where the cursor ends up, are those of ghostty: getting narrower the height changes first,
# getting wider it changes last; blank rows at the bottom go before rows at the top; what is below the cursor stays.

from libc.stdint cimport int32_t, uint8_t, uint64_t
from libc.stdlib cimport calloc, free, malloc, realloc
from libc.string cimport memcpy, memset

from prowl_svc._fast._engine_cells cimport *
from prowl_svc._fast._engine_term cimport *


ctypedef struct Pin:
    # A cell that is followed through the steps: row counts from the first line, -1 for none.
    int32_t row
    int32_t x


ctypedef struct Lines:
    # Rows of one width; the last `height` of them are the screen, those before it the scrollback.
    Row *rows
    int32_t count
    int32_t room
    int32_t columns
    int32_t height
    Pin cursor
    Pin saved
    uint8_t failed


cdef inline Row *add_line(Lines *lines) noexcept nogil:
    cdef Row *grown
    cdef int32_t room
    cdef Row *row
    if lines.count == lines.room:
        room = lines.room * 2 if lines.room else 64
        grown = <Row *>realloc(lines.rows, room * sizeof(Row))
        if grown == NULL:
            lines.failed = 1
            return NULL
        lines.rows = grown
        lines.room = room
    row = &lines.rows[lines.count]
    row.cells = <cell_t *>calloc(lines.columns, sizeof(cell_t))
    row.used = 0
    row.wrapped = 0
    row.continues = 0
    if row.cells == NULL:
        lines.failed = 1
        return NULL
    lines.count += 1
    return row


cdef inline void add_lines(Lines *lines, int32_t count) noexcept nogil:
    while count > 0 and not lines.failed:
        add_line(lines)
        count -= 1


cdef inline void drop_lines(Lines *lines, int32_t count) noexcept nogil:
    """Take lines away at the end."""
    while count > 0:
        lines.count -= 1
        free(lines.rows[lines.count].cells)
        count -= 1


cdef inline void free_lines(Lines *lines) noexcept nogil:
    drop_lines(lines, lines.count)
    free(lines.rows)
    lines.rows = NULL


cdef inline int32_t line_length(Row *row) noexcept nogil:
    """Cells up to the last one that holds something or half of something."""
    cdef int32_t length = row.used
    while length and not row.cells[length - 1] & (TEXT_MASK | KIND_MASK):
        length -= 1
    return length


cdef inline void copy_row(Row *target, Row *source, int32_t columns) noexcept nogil:
    cdef int32_t length = source.used if source.used < columns else columns
    if length:
        memcpy(target.cells, source.cells, length * sizeof(cell_t))
    target.used = length
    target.wrapped = source.wrapped
    target.continues = source.continues


cdef inline void gather(Term *term, Screen *screen, Lines *lines) noexcept nogil:
    """Copy a screen and, for the primary one, the scrollback."""
    cdef int32_t history = term.history.count if screen == &term.main else 0
    cdef int32_t i
    cdef Row *row
    memset(lines, 0, sizeof(Lines))
    lines.columns = term.columns
    lines.height = term.rows
    for i in range(history + term.rows):
        row = add_line(lines)
        if row == NULL:
            return
        copy_row(row, history_row(&term.history, i) if i < history else &screen.rows[i - history], term.columns)
    lines.cursor.row = history + screen.y
    lines.cursor.x = screen.x
    lines.saved.row = history + screen.saved.y if screen.saved.valid and screen.saved.y < term.rows else -1
    lines.saved.x = screen.saved.x if screen.saved.x < term.columns else term.columns - 1


cdef inline void change_height(Lines *lines, int32_t rows, int32_t cursor_y) noexcept nogil:
    cdef int32_t spare = lines.height - rows
    if rows < lines.height:
        while (spare > 0 and row_is_empty(&lines.rows[lines.count - 1]) and lines.cursor.row != lines.count - 1
               and lines.saved.row != lines.count - 1):
            drop_lines(lines, 1)
            spare -= 1
    elif rows > lines.height:
        if cursor_y < lines.height - 1:
            add_lines(lines, rows - lines.height)
        elif lines.count < rows:
            add_lines(lines, rows - lines.count)
    lines.height = rows


cdef inline void change_width(Lines *lines, int32_t columns) noexcept nogil:
    """Cut or widen every row, nothing wrapped anew."""
    cdef int32_t i
    cdef Row *row
    cdef cell_t *cells
    for i in range(lines.count):
        row = &lines.rows[i]
        if row.cells[lines.columns - 1] & KIND_MASK == HEAD:
            row.cells[lines.columns - 1] = 0
        if columns < lines.columns:
            split_at(row, columns, lines.columns)
        cells = <cell_t *>calloc(columns, sizeof(cell_t))
        if cells == NULL:
            lines.failed = 1
            return
        if row.used > columns:
            row.used = columns
        if row.used:
            memcpy(cells, row.cells, row.used * sizeof(cell_t))
        free(row.cells)
        row.cells = cells
    lines.columns = columns
    if lines.cursor.x >= columns:
        lines.cursor.x = columns - 1
    if lines.saved.x >= columns:
        lines.saved.x = columns - 1


cdef inline void move_pin(Pin *pin, Pin *old, int32_t row, int32_t x, int32_t new_row, int32_t new_x) noexcept nogil:
    if old.row == row and old.x == x:
        pin.row = new_row
        pin.x = new_x
        old.row = -1


cdef inline void flow_row(Lines *lines, Lines *old, int32_t index, int32_t length, int32_t *column) noexcept nogil:
    """Append ``length`` cells of an old row to the last line, wrapping at its end.

    ``column`` is where the next cell goes, the width itself when the line is full.
    """
    cdef Row *source = &old.rows[index]
    cdef Row *line = &lines.rows[lines.count - 1]
    cdef int32_t i = 0
    cdef int32_t x = column[0]
    cdef cell_t cell
    while i < length:
        if x == lines.columns:
            line.wrapped = 1
            line = add_line(lines)
            if line == NULL:
                return
            line.continues = 1
            x = 0
        move_pin(&lines.cursor, &old.cursor, index, i, lines.count - 1, x)
        move_pin(&lines.saved, &old.saved, index, i, lines.count - 1, x)
        cell = source.cells[i]
        i += 1
        if cell & KIND_MASK == HEAD:
            continue
        if cell & KIND_MASK == WIDE:
            if lines.columns == 1:
                cell = 0  # no room for it anywhere
                move_pin(&lines.cursor, &old.cursor, index, i, lines.count - 1, x)
                move_pin(&lines.saved, &old.saved, index, i, lines.count - 1, x)
                i += 1
            elif x == lines.columns - 1:
                cell = HEAD
                i -= 1
        line.cells[x] = cell
        x += 1
        line.used = x
    column[0] = x


cdef inline void flow(Lines *lines, Lines *old, int32_t columns, int32_t cursor_y) noexcept nogil:
    """Write all lines anew at another width."""
    cdef int32_t top = old.count - old.height
    cdef int32_t above = wrapped_rows(old, top)
    cdef int32_t below = old.height - cursor_y - 1 if cursor_y < old.height else 0
    cdef int32_t owed = 0  # lines to begin before the next text; blank ones at the end are never begun
    cdef int32_t column = 0
    cdef int32_t length
    cdef int32_t i
    cdef Row *row
    memset(lines, 0, sizeof(Lines))
    lines.columns = columns
    lines.height = old.height
    lines.saved.row = -1
    add_line(lines)
    for i in range(old.count):
        if lines.failed:
            return
        row = &old.rows[i]
        length = old.columns if row.wrapped else line_length(row)
        if old.saved.row == i:
            if old.saved.x >= length and old.saved.x > columns - 1 - (column if column < columns else columns - 1):
                old.saved.x = columns - 1 - (column if column < columns else columns - 1)
            if length <= old.saved.x:
                length = old.saved.x + 1
        if old.cursor.row == i and length <= old.cursor.x:
            length = old.cursor.x + 1  # blanks before the cursor are before the next text too
        if length == 0:
            if not row.continues:
                owed += 1
            continue
        if owed:
            add_lines(lines, owed)
            if lines.failed:
                return
            owed = 0
            column = 0
        flow_row(lines, old, i, length, &column)
        if not row.wrapped:
            owed = 1
    if lines.count < lines.height:
        add_lines(lines, lines.height - lines.count)
    top = lines.count - lines.height
    if lines.cursor.row >= top:
        above = wrapped_rows(lines, top) - above
        below -= above if above > 0 else 0
        below -= lines.height - (lines.cursor.row - top) - 1
        add_lines(lines, below)


cdef inline int32_t wrapped_rows(Lines *lines, int32_t top) noexcept nogil:
    """Rows of the screen down to the cursor's that go on from the row above."""
    cdef int32_t count = 0
    cdef int32_t y = lines.cursor.row
    while y >= top and y >= 0:
        count += lines.rows[y].continues
        y -= 1
    return count


cdef inline bint rewrap(Lines *lines, int32_t columns, int32_t cursor_y) noexcept nogil:
    cdef Lines old = lines[0]
    flow(lines, &old, columns, cursor_y)
    free_lines(&old)
    return not lines.failed


cdef inline void place(Pin *pin, int32_t top, int32_t columns, int32_t *x, int32_t *y, uint8_t *pending) noexcept nogil:
    """Set a cursor from its pin; one that went into the scrollback goes to the top."""
    x[0] = pin.x if pin.row >= top else 0
    y[0] = pin.row - top if pin.row >= top else 0
    if pending[0] and x[0] != columns - 1:
        pending[0] = 0
        x[0] += 1


cdef inline void scatter(Term *term, Lines *lines, Screen *screen, bint history) noexcept nogil:
    """Make lines a screen and, for the primary one, the scrollback."""
    cdef int32_t top = lines.count - lines.height
    cdef int32_t i
    for i in range(lines.height):
        copy_row(&screen.rows[i], &lines.rows[top + i], lines.columns)
    if history:
        history_clear(&term.history)
        i = top - term.history.limit
        for i in range(i if i > 0 else 0, top):
            history_push(term, &lines.rows[i], lines.rows[i].used)
    place(&lines.cursor, top, lines.columns, &screen.x, &screen.y, &screen.pending)
    if screen.saved.valid:
        place(&lines.saved, top, lines.columns, &screen.saved.x, &screen.saved.y, &screen.saved.pending)


cdef inline bint resize_lines(Lines *lines, int32_t columns, int32_t rows, int32_t cursor_y, bint wrap) noexcept nogil:
    if lines.failed:
        return False
    if wrap and columns > lines.columns:
        rewrap(lines, columns, cursor_y)
    elif not wrap and columns != lines.columns:
        change_width(lines, columns)
    if not lines.failed:
        change_height(lines, rows, cursor_y)
    if wrap and columns < lines.columns and not lines.failed:
        rewrap(lines, columns, cursor_y)
    return not lines.failed


cdef inline bint resize_term(Term *term, int32_t columns, int32_t rows) noexcept nogil:
    """Change the size of both screens; False, with nothing changed, when memory ran out."""
    cdef Screen main = term.main
    cdef Screen alt = term.alt
    cdef Lines main_lines
    cdef Lines alt_lines
    cdef bint alternate = term.screen == &term.alt
    cdef cell_t *front = <cell_t *>calloc(<size_t>columns * rows, sizeof(cell_t))
    cdef uint64_t *revisions = <uint64_t *>calloc(rows, sizeof(uint64_t))
    cdef uint8_t *dirty = <uint8_t *>malloc(rows)
    cdef uint8_t *tabs = <uint8_t *>malloc(columns)
    cdef Row *scratch = <Row *>malloc(rows * sizeof(Row))
    cdef bint good = front != NULL and revisions != NULL and dirty != NULL and tabs != NULL and scratch != NULL
    main.block = NULL
    main.rows = NULL
    alt.block = NULL
    alt.rows = NULL
    good = good and screen_alloc(&main, columns, rows) and screen_alloc(&alt, columns, rows)
    gather(term, &term.main, &main_lines)
    gather(term, &term.alt, &alt_lines)
    good = good and resize_lines(&main_lines, columns, rows, term.main.y, mode_on(term, M_WRAP))
    good = good and resize_lines(&alt_lines, columns, rows, term.alt.y, False)
    if good:
        scatter(term, &main_lines, &main, True)
        scatter(term, &alt_lines, &alt, False)
    free_lines(&main_lines)
    free_lines(&alt_lines)
    if not good:
        screen_free(&main)
        screen_free(&alt)
        free(front)
        free(revisions)
        free(dirty)
        free(tabs)
        free(scratch)
        term.lost = 1
        return False
    screen_free(&term.main)
    screen_free(&term.alt)
    free(term.front)
    free(term.front_revision)
    free(term.dirty)
    free(term.scratch)
    term.main = main
    term.alt = alt
    term.screen = &term.alt if alternate else &term.main
    term.front = front
    term.front_revision = revisions
    term.dirty = dirty
    term.scratch = scratch
    term.rows = rows
    if columns != term.columns:
        term.columns = columns
        free(term.tabs)
        term.tabs = tabs
        reset_tabs(term)
    else:
        free(tabs)
    reset_margins(term)
    mark_rows(term, 0, rows - 1)
    return True
