"""The service as a process: one owner of the socket, recovery after a kill, a graceful stop."""

import contextlib
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from prowl_svc.signals.journal import Journal
from prowl_svc.socketfile import SocketError, SocketOwner

ROOT = Path(__file__).resolve().parents[2]
Serve = Callable[[], "subprocess.Popen[bytes]"]


@pytest.fixture
def serve(folder: Path) -> Iterator[Serve]:
    started: list[subprocess.Popen[bytes]] = []

    def serve() -> "subprocess.Popen[bytes]":
        paths = [str(ROOT), str(ROOT / "clients/prowl_client/gen")]
        environ = {
            **os.environ,
            "PYTHONPATH": os.pathsep.join(paths),
            "PROWL_SOCKET": str(folder / "s" / "prowl.sock"),
            "PROWL_STATE_DIRECTORY": str(folder / "state"),
        }
        process = subprocess.Popen([sys.executable, "-m", "prowl_svc.main"], env=environ, stderr=subprocess.PIPE)
        started.append(process)
        return process

    yield serve
    for process in started:
        process.kill()
        process.wait()
        if process.stderr is not None:
            process.stderr.close()


def first_line(process: "subprocess.Popen[bytes]") -> str:
    assert process.stderr is not None
    return process.stderr.readline().decode()


def test_a_second_instance_is_refused_and_the_first_lives_on(serve: Serve, folder: Path) -> None:
    """The message names the owner's pid, the socket and the way out."""
    first = serve()
    assert "serving" in first_line(first)
    second = serve()
    message = first_line(second)
    assert second.wait(20) == 1
    assert f"another instance (pid {first.pid}) serves {folder}/s/prowl.sock" in message
    assert "PROWL_SOCKET" in message
    assert first.poll() is None


def test_a_stale_socket_is_recovered_after_a_kill(serve: Serve, folder: Path) -> None:
    """kill -9 leaves sockets behind; the next instance takes them over, serves at once, and leaves none in the end."""
    first = serve()
    assert "serving" in first_line(first)
    first.kill()
    first.wait()
    assert (folder / "s" / "prowl.sock").exists()
    second = serve()
    assert "serving" in first_line(second)
    second.send_signal(signal.SIGTERM)
    assert second.wait(20) == 0
    assert [path.name for path in (folder / "s").iterdir()] == ["prowl.sock.lock"]


def test_sigterm_stops_gracefully(serve: Serve, folder: Path) -> None:
    """The exit status is 0, and neither the public nor the private socket stays."""
    process = serve()
    assert "serving" in first_line(process)
    process.send_signal(signal.SIGTERM)
    assert process.wait(20) == 0
    assert [path.name for path in (folder / "s").iterdir()] == ["prowl.sock.lock"]


def listens(path: Path) -> bool:
    with socket.socket(socket.AF_UNIX) as client:
        return client.connect_ex(str(path)) == 0


@pytest.mark.skipif(sys.platform != "linux", reason="looks at descriptors in /proc")
def test_closed_standard_descriptors_stay_unused(folder: Path) -> None:
    """Nothing that a library prints there can get into the socket or the journal."""
    paths = [str(ROOT), str(ROOT / "clients/prowl_client/gen")]
    environ = os.environ | {
        "PYTHONPATH": os.pathsep.join(paths),
        "PROWL_SOCKET": str(folder / "s" / "prowl.sock"),
        "PROWL_STATE_DIRECTORY": str(folder / "state"),
    }
    command = ["sh", "-c", 'exec "$@" <&- >&- 2>&-', "sh", sys.executable, "-m", "prowl_svc.main"]
    process = subprocess.Popen(command, env=environ)
    try:
        while not listens(folder / "s" / "prowl.sock"):
            assert process.poll() is None
            time.sleep(0.02)
        assert {os.readlink(f"/proc/{process.pid}/fd/{number}") for number in range(3)} == {os.devnull}
    finally:
        process.kill()
        process.wait()


def test_an_open_folder_is_refused(folder: Path) -> None:
    """Others could dial or replace a socket in a folder that is open to them."""
    (folder / "open").mkdir(mode=0o755)
    with pytest.raises(SocketError) as failure:
        SocketOwner(folder / "open" / "prowl.sock")
    assert "chmod 700" in str(failure.value)


def test_what_answers_is_never_unlinked(folder: Path) -> None:
    """A socket of another program that is reachable stays, and so does a file that is no socket."""
    path = folder / "prowl.sock"
    with socket.socket(socket.AF_UNIX) as other:
        other.bind(str(path))
        other.listen()
        with pytest.raises(SocketError) as failure:
            SocketOwner(path)
        assert "something else answers" in str(failure.value)
        assert path.exists()
    path.unlink()
    path.write_text("mine")
    with pytest.raises(SocketError) as failure:
        SocketOwner(path)
    assert "is not a socket" in str(failure.value)
    assert path.read_text() == "mine"


def test_ownership_can_be_taken_again_after_release(folder: Path) -> None:
    """The lock file stays, the lock does not."""
    owner = SocketOwner(folder / "prowl.sock")
    owner.release()
    again = SocketOwner(folder / "prowl.sock")
    assert int((folder / "prowl.sock.lock").read_text()) == os.getpid()
    again.release()


def test_a_state_folder_that_cannot_be_used_is_named(serve: Serve, folder: Path) -> None:
    """One line says what stands in the way: a file in its place, or another instance that writes there."""
    (folder / "state").write_text("mine")
    process = serve()
    message = first_line(process)
    assert process.wait(20) == 1
    assert message.startswith("prowl-serve: cannot start: ")
    assert f"{folder}/state" in message
    (folder / "state").unlink()
    (folder / "s" / "prowl.sock.lock").unlink()
    with contextlib.closing(Journal(folder / "state", lambda: "now")):
        process = serve()
        message = first_line(process)
        assert process.wait(20) == 1
    assert "dispatches.db is in use by another process" in message
    assert "PROWL_STATE_DIRECTORY" in message
