# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True
"""The row scan, compiled; ``_rows_py`` says what it returns."""

from cpython.bytes cimport PyBytes_FromStringAndSize
from cpython.mem cimport PyMem_Free, PyMem_Malloc
from cpython.unicode cimport (
    PyUnicode_FromKindAndData,
    PyUnicode_Substring,
)

from prowl_svc._fast.rows_glyphs import BLANKS as _BLANKS, FRAMES as _FRAMES, GLYPHS as _GLYPHS, KINDS as _KINDS

cdef extern from "Python.h":
    int PyUnicode_KIND(object text)
    void* PyUnicode_DATA(object text)
    Py_ssize_t PyUnicode_GET_LENGTH(object text)
    bint PyUnicode_IS_ASCII(object text)
    Py_UCS4 PyUnicode_READ(int kind, void* data, Py_ssize_t index)
    void PyUnicode_WRITE(int kind, void* data, Py_ssize_t index, Py_UCS4 value)
    object PyUnicode_New(Py_ssize_t size, Py_UCS4 maxchar)
    Py_UCS4 PyUnicode_MAX_CHAR_VALUE(object text)

# Scalars below LIMIT are looked up in tables, the few above it by hand.
cdef enum:
    LIMIT = 0x3001

cdef unsigned int MASK[LIMIT]
cdef unsigned char KIND[LIMIT]
cdef unsigned char BLANK[LIMIT]
cdef unsigned char DROPPED[LIMIT]
cdef dict HIGH_MASKS = {}
cdef dict HIGH_KINDS = {}


cdef void fill():
    cdef Py_ssize_t i
    for i in range(LIMIT):
        MASK[i] = 0
        KIND[i] = 0
        BLANK[i] = 0
        DROPPED[i] = 0
    for scalar in _BLANKS:
        BLANK[<Py_UCS4> scalar] = 1
        DROPPED[<Py_UCS4> scalar] = 1
    for scalar in _FRAMES:
        DROPPED[<Py_UCS4> scalar] = 1
    DROPPED[10] = 1
    for bit, scalars in _GLYPHS.items():
        for scalar in scalars:
            if ord(scalar) < LIMIT:
                MASK[<Py_UCS4> scalar] |= <unsigned int> bit
            else:
                HIGH_MASKS[scalar] = HIGH_MASKS.get(scalar, 0) | bit
    for kind, scalars in _KINDS.items():
        for scalar in scalars:
            if ord(scalar) < LIMIT:
                KIND[<Py_UCS4> scalar] = ord(kind)
            else:
                HIGH_KINDS[scalar] = ord(kind)


fill()


cdef inline bint blank(Py_UCS4 c) noexcept:
    return c < LIMIT and BLANK[c]


cdef inline unsigned char kind_of(str row, int width, void* data, Py_ssize_t first, Py_ssize_t end):
    """Return the kind of the row whose trimmed part is [first, end)."""
    cdef Py_UCS4 c = PyUnicode_READ(width, data, first)
    cdef unsigned char kind = KIND[c] if c < LIMIT else HIGH_KINDS.get(chr(c), 0)
    cdef Py_ssize_t i
    if kind == 0:
        return c'a' if c.isalpha() else c'.'
    if kind == c'-' and end - first >= 3:
        for i in range(first + 1, end):
            c = PyUnicode_READ(width, data, i)
            if c >= LIMIT or KIND[c] != c'-':
                return kind
        return c'='
    return kind


cdef inline unsigned int mask_of(int width, void* data, Py_ssize_t first, Py_ssize_t end):
    """Return the union of the classes of a row's scalars; a row of one-byte scalars has only ``·``."""
    cdef unsigned int mask = 0
    cdef Py_ssize_t i
    cdef Py_UCS4 c
    cdef unsigned short seen = 0
    cdef unsigned char* one
    cdef unsigned short* two
    if width == 1:
        one = <unsigned char*> data
        for i in range(first, end):
            mask |= MASK[one[i]]
    elif width == 2:
        two = <unsigned short*> data
        for i in range(first, end):
            if two[i] >= 0x80 and two[i] != seen:
                seen = two[i]
                if seen < LIMIT:
                    mask |= MASK[seen]
    else:
        for i in range(first, end):
            c = PyUnicode_READ(width, data, i)
            if c < 0x80:
                continue
            if c < LIMIT:
                mask |= MASK[c]
            elif c > 0xFFFF:
                mask |= <unsigned int> HIGH_MASKS.get(chr(c), 0)
    return mask


