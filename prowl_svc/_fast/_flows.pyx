"""The flows of relayed connections, compiled: bytes pass without the interpreter (see the interpreted twin)."""

from libc.stdlib cimport free, malloc, realloc
from libc.string cimport memset

cdef extern from "<errno.h>" nogil:
    int errno
    int EAGAIN
    int EINTR

cdef extern from "<poll.h>" nogil:
    struct pollfd:
        int fd
        short events
        short revents
    short POLLIN
    int poll(pollfd *, unsigned long, int)

cdef extern from "<sys/epoll.h>" nogil:
    ctypedef union epoll_data_t:
        int fd
    struct epoll_event:
        unsigned int events
        epoll_data_t data
    unsigned int EPOLLIN
    unsigned int EPOLLOUT
    int epoll_wait(int, epoll_event *, int, int)

cdef extern from "<sys/socket.h>" nogil:
    int MSG_DONTWAIT
    int MSG_NOSIGNAL
    Py_ssize_t recv(int, void *, size_t, int)
    Py_ssize_t send(int, const void *, size_t, int)

__all__ = ["Flows"]

cdef enum:
    BATCH = 64
    READ = 1
    WRITE = 2

cdef struct Flow:
    int target  # the descriptor to pass bytes on to
    int pidfd  # of the process that vouches for them, or -1
    bint open


cdef class Flows:
    cdef Flow *_flows
    cdef int _size
    cdef char *_scratch
    cdef size_t _chunk

    def __cinit__(self, size_t chunk):
        self._chunk = chunk
        self._scratch = <char *>malloc(chunk)
        if self._scratch is NULL:
            raise MemoryError

    def __dealloc__(self):
        free(self._scratch)
        free(self._flows)

    def open(self, int client, int server, int pidfd):
        cdef int needed = max(client, server) + 1
        cdef Flow *grown
        if client < 0 or server < 0:
            raise ValueError("not a descriptor")
        if needed > self._size:
            needed += needed // 2
            grown = <Flow *>realloc(self._flows, needed * sizeof(Flow))
            if grown is NULL:
                raise MemoryError
            memset(grown + self._size, 0, (needed - self._size) * sizeof(Flow))
            self._flows, self._size = grown, needed
        self._flows[client] = Flow(target=server, pidfd=pidfd, open=True)
        self._flows[server] = Flow(target=client, pidfd=-1, open=True)

    def close(self, int client, int server):
        if 0 <= client < self._size:
            self._flows[client].open = False
        if 0 <= server < self._size:
            self._flows[server].open = False

    def wait(self, selector, timeout=None):
        cdef epoll_event events[BATCH]
        cdef int epoll = selector.fileno(), count, index, fd, mask
        cdef int milliseconds = -1 if timeout is None else max(0, <int>(timeout * 1000 + 0.999))
        cdef Py_ssize_t start, end
        cdef bint needed = False
        cdef list left = []
        with nogil:
            while True:
                count = epoll_wait(epoll, events, BATCH, milliseconds)
                for index in range(count):
                    fd, start, end = events[index].data.fd, 0, 0
                    if events[index].events == EPOLLIN and self._pass(fd, &start, &end):
                        continue
                    mask = (READ if events[index].events & ~EPOLLOUT else 0) | (
                        WRITE if events[index].events & ~EPOLLIN else 0
                    )
                    needed = True
                    with gil:
                        left.append((fd, mask, self._scratch[start:end] if end > start else None))
                if needed or milliseconds >= 0:
                    break
        known = selector.get_map()
        return [(known[fd], mask, data) for fd, mask, data in left if fd in known]

    cdef bint _pass(self, int fd, Py_ssize_t *start, Py_ssize_t *end) noexcept nogil:
        """Move what is there; False leaves it to the caller, with the bytes that were read but not passed on."""
        cdef Py_ssize_t got, sent
        cdef pollfd alive
        if fd < 0 or fd >= self._size or not self._flows[fd].open:
            return False
        got = recv(fd, self._scratch, self._chunk, MSG_DONTWAIT)
        if got <= 0:  # an end or an error shows itself again
            return got < 0 and (errno == EAGAIN or errno == EINTR)
        if self._flows[fd].pidfd >= 0:
            alive.fd, alive.events, alive.revents = self._flows[fd].pidfd, POLLIN, 0
            if poll(&alive, 1, 0) != 0:
                end[0] = got
                return False
        sent = send(self._flows[fd].target, self._scratch, got, MSG_DONTWAIT | MSG_NOSIGNAL)
        if sent == got:
            return True
        start[0] = sent if sent > 0 else 0
        end[0] = got
        return False
