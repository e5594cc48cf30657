# The visible frame: a copy of the screen in use, brought up to date when somebody looks or an update begins.

from libc.stdint cimport int32_t, uint64_t
from libc.string cimport memcmp, memcpy

from prowl_svc._fast._engine_term cimport *


cdef inline bint same_text(const cell_t *left, const cell_t *right, int32_t length) noexcept nogil:
    """Compare what two rows show: styles do not count, and an empty cell is a space."""
    cdef int32_t x
    cdef cell_t one
    cdef cell_t two
    for x in range(length):
        one = left[x] & (TEXT_MASK | KIND_MASK)
        two = right[x] & (TEXT_MASK | KIND_MASK)
        if one != two:
            if one == 0 or one == HEAD:
                one = 0x20
            if two == 0 or two == HEAD:
                two = 0x20
            if one != two:
                return False
    return True


cdef inline void publish(Term *term) noexcept nogil:
    """Take the rows that changed into the visible frame; the revision moves if their text did."""
    cdef int32_t y
    cdef int32_t columns = term.columns
    cdef cell_t *front
    cdef cell_t *cells
    cdef bint moved = False
    for y in range(term.rows):
        if not term.dirty[y]:
            continue
        term.dirty[y] = 0
        front = term.front + <size_t>y * columns
        cells = term.screen.rows[y].cells
        if memcmp(front, cells, columns * sizeof(cell_t)) == 0:
            continue
        if not same_text(front, cells, columns):
            if not moved:
                moved = True
                term.revision += 1
            term.front_revision[y] = term.revision
        memcpy(front, cells, columns * sizeof(cell_t))
