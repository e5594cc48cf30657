# Writing characters into the grid: width, wrapping, combining (terminal.md §1.3, §1.4 on CPR).

from libc.stdint cimport int32_t, uint8_t, uint32_t
from libc.string cimport memcpy

from prowl_svc._fast._engine_cells cimport *
from prowl_svc._fast._engine_graphemes cimport *
from prowl_svc._fast._engine_tables cimport *
from prowl_svc._fast._engine_term cimport *

cdef extern from *:
    """
    #if defined(__SSE2__)
    #include <emmintrin.h>
    #endif

    /* Copy printable ASCII into cells until another byte or the end of the room; returns how many were copied. */
    static inline size_t prowl_put_ascii(uint32_t *cells, size_t room, const uint8_t *text, size_t length, uint32_t pen)
    {
        size_t i = 0;
        if (length < room)
            room = length;
    #if defined(__SSE2__)
        const __m128i low = _mm_set1_epi8(0x1f), high = _mm_set1_epi8(0x7f), zero = _mm_setzero_si128();
        const __m128i pens = _mm_set1_epi32((int)pen);
        while (i + 16 <= room) {
            __m128i bytes = _mm_loadu_si128((const __m128i *)(text + i));
            __m128i good = _mm_and_si128(_mm_cmpgt_epi8(bytes, low), _mm_cmplt_epi8(bytes, high));
            unsigned mask = (unsigned)_mm_movemask_epi8(good);
            __m128i first = _mm_unpacklo_epi8(bytes, zero), second = _mm_unpackhi_epi8(bytes, zero);
            if (mask != 0xffff) {
                size_t end = i + (size_t)__builtin_ctz(~mask);
                for (; i < end; i++)
                    cells[i] = text[i] | pen;
                return i;
            }
            _mm_storeu_si128((__m128i *)(cells + i), _mm_or_si128(_mm_unpacklo_epi16(first, zero), pens));
            _mm_storeu_si128((__m128i *)(cells + i + 4), _mm_or_si128(_mm_unpackhi_epi16(first, zero), pens));
            _mm_storeu_si128((__m128i *)(cells + i + 8), _mm_or_si128(_mm_unpacklo_epi16(second, zero), pens));
            _mm_storeu_si128((__m128i *)(cells + i + 12), _mm_or_si128(_mm_unpackhi_epi16(second, zero), pens));
            i += 16;
        }
    #endif
        for (; i < room; i++) {
            if ((uint8_t)(text[i] - 0x20) >= 0x5f)
                return i;
            cells[i] = text[i] | pen;
        }
        return i;
    }
    """
    size_t prowl_put_ascii(uint32_t *cells, size_t room, const uint8_t *text, size_t length, uint32_t pen) noexcept nogil

# DEC special graphics, 0x5F to 0x7E.
cdef extern from *:
    """
    static const uint16_t prowl_dec_graphics[32] = {
        0x00a0, 0x25c6, 0x2592, 0x2409, 0x240c, 0x240d, 0x240a, 0x00b0, 0x00b1, 0x2424, 0x240b, 0x2518, 0x2510, 0x250c,
        0x2514, 0x253c, 0x23ba, 0x23bb, 0x2500, 0x23bc, 0x23bd, 0x251c, 0x2524, 0x2534, 0x252c, 0x2502, 0x2264, 0x2265,
        0x03c0, 0x2260, 0x00a3, 0x00b7};
    """
    const uint16_t prowl_dec_graphics[32]


cdef inline int32_t right_limit(Term *term) noexcept nogil:
    return term.columns if term.screen.x > term.right else term.right + 1


cdef inline void wrap(Term *term) noexcept nogil:
    """Go on at the left margin of the next row."""
    cdef Screen *screen = term.screen
    cdef bint joined = screen.x == term.columns - 1
    if joined:
        screen.rows[screen.y].wrapped = 1
    index_down(term)
    screen.x = term.left
    if joined:
        screen.rows[screen.y].continues = 1


cdef inline uint32_t map_charset(Term *term, uint32_t point) noexcept nogil:
    cdef Charsets *charsets = &term.screen.charsets
    cdef uint8_t kind = charsets.g[charsets.gl]
    if charsets.single:
        kind = charsets.g[charsets.single - 1]
        charsets.single = 0
        update_slow(term)
    if kind == 0 or point == 0:
        return point
    if point > 0xFF:
        return 0x20
    if kind == c'0' and 0x5F <= point <= 0x7E:
        return prowl_dec_graphics[point - 0x5F]
    if kind == c'A' and point == 0x23:
        return 0xA3
    return point


cdef inline void put_cell(Term *term, uint32_t point, cell_t kind) noexcept nogil:
    """Write one cell at the cursor; a wide character of which it covers half is emptied."""
    cdef Screen *screen = term.screen
    cdef Row *row = &screen.rows[screen.y]
    cdef int32_t x = screen.x
    cdef cell_t old = row.cells[x] & KIND_MASK
    if old != kind:
        if old == WIDE:
            if x + 1 < term.columns:
                row.cells[x + 1] = 0
        elif old == TAIL and x:
            row.cells[x - 1] = 0
        if x < 2 and (old == WIDE or old == TAIL):
            clear_head(term)
    if term.slow & SLOW_CHARSET:
        point = map_charset(term, point)
    row.cells[x] = point | kind | screen.pen
    if x >= row.used:
        row.used = x + 1
    mark(term, screen.y)


