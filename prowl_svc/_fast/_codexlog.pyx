"""Compiled twin of ``_codexlog_py``: one pass over the bytes, without building any value."""

from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_FromStringAndSize, PyBytes_GET_SIZE
from libc.string cimport memchr, memcmp

cdef enum:
    DEPTH = 256
    # what the object being read is to us
    OTHER = 0
    TOP = 1
    PAYLOAD = 2
    ITEM = 3

ctypedef const unsigned char* bytes_p

cdef struct text:
    bytes_p at
    Py_ssize_t size

cdef struct record:
    text kind          # top: type
    text event         # payload: type
    text name          # payload: name
    text item          # payload.item: type
    bint has_kind
    bint has_payload
    bint escaped       # a compared string or key is written with escapes: let the decoder see the line


cdef inline bytes_p _blank(bytes_p p, bytes_p end) noexcept nogil:
    while p < end and (p[0] == 0x20 or p[0] == 0x09 or p[0] == 0x0D):
        p += 1
    return p


cdef inline bint _hex(unsigned char c) noexcept nogil:
    return (0x30 <= c <= 0x39) or (0x41 <= c <= 0x46) or (0x61 <= c <= 0x66)


cdef bytes_p _string(bytes_p p, bytes_p end, text* out, bint* escaped) noexcept nogil:
    """Read a string from after its quote; return what follows it, or NULL."""
    cdef bytes_p start = p
    cdef unsigned char c
    escaped[0] = False
    while p < end:
        c = p[0]
        if c == 0x22:
            out.at = start
            out.size = p - start
            return p + 1
        if c < 0x20:
            return NULL
        if c == 0x5C:
            escaped[0] = True
            p += 1
            if p >= end:
                return NULL
            c = p[0]
            if c == 0x75:
                if end - p < 5 or not (_hex(p[1]) and _hex(p[2]) and _hex(p[3]) and _hex(p[4])):
                    return NULL
                p += 4
            elif not (c == 0x22 or c == 0x5C or c == 0x2F or c == 0x62 or c == 0x66 or c == 0x6E or c == 0x72
                      or c == 0x74):
                return NULL
        p += 1
    return NULL


cdef bytes_p _digits(bytes_p p, bytes_p end) noexcept nogil:
    cdef bytes_p start = p
    while p < end and 0x30 <= p[0] <= 0x39:
        p += 1
    return p if p > start else NULL


cdef bytes_p _number(bytes_p p, bytes_p end) noexcept nogil:
    if p < end and p[0] == 0x2D:
        p += 1
    if p < end and p[0] == 0x30:
        p += 1
    else:
        p = _digits(p, end)
        if p == NULL:
            return NULL
    if p < end and p[0] == 0x2E:
        p = _digits(p + 1, end)
        if p == NULL:
            return NULL
    if p < end and (p[0] == 0x65 or p[0] == 0x45):
        p += 1
        if p < end and (p[0] == 0x2B or p[0] == 0x2D):
            p += 1
        p = _digits(p, end)
    return p


cdef bytes_p _word(bytes_p p, bytes_p end) noexcept nogil:
    if end - p >= 4 and (memcmp(p, b"true", 4) == 0 or memcmp(p, b"null", 4) == 0):
        return p + 4
    if end - p >= 5 and memcmp(p, b"false", 5) == 0:
        return p + 5
    return NULL


cdef inline bint _is(text t, const char* name, Py_ssize_t size) noexcept nogil:
    return t.size == size and memcmp(t.at, name, size) == 0


cdef bytes_p _value(bytes_p p, bytes_p end, int depth, int role, record* r, text* string) noexcept nogil:
    """Read one value; ``string`` is set when it is a string, ``role`` says what an object here would be."""
    cdef bint escaped = False
    cdef unsigned char c
    string.at = NULL
    if p >= end or depth > DEPTH:
        return NULL
    c = p[0]
    if c == 0x22:
        p = _string(p + 1, end, string, &escaped)
        if escaped and role != OTHER:
            r.escaped = True
        return p
    if c == 0x7B:
        return _object(p + 1, end, depth + 1, role, r)
    if c == 0x5B:
        return _array(p + 1, end, depth + 1, r)
    if c == 0x2D or 0x30 <= c <= 0x39:
        return _number(p, end)
    return _word(p, end)


