"""Ownership of the public socket: a private folder, one owner by lock, stale sockets recovered (signals.md §7.1)."""

import errno
import fcntl
import os
import socket
import stat
from pathlib import Path

__all__ = ["SocketError", "SocketOwner"]


class SocketError(Exception):
    """The socket cannot be owned; the message says what stands in the way and what to do."""


class SocketOwner:
    """Holds the lock of a socket path for the life of the process.

    Raises SocketError when the folder is not private, another instance holds the lock, or something that answers
    listens on the path; a path that answers is never unlinked.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        _private_folder(path.parent)
        lock = path.with_name(path.name + ".lock")
        try:
            self._lock = os.open(lock, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
        except OSError as error:
            raise SocketError(f"{lock} cannot be opened: {error.strerror}") from None
        try:
            fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            owner = os.pread(self._lock, 32, 0).decode("ascii", "replace").strip()
            os.close(self._lock)
            raise SocketError(
                f"another instance{f' (pid {owner})' if owner.isdigit() else ''} serves {path}; "
                "stop it, or set PROWL_SOCKET to another path"
            ) from None
        try:
            self._recover()
        except SocketError:
            os.close(self._lock)
            raise
        os.ftruncate(self._lock, 0)
        os.pwrite(self._lock, f"{os.getpid()}\n".encode(), 0)

    def release(self) -> None:
        """Remove the socket and let the lock go; the lock file stays, so that a waiting opener locks the same one."""
        self.path.unlink(missing_ok=True)
        os.ftruncate(self._lock, 0)
        os.close(self._lock)

    def _recover(self) -> None:
        try:
            found = self.path.lstat()
        except FileNotFoundError:
            return
        if not stat.S_ISSOCK(found.st_mode):
            raise SocketError(f"{self.path} exists and is not a socket; move it away or set PROWL_SOCKET")
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as probe:
            probe.settimeout(1.0)
            try:
                probe.connect(str(self.path))
            except OSError as error:
                if error.errno in (errno.ECONNREFUSED, errno.ENOENT):
                    self.path.unlink(missing_ok=True)
                    return
                raise SocketError(f"{self.path} cannot be checked: {error.strerror}") from None
        raise SocketError(f"something else answers on {self.path}; stop it, or set PROWL_SOCKET to another path")


def _private_folder(folder: Path) -> None:
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        found = folder.lstat()
    except OSError as error:
        raise SocketError(f"{folder} cannot be created: {error.strerror}; set PROWL_SOCKET to a path you own") from None
    if not stat.S_ISDIR(found.st_mode) or found.st_uid != os.getuid():
        raise SocketError(f"{folder} is not a folder of yours; set PROWL_SOCKET to a path in one")
    if found.st_mode & 0o077:
        raise SocketError(f"{folder} is open to others (mode {found.st_mode & 0o777:03o}); run: chmod 700 {folder}")
