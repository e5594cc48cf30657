# Bytes to actions: the state machine of a VT500 parser over UTF-8. What it does not know it swallows.

from libc.stdint cimport int32_t, uint8_t, uint32_t, uint64_t
from libc.stdlib cimport realloc
from libc.string cimport memchr, memcpy

from prowl_svc._fast._engine_cells cimport *
from prowl_svc._fast._engine_csi cimport *
from prowl_svc._fast._engine_modes cimport *
from prowl_svc._fast._engine_print cimport *
from prowl_svc._fast._engine_term cimport *

cdef enum:
    MAX_BELLS = 64  # bells told of in one feed; more of them say nothing new


cdef inline void execute(Term *term, uint8_t byte) noexcept nogil:
    """C0 controls."""
    cdef Screen *screen = term.screen
    if byte == 0x0A or byte == 0x0B or byte == 0x0C:
        index_down(term)
        if mode_on(term, M_NEWLINE):
            carriage_return(term)
    elif byte == 0x0D:
        carriage_return(term)
    elif byte == 0x08:
        cursor_left(term, 1)
    elif byte == 0x09:
        tab_forward(term, 1)
    elif byte == 0x07:
        if term.bells < MAX_BELLS:
            term.bells += 1
            emit(term, EV_BELL, 0, 0, 0)
    elif byte == 0x0E or byte == 0x0F:
        screen.charsets.gl = 1 if byte == 0x0E else 0
        update_slow(term)


cdef inline void begin_sequence(Term *term) noexcept nogil:
    term.state = ESCAPE
    term.marker = 0
    term.intermediates = 0
    term.parameters = 0
    term.accumulator = 0
    term.have = 0
    term.separators = 0


cdef inline void begin_string(Term *term, uint8_t kind) noexcept nogil:
    term.state = STRING
    term.string_kind = kind
    term.string_length = 0
    term.string_overflow = 0


cdef inline void keep(Term *term, const uint8_t *text, size_t length) noexcept nogil:
    """Add to the string that is being received, up to its bound."""
    cdef uint8_t *grown
    cdef uint32_t room
    if term.string_kind == 0 or length == 0:
        return
    if term.string_length + length > MAX_STRING:
        term.string_overflow = 1
        length = MAX_STRING - term.string_length
    if term.string_length + length > term.string_room:
        room = term.string_room if term.string_room else 128
        while room < term.string_length + length:
            room *= 2
        grown = <uint8_t *>realloc(term.string, room)
        if grown == NULL:
            term.lost = 1
            term.string_overflow = 1
            return
        term.string = grown
        term.string_room = room
    memcpy(term.string + term.string_length, text, length)
    term.string_length += <uint32_t>length


cdef inline void end_string(Term *term, int32_t terminator) noexcept nogil:
    """Hand over a complete string; one that was too long is dropped, and so are links, which nobody reads."""
    cdef uint8_t *string = term.string
    term.state = GROUND
    if term.string_kind == 0 or term.string_overflow:
        return
    if term.string_kind == EV_OSC and term.string_length > 1 and string[0] == c'8' and string[1] == c';':
        return
    if term.string_kind == EV_APC and (term.string_length == 0 or string[0] != c'G'):
        return  # only graphics are asked about this way
    emit_string(term, term.string_kind, terminator)


cdef inline void escape_dispatch(Term *term, uint8_t final) noexcept nogil:
    """ESC and at most two intermediates."""
    cdef Screen *screen = term.screen
    cdef uint8_t first = term.intermediate[0]
    cdef int32_t y
    term.state = GROUND
    if term.intermediates == 0:
        if final == c'[':
            term.state = CSI_ENTRY
        elif final == c']':
            begin_string(term, EV_OSC)
        elif final == c'P':
            begin_string(term, EV_DCS)
        elif final == c'_':
            begin_string(term, EV_APC)
        elif final == c'X' or final == c'^' or final == c'k':
            begin_string(term, 0)
        elif final == c'7':
            save_cursor(term)
        elif final == c'8':
            restore_cursor(term)
        elif final == c'D':
            index_down(term)
        elif final == c'E':
            index_down(term)
            carriage_return(term)
        elif final == c'M':
            reverse_index(term)
        elif final == c'H':
            term.tabs[screen.x] = 1
        elif final == c'c':
            full_reset(term)
        elif final == c'N' or final == c'O':
            screen.charsets.single = 3 if final == c'N' else 4
            update_slow(term)
        elif final == c'n' or final == c'o':
            screen.charsets.gl = 2 if final == c'n' else 3
            update_slow(term)
        elif final == c'V':
            screen.pen |= PROTECTED
            screen.iso_protected = 1
        elif final == c'W':
            screen.pen &= ~<cell_t>PROTECTED
        elif final == c'=' or final == c'>':
            set_bit(term, M_KEYPAD, final == c'=')
        return
    if term.intermediates > 1:
        return
    if first == c'#':
        if final == c'8':
            alignment_pattern(term)
    elif c'(' <= first <= c'+':
        if final == c'B':
            screen.charsets.g[first - c'('] = 0
        elif final == c'0' or final == c'A':
            screen.charsets.g[first - c'('] = final
        update_slow(term)


