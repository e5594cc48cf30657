"""What the front door asks of the operating system: peer credentials, a name for the relay, liveness, descriptors."""

import errno
import logging
import os
import resource
import secrets
import select
import socket
import struct
import sys
from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

from prowl_svc.identity.ancestry import ReadProcess
from prowl_svc.model.process import Generation, Process

__all__ = ["Darwin", "Linux", "Peer", "System", "ended", "environment_of", "raise_descriptor_limit", "running_system"]

log = logging.getLogger("prowl.identity")

_SO_PEERPIDFD = 77  # Linux 6.5; not in Python's socket module
_SOL_LOCAL, _LOCAL_PEERCRED, _LOCAL_PEERPID = 0, 1, 2  # Darwin's sys/un.h
_XUCRED = struct.Struct("=IIh")  # version, uid, number of groups; the groups follow
_XUCRED_BYTES = 76
_ENVIRONMENT_BYTES = 1 << 20


@dataclass(frozen=True, slots=True)
class Peer:
    """A connection's other end as the kernel recorded it at connect time; ``pidfd`` is owned by the receiver."""

    pid: int
    uid: int
    pidfd: int | None = None


class System(Protocol):
    """The calls that differ between systems."""

    def peer(self, connection: socket.socket) -> Peer:
        """Return who connected. Raises OSError."""
        ...

    def name_relay(self, relay: socket.socket) -> tuple[str, Callable[[], None]]:
        """Bind an unconnected socket to a fresh secret name.

        Return the name in the form in which gRPC reports it as the peer, and a call to make once it is connected.
        """
        ...

    def alive(self, peer: Peer, first: Process | None, read: ReadProcess) -> bool:
        """Tell whether the process that connected still runs; ``first`` is how it was first read."""
        ...


class Linux:
    """Linux: SO_PEERCRED, a pidfd of the connector, abstract names."""

    def peer(self, connection: socket.socket) -> Peer:
        """Return credentials and a pidfd; before Linux 6.5 the pidfd is opened by number a moment later."""
        credentials = connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12)
        pid, uid, _ = struct.unpack("=iII", credentials)
        return Peer(pid, uid, _pidfd(connection, pid))

    def name_relay(self, relay: socket.socket) -> tuple[str, Callable[[], None]]:
        """Bind to an abstract name of 128 random bits, which no one else can hold while the socket is open."""
        name = f"prowl-{secrets.token_hex(16)}"
        relay.bind("\0" + name)
        return f"unix-abstract:{name}", _nothing

    def alive(self, peer: Peer, first: Process | None, read: ReadProcess) -> bool:
        """Ask the pidfd; without one nobody can be told for sure."""
        return peer.pidfd is not None and not ended(peer.pidfd)


class Darwin:
    """macOS: LOCAL_PEERPID, and a file name in a private directory that is removed once it is connected."""

    def __init__(self, directory: str) -> None:
        self._directory = directory

    def peer(self, connection: socket.socket) -> Peer:
        """Return credentials; there is no pidfd, so liveness is the start time's."""
        pid = connection.getsockopt(_SOL_LOCAL, _LOCAL_PEERPID)
        credentials = connection.getsockopt(_SOL_LOCAL, _LOCAL_PEERCRED, _XUCRED_BYTES)
        _, uid, _ = _XUCRED.unpack_from(credentials)
        return Peer(pid, uid)

    def name_relay(self, relay: socket.socket) -> tuple[str, Callable[[], None]]:
        """Bind to a random file name; only its owner can see the directory, and the name is soon gone from there."""
        path = os.path.join(self._directory, secrets.token_hex(8))
        relay.bind(path)
        return f"unix:{path}", lambda: os.unlink(path)

    def alive(self, peer: Peer, first: Process | None, read: ReadProcess) -> bool:
        """Read the connector again and compare the unrounded start time."""
        now = read(peer.pid)
        return first is not None and now is not None and now.generation == first.generation


def running_system(directory: str) -> System:
    """Return the calls of this system; ``directory`` is private to the service's user."""
    return Linux() if sys.platform == "linux" else Darwin(directory)


def environment_of(generation: Generation, read: ReadProcess) -> dict[str, str] | None:
    """Return the variables that exactly this process was started with; None when it is gone or not to be read.

    Only Linux shows them. At most a mebibyte is read.
    """
    try:
        with open(f"/proc/{generation.pid}/environ", "rb") as file:
            data = file.read(_ENVIRONMENT_BYTES)
    except OSError:
        return None
    now = read(generation.pid)
    if now is None or now.generation != generation:
        return None
    pairs = (part.partition(b"=") for part in data.split(b"\0"))
    return {os.fsdecode(name): os.fsdecode(value) for name, equals, value in pairs if equals}


def ended(pidfd: int) -> bool:
    """Tell whether the process of a pidfd has exited."""
    poller = select.poll()
    poller.register(pidfd, select.POLLIN)
    return bool(poller.poll(0))


def raise_descriptor_limit() -> int:
    """Raise the soft limit of open files to the hard one, since a connection takes four; return what is in force."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    # macOS refuses an unlimited soft limit.
    wanted = min(hard, 65_536) if hard != resource.RLIM_INFINITY else 65_536
    if soft != resource.RLIM_INFINITY and soft < wanted:
        try:
            resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))
        except (OSError, ValueError) as error:
            log.warning("the limit of open files stays at %d: %s", soft, error)
            return soft
        return wanted
    return soft


def _pidfd(connection: socket.socket, pid: int) -> int | None:
    try:
        descriptor = connection.getsockopt(socket.SOL_SOCKET, _SO_PEERPIDFD)
    except OSError as error:
        if error.errno != errno.ENOPROTOOPT:  # the connector has exited and was reaped
            return None
    else:
        os.set_inheritable(descriptor, False)
        return descriptor
    try:
        return os.pidfd_open(pid)
    except OSError:  # it has exited, or its pid means nothing in this namespace
        return None


def _nothing() -> None:
    pass