cdef inline bint breaks(const uint32_t *points, uint32_t length, uint32_t point) noexcept nogil:
    """Tell whether a new grapheme starts at ``point`` (UAX #29 without the control rules)."""
    cdef int32_t i = <int32_t>length - 1
    cdef uint8_t left = grapheme_class(points[i])
    cdef uint8_t right = grapheme_class(point)
    cdef uint8_t kind
    cdef bint linker = False
    cdef int32_t run = 0
    if left == G_L and (right == G_L or right == G_V or right == G_LV or right == G_LVT):
        return False
    if (left == G_LV or left == G_V) and (right == G_V or right == G_T):
        return False
    if (left == G_LVT or left == G_T) and right == G_T:
        return False
    if right == G_MODIFIER:
        return left != G_PICTOGRAPHIC
    if right == G_EXTEND or right == G_LINKER or right == G_ZWJ or right == G_SPACING:
        return False
    if left == G_PREPEND:
        return False
    if left == G_REGIONAL and right == G_REGIONAL:
        while i >= 0 and grapheme_class(points[i]) == G_REGIONAL:
            run += 1
            i -= 1
        return run % 2 == 0
    if left == G_ZWJ and right == G_PICTOGRAPHIC:
        i -= 1
        while i >= 0:
            kind = grapheme_class(points[i])
            if kind == G_PICTOGRAPHIC:
                return False
            if kind != G_EXTEND and kind != G_LINKER and kind != G_MODIFIER:
                return True
            i -= 1
        return True
    if right == G_CONSONANT:
        while i >= 0:
            kind = grapheme_class(points[i])
            if kind == G_CONSONANT:
                return not linker
            if kind == G_LINKER:
                linker = True
            elif kind != G_EXTEND and kind != G_ZWJ:
                return True
            i -= 1
    return True


cdef inline void widen(Term *term, int32_t base, int32_t limit) noexcept nogil:
    """Make the narrow character at ``base`` of the cursor's row wide, wrapping it when it stands last."""
    cdef Screen *screen = term.screen
    cdef Row *row = &screen.rows[screen.y]
    cdef cell_t cell = row.cells[base]
    screen.x = base
    if base == limit - 1:
        if not mode_on(term, M_WRAP):
            return
        row.cells[base] = HEAD if limit == term.columns else 0
        mark(term, screen.y)
        if limit == term.columns:
            row.wrapped = 1
        wrap(term)
        put_cell(term, 0, WIDE)
        row = &screen.rows[screen.y]
        base = screen.x
        row.cells[base] = (cell & ~<cell_t>KIND_MASK) | WIDE
    else:
        row.cells[base] = (cell & ~<cell_t>KIND_MASK) | WIDE
    screen.x = base + 1
    put_cell(term, 0, TAIL)
    if screen.x == limit - 1:
        screen.pending = 1
    else:
        screen.x += 1


cdef inline bint cluster(Term *term, uint32_t point, int32_t limit) noexcept nogil:
    """With mode 2027: add the code point to the character before it when they are one grapheme."""
    cdef Screen *screen = term.screen
    cdef Row *row = &screen.rows[screen.y]
    cdef uint32_t points[MAX_GRAPHEME + 1]
    cdef uint32_t length
    cdef uint32_t last
    cdef int32_t base = screen.x
    cdef cell_t kind
    if mode_on(term, M_WRAP):
        base -= not screen.pending
    elif screen.x != limit - 1 or not row.cells[screen.x] & TEXT_MASK:
        base -= 1
    if row.cells[base] & KIND_MASK == TAIL and base:
        base -= 1
    length = cell_points(term, row.cells[base], points)
    if length == 0 or breaks(points, length, point):
        return False
    kind = row.cells[base] & KIND_MASK
    last = points[length - 1]
    if point == 0xFE0F or point == 0xFE0E:
        if not takes_variation(last):
            return True
        if point == 0xFE0E and kind == WIDE:
            row.cells[base] &= ~<cell_t>KIND_MASK
            if base + 1 < term.columns:
                row.cells[base + 1] &= ~<cell_t>KIND_MASK
            screen.pending = 0
            screen.x = base + 1 if base + 1 < limit else limit - 1
        elif point == 0xFE0F and kind != WIDE:
            if base == limit - 1 and not mode_on(term, M_WRAP):
                screen.x = base
                return True
            widen(term, base, limit)
            base = screen.x - (1 if screen.pending else 2)
    elif kind != WIDE and char_width(point) and grapheme_class(point) != G_MODIFIER:
        if base == limit - 1 and not mode_on(term, M_WRAP):
            screen.x = base
            return True
        widen(term, base, limit)
        base = screen.x - (1 if screen.pending else 2)
    append_point(term, &screen.rows[screen.y], base, point)
    mark(term, screen.y)
    return True