cdef inline void alignment_pattern(Term *term) noexcept nogil:
    """DECALN."""
    cdef int32_t x
    cdef int32_t y
    cdef Row *row
    term.screen.pen = 0
    reset_margins(term)
    set_bit(term, M_ORIGIN, False)
    move_to(term, 1, 1)
    for y in range(term.rows):
        row = &term.screen.rows[y]
        for x in range(term.columns):
            row.cells[x] = c'E'
        row.used = term.columns
        row.wrapped = 0
    mark_rows(term, 0, term.rows - 1)


cdef inline const uint8_t *csi_bytes(Term *term, const uint8_t *here, const uint8_t *end, const uint8_t *start,
                                     uint64_t base) noexcept nogil:
    """Read a control sequence until it ends or the bytes do."""
    cdef uint8_t byte
    cdef uint32_t accumulator = term.accumulator
    while here < end:
        byte = here[0]
        here += 1
        if c'0' <= byte <= c'9':
            if term.state >= CSI_INTERMEDIATE:
                term.state = CSI_IGNORE
                continue
            term.state = CSI_PARAM
            accumulator = accumulator * 10 + (byte - c'0')
            if accumulator > 65535:
                accumulator = 65535
            term.have = 1
        elif byte == c';' or byte == c':':
            if term.state >= CSI_INTERMEDIATE:
                term.state = CSI_IGNORE
                continue
            term.state = CSI_PARAM
            if term.parameters < MAX_PARAMS:
                term.parameter[term.parameters] = accumulator
                if byte == c':':
                    term.separators |= <uint32_t>1 << term.parameters
                term.parameters += 1
            accumulator = 0
            term.have = 0
        elif 0x40 <= byte <= 0x7E:
            if term.have and term.parameters < MAX_PARAMS:
                term.parameter[term.parameters] = accumulator
                term.parameters += 1
            elif term.parameters == MAX_PARAMS:
                term.state = CSI_IGNORE
            if term.state != CSI_IGNORE and (term.separators == 0 or byte == c'm'):
                term.state = GROUND
                term.consumed = base + <uint64_t>(here - start)
                csi_dispatch(term, byte)
            term.state = GROUND
            return here
        elif byte < 0x20:
            if byte == 0x1B:
                begin_sequence(term)
                return here
            if byte == 0x18 or byte == 0x1A:
                term.state = GROUND
                return here
            term.consumed = base + <uint64_t>(here - start)
            execute(term, byte)
        elif byte < 0x30:
            if term.state == CSI_IGNORE or term.intermediates == 2:
                term.state = CSI_IGNORE
            else:
                term.intermediate[term.intermediates] = byte
                term.intermediates += 1
                term.state = CSI_INTERMEDIATE
        elif byte < 0x40:  # < = > ?
            if term.state == CSI_ENTRY:
                term.marker = byte
                term.state = CSI_PARAM
            else:
                term.state = CSI_IGNORE
    term.accumulator = accumulator
    return here


cdef inline const uint8_t *csi_at_once(Term *term, const uint8_t *here, const uint8_t *end, const uint8_t *start,
                                       uint64_t base) noexcept nogil:
    """Carry out a control sequence that is all there and ordinary; NULL when csi_bytes must look at it."""
    cdef uint32_t accumulator = 0
    cdef int32_t count = 0
    cdef bint have = False
    cdef uint8_t byte
    if here < end and here[0] == c'?':
        term.marker = c'?'
        here += 1
    while here < end:
        byte = here[0]
        here += 1
        if c'0' <= byte <= c'9':
            accumulator = accumulator * 10 + (byte - c'0')
            if accumulator > 65535:
                accumulator = 65535
            have = True
        elif byte == c';':
            if count == MAX_PARAMS - 1:
                break
            term.parameter[count] = accumulator
            count += 1
            accumulator = 0
            have = False
        elif 0x40 <= byte <= 0x7E:
            if have:
                term.parameter[count] = accumulator
                count += 1
            term.parameters = count
            term.state = GROUND
            term.consumed = base + <uint64_t>(here - start)
            csi_dispatch(term, byte)
            return here
        else:
            break
    term.marker = 0
    return NULL


cdef inline const uint8_t *escape_byte(Term *term, const uint8_t *here) noexcept nogil:
    cdef uint8_t byte = here[0]
    if byte == 0x1B:
        begin_sequence(term)
    elif byte == 0x18 or byte == 0x1A:
        term.state = GROUND
    elif byte < 0x20:
        execute(term, byte)
    elif byte < 0x30:
        if term.intermediates < 2:
            term.intermediate[term.intermediates] = byte
        if term.intermediates < 3:
            term.intermediates += 1
        term.state = ESCAPE_INTERMEDIATE
    elif byte < 0x7F:
        escape_dispatch(term, byte)
    return here + 1


