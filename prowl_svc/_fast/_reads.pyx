"""Reading of floods, compiled: not one piece of it waits for the interpreter (see the interpreted twin)."""

from cpython.bytes cimport PyBytes_FromStringAndSize
from libc.stdlib cimport free, malloc

cdef extern from "<errno.h>" nogil:
    int errno
    int EAGAIN
    int EINTR

cdef extern from "<unistd.h>" nogil:
    Py_ssize_t c_read "read"(int, void *, size_t)

__all__ = ["read_many"]


def read_many(int descriptor, Py_ssize_t limit):
    cdef char *buffer
    cdef Py_ssize_t size = 0, got = 1
    cdef int failure = 0
    if limit <= 0:
        raise ValueError("limit must be positive")
    buffer = <char *>malloc(limit)
    if buffer is NULL:
        raise MemoryError
    try:
        with nogil:
            while size < limit:
                got = c_read(descriptor, buffer + size, limit - size)
                if got <= 0:
                    failure = errno
                    break
                size += got
        if got > 0:
            state = "data"
        elif got < 0 and failure in (EAGAIN, EINTR):
            state = "nothing"
        else:
            state = "end"
        return PyBytes_FromStringAndSize(buffer, size), state
    finally:
        free(buffer)
