# Changing the size: the alternate screen is cut, the primary screen keeps its lines and wraps them anew.

from libc.stdint cimport int32_t, uint8_t, uint16_t, uint64_t
from libc.stdlib cimport calloc, free, malloc, realloc
from libc.string cimport memcpy, memset

from prowl_svc._fast._engine_cells cimport *
from prowl_svc._fast._engine_term cimport *


ctypedef struct Lines:
    # A growing list of rows of one width, the last `rows` of which become the screen.
    Row *rows
    int32_t count
    int32_t room
    int32_t columns
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
    if row.cells == NULL:
        lines.failed = 1
        return NULL
    lines.count += 1
    return row


cdef inline void free_lines(Lines *lines) noexcept nogil:
    cdef int32_t i
    for i in range(lines.count):
        free(lines.rows[i].cells)
    free(lines.rows)


cdef inline int32_t text_length(Row *row) noexcept nogil:
    """Cells up to the last one that holds something."""
    cdef int32_t length = row.used
    while length and not row.cells[length - 1] & TEXT_MASK:
        length -= 1
    return length


cdef inline void fit_screen(Term *term, Screen *old, Screen *new, int32_t columns, int32_t rows, int32_t drop) noexcept nogil:
    """Copy rows from ``drop`` on into a screen of another size, cut at its edge."""
    cdef int32_t y
    cdef int32_t width = columns if columns < term.columns else term.columns
    cdef Row *source
    cdef Row *target
    for y in range(rows):
        if y + drop >= term.rows:
            return
        source = &old.rows[y + drop]
        target = &new.rows[y]
        memcpy(target.cells, source.cells, width * sizeof(cell_t))
        target.used = source.used if source.used < width else width
        target.wrapped = source.wrapped if columns == term.columns else 0
        if width and target.cells[width - 1] & KIND_MASK == WIDE:
            target.cells[width - 1] = 0
        if columns != term.columns and target.cells[width - 1] & KIND_MASK == HEAD:
            target.cells[width - 1] = 0


cdef inline int32_t rows_to_drop(Term *term, Screen *screen, int32_t rows) noexcept nogil:
    """Rows that leave at the top when the screen gets lower: blank ones at the bottom go first."""
    cdef int32_t last = term.rows - 1
    cdef int32_t spare = term.rows - rows
    while spare > 0 and last > screen.y and row_is_empty(&screen.rows[last]):
        last -= 1
        spare -= 1
    return spare if spare > 0 else 0


cdef inline void reflow_row(Lines *lines, Row *row, int32_t length, int32_t *x, int32_t *cursor_x, int32_t *cursor_y,
                            int32_t at) noexcept nogil:
    """Append a row's cells to the last line, wrapping where the new width ends.

    ``x`` is the column that is written next; when the old cursor column ``at`` passes, its new place is noted.
    """
    cdef Row *line = &lines.rows[lines.count - 1]
    cdef int32_t i
    cdef cell_t cell
    for i in range(length):
        cell = row.cells[i] if i < row.used else 0
        if cell & KIND_MASK == HEAD:
            if i == at:
                cursor_x[0] = x[0] if x[0] < lines.columns else lines.columns - 1
                cursor_y[0] = lines.count - 1
            continue
        if cell & KIND_MASK == TAIL and lines.columns < 2:
            continue
        if cell & KIND_MASK == WIDE and lines.columns < 2:
            cell = 0
        if x[0] == lines.columns or (cell & KIND_MASK == WIDE and x[0] == lines.columns - 1):
            if x[0] < lines.columns:
                line.cells[x[0]] = HEAD
            line.used = lines.columns
            line.wrapped = 1
            line = add_line(lines)
            if line == NULL:
                return
            x[0] = 0
        if i == at:
            cursor_x[0] = x[0]
            cursor_y[0] = lines.count - 1
        line.cells[x[0]] = cell
        x[0] += 1
        line.used = x[0]


