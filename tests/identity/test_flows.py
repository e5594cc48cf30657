"""What passes through the flows of a connection, and what is left to the one who asked."""

import os
import selectors
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from tests.identity.doors import FLOWS

pytestmark = pytest.mark.skipif(not hasattr(os, "pidfd_open"), reason="pidfds are Linux's")


class Pair:
    """A client's and a server's connection, the inner ends of which are watched and flow into each other."""

    def __init__(self, flows: Any, pidfd: int) -> None:
        self.client, self._from_client = socket.socketpair()
        self.server, self._from_server = socket.socketpair()
        self.server.setblocking(False)
        self.flows = flows
        self.selector = selectors.DefaultSelector()
        for end in (self._from_client, self._from_server):
            end.setblocking(False)
            self.selector.register(end, selectors.EVENT_READ, end)
        flows.open(self._from_client.fileno(), self._from_server.fileno(), pidfd)

    def close(self) -> None:
        self.flows.close(self._from_client.fileno(), self._from_server.fileno())
        self.selector.close()
        for end in (self.client, self.server, self._from_client, self._from_server):
            end.close()

    def turn(self) -> bytes:
        """Wait once; the bytes that were left to us, read already or not yet."""
        left = b""
        for key, _, data in self.flows.wait(self.selector, 0.05):
            left += data if data is not None else key.data.recv(100)
        return left

    def arrived(self) -> bytes:
        try:
            return self.server.recv(100)
        except BlockingIOError:
            return b""


@pytest.fixture(params=list(FLOWS))
def pair(request: pytest.FixtureRequest) -> Iterator[Callable[[int], Pair]]:
    made: list[Pair] = []

    def make(pidfd: int) -> Pair:
        made.append(Pair(FLOWS[request.param](65_536), pidfd))
        return made[-1]

    yield make
    for one in made:
        one.close()


def test_bytes_of_a_process_that_has_ended_are_left(pair: Callable[[int], Pair]) -> None:
    """While its process runs, bytes of a client pass or are handed out; after its end none passes by itself."""
    process = subprocess.Popen([sys.executable, "-S", "-E", "-c", "input()"], stdin=subprocess.PIPE)
    pidfd = os.pidfd_open(process.pid)
    try:
        one = pair(pidfd)
        one.client.send(b"alive")
        assert b"alive" == one.turn() + one.arrived()
        process.communicate(b"\n")
        one.client.send(b"heir")
        assert (b"heir", b"") == (one.turn(), one.arrived())
    finally:
        os.close(pidfd)


def test_nothing_passes_once_closed(pair: Callable[[int], Pair]) -> None:
    """Descriptors that were given back are handed out, whatever they were before."""
    one = pair(-1)
    one.client.send(b"first")
    assert b"first" == one.turn() + one.arrived()
    one.flows.close(one._from_client.fileno(), one._from_server.fileno())
    one.client.send(b"second")
    assert (b"second", b"") == (one.turn(), one.arrived())
