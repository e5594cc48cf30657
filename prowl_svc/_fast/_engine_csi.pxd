# What control sequences do: cursor, tabs, erasing, scrolling, pen and queries.

from libc.stdint cimport int32_t, uint8_t, uint32_t, uint64_t

from prowl_svc._fast._engine_cells cimport *
from prowl_svc._fast._engine_modes cimport *
from prowl_svc._fast._engine_print cimport repeat
from prowl_svc._fast._engine_term cimport *

# Queries (EV_QUERY.a); their answers are written outside (terminal.md §1.4).
ctypedef enum Query:
    Q_DEVICE = 1  # DA1, DA2, DA3: b is the marker, c the parameter
    Q_VERSION  # XTVERSION
    Q_STATUS  # DSR: b is the number, c the marker
    Q_CURSOR  # CPR, DECXCPR: b, c are row and column as the program counts them
    Q_CURSOR_EXTENDED
    Q_KEYBOARD  # kitty flags: b
    Q_MODE  # DECRQM: b is the mode, c 0 unknown, 1 set, 2 reset
    Q_ANSI_MODE
    Q_SIZE  # XTWINOPS 14, 15, 16, 18, 19, 21: b
    Q_KEY_FORMAT  # XTQMODKEYS: b


cdef inline void carriage_return(Term *term) noexcept nogil:
    cdef Screen *screen = term.screen
    screen.pending = 0
    screen.x = term.left if mode_on(term, M_ORIGIN) or screen.x >= term.left else 0


cdef inline void cursor_up(Term *term, int32_t count) noexcept nogil:
    cdef Screen *screen = term.screen
    cdef int32_t top = term.top if screen.y >= term.top else 0
    screen.pending = 0
    if count < 1:
        count = 1
    screen.y = screen.y - count if screen.y - count > top else top


cdef inline void cursor_down(Term *term, int32_t count) noexcept nogil:
    cdef Screen *screen = term.screen
    cdef int32_t bottom = term.bottom if screen.y <= term.bottom else term.rows - 1
    screen.pending = 0
    if count < 1:
        count = 1
    screen.y = screen.y + count if screen.y + count < bottom else bottom


cdef inline void cursor_right(Term *term, int32_t count) noexcept nogil:
    cdef Screen *screen = term.screen
    cdef int32_t right = term.right if screen.x <= term.right else term.columns - 1
    screen.pending = 0
    if count < 1:
        count = 1
    screen.x = screen.x + count if screen.x + count < right else right


cdef inline void cursor_left(Term *term, int32_t count) noexcept nogil:
    """CUB and BS, with both forms of reverse wrap (modes 45 and 1045)."""
    cdef Screen *screen = term.screen
    cdef bint extended = mode_on(term, M_REVERSE_WRAP_2)
    cdef int32_t left
    cdef int32_t amount
    if count < 1:
        count = 1
    if not mode_on(term, M_WRAP) or not (extended or mode_on(term, M_REVERSE_WRAP)):
        screen.x = screen.x - count if screen.x > count else 0
        screen.pending = 0
        return
    if screen.pending:
        count -= 1
        screen.pending = 0
        if count == 0:
            return
    left = 0 if screen.x < term.left else term.left
    if screen.x == left and not extended and screen.y <= term.top:
        screen.y = term.top
        return
    while True:
        amount = screen.x - left
        if amount > count:
            amount = count
        count -= amount
        screen.x -= amount
        if count == 0:
            return
        if screen.y == term.top:
            if not extended:
                return
            screen.y = term.bottom
        elif screen.y == 0 or (not extended and not screen.rows[screen.y - 1].wrapped):
            return
        else:
            screen.y -= 1
        screen.x = term.right
        count -= 1
        if count > term.columns * term.rows:
            count %= term.columns * term.rows  # round and round: only the remainder matters


cdef inline void tab_forward(Term *term, int32_t count) noexcept nogil:
    cdef Screen *screen = term.screen
    while count > 0 and screen.x < term.right:
        screen.x += 1
        if term.tabs[screen.x]:
            count -= 1


