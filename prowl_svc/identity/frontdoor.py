"""The front door: accepts on the public socket, learns who connected, and relays bytes to the server's private socket.

A relay is bound to a secret name, which the server sees as its peer; the name leads back to the caller. One thread with
one selector does everything, so nothing here is locked; other threads only look names up (signals.md §2.4).
"""

import contextlib
import errno
import logging
import os
import selectors
import socket
import threading
from collections.abc import Callable, Mapping
from types import MappingProxyType

from prowl_svc._fast.flows import Flows
from prowl_svc.identity.ancestry import ReadProcess, freeze
from prowl_svc.identity.caller import Caller
from prowl_svc.identity.portable import Peer, System, ended
from prowl_svc.identity.relay import CHUNK, Pipe, hung_up

__all__ = ["FrontDoor", "listen"]

log = logging.getLogger("prowl.identity")

_BACKLOG = 4096
_PAUSE_S = 0.1
_REDIAL_S = 0.005
_REDIALS = 1000
_EXHAUSTED = frozenset({errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM})


def listen(path: str) -> socket.socket:
    """Return a listener on ``path`` that only its owner may connect to. Raises OSError."""
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        listener.bind(path)
        os.chmod(path, 0o600)  # nobody can connect before listen
        listener.listen(_BACKLOG)
    except OSError:
        listener.close()
        raise
    listener.setblocking(False)
    return listener


class _Link:
    """One client's connection, its relay to the server, and the pidfd that tells when the connector is gone."""

    __slots__ = ("client", "closed", "down", "flowing", "masks", "name", "pidfd", "redials", "server", "up")

    def __init__(
        self, client: socket.socket, server: socket.socket, name: str, pidfd: int | None, scratch: memoryview
    ) -> None:
        self.client = client
        self.server = server
        self.name = name
        self.pidfd = pidfd
        self.up = Pipe(client, server, scratch)
        self.down = Pipe(server, client, scratch)
        self.masks = {client: 0, server: 0}
        self.redials = 0
        self.flowing = False  # nothing is held or done, and both ends are watched for input alone
        self.closed = False