def scan(list rows not None, Py_ssize_t budget):
    """Look at rows once, from the bottom up (see ``_rows_py.scan``)."""
    cdef Py_ssize_t count = len(rows)
    cdef Py_ssize_t start = count
    cdef Py_ssize_t left = budget if budget > 0 else -1
    cdef Py_ssize_t length, first, end, indent, i, size
    cdef unsigned int mask, glyphs = 0
    cdef int width
    cdef void* data
    cdef str row
    cdef Py_UCS4* heads
    cdef char* kinds
    cdef char* indents
    cdef char* buffer = <char*> PyMem_Malloc((count + 1) * (sizeof(Py_UCS4) + 2))
    if buffer == NULL:
        raise MemoryError
    heads = <Py_UCS4*> buffer
    kinds = buffer + (count + 1) * sizeof(Py_UCS4)
    indents = kinds + count + 1
    trimmed = []
    masks = []
    nonblank = []
    try:
        while start > 0:
            start -= 1
            row = rows[start]
            if row is None:
                raise TypeError("rows are strings")
            width = PyUnicode_KIND(row)
            data = PyUnicode_DATA(row)
            length = PyUnicode_GET_LENGTH(row)
            indent = 0
            while indent < length and PyUnicode_READ(width, data, indent) == c' ':
                indent += 1
            first = indent
            while first < length and blank(PyUnicode_READ(width, data, first)):
                first += 1
            end = length
            while end > first and blank(PyUnicode_READ(width, data, end - 1)):
                end -= 1
            indents[start] = <char> (indent if indent < 255 else 255)
            mask = 0
            if first == end:
                trimmed.append("")
                heads[start] = c' '
                kinds[start] = c' '
            else:
                if not PyUnicode_IS_ASCII(row):
                    mask = mask_of(width, data, first, end)
                    glyphs |= mask
                trimmed.append(row if first == 0 and end == length else PyUnicode_Substring(row, first, end))
                heads[start] = PyUnicode_READ(width, data, first)
                kinds[start] = kind_of(row, width, data, first, end)
                nonblank.append(start)
                left -= 1
            masks.append(mask)
            if left == 0:
                break
        size = count - start
        trimmed.reverse()
        masks.reverse()
        nonblank.reverse()
        if start:
            for i in range(len(nonblank)):
                nonblank[i] = <Py_ssize_t> nonblank[i] - start
        return (
            start,
            trimmed,
            PyUnicode_FromKindAndData(4, heads + start, size),
            PyUnicode_FromKindAndData(1, kinds + start, size),
            PyBytes_FromStringAndSize(indents + start, size),
            masks,
            nonblank,
            glyphs,
        )
    finally:
        PyMem_Free(buffer)


cdef inline Py_UCS4 lowered(Py_UCS4 c) noexcept:
    cdef unsigned int value = c
    return <Py_UCS4> (value + 32 if c'A' <= value <= c'Z' else value)


def lower(str text not None):
    """Return ``text`` with A to Z lowered (see ``_rows_py.lower``)."""
    cdef int width = PyUnicode_KIND(text)
    cdef Py_ssize_t length = PyUnicode_GET_LENGTH(text)
    cdef void* data = PyUnicode_DATA(text)
    cdef object result
    cdef void* target
    cdef Py_ssize_t i
    cdef unsigned char* one
    cdef unsigned char* one_out
    cdef unsigned short* two
    cdef unsigned short* two_out
    if length == 0:
        return text
    result = PyUnicode_New(length, PyUnicode_MAX_CHAR_VALUE(text))
    target = PyUnicode_DATA(result)
    if width == 1:
        one = <unsigned char*> data
        one_out = <unsigned char*> target
        for i in range(length):
            one_out[i] = <unsigned char> (one[i] + (32 if c'A' <= one[i] <= c'Z' else 0))
    elif width == 2:
        two = <unsigned short*> data
        two_out = <unsigned short*> target
        for i in range(length):
            two_out[i] = <unsigned short> (two[i] + (32 if c'A' <= two[i] <= c'Z' else 0))
    else:
        for i in range(length):
            PyUnicode_WRITE(width, target, i, lowered(PyUnicode_READ(width, data, i)))
    return result


