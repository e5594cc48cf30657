# Moving and clearing cells: everything that changes rows without printing.

from libc.stdint cimport int32_t
from libc.string cimport memcpy, memmove, memset

from prowl_svc._fast._engine_term cimport *


cdef inline void clear_cells(Row *row, int32_t start, int32_t end) noexcept nogil:
    """Empty the cells ``start`` to before ``end``."""
    if start >= row.used or start >= end:
        return
    if end >= row.used:
        end = row.used
        row.used = start
    memset(row.cells + start, 0, (end - start) * sizeof(cell_t))


cdef inline void clear_row(Row *row) noexcept nogil:
    if row.used:
        memset(row.cells, 0, row.used * sizeof(cell_t))
        row.used = 0
    row.wrapped = 0
    row.continues = 0


cdef inline void clear_unprotected(Row *row, int32_t start, int32_t end) noexcept nogil:
    cdef int32_t x
    for x in range(start, end):
        if not row.cells[x] & PROTECTED:
            row.cells[x] = 0


cdef inline void split_at(Row *row, int32_t x, int32_t columns) noexcept nogil:
    """Empty a wide character that would be cut between ``x - 1`` and ``x``."""
    if 0 < x < columns and row.cells[x] & KIND_MASK == TAIL:
        row.cells[x - 1] = 0
        row.cells[x] = 0


cdef inline void clear_head(Term *term) noexcept nogil:
    """The wide character that wrapped to the cursor's row goes: the column left empty for it is an ordinary blank."""
    cdef cell_t *last
    if term.screen.y:
        last = &term.screen.rows[term.screen.y - 1].cells[term.columns - 1]
        if last[0] & KIND_MASK == HEAD:
            last[0] = 0


cdef inline void split_cursor(Term *term, int32_t x) noexcept nogil:
    """The same in the cursor's row, with what wrapping left behind."""
    cdef Row *row = &term.screen.rows[term.screen.y]
    if x == term.columns:
        if row.wrapped and row.cells[x - 1] & KIND_MASK == HEAD:
            row.cells[x - 1] = 0
        return
    cdef Row *above
    if x < 2 and row.continues and row.cells[0] & KIND_MASK == WIDE:
        clear_head(term)
        if term.screen.y == 0 and term.screen == &term.main and term.history.count:
            above = history_row(&term.history, term.history.count - 1)
            if above.used == term.columns and above.cells[above.used - 1] & KIND_MASK == HEAD:
                above.cells[above.used - 1] = 0
    split_at(row, x, term.columns)


cdef inline void reset_wrap(Term *term) noexcept nogil:
    """The cursor's row no longer goes on below."""
    cdef Row *row = &term.screen.rows[term.screen.y]
    term.screen.pending = 0
    if row.wrapped:
        row.wrapped = 0
        if term.screen.y < term.rows - 1:
            row[1].continues = 0
        if row.cells[term.columns - 1] & KIND_MASK == HEAD:
            row.cells[term.columns - 1] = 0


cdef inline void rotate_up(Term *term, int32_t first, int32_t last, int32_t count) noexcept nogil:
    """Move whole rows up by ``count``; the rows that leave come back empty at the bottom."""
    cdef Row *rows = term.screen.rows
    cdef int32_t y
    if count == 1:
        term.scratch[0] = rows[first]
    else:
        memcpy(term.scratch, rows + first, count * sizeof(Row))
    memmove(rows + first, rows + first + count, (last - first + 1 - count) * sizeof(Row))
    for y in range(count):
        clear_row(&term.scratch[y])
        rows[last + 1 - count + y] = term.scratch[y]
    mark_rows(term, first, last)


cdef inline void rotate_down(Term *term, int32_t first, int32_t last, int32_t count) noexcept nogil:
    cdef Row *rows = term.screen.rows
    cdef int32_t y
    memcpy(term.scratch, rows + last + 1 - count, count * sizeof(Row))
    memmove(rows + first + count, rows + first, (last - first + 1 - count) * sizeof(Row))
    for y in range(count):
        clear_row(&term.scratch[y])
        rows[first + y] = term.scratch[y]
    mark_rows(term, first, last)