cdef inline void tab_back(Term *term, int32_t count) noexcept nogil:
    cdef Screen *screen = term.screen
    cdef int32_t left = term.left if mode_on(term, M_ORIGIN) else 0
    while count > 0 and screen.x > left:
        screen.x -= 1
        if term.tabs[screen.x]:
            count -= 1


cdef inline void scroll_down(Term *term, int32_t count) noexcept nogil:
    if count:
        lines_down(term, term.top, count)


cdef inline void reverse_index(Term *term) noexcept nogil:
    cdef Screen *screen = term.screen
    if screen.y == term.top and term.left <= screen.x <= term.right:
        scroll_down(term, 1)
    else:
        cursor_up(term, 1)


cdef inline void edit_lines(Term *term, int32_t count, bint insert) noexcept nogil:
    """IL and DL."""
    if count == 0 or not in_region(term):
        return
    if insert:
        lines_down(term, term.screen.y, count)
    else:
        lines_up(term, term.screen.y, count)
    term.screen.x = term.left
    term.screen.pending = 0


cdef inline void set_pen(Term *term) noexcept nogil:
    """SGR: of all styles only dim is kept, but every form must be read to find it."""
    cdef cell_t pen = term.screen.pen
    cdef int32_t i = 0
    cdef uint32_t value
    if term.parameters == 0:
        pen &= ~<cell_t>DIM
    while i < term.parameters:
        value = term.parameter[i]
        if term.separators >> i & 1:
            while i < term.parameters and term.separators >> i & 1:
                i += 1  # one attribute with sub-parameters: none of those is dim
        elif value == 0 or value == 22:
            pen &= ~<cell_t>DIM
        elif value == 2:
            pen |= DIM
        elif (value == 38 or value == 48 or value == 58) and i + 1 < term.parameters:
            if term.parameter[i + 1] == 2:
                i += 4
            elif term.parameter[i + 1] == 5:
                i += 2
        i += 1
    term.screen.pen = pen


cdef inline void set_margins(Term *term, int32_t first, int32_t last, bint horizontal) noexcept nogil:
    """DECSTBM and DECSLRM."""
    cdef int32_t most = term.columns if horizontal else term.rows
    if first < 1:
        first = 1
    if last == 0 or last > most:
        last = most
    if first >= last:
        return
    if horizontal:
        term.left = first - 1
        term.right = last - 1
    else:
        term.top = first - 1
        term.bottom = last - 1
    move_to(term, 1, 1)


cdef inline void kitty_keyboard(Term *term, uint8_t marker, int32_t count, int32_t value, int32_t how) noexcept nogil:
    """The stack of kitty keyboard flags; its last entry is in force."""
    cdef Screen *screen = term.screen
    cdef int32_t i
    cdef uint8_t *top
    if marker == c'>':
        if value > 31:
            return
        if screen.kitty_count == KITTY_DEPTH:
            for i in range(KITTY_DEPTH - 1):
                screen.kitty[i] = screen.kitty[i + 1]
            screen.kitty_count -= 1
        screen.kitty[screen.kitty_count] = value
        screen.kitty_count += 1
    elif marker == c'<':
        if not count:
            value = 1
        screen.kitty_count = screen.kitty_count - value if value < screen.kitty_count else 0
    elif marker == c'=' and value <= 31:
        if screen.kitty_count == 0:
            screen.kitty[0] = 0
            screen.kitty_count = 1
        top = &screen.kitty[screen.kitty_count - 1]
        if count < 2 or how == 1:
            top[0] = value
        elif how == 2:
            top[0] |= value
        elif how == 3:
            top[0] &= ~value
    elif marker == c'?':
        emit(term, EV_QUERY, Q_KEYBOARD, screen.kitty[screen.kitty_count - 1] if screen.kitty_count else 0, 0)


cdef inline void report_mode(Term *term, uint32_t number, bint private) noexcept nogil:
    cdef int32_t bit = mode_bit(number) if private else ansi_mode_bit(number)
    cdef int32_t value = 0
    if bit >= 0:
        value = 1 if mode_on(term, bit) else 2
    emit(term, EV_QUERY, Q_MODE if private else Q_ANSI_MODE, number, value)


