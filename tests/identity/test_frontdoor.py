"""The front door with real processes: who is who, and that bytes, ends and descriptors come through."""

import contextlib
import errno
import os
import resource
import selectors
import socket
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from prowl_svc.identity.frontdoor import FrontDoor, listen
from prowl_svc.identity.portable import Linux, Peer, raise_descriptor_limit
from prowl_svc.identity.relay import CHUNK
from tests.identity.doors import FLOWS, Entrance, descriptors, entrance, settle, spawn

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="abstract names and pidfds are Linux's")


@pytest.fixture(autouse=True, params=list(FLOWS))
def implementation(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every test of a door holds with both implementations of its flows."""
    monkeypatch.setattr(Entrance, "flows", FLOWS[request.param])


CONNECT = "s = socket.socket(socket.AF_UNIX); s.connect(sys.argv[1])\n"


def test_caller_is_the_process_that_connected(tmp_path: Path) -> None:
    """The identity is the connecting process's, with this process among its ancestors."""
    with entrance(tmp_path) as place:
        child = spawn(CONNECT + "s.recv(1)", place.public)
        connection, peer = place.accept()
        caller = place.caller(peer)
        assert caller is not None
        assert (child.pid, os.getuid()) == (caller.pid, caller.uid)
        assert [child.pid, os.getpid()] == [hop.pid for hop in caller.ancestry[:2]]
        connection.close()
        child.communicate()


def test_many_processes_at_once_keep_their_identities(tmp_path: Path) -> None:
    """Of 300 connections opened at once by ten processes, each is known as its own process's."""
    script = """
ends = []
for _ in range(30):
    s = socket.socket(socket.AF_UNIX); s.connect(sys.argv[1]); ends.append(s)
for s in ends: s.sendall(b"%d\\n" % os.getpid())
for s in ends: assert s.recv(1) == b"k"
"""
    with entrance(tmp_path) as place:
        children = [spawn(script, place.public) for _ in range(10)]
        connections = [place.accept() for _ in range(300)]
        claimed = [int(connection.makefile("rb").readline()) for connection, _ in connections]
        known = [caller.pid for _, peer in connections if (caller := place.caller(peer)) is not None]
        assert claimed == known
        assert {child.pid for child in children} == set(known)
        for connection, _ in connections:
            connection.sendall(b"k")
        assert [0] * 10 == [child.wait(20) for child in children]
        for connection, _ in connections:
            connection.close()
        settle(until=lambda: not place.door.callers)


def test_dial_to_the_private_socket_has_no_identity(tmp_path: Path) -> None:
    """Neither an unnamed dial nor one from a self-made name is in the table."""
    with entrance(tmp_path) as place:
        for name in (None, "\0prowl-" + "0" * 32):
            with socket.socket(socket.AF_UNIX) as dial:
                if name is not None:
                    dial.bind(name)
                dial.connect(place.private)
                connection, peer = place.accept()
                assert place.caller(peer) is None
                connection.close()


def test_guessed_names_lead_to_nobody(tmp_path: Path) -> None:
    """Thousands of dials from guessed names, while real callers are connected, never find an entry."""
    with entrance(tmp_path) as place:
        clients = [(place.connect(), place.accept()[0]) for _ in range(20)]
        for _ in range(2_000):
            with socket.socket(socket.AF_UNIX) as dial:
                dial.bind(f"\0prowl-{os.urandom(16).hex()}")
                dial.connect(place.private)
                connection, peer = place.accept()
                connection.close()
                assert place.caller(peer) is None
        for client, connection in clients:
            client.close()
            connection.close()


def test_a_relays_name_cannot_be_taken(tmp_path: Path) -> None:
    """While a relay is open its name is in use, and once it can be bound again it stands for nobody."""
    with entrance(tmp_path) as place:
        client = place.connect()
        connection, peer = place.accept()
        name = "\0" + peer.removeprefix("unix-abstract:")
        with socket.socket(socket.AF_UNIX) as thief, pytest.raises(OSError, match="in use"):
            thief.bind(name)
        client.close()
        connection.close()
        with socket.socket(socket.AF_UNIX) as thief:

            def taken() -> bool:
                try:
                    thief.bind(name)
                except OSError:
                    return False
                return True

            settle(until=taken)
            assert place.caller(peer) is None


def test_connector_that_exited_before_the_walk_has_no_identity(tmp_path: Path) -> None:
    """A connection whose connector is gone when it is accepted belongs to nobody."""
    with entrance(tmp_path, started=False) as place:
        holder = spawn(CONNECT + "os.fork() or sys.stdin.read()", place.public)
        assert 0 == holder.wait(20)
        place.door.start()
        connection, peer = place.accept()
        caller = place.caller(peer)
        assert caller is not None
        assert (0, None) == (caller.pid, caller.generation)
        connection.close()
        holder.communicate()


HEIR = """
parent = os.getpid()
if os.fork():
    s.sendall(b"parent")
    assert s.recv(1) == b"a"
    if sys.argv[2] == "leave": os._exit(0)
    os.read(0, 1)
    s.recv(1)
else:
    os.read(0, 1)
    while sys.argv[2] == "leave" and os.getppid() == parent: time.sleep(0.002)
    s.sendall(b"child")
    s.recv(1)
"""


@pytest.mark.parametrize(("plan", "known"), [("leave", False), ("stay", True)])
def test_inherited_connection(tmp_path: Path, plan: str, known: bool) -> None:
    """A child on its parent's connection speaks as the parent while that lives, and as nobody afterwards."""
    with entrance(tmp_path) as place:
        process = spawn(CONNECT + HEIR, place.public, plan)
        connection, peer = place.accept()
        assert b"parent" == connection.recv(64)
        before = place.caller(peer)
        assert before is not None
        assert process.pid == before.pid
        connection.sendall(b"a")
        assert process.stdin is not None
        process.stdin.write(b"xx")
        process.stdin.flush()
        assert b"child" == connection.recv(64)
        after = place.caller(peer)
        assert after is not None
        assert known == (after.generation is not None)
        connection.close()
        process.communicate()


def test_short_lived_connector_keeps_its_identity(tmp_path: Path) -> None:
    """A process that writes and exits is still the one that wrote, as long as nobody else holds the connection."""
    with entrance(tmp_path) as place:
        child = spawn(CONNECT + "s.sendall(b'x'); sys.stdin.read(1); s.sendall(b'y')", place.public)
        connection, peer = place.accept()
        assert b"x" == connection.recv(1)
        child.communicate(b"g")
        assert b"y" == connection.recv(1)
        assert b"" == connection.recv(1)
        caller = place.caller(peer)
        assert caller is not None
        assert child.pid == caller.pid
        connection.close()


def test_exec_keeps_the_identity(tmp_path: Path) -> None:
    """A process that replaces its program keeps its generation, and its connection with it."""
    with entrance(tmp_path) as place:
        child = spawn(
            CONNECT + "os.dup2(s.fileno(), 1); os.execv('/bin/sh', ['sh', '-c', 'echo hello; read x'])", place.public
        )
        connection, peer = place.accept()
        assert b"hello\n" == connection.recv(64)
        caller = place.caller(peer)
        assert caller is not None
        assert child.pid == caller.pid
        connection.close()
        child.communicate()


def test_bytes_written_before_a_hang_up_arrive(tmp_path: Path) -> None:
    """A hang-up may be seen while bytes are still unread; they are delivered before the end."""
    sent = os.urandom(150_000)
    with entrance(tmp_path) as place:
        client = place.connect()
        connection, _ = place.accept()
        client.sendall(sent)
        client.close()
        assert sent == connection.makefile("rb").read()
        connection.close()
        settle(until=lambda: not place.door.callers)


@pytest.mark.parametrize("first", ["client", "server"])
def test_half_close_passes_and_both_close_the_link(tmp_path: Path, first: str) -> None:
    """Each side may end its direction and still hear the other; after both ends the link is gone."""
    with entrance(tmp_path) as place:
        client = place.connect()
        connection, _ = place.accept()
        one, other = (client, connection) if first == "client" else (connection, client)
        one.sendall(b"last word")
        one.shutdown(socket.SHUT_WR)
        assert b"last word" == other.recv(64)
        assert b"" == other.recv(64)
        other.sendall(b"answer")
        assert b"answer" == one.recv(64)
        other.shutdown(socket.SHUT_WR)
        assert b"" == one.recv(64)
        settle(until=lambda: not place.door.callers)
        client.close()
        connection.close()


def test_backpressure_is_passed_on(tmp_path: Path) -> None:
    """A server that does not read stops the client after a bounded amount, and everything arrives once it reads."""
    sent = os.urandom(CHUNK) * 128
    with entrance(tmp_path) as place:
        client = place.connect()
        connection, _ = place.accept()
        client.setblocking(False)
        progress = 0

        def stuck() -> bool:
            nonlocal progress
            before = progress
            with contextlib.suppress(BlockingIOError):
                progress += client.send(sent[progress:])
            return before == progress

        settle(until=lambda: all(stuck() for _ in range(3)))
        assert progress < len(sent) // 2
        received = bytearray()
        connection.setblocking(False)

        def carried() -> bool:
            nonlocal progress
            if progress < len(sent):
                stuck()
            with contextlib.suppress(BlockingIOError):
                received.extend(connection.recv(1 << 20))
            return len(received) == len(sent)

        for _ in range(100_000):
            if carried():
                break
        assert sent == bytes(received)
        client.close()
        connection.close()


def fill(connection: socket.socket) -> int:
    """Write until nothing more is taken for a while; return how many bytes were."""
    connection.setblocking(False)
    sent = looks = 0

    def full() -> bool:
        nonlocal sent, looks
        looks += 1
        with contextlib.suppress(BlockingIOError):
            while True:
                sent += connection.send(b"x" * CHUNK)
                looks = 0
        return looks > 3

    settle(until=full)
    return sent


def test_what_is_held_when_the_sender_leaves_is_delivered(tmp_path: Path) -> None:
    """A slow reader gets everything that was sent before the sender closed, and then the end."""
    with entrance(tmp_path) as place:
        client = place.connect()
        connection, _ = place.accept()
        sent = fill(connection)
        connection.close()
        assert sent == len(client.makefile("rb").read())
        client.close()
        settle(until=lambda: not place.door.callers)


def test_client_that_stops_reading_for_good_is_felt_by_the_server(tmp_path: Path) -> None:
    """A client that shuts its reading side down breaks the server's writes, though it may still write itself."""
    with entrance(tmp_path) as place:
        client = place.connect()
        connection, _ = place.accept()
        client.shutdown(socket.SHUT_RD)

        def broken() -> bool:
            try:
                connection.send(b"x")
            except BlockingIOError:
                return False
            except OSError:
                return True
            return False

        connection.setblocking(False)
        settle(until=broken)
        connection.setblocking(True)
        client.sendall(b"still here")
        assert b"still here" == connection.recv(64)
        client.close()
        connection.close()


def test_reader_that_is_killed_frees_the_server(tmp_path: Path) -> None:
    """A client killed while a backlog waits for it ends the server's side and leaves nothing behind."""
    before = descriptors()
    with entrance(tmp_path) as place:
        child = spawn(CONNECT + "sys.stdin.read()", place.public)
        connection, _ = place.accept()
        fill(connection)
        child.kill()
        child.communicate()

        def ended() -> bool:
            try:
                connection.send(b"x")
            except BlockingIOError:
                return False
            except OSError:
                return True
            return False

        settle(until=ended)
        connection.close()
        settle(until=lambda: not place.door.callers)
    assert descriptors() <= before


def test_thousand_connections_open_and_gone(tmp_path: Path) -> None:
    """A thousand connections pass a thousand and twenty-four descriptors, work, and return every descriptor."""
    if raise_descriptor_limit() < 6_000:
        pytest.skip("the hard limit of open files is too low")
    before = descriptors()
    with entrance(tmp_path) as place:
        idle = descriptors()
        ends = []
        for number in range(1_000):
            client = place.connect()
            client.sendall(b"%d\n" % number)
            ends.append((client, *place.accept()))
        assert descriptors() > 4_000
        for number, (client, connection, peer) in enumerate(ends):
            caller = place.caller(peer)
            assert caller is not None
            assert os.getpid() == caller.pid
            assert b"%d\n" % number == connection.recv(16)
            connection.sendall(b"k")
            assert b"k" == client.recv(1)
        for client, connection, _ in ends:
            client.close()
            connection.close()
        settle(until=lambda: not place.door.callers)
        settle(until=lambda: descriptors() <= idle)  # fewer when garbage of before was collected meanwhile
    assert descriptors() <= before


def test_server_that_does_not_answer_closes_the_client(tmp_path: Path) -> None:
    """Without a server behind the door a client is hung up on, and the door stays open."""
    with entrance(tmp_path) as place:
        os.unlink(place.private)
        for _ in range(2):
            with place.connect() as client:
                assert b"" == client.recv(1)
        settle(until=lambda: not place.door.callers)


def test_full_backlog_of_the_server_is_waited_out(tmp_path: Path) -> None:
    """A server that accepts late still gets every connection."""
    with entrance(tmp_path) as place:
        place.server.listen(1)
        clients = [place.connect() for _ in range(20)]
        for client in clients:
            client.sendall(b"x")
        connections = [place.accept()[0] for _ in clients]
        assert [b"x"] * 20 == [connection.recv(1) for connection in connections]
        for end in (*clients, *connections):
            end.close()


class Exhausted(Linux):
    """A system that has run out of descriptors for the first connection."""

    def __init__(self) -> None:
        self.refusals = 0

    def peer(self, connection: socket.socket) -> Peer:
        if not self.refusals:
            self.refusals += 1
            raise OSError(errno.EMFILE, "Too many open files")
        return super().peer(connection)


def test_exhaustion_is_waited_out(tmp_path: Path) -> None:
    """When descriptors run out newcomers wait for a moment instead of stopping the door."""
    with entrance(tmp_path, Exhausted()) as place:
        with place.connect() as first:
            assert b"" == first.recv(1)
        second = place.connect()
        connection, peer = place.accept()
        assert place.caller(peer) is not None
        second.close()
        connection.close()


def test_connection_that_cannot_be_watched_ends_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """When the kernel refuses to watch a connection's end, that connection is closed and the door stays open."""
    register, refused = selectors.DefaultSelector.register, []

    def refuse(self: selectors.BaseSelector, end: Any, mask: int, data: Any = None) -> selectors.SelectorKey:
        if isinstance(end, socket.socket) and data is not None and not refused:
            refused.append(end)
            raise OSError(errno.ENOSPC, "No space left on device")
        return register(self, end, mask, data)  # type: ignore[arg-type]

    monkeypatch.setattr(selectors.DefaultSelector, "register", refuse)
    with entrance(tmp_path) as place:
        with place.connect() as first:
            assert b"" == first.recv(1)
        place.accept()[0].close()
        assert refused
        second = place.connect()
        connection, peer = place.accept()
        assert place.caller(peer) is not None
        second.close()
        connection.close()


class Stranger(Linux):
    """A system on which every connector has another uid."""

    def peer(self, connection: socket.socket) -> Peer:
        real = super().peer(connection)
        return Peer(real.pid, real.uid + 1, real.pidfd)


def test_other_uids_are_refused(tmp_path: Path) -> None:
    """A connection of another uid is closed before a byte of it is relayed, and leaves nothing behind."""
    with entrance(tmp_path, Stranger()) as place:
        before = descriptors()
        with place.connect() as client:
            assert b"" == client.recv(1)
        settle(until=lambda: descriptors() <= before)
        place.server.setblocking(False)
        with pytest.raises(BlockingIOError):
            place.server.accept()


@pytest.mark.root
@pytest.mark.skipif(os.getuid() != 0, reason="needs root")
def test_real_other_uid_is_refused(tmp_path: Path) -> None:
    """Even with the socket open to everyone, a process of another uid is hung up on."""
    with entrance(tmp_path) as place:
        for folder in (tmp_path, *tmp_path.parents):
            if "pytest-of-" in str(folder):  # one level more when tests run side by side
                folder.chmod(0o755)
        os.chmod(place.public, 0o666)
        child = spawn("os.setuid(65534)\n" + CONNECT + "sys.exit(len(s.recv(1)))", place.public)
        assert 0 == child.wait(20)
        child.communicate()
        assert not place.door.callers


REUSE = """
import os, socket, sys, time
sys.path.insert(0, sys.argv[1])
from pathlib import Path
from prowl_svc.identity.caller import attribute
from prowl_svc.probe.prober import system_table
from tests.identity.doors import entrance
root = os.fork()
if not root:
    time.sleep(60)
pane = system_table().process(root).generation
os.kill(root, 9)
os.waitpid(root, 0)
time.sleep(0.05)
with entrance(Path(sys.argv[2])) as place:
    Path("/proc/sys/kernel/ns_last_pid").write_text(str(root - 1))
    taker = os.fork()
    if not taker:
        client = socket.socket(socket.AF_UNIX)
        client.connect(place.public)
        client.recv(1)
        os._exit(0)
    connection, peer = place.accept()
    caller = place.caller(peer)
    assert taker == root == caller.pid, (taker, root, caller)
    assert attribute(caller, {pane: "pane"}) is None
    assert attribute(caller, {caller.generation: "pane"}).surface == "pane"
    connection.close()
    os.waitpid(taker, 0)
"""


@pytest.mark.root
@pytest.mark.skipif(os.getuid() != 0, reason="needs root")
def test_reused_pid_gains_nothing(tmp_path: Path) -> None:
    """In a pid namespace a process takes the pid of a dead pane root and is not taken for it."""
    home = str(Path(__file__).parents[2])
    command = ["unshare", "--pid", "--fork", "--mount-proc", sys.executable, "-c", REUSE, home, str(tmp_path)]
    done = subprocess.run(command, capture_output=True, timeout=60, check=False)
    if b"unshare failed" in done.stderr or b"Operation not permitted" in done.stderr:
        pytest.skip("pid namespaces are not to be had here")
    assert 0 == done.returncode, done.stderr.decode()


def test_stop_closes_everything(tmp_path: Path) -> None:
    """Stopping hangs up on everyone, frees the thread and may be repeated."""
    before = descriptors()
    with entrance(tmp_path) as place:
        client = place.connect()
        connection, _ = place.accept()
        place.door.stop()
        place.door.stop()
        assert b"" == client.recv(1)
        assert b"" == connection.recv(1)
        client.close()
        connection.close()
    assert descriptors() <= before


def test_public_socket_is_its_owners(tmp_path: Path) -> None:
    """The public socket is readable and writable by its owner alone, and is not taken from another listener."""
    listener = listen(str(tmp_path / "s"))
    assert 0o600 == os.stat(tmp_path / "s").st_mode & 0o777
    with pytest.raises(OSError, match="in use"):
        listen(str(tmp_path / "s"))
    listener.close()


def test_descriptor_limit_is_raised() -> None:
    """The soft limit of open files is as high as the hard limit allows, up to 65,536."""
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    assert min(hard if hard != resource.RLIM_INFINITY else 65_536, 65_536) <= raise_descriptor_limit()


def test_unstarted_door_stops(tmp_path: Path) -> None:
    """A door that was never started can be stopped."""
    door = FrontDoor(listen(str(tmp_path / "s")), str(tmp_path / "p"), uid=0, read=lambda pid: None, system=Linux())
    door.stop()