cdef inline void cut_at_margins(Term *term, Row *row) noexcept nogil:
    """Empty the wide characters that stand across the left or right margin."""
    cdef int32_t last = term.columns - 1
    if (term.right == last or term.left < 2) and row.cells[last] & KIND_MASK == HEAD:
        row.cells[last] = 0
    split_at(row, term.left, term.columns)
    split_at(row, term.right + 1, term.columns)


cdef inline void copy_between_margins(Term *term, Row *target, Row *source) noexcept nogil:
    cut_at_margins(term, target)
    cut_at_margins(term, source)
    memcpy(target.cells + term.left, source.cells + term.left, (term.right - term.left + 1) * sizeof(cell_t))
    if source.used > target.used:
        target.used = source.used


cdef inline bint full_width(Term *term) noexcept nogil:
    return term.left == 0 and term.right == term.columns - 1


cdef inline void lines_up(Term *term, int32_t first, int32_t count) noexcept nogil:
    """Delete ``count`` lines at ``first``: what is below, down to the bottom margin, moves up."""
    cdef Row *rows = term.screen.rows
    cdef int32_t y
    cdef int32_t span = term.bottom - first + 1
    if count > span:
        count = span
    if full_width(term):
        for y in range(first, term.bottom + 1):
            if rows[y].wrapped:
                cut_at_margins(term, &rows[y])
                rows[y].wrapped = 0
            rows[y].continues = 0
        rotate_up(term, first, term.bottom, count)
        return
    for y in range(first, term.bottom + 1):
        if y + count <= term.bottom:
            copy_between_margins(term, &rows[y], &rows[y + count])
        else:
            cut_at_margins(term, &rows[y])
            clear_cells(&rows[y], term.left, term.right + 1)
    mark_rows(term, first, term.bottom)


cdef inline void lines_down(Term *term, int32_t first, int32_t count) noexcept nogil:
    """Insert ``count`` empty lines at ``first``; lines pushed past the bottom margin are lost."""
    cdef Row *rows = term.screen.rows
    cdef int32_t y
    cdef int32_t span = term.bottom - first + 1
    if count > span:
        count = span
    if full_width(term):
        for y in range(first, term.bottom + 1):
            if rows[y].wrapped:
                cut_at_margins(term, &rows[y])
                rows[y].wrapped = 0
            rows[y].continues = 0
        rotate_down(term, first, term.bottom, count)
        return
    y = term.bottom
    while y >= first:
        if y - count >= first:
            copy_between_margins(term, &rows[y], &rows[y - count])
        else:
            cut_at_margins(term, &rows[y])
            clear_cells(&rows[y], term.left, term.right + 1)
        y -= 1
    mark_rows(term, first, term.bottom)


cdef inline bint in_region(Term *term) noexcept nogil:
    cdef Screen *screen = term.screen
    return (term.top <= screen.y <= term.bottom) and (term.left <= screen.x <= term.right)


cdef inline void scroll_up(Term *term, int32_t count) noexcept nogil:
    """Scroll the region up; rows that leave at the top of a full-width primary screen go to the scrollback."""
    cdef int32_t span = term.bottom - term.top + 1
    cdef int32_t y
    if count > span:
        count = span
    if count < 1:
        return
    if not full_width(term):
        lines_up(term, term.top, count)
        return
    if term.top == 0 and term.screen == &term.main:
        for y in range(count):
            history_push(term, &term.screen.rows[y], term.screen.rows[y].used)
    rotate_up(term, term.top, term.bottom, count)


cdef inline void index_down(Term *term) noexcept nogil:
    """IND: one row down, scrolling at the bottom margin."""
    cdef Screen *screen = term.screen
    screen.pending = 0
    if screen.y < term.top or screen.y > term.bottom:
        if screen.y < term.rows - 1:
            screen.y += 1
    elif screen.y < term.bottom:
        screen.y += 1
    elif term.left <= screen.x <= term.right:
        scroll_up(term, 1)


cdef inline void insert_blanks(Term *term, int32_t count) noexcept nogil:
    """ICH, and the shift of insert mode."""
    cdef Screen *screen = term.screen
    cdef Row *row = &screen.rows[screen.y]
    cdef int32_t room
    screen.pending = 0
    if screen.x < term.left or screen.x > term.right:
        return
    room = term.right - screen.x + 1
    if count > room:
        count = room
    split_at(row, screen.x, term.columns)
    split_at(row, term.right + 1, term.columns)
    split_at(row, screen.x + room - count, term.columns)
    row.used = term.columns
    memmove(row.cells + screen.x + count, row.cells + screen.x, (room - count) * sizeof(cell_t))
    memset(row.cells + screen.x, 0, count * sizeof(cell_t))
    mark(term, screen.y)


