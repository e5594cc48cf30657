"""The seam to the operating system: what each system's calls return, as far as it can be told here."""

import os
import socket
import struct
import subprocess
import sys
from pathlib import Path

import pytest

from prowl_svc.identity.portable import Darwin, Linux, Peer, environment_of, running_system
from prowl_svc.model.process import Generation, Process
from prowl_svc.probe.prober import system_table
from tests.identity.doors import settle


class Local:
    """A connection that answers socket options as macOS does."""

    def getsockopt(self, level: int, option: int, size: int = 0) -> int | bytes:
        assert 0 == level
        return 4711 if option == 2 else struct.pack("=IIh", 0, 501, 1).ljust(size, b"\0")


def test_darwin_reads_pid_and_uid_of_the_peer(tmp_path: Path) -> None:
    """LOCAL_PEERPID gives the pid, and the credential structure the uid."""
    assert Peer(4711, 501) == Darwin(str(tmp_path)).peer(Local())  # type: ignore[arg-type]


def test_darwin_liveness_is_the_start_time(tmp_path: Path) -> None:
    """Without a pidfd a connector lives while its pid has the start time that was first read."""
    first = Process(7, 1, 7, "p", start=1_000_001)
    system = Darwin(str(tmp_path))
    assert system.alive(Peer(7, 0), first, lambda pid: first)
    assert not system.alive(Peer(7, 0), first, lambda pid: Process(7, 1, 7, "p", start=1_000_002))
    assert not system.alive(Peer(7, 0), first, lambda pid: None)
    assert not system.alive(Peer(7, 0), None, lambda pid: first)


def test_darwin_relay_has_a_secret_file_name_for_a_moment(tmp_path: Path) -> None:
    """A relay is bound to a random name that the server sees as its peer and that is gone from the folder after."""
    with socket.socket(socket.AF_UNIX) as server, socket.socket(socket.AF_UNIX) as relay:
        server.bind(str(tmp_path / "server"))
        server.listen()
        peer, connected = Darwin(str(tmp_path)).name_relay(relay)
        relay.connect(str(tmp_path / "server"))
        connection, name = server.accept()
        connection.close()
        connected()
        assert f"unix:{name}" == peer
        assert ["server"] == os.listdir(tmp_path)


@pytest.mark.skipif(sys.platform != "linux", reason="Linux's calls")
def test_linux_knows_the_peer_and_its_life() -> None:
    """A socket pair's peer is this process, with a pidfd that says it lives; without a pidfd nobody lives."""
    one, other = socket.socketpair()
    with one, other:
        peer = Linux().peer(one)
        assert (os.getpid(), os.getuid()) == (peer.pid, peer.uid)
        assert Linux().alive(peer, None, lambda pid: None)
        assert not Linux().alive(Peer(peer.pid, peer.uid), None, lambda pid: None)
        assert peer.pidfd is not None
        assert not os.get_inheritable(peer.pidfd)
        os.close(peer.pidfd)


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux shows variables")
def test_environment_is_that_of_the_very_process() -> None:
    """The variables of a running generation are read; another life of the pid, or a dead one, has none."""
    read = system_table().process
    child = subprocess.Popen(["/bin/sleep", "60"], env={"CODEX_THREAD_ID": "T=1", "EMPTY": ""})
    try:
        process = read(child.pid)
        assert process is not None
        generation = process.generation
        settle(until=lambda: environment_of(generation, read) == {"CODEX_THREAD_ID": "T=1", "EMPTY": ""})
        assert environment_of(Generation(child.pid, generation.start + 1), read) is None
    finally:
        child.kill()
        child.wait()
    assert environment_of(generation, read) is None


def test_names_of_relays_are_fresh(tmp_path: Path) -> None:
    """Two relays never have the same name."""
    system = running_system(str(tmp_path))
    with socket.socket(socket.AF_UNIX) as one, socket.socket(socket.AF_UNIX) as other:
        assert system.name_relay(one)[0] != system.name_relay(other)[0]
