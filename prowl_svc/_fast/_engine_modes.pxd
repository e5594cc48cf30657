# Modes, cursor saving, screen switching and resets.

from libc.stdint cimport int32_t, uint32_t, uint64_t
from libc.string cimport memset

from prowl_svc._fast._engine_cells cimport *
from prowl_svc._fast._engine_frame cimport *
from prowl_svc._fast._engine_term cimport *


cdef inline int32_t mode_bit(uint32_t number) noexcept nogil:
    """Return the bit of a DEC private mode, or -1 for one that is not known."""
    if number == 1:
        return M_CURSOR_KEYS
    if number == 4:
        return M_SLOW_SCROLL
    if number == 5:
        return M_REVERSE
    if number == 6:
        return M_ORIGIN
    if number == 7:
        return M_WRAP
    if number == 8:
        return M_AUTOREPEAT
    if number == 9:
        return M_MOUSE_X10
    if number == 12:
        return M_BLINK
    if number == 25:
        return M_VISIBLE
    if number == 40:
        return M_ALLOW_COLUMNS
    if number == 45:
        return M_REVERSE_WRAP
    if number == 47:
        return M_ALT_47
    if number == 66:
        return M_KEYPAD
    if number == 69:
        return M_MARGINS
    if number == 1000:
        return M_MOUSE_NORMAL
    if number == 1001:
        return M_MOUSE_HIGHLIGHT
    if number == 1002:
        return M_MOUSE_BUTTON
    if number == 1003:
        return M_MOUSE_ANY
    if number == 1004:
        return M_FOCUS
    if number == 1005:
        return M_MOUSE_UTF8
    if number == 1006:
        return M_MOUSE_SGR
    if number == 1007:
        return M_ALT_SCROLL
    if number == 1015:
        return M_MOUSE_URXVT
    if number == 1016:
        return M_MOUSE_PIXELS
    if number == 1035:
        return M_NUMLOCK
    if number == 1036:
        return M_META
    if number == 1039:
        return M_ALT_ESCAPE
    if number == 1045:
        return M_REVERSE_WRAP_2
    if number == 1047:
        return M_ALT_1047
    if number == 1048:
        return M_SAVE_CURSOR
    if number == 1049:
        return M_ALT_1049
    if number == 2004:
        return M_PASTE
    if number == 2026:
        return M_SYNC
    if number == 2027:
        return M_CLUSTER
    if number == 2031:
        return M_COLOR_SCHEME
    if number == 2048:
        return M_SIZE_REPORTS
    if number == 5522:
        return M_PASTE_EVENTS
    if number == 9001:
        return M_WIN32_INPUT
    return -1


cdef inline int32_t ansi_mode_bit(uint32_t number) noexcept nogil:
    if number == 2:
        return M_KEYBOARD_LOCK
    if number == 4:
        return M_INSERT
    if number == 12:
        return M_SEND_RECEIVE
    if number == 20:
        return M_NEWLINE
    return -1


cdef inline void set_bit(Term *term, int32_t bit, bint on) noexcept nogil:
    if on:
        term.modes |= <uint64_t>1 << bit
    else:
        term.modes &= ~(<uint64_t>1 << bit)


cdef inline void move_to(Term *term, int32_t row, int32_t column) noexcept nogil:
    """CUP: one-based, 0 is 1, relative to the margins in origin mode."""
    cdef Screen *screen = term.screen
    cdef int32_t x = column - 1 if column > 0 else 0
    cdef int32_t y = row - 1 if row > 0 else 0
    cdef int32_t most_x = term.columns - 1
    cdef int32_t most_y = term.rows - 1
    screen.pending = 0
    if mode_on(term, M_ORIGIN):
        x += term.left
        y += term.top
        most_x = term.right
        most_y = term.bottom
    screen.x = x if x < most_x else most_x
    screen.y = y if y < most_y else most_y


cdef inline void save_cursor(Term *term) noexcept nogil:
    cdef Screen *screen = term.screen
    cdef Saved *saved = &screen.saved
    saved.valid = 1
    saved.x = screen.x
    saved.y = screen.y
    saved.pending = screen.pending
    saved.pen = screen.pen
    saved.charsets = screen.charsets
    saved.origin = mode_on(term, M_ORIGIN)


cdef inline void restore_cursor(Term *term) noexcept nogil:
    cdef Screen *screen = term.screen
    cdef Saved *saved = &screen.saved
    if not saved.valid:
        memset(saved, 0, sizeof(Saved))
    screen.pen = saved.pen
    screen.charsets = saved.charsets
    screen.pending = saved.pending
    screen.x = saved.x if saved.x < term.columns else term.columns - 1
    screen.y = saved.y if saved.y < term.rows else term.rows - 1
    set_bit(term, M_ORIGIN, saved.origin)
    update_slow(term)