cdef inline void delete_chars(Term *term, int32_t count) noexcept nogil:
    """DCH."""
    cdef Screen *screen = term.screen
    cdef Row *row = &screen.rows[screen.y]
    cdef int32_t room
    if count == 0 or screen.x < term.left or screen.x > term.right:
        return
    room = term.right - screen.x + 1
    if count > room:
        count = room
    split_cursor(term, screen.x)
    split_cursor(term, screen.x + count)
    split_cursor(term, term.right + 1)
    reset_wrap(term)
    row.used = term.columns
    memmove(row.cells + screen.x, row.cells + screen.x + count, (room - count) * sizeof(cell_t))
    memset(row.cells + screen.x + room - count, 0, count * sizeof(cell_t))
    mark(term, screen.y)


cdef inline void erase_chars(Term *term, int32_t count) noexcept nogil:
    """ECH."""
    cdef Screen *screen = term.screen
    cdef Row *row = &screen.rows[screen.y]
    cdef int32_t end
    if count < 1:
        count = 1
    if count > term.columns - screen.x:
        count = term.columns - screen.x
    end = screen.x + count
    if end < term.columns and row.cells[end - 1] & KIND_MASK == WIDE:
        end += 1
    split_cursor(term, screen.x)
    split_cursor(term, end)
    reset_wrap(term)
    if screen.iso_protected:
        clear_unprotected(row, screen.x, end)
    else:
        clear_cells(row, screen.x, end)
    mark(term, screen.y)


cdef inline void erase_line(Term *term, int32_t how, bint selective) noexcept nogil:
    """EL (0 right, 1 left, 2 all), DECSEL when ``selective``."""
    cdef Screen *screen = term.screen
    cdef Row *row = &screen.rows[screen.y]
    cdef int32_t start = 0
    cdef int32_t end = term.columns
    if how == 0:
        start = screen.x
        if start and row.cells[start] & KIND_MASK == TAIL:
            start -= 1
        reset_wrap(term)
    elif how == 1:
        end = screen.x + 1
        if row.cells[screen.x] & KIND_MASK == WIDE:
            end += 1
    else:
        reset_wrap(term)
    screen.pending = 0
    if selective or screen.iso_protected:
        clear_unprotected(row, start, end)
    else:
        clear_cells(row, start, end)
    mark(term, screen.y)


cdef inline void erase_rows(Term *term, int32_t first, int32_t last, bint selective) noexcept nogil:
    cdef Row *row
    cdef int32_t y
    for y in range(first, last + 1):
        row = &term.screen.rows[y]
        if selective:
            clear_unprotected(row, 0, term.columns)
            row.wrapped = 0
            row.continues = 0
        else:
            clear_row(row)
    if first <= last:
        mark_rows(term, first, last)


cdef inline void erase_display(Term *term, int32_t how, bint selective) noexcept nogil:
    """ED (0 below, 1 above, 2 all, 3 scrollback, 22 all into the scrollback), DECSED when ``selective``."""
    cdef Screen *screen = term.screen
    cdef int32_t y
    cdef int32_t filled = 0
    if screen.iso_protected:
        selective = True
    if how == 0:
        erase_line(term, 0, selective)
        erase_rows(term, screen.y + 1, term.rows - 1, selective)
    elif how == 1:
        erase_line(term, 1, selective)
        erase_rows(term, 0, screen.y - 1, selective)
    elif how == 2:
        erase_rows(term, 0, term.rows - 1, selective)
        screen.pending = 0
    elif how == 3:
        if screen == &term.main:
            history_clear(&term.history)
    elif how == 22:
        if screen == &term.main:
            for y in range(term.rows):
                if not row_is_empty(&screen.rows[y]):
                    filled = y + 1
            for y in range(filled):
                history_push(term, &screen.rows[y], screen.rows[y].used)
        erase_rows(term, 0, term.rows - 1, False)
        screen.pending = 0
