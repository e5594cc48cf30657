"""The process table, compiled: a pass makes no Python object per process (see the interpreted twin)."""

from libc.stdlib cimport free, realloc
from libc.string cimport memcpy

cdef extern from "<dirent.h>" nogil:
    ctypedef struct DIR
    struct dirent:
        char *d_name
    DIR *opendir(const char *)
    dirent *readdir(DIR *)
    int closedir(DIR *)

cdef extern from "<fcntl.h>" nogil:
    int O_RDONLY
    int O_CLOEXEC
    int c_open "open"(const char *, int)

cdef extern from "<unistd.h>" nogil:
    Py_ssize_t c_read "read"(int, void *, size_t)
    int c_close "close"(int)
    int getpgid(int)
    int getsid(int)

__all__ = ["Row", "Scan", "parse_stat", "read_stat", "scan"]

Row = tuple

cdef enum:
    NAME_BYTES = 64  # the kernel writes 15, and up to 63 for kernel threads
    STAT_BYTES = 1024

cdef struct Entry:
    long long pid
    long long ppid
    long long pgrp
    long long session
    long long tty
    long long tpgid
    long long start
    int name_length
    char state
    char name[NAME_BYTES]


cdef inline bint number(const char *text, Py_ssize_t length, long long *value) noexcept nogil:
    """Take an optional minus and 1 to 19 digits that fit in 63 bits."""
    cdef bint negative = length > 0 and text[0] == b"-"
    cdef Py_ssize_t at = 1 if negative else 0
    cdef unsigned long long total = 0
    if length - at < 1 or length - at > 19:
        return False
    while at < length:
        if not c"0" <= text[at] <= c"9":
            return False
        total = total * 10 + <unsigned long long>(text[at] - c"0")
        at += 1
    if total > 0x7FFFFFFFFFFFFFFFULL:
        return False
    value[0] = -<long long>total if negative else <long long>total
    return True


cdef bint parse(const char *data, Py_ssize_t length, Entry *entry) noexcept nogil:
    cdef Py_ssize_t opening = 0, closing = length - 1, at, begin, name_length
    cdef int field = 3
    cdef long long *target
    while opening < length and data[opening] != c"(":
        opening += 1
    while closing >= 0 and data[closing] != c")":
        closing -= 1
    if opening >= length or opening < 2 or closing < opening or data[opening - 1] != c" ":
        return False
    if not number(data, opening - 1, &entry.pid):
        return False
    name_length = closing - opening - 1
    if name_length > NAME_BYTES:
        name_length = NAME_BYTES
    entry.name_length = <int>name_length
    memcpy(entry.name, data + opening + 1, name_length)
    at = closing + 1
    if at + 2 > length or data[at] != c" " or data[at + 1] == c" ":
        return False
    entry.state = data[at + 1]
    at += 2
    while field < 22:
        if at >= length or data[at] != c" ":
            return False
        at += 1
        begin = at
        while at < length and data[at] != c" ":
            at += 1
        field += 1
        if field == 4:
            target = &entry.ppid
        elif field == 5:
            target = &entry.pgrp
        elif field == 6:
            target = &entry.session
        elif field == 7:
            target = &entry.tty
        elif field == 8:
            target = &entry.tpgid
        elif field == 22:
            target = &entry.start
        else:
            continue
        if not number(data + begin, at - begin, target):
            return False
    return True


cdef tuple to_row(Entry *entry):
    return (
        entry.pid, entry.ppid, entry.pgrp, entry.session, entry.tty, entry.tpgid, entry.start,
        (<bytes>(&entry.state)[:1]).decode("latin-1"),
        (<bytes>entry.name[:entry.name_length]).decode("utf-8", "replace"),
    )


def parse_stat(bytes data):
    """Return the row in the text of a ``stat`` file, or None when it is cut or not one."""
    cdef Entry entry
    if not parse(data, len(data), &entry):
        return None
    return to_row(&entry)


def read_stat(long long pid, str root="/proc"):
    """Return the row of one process, or None when it is gone or cannot be read."""
    cdef Entry entry
    cdef char buffer[STAT_BYTES]
    cdef Py_ssize_t length
    cdef bytes path = f"{root}/{pid}/stat".encode()
    cdef int descriptor = c_open(path, O_RDONLY | O_CLOEXEC)
    if descriptor < 0:
        return None
    length = c_read(descriptor, buffer, STAT_BYTES)
    c_close(descriptor)
    if length <= 0 or not parse(buffer, length, &entry):
        return None
    return to_row(&entry)


cdef struct Seen:
    int pid
    int pgrp
    int session


cdef class Scan:
    """The pid, group and session of every process that one pass saw."""

    cdef Seen *found
    cdef Py_ssize_t count
    cdef Py_ssize_t capacity

    def __cinit__(self):
        self.found = NULL
        self.count = 0
        self.capacity = 0

    def __dealloc__(self):
        free(self.found)

    def __len__(self):
        return self.count

    cdef bint fill(self, DIR *directory) noexcept nogil:
        cdef dirent *entry
        cdef Seen *grown
        cdef Seen seen
        while True:
            entry = readdir(directory)
            if entry == NULL:
                return True
            seen.pid = pid_of(entry.d_name)
            if seen.pid <= 0:
                continue
            seen.pgrp = getpgid(seen.pid)
            seen.session = getsid(seen.pid)
            if seen.pgrp < 0 or seen.session < 0:
                continue
            if self.count == self.capacity:
                grown = <Seen *>realloc(self.found, (self.capacity * 2 + 64) * sizeof(Seen))
                if grown == NULL:
                    return False
                self.found = grown
                self.capacity = self.capacity * 2 + 64
            self.found[self.count] = seen
            self.count += 1

    def rows(self):
        """Return pid, group and session of every process."""
        cdef Py_ssize_t at
        return [(self.found[at].pid, self.found[at].pgrp, self.found[at].session) for at in range(self.count)]

    def members(self, long long pgrp):
        """Return the pids of one process group."""
        cdef Py_ssize_t at
        return [self.found[at].pid for at in range(self.count) if self.found[at].pgrp == pgrp]

    def leaders(self):
        """Return the pids of the session leaders."""
        cdef Py_ssize_t at
        return [self.found[at].pid for at in range(self.count) if self.found[at].pid == self.found[at].session]


cdef int pid_of(const char *name) noexcept nogil:
    """Return the number that a directory is named by, or 0."""
    cdef long long value = 0
    cdef Py_ssize_t at = 0
    while name[at]:
        if not c"0" <= name[at] <= c"9" or at == 9:
            return 0
        value = value * 10 + (name[at] - c"0")
        at += 1
    return <int>value


def scan():
    """Look once at every process; one that ends meanwhile is left out."""
    cdef Scan result = Scan()
    cdef DIR *directory
    cdef bint complete = True
    with nogil:
        directory = opendir("/proc")
        if directory != NULL:
            complete = result.fill(directory)
            closedir(directory)
    if not complete:
        raise MemoryError
    return result