cdef inline void switch_screen(Term *term, bint alternate) noexcept nogil:
    """Show the other screen; the character sets go with the cursor's owner."""
    cdef Screen *target = &term.alt if alternate else &term.main
    if target == term.screen:
        return
    target.charsets = term.screen.charsets
    term.screen = target
    mark_rows(term, 0, term.rows - 1)


cdef inline void copy_cursor(Screen *target, Screen *source) noexcept nogil:
    if target == source:
        return
    target.x = source.x
    target.y = source.y
    target.pending = source.pending
    target.pen = source.pen


cdef inline void alternate_mode(Term *term, uint32_t number, bint on) noexcept nogil:
    """Modes 47, 1047 and 1049: which screen is in use."""
    cdef Screen *before = term.screen
    if number == 1047 and not on and before == &term.alt:
        erase_display(term, 2, False)
    elif number == 1049 and on:
        save_cursor(term)
    switch_screen(term, on)
    if number != 1049 or on:
        copy_cursor(term.screen, before)
    if number == 1049:
        if on:
            erase_display(term, 2, False)
        else:
            restore_cursor(term)
    update_slow(term)


cdef inline void set_mode(Term *term, uint32_t number, bint on) noexcept nogil:
    """Set or reset one DEC private mode."""
    cdef int32_t bit = mode_bit(number)
    if bit < 0:
        return
    if bit == M_SYNC and on and not mode_on(term, M_SYNC):
        publish(term)
        term.front_x = term.screen.x
        term.front_y = term.screen.y
        term.front_visible = mode_on(term, M_VISIBLE)
    set_bit(term, bit, on)
    if bit == M_VISIBLE or bit == M_SYNC or bit == M_BLINK:
        return  # part of drawing every frame: no event
    if bit == M_WRAP or bit == M_CLUSTER:
        update_slow(term)
        if bit == M_WRAP:
            return
    elif bit == M_ORIGIN:
        move_to(term, 1, 1)
    elif bit == M_MARGINS:
        if not on:
            term.left = 0
            term.right = term.columns - 1
    elif bit == M_ALT_47 or bit == M_ALT_1047 or bit == M_ALT_1049:
        alternate_mode(term, number, on)
    elif bit == M_SAVE_CURSOR:
        if on:
            save_cursor(term)
        else:
            restore_cursor(term)
    emit(term, EV_MODE, number, on, 0)


cdef inline void set_ansi_mode(Term *term, uint32_t number, bint on) noexcept nogil:
    cdef int32_t bit = ansi_mode_bit(number)
    if bit >= 0:
        set_bit(term, bit, on)
        update_slow(term)


cdef inline void forget_cursor(Screen *screen) noexcept nogil:
    """Everything of a screen but its rows goes back to the start."""
    screen.x = screen.y = 0
    screen.pending = 0
    screen.pen = 0
    screen.iso_protected = 0
    screen.kitty_count = 0
    screen.kitty[0] = 0
    memset(&screen.charsets, 0, sizeof(Charsets))
    memset(&screen.saved, 0, sizeof(Saved))


cdef inline void soft_reset(Term *term) noexcept nogil:
    """DECSTR: modes, margins, pen and character sets; text and cursor stay."""
    cdef Screen *screen = term.screen
    cdef uint64_t reset = ((<uint64_t>1 << M_INSERT) | (<uint64_t>1 << M_ORIGIN) | (<uint64_t>1 << M_CURSOR_KEYS)
                           | (<uint64_t>1 << M_KEYPAD) | (<uint64_t>1 << M_KEYBOARD_LOCK)
                           | (<uint64_t>1 << M_MARGINS) | (<uint64_t>1 << M_REVERSE_WRAP))
    term.modes = (term.modes & ~reset) | (<uint64_t>1 << M_VISIBLE) | (<uint64_t>1 << M_WRAP)
    reset_margins(term)
    screen.pen = 0
    screen.iso_protected = 0
    memset(&screen.charsets, 0, sizeof(Charsets))
    memset(&screen.saved, 0, sizeof(Saved))
    update_slow(term)
    emit(term, EV_RESET, 0, 0, 0)


cdef inline void full_reset(Term *term) noexcept nogil:
    """RIS: both screens empty, everything as at the start; the scrollback is dropped too."""
    term.screen = &term.alt
    erase_rows(term, 0, term.rows - 1, False)
    term.screen = &term.main
    erase_rows(term, 0, term.rows - 1, False)
    forget_cursor(&term.main)
    forget_cursor(&term.alt)
    history_clear(&term.history)
    term.modes = default_modes()
    term.saved_modes = 0
    term.status_line = 0
    term.previous = 0
    reset_margins(term)
    reset_tabs(term)
    update_slow(term)
    emit(term, EV_RESET, 1, 0, 0)
