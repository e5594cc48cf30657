"""The rules by which client and service find the same socket."""

import os
import socket
from pathlib import Path

import pytest
from prowl_client import address


@pytest.mark.parametrize(
    ("environ", "expected"),
    [
        ({"PROWL_SOCKET": "/a/b.sock", "XDG_RUNTIME_DIR": "/run/u"}, "/a/b.sock"),
        ({"XDG_RUNTIME_DIR": "/run/u"}, "/run/u/prowl/prowl.sock"),
        ({"XDG_RUNTIME_DIR": "relative"}, f"/tmp/prowl-{os.getuid()}/prowl.sock"),
        ({}, f"/tmp/prowl-{os.getuid()}/prowl.sock"),
    ],
)
def test_the_socket_is_found_by_variable_then_runtime_directory_then_tmp(environ, expected):
    """PROWL_SOCKET wins, then XDG_RUNTIME_DIR if it is absolute, then a folder of the user's below /tmp."""
    assert Path(expected) == address.socket_path(environ)


def test_a_path_that_no_socket_can_have_is_refused_with_the_remedy():
    """A path longer than sun_path is refused before grpc sees it."""
    with pytest.raises(ValueError, match="PROWL_SOCKET"):
        address.target(Path("/" + "x" * 120))


def test_diagnosis_tells_apart_why_a_service_cannot_be_reached(tmp_path):
    """Nothing there, a stale socket, a plain file and a live socket are four answers of three kinds."""
    live, stale, plain = tmp_path / "live", tmp_path / "stale", tmp_path / "plain"
    plain.write_text("")
    with socket.socket(socket.AF_UNIX) as gone:
        gone.bind(str(stale))
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(live))
        listener.listen()

        found = [address.diagnose(path) for path in (live, stale, plain, tmp_path / "none", plain / "below")]

    assert [None, "absent", "foreign", "absent", "absent"] == found


@pytest.mark.skipif(os.getuid() == 0, reason="root may connect anywhere")
def test_a_socket_of_another_user_is_denied(tmp_path):
    """A socket that this user may not connect to is told apart from an absent one."""
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(tmp_path / "s"))
        listener.listen()
        (tmp_path / "s").chmod(0)

        assert "denied" == address.diagnose(tmp_path / "s")


def test_a_denial_tells_a_sandbox_from_another_user(tmp_path):
    """A socket of one's own that may not be connected to is kept from a program by a sandbox, such as Codex's."""
    own = tmp_path / "s"
    own.touch()

    assert "sandbox" in address.denial(own)
    assert "belongs to another user" == address.denial(tmp_path / "none")
    if os.getuid() == 0:
        os.chown(own, 12345, 12345)
        assert "belongs to another user" == address.denial(own)