cdef bytes_p _array(bytes_p p, bytes_p end, int depth, record* r) noexcept nogil:
    cdef text string
    p = _blank(p, end)
    if p < end and p[0] == 0x5D:
        return p + 1
    while True:
        p = _value(_blank(p, end), end, depth, OTHER, r, &string)
        if p == NULL:
            return NULL
        p = _blank(p, end)
        if p >= end:
            return NULL
        if p[0] == 0x5D:
            return p + 1
        if p[0] != 0x2C:
            return NULL
        p += 1


cdef bytes_p _object(bytes_p p, bytes_p end, int depth, int role, record* r) noexcept nogil:
    cdef text key
    cdef text string
    cdef bint escaped = False
    cdef bint is_object
    cdef int inner
    p = _blank(p, end)
    if p < end and p[0] == 0x7D:
        return p + 1
    while True:
        p = _blank(p, end)
        if p >= end or p[0] != 0x22:
            return NULL
        p = _string(p + 1, end, &key, &escaped)
        if p == NULL:
            return NULL
        if escaped and role != OTHER:
            r.escaped = True
        p = _blank(p, end)
        if p >= end or p[0] != 0x3A:
            return NULL
        p = _blank(p + 1, end)
        inner = OTHER
        if role == TOP and _is(key, b"payload", 7):
            inner = PAYLOAD
            # the last of equal keys counts
            r.event.at = r.name.at = r.item.at = NULL
        elif role == PAYLOAD and _is(key, b"item", 4):
            inner = ITEM
            r.item.at = NULL
        is_object = p < end and p[0] == 0x7B
        p = _value(p, end, depth, inner, r, &string)
        if p == NULL:
            return NULL
        if role == TOP:
            if inner == PAYLOAD:
                r.has_payload = is_object
            elif _is(key, b"type", 4):
                r.has_kind = string.at != NULL
                r.kind = string
        elif role == PAYLOAD:
            if _is(key, b"type", 4):
                r.event = string
            elif _is(key, b"name", 4):
                r.name = string
        elif role == ITEM and _is(key, b"type", 4):
            r.item = string
        p = _blank(p, end)
        if p >= end:
            return NULL
        if p[0] == 0x7D:
            return p + 1
        if p[0] != 0x2C:
            return NULL
        p += 1


cdef inline bint _same(text t, const char* name, Py_ssize_t size) noexcept nogil:
    return t.at != NULL and _is(t, name, size)


cdef bint _wanted(record* r) noexcept nogil:
    if r.escaped:
        return True
    if _same(r.kind, b"event_msg", 9):
        if _same(r.event, b"item_completed", 14):
            return _same(r.item, b"SubAgentActivity", 16)
        return (
            _same(r.event, b"task_started", 12)
            or _same(r.event, b"task_complete", 13)
            or _same(r.event, b"turn_aborted", 12)
            or _same(r.event, b"thread_settings_applied", 23)
        )
    return (
        _same(r.kind, b"response_item", 13)
        and _same(r.event, b"function_call", 13)
        and _same(r.name, b"followup_task", 13)
    )


def lifecycle(bytes data not None):
    """Return the complete lines of ``data`` that a decoder needs, and the fault of the first bad line."""
    cdef bytes whole = data if data.endswith(b"\n") else data[: data.rfind(b"\n") + 1]
    cdef bytes_p p = <bytes_p>PyBytes_AS_STRING(whole)
    cdef bytes_p end = p + PyBytes_GET_SIZE(whole)
    cdef bytes_p stop
    cdef bytes_p after
    cdef record r
    cdef text string
    cdef list lines = []
    if not whole.isascii():
        try:
            whole.decode("utf-8")
        except UnicodeDecodeError:
            return lines, "json"
    while p < end:
        stop = <bytes_p>memchr(p, 0x0A, end - p)
        if stop == NULL:
            break
        r.kind.at = r.event.at = r.name.at = r.item.at = NULL
        r.has_kind = r.has_payload = r.escaped = False
        after = _blank(p, stop)
        with nogil:
            if after < stop and after[0] == 0x7B:
                after = _object(after + 1, stop, 1, TOP, &r)
            else:
                after = _value(after, stop, 0, OTHER, &r, &string)
        if after == NULL or _blank(after, stop) != stop:
            return lines, "json"
        if not r.has_kind and not r.escaped or not r.has_payload and not r.escaped:
            return lines, "record"
        if _wanted(&r):
            lines.append(PyBytes_FromStringAndSize(<const char*>p, stop - p))
        p = stop + 1
    return lines, ""
