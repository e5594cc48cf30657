"""Reaching the service, and starting it when a command needs it."""

import argparse
import fcntl
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from prowl_cli.envelope import CliError

if TYPE_CHECKING:
    from prowl_client.aio import AsyncClient
    from prowl_client.sync import Client

__all__ = ["client", "client_async", "ensure_running", "serve_command", "socket_of"]

START_TIMEOUT = 20.0
_POLL = 0.02
_LOG_LIMIT = 1 << 20


def socket_of(args: argparse.Namespace) -> Path:
    """Return the socket that the command's options and the environment name."""
    from prowl_client import address

    return Path(args.socket).expanduser().absolute() if args.socket else address.socket_path()


def client(args: argparse.Namespace) -> "Client":
    """Return a client of the running service, started first when it must be and may be."""
    from prowl_client.sync import Client

    path = socket_of(args)
    if not args.no_start:
        ensure_running(path)
    return Client(path)


def client_async(args: argparse.Namespace) -> "AsyncClient":
    """Return an asyncio client of the running service, started first when it must be and may be."""
    from prowl_client.aio import AsyncClient

    path = socket_of(args)
    if not args.no_start:
        ensure_running(path)
    return AsyncClient(path)


def serve_command() -> list[str]:
    """Return the command that runs the service of this installation."""
    beside = Path(sys.executable).with_name("prowl-serve")
    if beside.exists():
        return [str(beside)]
    found = shutil.which("prowl-serve")
    return [found] if found else [sys.executable, "-m", "prowl_svc.main"]


def ensure_running(path: Path, clock: Callable[[], float] = time.monotonic) -> None:
    """Start the service at ``path`` unless something listens there; return once it accepts connections.

    The service gets a session of its own, so that it outlives the terminal. Raises CliError ``APP_NOT_RUNNING`` when it
    ends or does not listen within 20 seconds.
    """
    from prowl_client import address

    if address.diagnose(path) != "absent":
        return
    try:
        log = _log_file()
    except OSError as error:
        raise CliError("APP_NOT_RUNNING", f"The service could not start, for want of a log: {error}") from None
    environ = dict(os.environ, PROWL_SOCKET=str(path))
    with log.open("ab") as output:
        child = subprocess.Popen(
            serve_command(),
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=output,
            cwd="/",
            env=environ,
            start_new_session=True,
        )
    deadline = clock() + START_TIMEOUT
    while address.diagnose(path) == "absent":
        # Another command may have started one at the same moment: then ours is refused, and its is there soon.
        if child.poll() is not None and not _owned(path) and address.diagnose(path) == "absent":
            raise CliError("APP_NOT_RUNNING", f"The service could not start: {_last_line(log)}")
        if clock() > deadline:
            raise CliError("APP_NOT_RUNNING", f"The service did not start within {START_TIMEOUT:.0f} s; see {log}")
        time.sleep(_POLL)


def _owned(path: Path) -> bool:
    """Tell whether an instance holds the lock of the socket (signals.md §7.1)."""
    try:
        with path.with_name(path.name + ".lock").open("rb") as lock:
            fcntl.flock(lock, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    except OSError:
        return False
    return False


def _log_file() -> Path:
    """Return the file that a service started by a command logs to; an overlong one is set aside first."""
    base = os.environ.get("XDG_STATE_HOME", "")
    folder = (Path(base) if base.startswith("/") else Path.home() / ".local" / "state") / "prowl"
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    log = folder / "serve.log"
    if log.exists() and log.stat().st_size > _LOG_LIMIT:
        log.replace(log.with_suffix(".log.1"))
    log.touch(mode=0o600)
    return log


def _last_line(log: Path) -> str:
    lines = log.read_text("utf-8", "replace").splitlines()
    return lines[-1] if lines else f"it said nothing; try {' '.join(serve_command())}"