cdef inline void combine(Term *term, uint32_t point) noexcept nogil:
    """Add a character of no width to the one before it."""
    cdef Screen *screen = term.screen
    cdef Row *row = &screen.rows[screen.y]
    cdef int32_t base = screen.x
    if mode_on(term, M_CLUSTER):
        return
    if not (screen.pending and mode_on(term, M_WRAP)):
        base -= 1
    if base < 0:
        return
    if row.cells[base] & KIND_MASK == TAIL and base:
        base -= 1
    if not row.cells[base] & TEXT_MASK:
        return
    if (point == 0xFE0F or point == 0xFE0E) and grapheme_class(first_point(term, row.cells[base])) != G_PICTOGRAPHIC:
        return
    append_point(term, row, base, point)
    mark(term, screen.y)


cdef inline void print_char(Term *term, uint32_t point) noexcept nogil:
    """Write one character, every mode respected."""
    cdef Screen *screen = term.screen
    cdef int32_t limit
    cdef int32_t width
    if term.status_line:
        return
    limit = right_limit(term)
    if point > 0xFF and term.slow & SLOW_CLUSTER and screen.x > 0 and cluster(term, point, limit):
        return
    width = 1 if point <= 0xFF else char_width(point)
    if width == 0:
        combine(term, point)
        return
    term.previous = point
    if screen.pending and mode_on(term, M_WRAP):
        wrap(term)
        limit = right_limit(term)
    if term.slow & SLOW_INSERT and screen.x + width < term.columns:
        insert_blanks(term, width)
    if width == 1:
        put_cell(term, point, 0)
    elif limit - term.left > 1:
        if screen.x == limit - 1:
            if not mode_on(term, M_WRAP):
                return
            put_cell(term, 0, HEAD if limit == term.columns else 0)
            wrap(term)
            limit = right_limit(term)
        put_cell(term, point, WIDE)
        screen.x += 1
        put_cell(term, 0, TAIL)
    else:
        put_cell(term, 0, 0)
    if screen.x >= limit - 1:
        screen.pending = 1
    else:
        screen.x += 1


cdef inline size_t print_ascii(Term *term, const uint8_t *text, size_t length) noexcept nogil:
    """Write a run of printable ASCII; return how many bytes it took."""
    cdef Screen *screen
    cdef Row *row
    cdef cell_t *cells
    cdef size_t done = 0
    cdef size_t count
    cdef int32_t limit
    cdef int32_t x
    if term.slow & ~SLOW_CLUSTER:
        while done < length and 0x20 <= text[done] < 0x7F:
            print_char(term, text[done])
            done += 1
        return done
    screen = term.screen
    while True:
        if screen.pending:
            wrap(term)
        limit = right_limit(term)
        row = &screen.rows[screen.y]
        x = screen.x
        cells = row.cells + x
        if x < 2 and cells[0] & KIND_MASK:
            clear_head(term)
        if cells[0] & KIND_MASK == TAIL and x:
            row.cells[x - 1] = 0
        count = prowl_put_ascii(cells, limit - x, text + done, length - done, screen.pen)
        done += count
        term.dirty[screen.y] = 1
        x += <int32_t>count
        if x > row.used:
            row.used = x
        if x < term.columns and row.cells[x] & KIND_MASK == TAIL:
            row.cells[x] = 0
        if x < limit:
            screen.x = x
            break
        screen.x = limit - 1
        screen.pending = 1
        if done == length or not 0x20 <= text[done] < 0x7F:
            break
    term.previous = text[done - 1]
    return done


cdef inline void print_point(Term *term, uint32_t point) noexcept nogil:
    """Write one character that is not ASCII: the common ones at once, the rest by print_char."""
    cdef Screen *screen = term.screen
    cdef Row *row
    cdef int32_t limit
    cdef int32_t x
    if term.slow or char_width(point) != 1:
        if 0x80 <= point < 0xA0:
            return  # C1 controls are not text
        print_char(term, point)
        return
    if screen.pending:
        wrap(term)
    limit = right_limit(term)
    row = &screen.rows[screen.y]
    x = screen.x
    if row.cells[x] & KIND_MASK:
        put_cell(term, point, 0)
    else:
        row.cells[x] = point | screen.pen
        if x >= row.used:
            row.used = x + 1
        term.dirty[screen.y] = 1
    term.previous = point
    if x >= limit - 1:
        screen.pending = 1
    else:
        screen.x = x + 1


cdef inline void repeat(Term *term, int32_t count) noexcept nogil:
    """REP: the last character again; beyond a screenful only what is left of a row, so that it costs no more."""
    cdef int32_t most = term.columns * term.rows
    cdef int32_t span = term.right - term.left + 1
    cdef uint8_t text[64]
    cdef int32_t part
    if term.previous == 0:
        return
    if count < 1:
        count = 1
    if count > most:
        if char_width(term.previous) == 2 and span > 1:
            span //= 2
        count = most + (count - most) % span
    if term.previous < 0x80:
        memset(text, term.previous, 64)
        while count > 0:
            part = 64 if count > 64 else count
            print_ascii(term, text, part)
            count -= part
        return
    while count > 0:
        print_point(term, term.previous)
        count -= 1