cdef inline const uint8_t *string_bytes(Term *term, const uint8_t *here, const uint8_t *end) noexcept nogil:
    """Read a string up to its terminator, a cancel or the end of the bytes."""
    cdef const uint8_t *first = here
    cdef uint8_t byte
    while here < end:
        byte = here[0]
        if byte >= 0x20:
            here += 1
            continue
        keep(term, first, here - first)
        here += 1
        first = here
        if byte == 0x1B:
            term.state = STRING_ESCAPE
            return here
        if byte == 0x07 and term.string_kind == EV_OSC:
            return here - 1  # the caller ends it, with its position
        if byte == 0x18 or byte == 0x1A:
            term.state = GROUND
            return here
    keep(term, first, here - first)
    return here


cdef inline const uint8_t *utf8_bytes(Term *term, const uint8_t *here, const uint8_t *end) noexcept nogil:
    """Read one character that is not ASCII, or what is there of it; ill-formed parts show as U+FFFD."""
    cdef uint8_t byte
    if term.utf8_need == 0:
        byte = here[0]
        if end - here >= 3 and byte == 0xE2 and (here[1] & 0xC0) == 0x80 and (here[2] & 0xC0) == 0x80:
            print_point(term, 0x2000 | (<uint32_t>(here[1] & 0x3F) << 6) | (here[2] & 0x3F))
            return here + 3
        here += 1
        term.utf8_low = 0x80
        term.utf8_high = 0xBF
        if 0xC2 <= byte <= 0xDF:
            term.utf8_need = 1
            term.utf8 = byte & 0x1F
        elif 0xE0 <= byte <= 0xEF:
            term.utf8_need = 2
            term.utf8 = byte & 0x0F
            if byte == 0xE0:
                term.utf8_low = 0xA0
            elif byte == 0xED:
                term.utf8_high = 0x9F
        elif 0xF0 <= byte <= 0xF4:
            term.utf8_need = 3
            term.utf8 = byte & 0x07
            if byte == 0xF0:
                term.utf8_low = 0x90
            elif byte == 0xF4:
                term.utf8_high = 0x8F
        else:
            print_point(term, 0xFFFD)
            return here
    while here < end and term.utf8_need:
        byte = here[0]
        if not term.utf8_low <= byte <= term.utf8_high:
            term.utf8_need = 0
            print_point(term, 0xFFFD)
            return here
        here += 1
        term.utf8_low = 0x80
        term.utf8_high = 0xBF
        term.utf8 = (term.utf8 << 6) | (byte & 0x3F)
        term.utf8_need -= 1
        if term.utf8_need == 0:
            print_point(term, term.utf8)
    return here


cdef inline void feed_bytes(Term *term, const uint8_t *text, size_t length) noexcept nogil:
    """Take bytes in any split."""
    cdef const uint8_t *here = text
    cdef const uint8_t *end = text + length
    cdef const uint8_t *ahead
    cdef uint64_t base = term.consumed
    cdef uint8_t byte
    term.bells = 0
    while here < end:
        if term.state == GROUND:
            if term.utf8_need:
                here = utf8_bytes(term, here, end)
                continue
            byte = here[0]
            if 0x20 <= byte < 0x7F:
                here += print_ascii(term, here, end - here)
            elif byte >= 0x80:
                here = utf8_bytes(term, here, end)
            elif byte == 0x1B:
                here += 1
                begin_sequence(term)
                if here < end and here[0] == c'[':
                    here += 1
                    ahead = csi_at_once(term, here, end, text, base)
                    if ahead != NULL:
                        here = ahead
                    else:
                        term.state = CSI_ENTRY
                        here = csi_bytes(term, here, end, text, base)
            else:
                here += 1
                term.consumed = base + <uint64_t>(here - text)
                execute(term, byte)
        elif term.state >= STRING:
            if term.state == STRING:
                here = string_bytes(term, here, end)
                if here < end and term.state == STRING and here[0] == 0x07:
                    here += 1
                    term.consumed = base + <uint64_t>(here - text)
                    end_string(term, 0)
            elif here[0] == c'\\':
                here += 1
                term.consumed = base + <uint64_t>(here - text)
                end_string(term, 1)
            elif here[0] == 0x1B and term.string_kind == EV_DCS:
                keep(term, here, 1)  # multiplexer passthrough doubles each ESC: what it wraps is payload
                here += 1
                term.state = STRING
            else:
                begin_sequence(term)  # the string was cut off by another sequence: it is dropped
        elif term.state >= CSI_ENTRY:
            here = csi_bytes(term, here, end, text, base)
        else:
            term.consumed = base + <uint64_t>(here - text) + 1
            here = escape_byte(term, here)
    term.consumed = base + length