cdef inline void report_cursor(Term *term, bint extended) noexcept nogil:
    cdef Screen *screen = term.screen
    cdef int32_t x = screen.x
    cdef int32_t y = screen.y
    if mode_on(term, M_ORIGIN):
        x = x - term.left if x > term.left else 0
        y = y - term.top if y > term.top else 0
    emit(term, EV_QUERY, Q_CURSOR_EXTENDED if extended else Q_CURSOR, y + 1, x + 1)


cdef inline void marked_dispatch(Term *term, uint8_t final) noexcept nogil:
    """Sequences with one of < = > ? before the parameters."""
    cdef uint8_t marker = term.marker
    cdef uint8_t extra = term.intermediate[0] if term.intermediates else 0
    cdef int32_t count = term.parameters
    cdef int32_t value = <int32_t>term.parameter[0] if count else 0
    cdef int32_t i
    cdef int32_t bit
    if extra:
        if marker == c'?' and extra == c'$' and final == c'p' and count == 1 and term.intermediates == 1:
            report_mode(term, value, True)
        return
    if final == c'u':
        kitty_keyboard(term, marker, count, value, <int32_t>term.parameter[1] if count > 1 else 1)
    elif marker == c'?':
        if final == c'h' or final == c'l':
            for i in range(count):
                set_mode(term, term.parameter[i], final == c'h')
        elif final == c's' or final == c'r':
            for i in range(count):
                bit = mode_bit(term.parameter[i])
                if bit < 0:
                    continue
                if final == c'r':
                    set_mode(term, term.parameter[i], term.saved_modes >> bit & 1)
                elif mode_on(term, bit):
                    term.saved_modes |= <uint64_t>1 << bit
                else:
                    term.saved_modes &= ~(<uint64_t>1 << bit)
        elif final == c'J' and count < 2 and value < 4:
            erase_display(term, value, value != 3)
        elif final == c'K' and count < 2 and value < 3:
            erase_line(term, value, True)
        elif final == c'n' and count == 1:
            if value == 6:
                report_cursor(term, True)
            else:
                emit(term, EV_QUERY, Q_STATUS, value, marker)
        elif final == c'm' and count == 1:
            emit(term, EV_QUERY, Q_KEY_FORMAT, value, 0)
        elif final == c'W' and value == 5:
            reset_tabs(term)
    elif final == c'c':
        emit(term, EV_QUERY, Q_DEVICE, marker, value)
    elif final == c'q' and marker == c'>' and value == 0:
        emit(term, EV_QUERY, Q_VERSION, 0, 0)


cdef inline void intermediate_dispatch(Term *term, uint8_t final) noexcept nogil:
    """Sequences with an intermediate before the final byte."""
    cdef uint8_t extra = term.intermediate[0]
    cdef int32_t value = <int32_t>term.parameter[0] if term.parameters else 0
    if term.intermediates > 1 or term.marker:
        return
    if extra == c'!' and final == c'p':
        soft_reset(term)
    elif extra == c'$' and final == c'p' and term.parameters == 1:
        report_mode(term, value, False)
    elif extra == c'"' and final == c'q':
        if value == 1:
            term.screen.pen |= PROTECTED
            term.screen.iso_protected = 0
        elif value == 0 or value == 2:
            term.screen.pen &= ~<cell_t>PROTECTED
    elif extra == c'$' and final == c'}' and term.parameters == 1 and value < 2:
        term.status_line = value
        update_slow(term)


cdef inline void window_operation(Term *term, int32_t value) noexcept nogil:
    """XTWINOPS: sizes are asked for, titles are kept; the window is nobody's to move."""
    cdef int32_t which = <int32_t>term.parameter[1] if term.parameters > 1 else 0
    if value == 22 or value == 23:
        if which == 0 or which == 2:
            emit(term, EV_TITLE, value == 22, 0, 0)
    elif 14 <= value <= 21 and (term.parameters == 1 or value == 14):
        emit(term, EV_QUERY, Q_SIZE, value, 0)