cdef inline void reflow(Term *term, Lines *lines, int32_t *cursor_x, int32_t *cursor_y) noexcept nogil:
    """Write the scrollback and the primary screen as lines of the new width."""
    cdef int32_t total = term.history.count + term.rows
    cdef int32_t i
    cdef int32_t x = 0
    cdef int32_t length
    cdef int32_t at
    cdef int32_t owed = 1  # lines to begin before the next text; blank ones at the end are never begun
    cdef bint joined = False
    cdef Row *row
    cdef Row source
    for i in range(total):
        at = -1
        if i < term.history.count:
            row = history_row(&term.history, i)
        else:
            row = &term.main.rows[i - term.history.count]
            if i - term.history.count == term.main.y:
                at = term.main.x
        source = row[0]
        length = term.columns if row.wrapped else text_length(row)
        if at >= 0:
            if at >= length and at >= lines.columns - (x if joined else 0):
                at = lines.columns - 1 - (x if joined else 0)  # right of the text: stays at the edge
                if at < 0:
                    at = 0
            if length <= at:
                length = at + 1
        if length == 0:
            if not joined:
                owed += 1
            joined = False
            continue
        if joined:
            owed = 0
        while owed > 0:
            owed -= 1
            x = 0
            if add_line(lines) == NULL:
                return
        reflow_row(lines, &source, length, &x, cursor_x, cursor_y, at)
        if lines.failed:
            return
        joined = row.wrapped
        owed = 0 if joined else 1


cdef inline int32_t wrapped_above(Row *rows, int32_t y) noexcept nogil:
    """Rows above ``y`` that belong to the same line."""
    cdef int32_t count = 0
    while y > 0 and rows[y - 1].wrapped:
        count += 1
        y -= 1
    return count


cdef inline void history_replace(Term *term, Lines *lines, int32_t count) noexcept nogil:
    """Make the first ``count`` lines the scrollback."""
    cdef int32_t i
    cdef int32_t first = count - term.history.limit if count > term.history.limit else 0
    history_clear(&term.history)
    for i in range(first, count):
        history_push(term, &lines.rows[i], lines.rows[i].used)


cdef inline bint rewrap(Term *term, Screen *new, int32_t columns, int32_t rows) noexcept nogil:
    """Fill the new primary screen with reflowed lines and place its cursor; False when memory ran out."""
    cdef Lines lines
    cdef int32_t cursor_x = 0
    cdef int32_t cursor_y = 0
    cdef int32_t below = term.rows - 1 - term.main.y
    cdef int32_t above = wrapped_above(term.main.rows, term.main.y)
    cdef int32_t start
    cdef int32_t y
    cdef int32_t short
    memset(&lines, 0, sizeof(Lines))
    lines.columns = columns
    reflow(term, &lines, &cursor_x, &cursor_y)
    while lines.count < rows and not lines.failed:
        add_line(&lines)
    # Keep as many rows below the cursor as there were, less those that its line now needs above.
    if not lines.failed:
        start = lines.count - rows
        if cursor_y >= start:
            above = wrapped_above(lines.rows, cursor_y) - above
            short = below - (above if above > 0 else 0) - (lines.count - 1 - cursor_y)
            if rows < term.rows:
                short = 0 if rows - 1 - (cursor_y - start) >= below else short
            while short > 0 and lines.count - rows < cursor_y and not lines.failed:
                add_line(&lines)
                short -= 1
    if lines.failed:
        free_lines(&lines)
        return False
    start = lines.count - rows
    if start > cursor_y:
        start = cursor_y
    history_replace(term, &lines, start)
    for y in range(rows):
        if start + y < lines.count:
            memcpy(new.rows[y].cells, lines.rows[start + y].cells, columns * sizeof(cell_t))
            new.rows[y].used = lines.rows[start + y].used
            new.rows[y].wrapped = lines.rows[start + y].wrapped
    new.x = cursor_x
    new.y = cursor_y - start
    free_lines(&lines)
    return True


