# Graphemes of more than one code point: a table of interned sequences, collected when it fills.

from libc.stdint cimport int32_t, uint32_t
from libc.stdlib cimport calloc, free, malloc, realloc
from libc.string cimport memcmp, memcpy, memset

from prowl_svc._fast._engine_term cimport *


cdef inline uint32_t grapheme_hash(const uint32_t *points, uint32_t length) noexcept nogil:
    cdef uint32_t value = 2166136261u
    cdef uint32_t i
    for i in range(length):
        value = (value ^ points[i]) * 16777619u
    return value ^ (value >> 15)


cdef inline void graphemes_free(Term *term) noexcept nogil:
    cdef int32_t i
    for i in range(term.grapheme_count):
        free(term.graphemes[i])
    free(term.graphemes)
    free(term.grapheme_next)
    free(term.grapheme_bucket)
    term.graphemes = NULL
    term.grapheme_next = NULL
    term.grapheme_bucket = NULL
    term.grapheme_count = term.grapheme_room = term.grapheme_buckets = term.grapheme_live = 0
    term.grapheme_free = 0


cdef inline void mark_graphemes(uint8_t *seen, const cell_t *cells, size_t length) noexcept nogil:
    cdef size_t i
    for i in range(length):
        if cells[i] & GRAPHEME:
            seen[cells[i] & CP_MASK] = 1


cdef inline void collect_graphemes(Term *term) noexcept nogil:
    """Free the graphemes that no cell shows any more."""
    cdef uint8_t *seen = <uint8_t *>calloc(term.grapheme_count + 1, 1)
    cdef size_t area = <size_t>term.columns * term.rows
    cdef int32_t i
    cdef int32_t previous
    cdef int32_t number
    cdef int32_t following
    cdef uint32_t bucket
    if seen == NULL:
        return
    mark_graphemes(seen, term.main.block, area)
    mark_graphemes(seen, term.alt.block, area)
    mark_graphemes(seen, term.front, area)
    if term.history.rows != NULL:
        for i in range(term.history.count):
            mark_graphemes(seen, history_row(&term.history, i).cells, history_row(&term.history, i).used)
    for bucket in range(<uint32_t>term.grapheme_buckets):
        previous = -1
        number = term.grapheme_bucket[bucket] - 1
        while number >= 0:
            following = term.grapheme_next[number] - 1
            if seen[number]:
                previous = number
            else:
                if previous < 0:
                    term.grapheme_bucket[bucket] = following + 1
                else:
                    term.grapheme_next[previous] = following + 1
                free(term.graphemes[number])
                term.graphemes[number] = NULL
                term.grapheme_next[number] = term.grapheme_free
                term.grapheme_free = number + 1
                term.grapheme_live -= 1
            number = following
    free(seen)


cdef inline bint grow_graphemes(Term *term) noexcept nogil:
    """Make room for more numbers and spread the chains over more buckets."""
    cdef int32_t room = term.grapheme_room * 2 if term.grapheme_room else 32
    cdef int32_t number
    cdef uint32_t bucket
    cdef uint32_t **graphemes
    cdef int32_t *following
    cdef int32_t *buckets
    graphemes = <uint32_t **>realloc(term.graphemes, room * sizeof(uint32_t *))
    if graphemes == NULL:
        return False
    term.graphemes = graphemes
    following = <int32_t *>realloc(term.grapheme_next, room * sizeof(int32_t))
    if following == NULL:
        return False
    term.grapheme_next = following
    buckets = <int32_t *>calloc(room, sizeof(int32_t))
    if buckets == NULL:
        return False
    free(term.grapheme_bucket)
    term.grapheme_bucket = buckets
    term.grapheme_buckets = room
    term.grapheme_room = room
    for number in range(term.grapheme_count):
        if graphemes[number] != NULL:
            bucket = grapheme_hash(graphemes[number] + 1, graphemes[number][0]) & <uint32_t>(room - 1)
            following[number] = buckets[bucket]
            buckets[bucket] = number + 1
    return True


cdef inline int32_t intern_grapheme(Term *term, const uint32_t *points, uint32_t length) noexcept nogil:
    """Return the number of a sequence, or -1 when there is no room for another."""
    cdef uint32_t value = grapheme_hash(points, length)
    cdef int32_t number
    cdef uint32_t *entry
    cdef uint32_t bucket
    if term.grapheme_buckets:
        number = term.grapheme_bucket[value & <uint32_t>(term.grapheme_buckets - 1)] - 1
        while number >= 0:
            entry = term.graphemes[number]
            if entry[0] == length and memcmp(entry + 1, points, length * sizeof(uint32_t)) == 0:
                return number
            number = term.grapheme_next[number] - 1
    if term.grapheme_live >= term.grapheme_goal:
        collect_graphemes(term)
        term.grapheme_goal = term.grapheme_live * 2
        if term.grapheme_goal < 256:
            term.grapheme_goal = 256
        if term.grapheme_live >= MAX_GRAPHEMES:
            term.grapheme_goal = term.grapheme_live + 4096  # do not collect again at once
            return -1
        if term.grapheme_goal > MAX_GRAPHEMES:
            term.grapheme_goal = MAX_GRAPHEMES
    if term.grapheme_live >= MAX_GRAPHEMES:
        term.grapheme_goal -= 1
        return -1
    entry = <uint32_t *>malloc((length + 1) * sizeof(uint32_t))
    if entry == NULL:
        term.lost = 1
        return -1
    if term.grapheme_free:
        number = term.grapheme_free - 1
        term.grapheme_free = term.grapheme_next[number]
    else:
        if term.grapheme_count == term.grapheme_room and not grow_graphemes(term):
            free(entry)
            term.lost = 1
            return -1
        number = term.grapheme_count
        term.grapheme_count += 1
    entry[0] = length
    memcpy(entry + 1, points, length * sizeof(uint32_t))
    term.graphemes[number] = entry
    bucket = value & <uint32_t>(term.grapheme_buckets - 1)
    term.grapheme_next[number] = term.grapheme_bucket[bucket]
    term.grapheme_bucket[bucket] = number + 1
    term.grapheme_live += 1
    return number


cdef inline uint32_t cell_points(Term *term, cell_t cell, uint32_t *points) noexcept nogil:
    """Write the code points of a cell; ``points`` has room for MAX_GRAPHEME."""
    cdef uint32_t *entry
    if cell & GRAPHEME:
        entry = term.graphemes[cell & CP_MASK]
        memcpy(points, entry + 1, entry[0] * sizeof(uint32_t))
        return entry[0]
    points[0] = cell & CP_MASK
    return 1 if points[0] else 0


cdef inline uint32_t first_point(Term *term, cell_t cell) noexcept nogil:
    if cell & GRAPHEME:
        return term.graphemes[cell & CP_MASK][1]
    return cell & CP_MASK


cdef inline void append_point(Term *term, Row *row, int32_t x, uint32_t point) noexcept nogil:
    """Add a combining code point to a cell; when there is no room the cell stays as it is."""
    cdef uint32_t points[MAX_GRAPHEME + 1]
    cdef uint32_t length = cell_points(term, row.cells[x], points)
    cdef int32_t number
    if length == 0 or length >= MAX_GRAPHEME:
        return
    points[length] = point
    number = intern_grapheme(term, points, length + 1)
    if number >= 0:
        row.cells[x] = (row.cells[x] & ~<cell_t>TEXT_MASK) | GRAPHEME | <cell_t>number