cdef inline void csi_dispatch(Term *term, uint8_t final) noexcept nogil:
    """Carry out a control sequence; one with more parameters than it has meaning for is left alone."""
    cdef Screen *screen = term.screen
    cdef int32_t count = term.parameters
    cdef int32_t value
    cdef int32_t one
    cdef int32_t i
    if term.marker:
        marked_dispatch(term, final)
        return
    if term.intermediates:
        intermediate_dispatch(term, final)
        return
    if final == c'm':
        set_pen(term)
        return
    value = <int32_t>term.parameter[0] if count else 0
    if final == c'H' or final == c'f':
        if count < 3:
            move_to(term, value, <int32_t>term.parameter[1] if count > 1 else 1)
        return
    if final == c'h' or final == c'l':
        for i in range(count):
            set_ansi_mode(term, term.parameter[i], final == c'h')
        return
    if final == c'r':
        if count < 3:
            set_margins(term, value, <int32_t>term.parameter[1] if count > 1 else 0, False)
        return
    if final == c's':
        if mode_on(term, M_MARGINS):
            if count < 3:
                set_margins(term, value, <int32_t>term.parameter[1] if count > 1 else 0, True)
        elif count == 0:
            save_cursor(term)
        return
    if final == c't':
        if count:
            window_operation(term, value)
        return
    if count > 1:
        return
    one = value if count else 1
    if final == c'A' or final == c'k':
        cursor_up(term, one)
    elif final == c'B':
        cursor_down(term, one)
    elif final == c'C':
        cursor_right(term, one)
    elif final == c'D' or final == c'j':
        cursor_left(term, one)
    elif final == c'G' or final == c'`':
        move_to(term, screen.y + 1 - (term.top if mode_on(term, M_ORIGIN) else 0), one)
    elif final == c'K':
        if value < 3:
            erase_line(term, value, False)
    elif final == c'J':
        if value < 4 or value == 22:
            erase_display(term, value, False)
    elif final == c'X':
        erase_chars(term, one)
    elif final == c'E':
        cursor_down(term, one)
        carriage_return(term)
    elif final == c'F':
        cursor_up(term, one)
        carriage_return(term)
    elif final == c'd':
        move_to(term, one, screen.x + 1 - (term.left if mode_on(term, M_ORIGIN) else 0))
    elif final == c'a':
        move_to(term, screen.y + 1 - (term.top if mode_on(term, M_ORIGIN) else 0), screen.x + 1 + one)
    elif final == c'e':
        move_to(term, screen.y + 1 + one, screen.x + 1 - (term.left if mode_on(term, M_ORIGIN) else 0))
    elif final == c'L':
        edit_lines(term, one, True)
    elif final == c'M':
        edit_lines(term, one, False)
    elif final == c'P':
        delete_chars(term, one)
    elif final == c'@':
        insert_blanks(term, one if one else 1)
    elif final == c'S':
        scroll_up(term, one)
    elif final == c'T':
        scroll_down(term, one)
    elif final == c'I':
        tab_forward(term, one)
    elif final == c'Z':
        tab_back(term, one)
    elif final == c'b':
        repeat(term, one)
    elif final == c'g':
        if value == 0:
            term.tabs[screen.x] = 0
        elif value == 3:
            for i in range(term.columns):
                term.tabs[i] = 0
    elif final == c'W':
        if value == 0:
            term.tabs[screen.x] = 1
        elif value == 2:
            term.tabs[screen.x] = 0
        elif value == 5:
            for i in range(term.columns):
                term.tabs[i] = 0
    elif final == c'u':
        restore_cursor(term)
    elif final == c'n' and count == 1:
        if value == 6:
            report_cursor(term, False)
        else:
            emit(term, EV_QUERY, Q_STATUS, value, 0)
    elif final == c'c':
        emit(term, EV_QUERY, Q_DEVICE, 0, value)