cdef inline void keep_cursor(Term *term, Screen *screen, int32_t columns, int32_t rows, int32_t shift) noexcept nogil:
    screen.x = screen.x if screen.x < columns else columns - 1
    screen.y -= shift
    if screen.y < 0:
        screen.y = 0
    if screen.y >= rows:
        screen.y = rows - 1


cdef inline void take_from_history(Term *term, Screen *new, int32_t rows, int32_t count) noexcept nogil:
    """Move the newest ``count`` scrollback rows to the top of the screen."""
    cdef int32_t y
    cdef Row *row
    for y in range(count):
        row = history_row(&term.history, term.history.count - count + y)
        memcpy(new.rows[y].cells, row.cells, row.used * sizeof(cell_t))
        new.rows[y].used = row.used
        new.rows[y].wrapped = row.wrapped
    term.history.count -= count


cdef inline bint resize_rows(Term *term, Screen *old, Screen *new, int32_t rows) noexcept nogil:
    """Change only the height of the primary screen."""
    cdef int32_t drop = 0
    cdef int32_t pulled = 0
    cdef int32_t y
    if rows < term.rows:
        drop = rows_to_drop(term, old, rows)
        for y in range(drop):
            history_push(term, &old.rows[y], old.rows[y].used)
        fit_screen(term, old, new, term.columns, rows, drop)
    elif old.y < term.rows - 1:
        fit_screen(term, old, new, term.columns, rows, 0)
    else:
        pulled = rows - term.rows
        if pulled > term.history.count:
            pulled = term.history.count
        take_from_history(term, new, rows, pulled)
        for y in range(term.rows):
            memcpy(new.rows[y + pulled].cells, old.rows[y].cells, term.columns * sizeof(cell_t))
            new.rows[y + pulled].used = old.rows[y].used
            new.rows[y + pulled].wrapped = old.rows[y].wrapped
    keep_cursor(term, new, term.columns, rows, drop - pulled)
    return True


cdef inline bint resize_term(Term *term, int32_t columns, int32_t rows) noexcept nogil:
    """Change the size of both screens; False, with nothing changed, when memory ran out."""
    cdef Screen main = term.main
    cdef Screen alt = term.alt
    cdef Screen between
    cdef bint alternate = term.screen == &term.alt
    cdef int32_t drop
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
    if good and columns == term.columns:
        resize_rows(term, &term.main, &main, rows)
    elif good and mode_on(term, M_WRAP):
        good = rewrap(term, &main, columns, rows)
    elif good:
        good = resize_cut(term, &main, columns, rows)
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
    drop = rows_to_drop(term, &term.alt, rows) if rows < term.rows else 0
    fit_screen(term, &term.alt, &alt, columns, rows, drop)
    keep_cursor(term, &alt, columns, rows, drop)
    if columns != term.columns:
        main.pending = 0
        alt.pending = 0
    screen_free(&term.main)
    screen_free(&term.alt)
    free(term.front)
    free(term.front_revision)
    free(term.dirty)
    free(term.tabs)
    free(term.scratch)
    term.main = main
    term.alt = alt
    term.screen = &term.alt if alternate else &term.main
    term.front = front
    term.front_revision = revisions
    term.dirty = dirty
    term.tabs = tabs
    term.scratch = scratch
    term.columns = columns
    term.rows = rows
    reset_margins(term)
    reset_tabs(term)
    mark_rows(term, 0, rows - 1)
    return True


cdef inline bint resize_cut(Term *term, Screen *new, int32_t columns, int32_t rows) noexcept nogil:
    """Without autowrap nothing is wrapped anew: the primary screen is cut like the alternate one."""
    cdef int32_t drop = rows_to_drop(term, &term.main, rows) if rows < term.rows else 0
    cdef int32_t y
    for y in range(drop):
        history_push(term, &term.main.rows[y], term.main.rows[y].used)
    fit_screen(term, &term.main, new, columns, rows, drop)
    keep_cursor(term, new, columns, rows, drop)
    return True