def squeeze(str text not None):
    """Return ``text`` lowered, without blanks, newlines and frames (see ``_rows_py.squeeze``)."""
    cdef int width = PyUnicode_KIND(text)
    cdef Py_ssize_t length = PyUnicode_GET_LENGTH(text)
    cdef void* data = PyUnicode_DATA(text)
    cdef Py_ssize_t i, size = 0
    cdef Py_UCS4 c
    cdef void* buffer
    if length == 0:
        return text
    buffer = PyMem_Malloc(length * width)
    if buffer == NULL:
        raise MemoryError
    try:
        for i in range(length):
            c = PyUnicode_READ(width, data, i)
            if c < LIMIT and DROPPED[c]:
                continue
            PyUnicode_WRITE(width, buffer, size, lowered(c))
            size += 1
        return PyUnicode_FromKindAndData(width, buffer, size)
    finally:
        PyMem_Free(buffer)


def squeeze_rows(list trimmed not None, list numbers not None, Py_ssize_t count):
    """Return what the last rows of ``numbers`` say, squeezed (see ``_rows_py.squeeze_rows``)."""
    cdef Py_ssize_t total = len(numbers)
    cdef Py_ssize_t first, place, number, i, length, size = 0, room = 0
    cdef int width, widest = 1
    cdef void* data
    cdef void* buffer
    cdef Py_UCS4 c
    cdef str row
    if count <= 0 or total == 0:
        return ""
    first = total - count if count < total else 0
    for place in range(first, total):
        number = numbers[place]
        if number < 0 or number >= len(trimmed):
            raise IndexError("rows out of range")
        row = trimmed[number]
        room += PyUnicode_GET_LENGTH(row)
        width = PyUnicode_KIND(row)
        if width > widest:
            widest = width
    buffer = PyMem_Malloc(room * widest + 1)
    if buffer == NULL:
        raise MemoryError
    try:
        for place in range(first, total):
            row = trimmed[numbers[place]]
            width = PyUnicode_KIND(row)
            data = PyUnicode_DATA(row)
            length = PyUnicode_GET_LENGTH(row)
            for i in range(length):
                c = PyUnicode_READ(width, data, i)
                if c < LIMIT and DROPPED[c]:
                    continue
                PyUnicode_WRITE(widest, buffer, size, lowered(c))
                size += 1
        return PyUnicode_FromKindAndData(widest, buffer, size)
    finally:
        PyMem_Free(buffer)


def logical(list trimmed not None, bytes indents not None, Py_ssize_t start, Py_ssize_t stop, starts):
    """Join the rows that a narrow pane wrapped (see ``_rows_py.logical``)."""
    cdef Py_ssize_t number, head = 0
    cdef const unsigned char* deep = <const unsigned char*> indents
    cdef unsigned char indent = 0
    cdef str text
    cdef str whole = None
    cdef list parts = None
    cdef list found = []
    if start < 0 or stop > len(trimmed) or stop > len(indents):
        raise IndexError("rows out of range")
    for number in range(start, stop):
        text = trimmed[number]
        if whole is not None:
            if text and deep[number] > indent and text[0] not in starts:
                if parts is None:
                    parts = [whole]
                parts.append(text)
                continue
            found.append((head, whole if parts is None else " ".join(parts)))
            whole = None
            parts = None
        if text:
            head = number
            indent = deep[number]
            whole = text
    if whole is not None:
        found.append((head, whole if parts is None else " ".join(parts)))
    return found
