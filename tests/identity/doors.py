"""A front door before a plain server socket, and small client processes, for the tests of this room."""

import os
import select
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from prowl_svc._fast import _flows_py
from prowl_svc._fast.flows import Flows
from prowl_svc.identity.caller import Caller
from prowl_svc.identity.frontdoor import FrontDoor, listen
from prowl_svc.identity.portable import Linux, System
from prowl_svc.probe.prober import system_table

PATIENCE = 20.0
FLOWS = {"interpreted": _flows_py.Flows, "in use": Flows}


class Entrance:
    """The door, and a server behind it whose side of each connection a test holds in its hands."""

    flows: Callable[[int], Any] = Flows
    """What doors pass bytes on with; tests run with each implementation."""

    def __init__(self, folder: Path, system: System, uid: int) -> None:
        self.public = str(folder / "public")
        self.private = str(folder / "private")
        self.server = socket.socket(socket.AF_UNIX)
        self.server.bind(self.private)
        self.server.listen(4096)
        self.server.settimeout(PATIENCE)
        self.door = FrontDoor(
            listen(self.public),
            self.private,
            uid=uid,
            read=system_table().process,
            system=system,
            flows=type(self).flows,
        )

    def connect(self) -> socket.socket:
        """A client connection of this process."""
        client = socket.socket(socket.AF_UNIX)
        client.settimeout(PATIENCE)
        client.connect(self.public)
        return client

    def accept(self) -> tuple[socket.socket, str]:
        """The server's side of the next connection, and the peer as gRPC would name it."""
        connection, name = self.server.accept()
        connection.settimeout(PATIENCE)
        return connection, f"unix-abstract:{os.fsdecode(name).removeprefix(chr(0))}" if name else "unix:"

    def caller(self, peer: str) -> Caller | None:
        """Who is behind a peer."""
        return self.door.caller(peer)


@contextmanager
def entrance(folder: Path, system: System | None = None, *, started: bool = True) -> Iterator[Entrance]:
    """An entrance that is closed at the end."""
    place = Entrance(folder, system if system is not None else Linux(), os.getuid())
    if started:
        place.door.start()
    try:
        yield place
    finally:
        if not started and place.door._thread.ident is None:
            place.door.start()
        place.door.stop()
        place.server.close()


def spawn(script: str, *arguments: str) -> subprocess.Popen[bytes]:
    """A bare Python process that runs ``script`` with socket, os and sys at hand; its streams are pipes."""
    return subprocess.Popen(
        [sys.executable, "-S", "-E", "-c", f"import socket, os, sys, time\n{script}", *arguments],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    )


def descriptors() -> int:
    """How many descriptors this process has open."""
    return len(os.listdir("/proc/self/fd"))


def settle(*, until: Callable[[], bool]) -> None:
    """Wait until ``until`` is true, looking again at short intervals; fail after a while."""
    for _ in range(int(PATIENCE * 200)):
        if until():
            return
        select.select([], [], [], 0.005)
    raise AssertionError("not reached in time")
