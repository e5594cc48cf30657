"""The process table, compiled: one pass over ``/proc/*/stat`` without a Python object per process."""

from libc.stdlib cimport free, realloc
from libc.string cimport memcpy
from libc.stdio cimport snprintf

cdef extern from "<dirent.h>" nogil:
    ctypedef struct DIR
    struct dirent:
        char *d_name
    DIR *fdopendir(int)
    dirent *readdir(DIR *)
    int closedir(DIR *)

cdef extern from "<fcntl.h>" nogil:
    int O_RDONLY
    int O_CLOEXEC
    int O_DIRECTORY
    int AT_FDCWD
    int c_open "open"(const char *, int)
    int openat(int, const char *, int)

cdef extern from "<unistd.h>" nogil:
    Py_ssize_t c_read "read"(int, void *, size_t)
    int c_close "close"(int)

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


cdef bint read_entry(int directory, const char *path, Entry *entry) noexcept nogil:
    cdef char buffer[STAT_BYTES]
    cdef Py_ssize_t length
    cdef int descriptor = openat(directory, path, O_RDONLY | O_CLOEXEC)
    if descriptor < 0:
        return False
    length = c_read(descriptor, buffer, STAT_BYTES)
    c_close(descriptor)
    return length > 0 and parse(buffer, length, entry)


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
    cdef bytes path = f"{root}/{pid}/stat".encode()
    if not read_entry(AT_FDCWD, path, &entry):
        return None
    return to_row(&entry)


cdef class Scan:
    """What one pass saw. Rows are in the order of the pass."""

    cdef Entry *entries
    cdef Py_ssize_t count
    cdef Py_ssize_t capacity

    def __cinit__(self):
        self.entries = NULL
        self.count = 0
        self.capacity = 0

    def __dealloc__(self):
        free(self.entries)

    def __len__(self):
        return self.count

    cdef bint fill(self, int descriptor) noexcept nogil:
        cdef DIR *directory = fdopendir(descriptor)
        cdef dirent *found
        cdef char path[264]
        cdef Entry *grown
        cdef const char *name
        if directory == NULL:
            c_close(descriptor)
            return True
        while True:
            found = readdir(directory)
            if found == NULL:
                break
            name = found.d_name
            if not digits(name):
                continue
            if self.count == self.capacity:
                grown = <Entry *>realloc(self.entries, (self.capacity * 2 + 256) * sizeof(Entry))
                if grown == NULL:
                    closedir(directory)
                    return False
                self.entries = grown
                self.capacity = self.capacity * 2 + 256
            snprintf(path, sizeof(path), "%s/stat", name)
            if read_entry(descriptor, path, &self.entries[self.count]):
                self.count += 1
        closedir(directory)
        return True

    def rows(self):
        """Return every row."""
        cdef Py_ssize_t index
        return [to_row(&self.entries[index]) for index in range(self.count)]

    def row(self, long long pid):
        """Return the row of ``pid``."""
        cdef Py_ssize_t index
        for index in range(self.count):
            if self.entries[index].pid == pid:
                return to_row(&self.entries[index])
        return None

    def members(self, long long pgrp):
        """Return the rows of one process group."""
        cdef Py_ssize_t index
        return [to_row(&self.entries[index]) for index in range(self.count) if self.entries[index].pgrp == pgrp]

    def children(self, long long pid):
        """Return the rows whose parent is ``pid``."""
        cdef Py_ssize_t index
        return [to_row(&self.entries[index]) for index in range(self.count) if self.entries[index].ppid == pid]


cdef bint digits(const char *name) noexcept nogil:
    cdef Py_ssize_t at = 0
    while name[at]:
        if not c"0" <= name[at] <= c"9" or at == 19:
            return False
        at += 1
    return at > 0


def scan(str root="/proc"):
    """Read the ``stat`` of every process once; one that ends meanwhile is left out."""
    cdef Scan result = Scan()
    cdef bytes path = root.encode()
    cdef const char *text = path
    cdef int descriptor
    cdef bint complete = True
    with nogil:
        descriptor = c_open(text, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
        if descriptor >= 0:
            complete = result.fill(descriptor)
    if not complete:
        raise MemoryError
    return result
