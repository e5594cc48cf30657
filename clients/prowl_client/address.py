"""Where the service listens: one Unix socket, found by the same rules on both sides (signals.md §7.1)."""

import os
import socket
import stat
from collections.abc import Mapping
from pathlib import Path

__all__ = ["MAX_PATH_BYTES", "denial", "diagnose", "socket_path", "target"]

MAX_PATH_BYTES = 107
"""Longest path that fits into sun_path with its terminating zero on Linux; macOS takes 103."""


def socket_path(environ: Mapping[str, str] | None = None) -> Path:
    """Return the absolute path of the service's socket.

    ``PROWL_SOCKET`` when set, else ``prowl/prowl.sock`` below ``XDG_RUNTIME_DIR``, else below ``/tmp/prowl-<uid>``.
    """
    environ = os.environ if environ is None else environ
    named = environ.get("PROWL_SOCKET")
    if named:
        return Path(named).expanduser().absolute()
    runtime = environ.get("XDG_RUNTIME_DIR", "")
    if runtime.startswith("/"):
        return Path(runtime) / "prowl" / "prowl.sock"
    return Path(f"/tmp/prowl-{os.getuid()}/prowl.sock")


def target(path: Path) -> str:
    """Return the gRPC target of a socket path; raises ValueError when the path is too long for a socket."""
    if len(os.fsencode(path)) > MAX_PATH_BYTES:
        raise ValueError(
            f"the socket path is longer than {MAX_PATH_BYTES} bytes: {path}; set PROWL_SOCKET to a shorter one"
        )
    return f"unix:{path}"


def diagnose(path: Path) -> str | None:
    """Say by one connection why the service cannot be reached: ``absent``, ``denied`` or ``foreign``; None if it can.

    ``absent`` means that nothing listens, ``denied`` that this user may not connect, ``foreign`` that the path is no
    socket or fails in some other way.
    """
    try:
        if not stat.S_ISSOCK(path.stat().st_mode):
            return "foreign"
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as probe:
            probe.settimeout(1.0)
            probe.connect(str(path))
    except (FileNotFoundError, ConnectionRefusedError, NotADirectoryError):
        return "absent"
    except PermissionError:
        return "denied"
    except TimeoutError:
        return None
    except OSError:
        return "foreign"
    return None


def denial(path: Path) -> str:
    """Say in words why this user may not connect to ``path``."""
    try:
        if path.stat().st_uid == os.getuid():
            return "is yours, but a sandbox around this program, or the socket's mode, forbids it"
    except OSError:
        pass  # in a folder that only its owner may look into
    return "belongs to another user"
