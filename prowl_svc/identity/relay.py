"""One direction of a relayed connection: reads only when what it read before has left (design: no growth, no loss)."""

import contextlib
import select
import socket
from collections.abc import Callable

__all__ = ["CHUNK", "Pipe", "hung_up"]

CHUNK = 65_536
_ROUNDS = 4  # so that one busy connection does not keep the others waiting


class Pipe:
    """Moves bytes from ``source`` to ``target``, both non-blocking, and passes the end of the stream on.

    ``done`` tells that nothing will move any more: the source ended and all was passed on, or the target is gone.
    ``scratch`` is shared by the pipes of one thread: bytes that leave at once need no buffer of their own.
    """

    __slots__ = ("_held", "_scratch", "_source", "_target", "done")

    def __init__(self, source: socket.socket, target: socket.socket, scratch: memoryview) -> None:
        self._source = source
        self._target = target
        self._scratch = scratch
        self._held = b""
        self.done = False

    @property
    def held(self) -> int:
        """How many bytes wait for the target."""
        return len(self._held)

    @property
    def wants_input(self) -> bool:
        """Whether the source should be watched for more."""
        return not self._held and not self.done

    def pump(self, before_passing: Callable[[], None] | None = None) -> None:
        """Pass on what the source has, a bounded amount; ``before_passing`` is called after each read."""
        for _ in range(_ROUNDS):
            if not self.wants_input:
                return
            try:
                count = self._source.recv_into(self._scratch)
            except (BlockingIOError, InterruptedError):
                return
            except OSError:  # a reset is an end
                count = 0
            if count == 0:
                self.done = True
                _shutdown(self._target, socket.SHUT_WR)
                return
            if before_passing is not None:
                before_passing()
            self._send(self._scratch[:count])
            if count < len(self._scratch):
                return

    def take(self, data: bytes) -> None:
        """Pass on what was read from the source already."""
        if not self.done:
            self._send(memoryview(data))

    def flush(self) -> None:
        """Pass on what was held back; the target is ready for it."""
        if self._held and not self.done:
            held, self._held = self._held, b""
            self._send(memoryview(held))

    def _send(self, data: memoryview) -> None:
        try:
            sent = self._target.send(data)
        except (BlockingIOError, InterruptedError):
            sent = 0
        except OSError:
            self._abandon()
            return
        if sent < len(data):
            self._held = bytes(data[sent:])

    def _abandon(self) -> None:
        """The target is gone: let the source's writer feel it."""
        self.done = True
        self._held = b""
        _shutdown(self._source, socket.SHUT_RD)


def _shutdown(end: socket.socket, how: int) -> None:
    with contextlib.suppress(OSError):  # it is gone already
        end.shutdown(how)


def hung_up(connection: socket.socket) -> bool:
    """Tell whether no process holds the other end of a Unix connection any more; unread bytes may remain."""
    poller = select.poll()
    poller.register(connection, 0)
    return any(event & (select.POLLHUP | select.POLLERR) for _, event in poller.poll(0))
