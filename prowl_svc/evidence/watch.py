"""Wake a pane when a file of its agent changes: inotify where there is one, the poll is the safety net.

One watch serves all panes. It watches folders and tells by name, so that files that come, go or are replaced are
noticed too. Without inotify, or when its limits are reached, nothing wakes early and everything still works.
"""

import asyncio
import ctypes
import errno
import os
import struct
import sys
from collections.abc import Callable, Iterable
from typing import Protocol

__all__ = ["FileWatch", "InotifyWatch", "NoWatch", "open_watch"]

_IN_NONBLOCK = os.O_NONBLOCK
_IN_CLOEXEC = os.O_CLOEXEC
_MODIFY = 0x2
_CLOSE_WRITE = 0x8
_MOVED_TO = 0x80
_CREATE = 0x100
_DELETE = 0x200
_OVERFLOW = 0x4000
_IGNORED = 0x8000
_ONLYDIR = 0x01000000
_MASK = _MODIFY | _CLOSE_WRITE | _MOVED_TO | _CREATE | _DELETE | _ONLYDIR
_HEADER = struct.Struct("iIII")
_READ = 64 << 10


class FileWatch(Protocol):
    """Tells who asked that one of the files they named changed."""

    def follow(self, key: object, paths: Iterable[str], wake: Callable[[], None]) -> None:
        """Make ``paths`` the files that ``key`` follows, in place of those before; none ends it.

        ``wake`` is called on the event loop, once per batch of changes, and must not wait.
        """
        ...

    def close(self) -> None:
        """End all watching."""
        ...


class NoWatch:
    """Nothing is watched; the poll finds every change."""

    def follow(self, key: object, paths: Iterable[str], wake: Callable[[], None]) -> None:
        """Do nothing."""

    def close(self) -> None:
        """Do nothing."""


class InotifyWatch:
    """Watches by inotify, read by the running event loop; raises OSError when there is none to be had."""

    def __init__(self) -> None:
        self._library = ctypes.CDLL(None, use_errno=True)
        self._descriptor = self._library.inotify_init1(_IN_NONBLOCK | _IN_CLOEXEC)
        if self._descriptor < 0:
            code = ctypes.get_errno()
            raise OSError(code, os.strerror(code))
        self._loop = asyncio.get_running_loop()
        self._loop.add_reader(self._descriptor, self._read)
        self._keys: dict[object, tuple[frozenset[str], Callable[[], None]]] = {}
        self._followers: dict[str, set[object]] = {}
        self._numbers: dict[str, int] = {}  # folder to inotify's number of it
        self._folders: dict[int, str] = {}

    def follow(self, key: object, paths: Iterable[str], wake: Callable[[], None]) -> None:
        """Make ``paths`` the files that ``key`` follows; folders that cannot be watched are left to the poll."""
        new = frozenset(paths)
        old = self._keys.get(key, (frozenset[str](), wake))[0]
        if new:
            self._keys[key] = (new, wake)
        else:
            self._keys.pop(key, None)
        for path in new - old:
            self._followers.setdefault(path, set()).add(key)
        for path in old - new:
            followers = self._followers[path]
            followers.discard(key)
            if not followers:
                del self._followers[path]
        for folder in {os.path.dirname(path) for path in new}:
            self._add(folder)
        for folder in {os.path.dirname(path) for path in old - new}:
            if not any(os.path.dirname(path) == folder for path in self._followers):
                self._remove(folder)

    def close(self) -> None:
        """End all watching."""
        if self._descriptor >= 0:
            self._loop.remove_reader(self._descriptor)
            os.close(self._descriptor)
            self._descriptor = -1
        self._keys.clear()
        self._followers.clear()

    def _add(self, folder: str) -> None:
        if folder in self._numbers:
            return
        number = self._library.inotify_add_watch(self._descriptor, os.fsencode(folder), _MASK)
        if number >= 0:  # else it does not exist yet, or the system's limit is reached
            self._numbers[folder] = number
            self._folders[number] = folder

    def _remove(self, folder: str) -> None:
        number = self._numbers.pop(folder, None)
        if number is not None:
            self._folders.pop(number, None)
            self._library.inotify_rm_watch(self._descriptor, number)

    def _read(self) -> None:
        try:
            data = os.read(self._descriptor, _READ)
        except OSError as error:
            if error.errno not in (errno.EAGAIN, errno.EINTR):
                self.close()
            return
        keys: set[object] = set()
        at = 0
        while at + _HEADER.size <= len(data):
            number, mask, _, size = _HEADER.unpack_from(data, at)
            name = data[at + _HEADER.size : at + _HEADER.size + size].rstrip(b"\0")
            at += _HEADER.size + size
            if mask & _OVERFLOW:
                keys.update(self._keys)
            elif mask & _IGNORED:
                self._forget(number)
            elif number in self._folders:
                keys |= self._followers.get(os.path.join(self._folders[number], os.fsdecode(name)), set())
        for key in keys:
            if key in self._keys:
                self._keys[key][1]()

    def _forget(self, number: int) -> None:
        folder = self._folders.pop(number, None)  # the folder is gone; the next follow watches a new one
        if folder is not None:
            self._numbers.pop(folder, None)


def open_watch() -> FileWatch:
    """Return the best watch this system has; to be called with the event loop running."""
    if sys.platform == "linux":
        try:
            return InotifyWatch()
        except OSError:
            pass
    return NoWatch()