class FrontDoor:
    """Relays every connection of ``listener`` to the socket at ``upstream`` and knows who opened it.

    Only connections of ``uid`` are let in. ``read`` reads one process. ``flows`` passes bytes on while nothing else is
    to be done. The listener belongs to the door from here on.
    """

    def __init__(
        self,
        listener: socket.socket,
        upstream: str,
        *,
        uid: int,
        read: ReadProcess,
        system: System,
        flows: Callable[[int], Flows] = Flows,
    ) -> None:
        self._listener = listener
        self._upstream = upstream
        self._uid = uid
        self._read = read
        self._system = system
        self._selector = selectors.DefaultSelector()
        self._flows = flows(CHUNK)
        self._callers: dict[str, Caller] = {}
        self._links: dict[_Link, None] = {}
        self._dialing: list[_Link] = []
        self._paused = False
        self._exhausted = False
        self._scratch = memoryview(bytearray(CHUNK))
        self._waker, self._woken = socket.socketpair()
        self._waker.setblocking(False)
        self._thread = threading.Thread(target=self._run, name="front-door", daemon=True)

    def start(self) -> None:
        """Begin to accept."""
        self._selector.register(self._listener, selectors.EVENT_READ, None)
        self._selector.register(self._woken, selectors.EVENT_READ, None)
        self._thread.start()

    def stop(self) -> None:
        """Close the listener and every connection, and wait for the thread; stopping twice is harmless."""
        with contextlib.suppress(OSError):
            self._waker.send(b"x")
        if self._thread.ident is not None:
            self._thread.join()

    def caller(self, peer: str) -> Caller | None:
        """Return who is behind an RPC whose context names this peer; None for a peer that did not come through here.

        May be called from any thread. A call without a caller must be refused.
        """
        return self._callers.get(peer)

    @property
    def callers(self) -> Mapping[str, Caller]:
        """The open connections by peer name, for diagnosis."""
        return MappingProxyType(self._callers)

    def _run(self) -> None:
        try:
            while self._turn():
                pass
        finally:
            for link in list(self._links):
                self._close(link)
            self._selector.close()
            for end in (self._listener, self._waker, self._woken):
                end.close()

    def _turn(self) -> bool:
        resting = self._paused
        timeout = _REDIAL_S if self._dialing else _PAUSE_S if resting else None
        for key, mask, data in self._flows.wait(self._selector, timeout):
            if key.fileobj is self._woken:
                return False
            if key.fileobj is self._listener:
                self._accept_all()
            elif not key.data.closed:
                self._guarded(key.data, key.fileobj, mask, data)
        if resting:
            self._paused = False
            self._selector.register(self._listener, selectors.EVENT_READ, None)
        waiting, self._dialing = self._dialing, []
        for link in waiting:
            if not link.closed:
                self._dial(link)
        return True

    def _guarded(self, link: _Link, end: object, mask: int, data: bytes | None) -> None:
        try:
            if isinstance(end, int):
                self._vouch(link)
            else:
                self._move(link, end, mask, data)
        except Exception as error:  # one connection's trouble is never another's
            log.error("a connection is closed after %s", type(error).__name__)
            self._close(link)

    # Arrival

    def _accept_all(self) -> None:
        while not self._paused:
            try:
                client, _ = self._listener.accept()
            except (BlockingIOError, ConnectionAbortedError, InterruptedError):
                return
            except OSError as error:
                self._pause(error)
                return
            try:
                self._admit(client)
            except OSError as error:
                client.close()
                if error.errno in _EXHAUSTED:
                    self._pause(error)

    def _pause(self, error: OSError) -> None:
        """Leave newcomers in the backlog for a moment, instead of asking for them again and again in vain."""
        if not self._exhausted:
            self._exhausted = True
            log.warning("newcomers have to wait: %s", error.strerror)
        if not self._paused:
            self._paused = True
            self._selector.unregister(self._listener)

    def _admit(self, client: socket.socket) -> None:
        peer = self._system.peer(client)
        if peer.uid != self._uid:
            log.warning("a connection of uid %d is refused", peer.uid)
            _close_pidfd(peer.pidfd)
            client.close()
            return
        client.setblocking(False)
        try:
            server = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
            try:
                server.setblocking(False)
                name, connected = self._system.name_relay(server)
            except OSError:
                server.close()
                raise
        except OSError:
            _close_pidfd(peer.pidfd)
            raise
        self._exhausted = False
        caller = self._callers[name] = self._identify(peer)
        link = _Link(client, server, name, peer.pidfd, self._scratch)
        if caller.generation is None:
            self._drop_pidfd(link)
        self._links[link] = None
        self._dial(link)
        connected()

    def _identify(self, peer: Peer) -> Caller:
        first = self._read(peer.pid) if peer.pid > 0 else None
        return freeze(peer.pid, peer.uid, self._read, lambda: self._system.alive(peer, first, self._read))

    def _dial(self, link: _Link) -> None:
        try:
            link.server.connect(self._upstream)
            if link.pidfd is not None:
                self._selector.register(link.pidfd, selectors.EVENT_READ, link)
            self._watch(link)
        except BlockingIOError:  # the server's backlog is full
            link.redials += 1
            if link.redials < _REDIALS:
                self._dialing.append(link)
            else:
                self._close(link)
        except OSError as error:
            log.warning("the server does not answer: %s", error.strerror)
            self._close(link)

    # Relaying

    def _move(self, link: _Link, end: object, mask: int, data: bytes | None) -> None:
        up, down = link.up, link.down
        from_client = end is link.client
        if data is not None:
            if from_client:
                self._vouch(link)
            (up if from_client else down).take(data)
        if mask & selectors.EVENT_WRITE:
            (down if from_client else up).flush()
        if mask & selectors.EVENT_READ:
            if from_client:
                up.pump(lambda: self._vouch(link))
            else:
                down.pump()
        if up.done and down.done:
            self._close(link)
        elif not (link.flowing and up.wants_input and down.wants_input):
            self._watch(link)

    def _watch(self, link: _Link) -> None:
        """Watch each end for what can be done with it now: more input, or room for what is held."""
        self._flow(link, link.up.wants_input and link.down.wants_input)
        for end, outgoing, incoming in ((link.client, link.up, link.down), (link.server, link.down, link.up)):
            mask = (selectors.EVENT_READ if outgoing.wants_input else 0) | (
                selectors.EVENT_WRITE if incoming.held else 0
            )
            before = link.masks[end]
            if mask == before:
                continue
            link.masks[end] = mask
            if not before:
                self._selector.register(end, mask, link)
            elif mask:
                self._selector.modify(end, mask, link)
            else:
                self._selector.unregister(end)

    def _flow(self, link: _Link, flowing: bool) -> None:
        link.flowing = flowing
        if flowing:
            self._flows.open(link.client.fileno(), link.server.fileno(), -1 if link.pidfd is None else link.pidfd)
        else:
            self._flows.close(link.client.fileno(), link.server.fileno())

    def _vouch(self, link: _Link) -> None:
        """Before bytes are passed on, make sure that nobody but the connector can have written them.

        If its end of the connection outlives the connector, others hold it, and they are not the connector.
        """
        if link.pidfd is not None and ended(link.pidfd):
            if not hung_up(link.client):
                self._callers[link.name] = self._callers[link.name].anonymous()
            self._drop_pidfd(link)

    def _drop_pidfd(self, link: _Link) -> None:
        if link.pidfd is not None:
            with contextlib.suppress(KeyError):
                self._selector.unregister(link.pidfd)
            _close_pidfd(link.pidfd)
            link.pidfd = None
            self._flow(link, link.flowing)

    def _close(self, link: _Link) -> None:
        if link.closed:
            return
        link.closed = True
        # First the entry: once the socket is closed, anyone could bind its name.
        del self._callers[link.name]
        del self._links[link]
        self._flow(link, False)
        self._drop_pidfd(link)
        for end in link.masks:
            with contextlib.suppress(KeyError):  # it is not watched, or the kernel refused to
                self._selector.unregister(end)
            end.close()


def _close_pidfd(pidfd: int | None) -> None:
    if pidfd is not None:
        os.close(pidfd)
