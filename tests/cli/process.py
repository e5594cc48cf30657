"""The command as a process, with a service of its own below one folder."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

from prowl.v1 import panes_pb2
from prowl_client.sync import Client

from tests.cli.conftest import validate


def environment(folder):
    """Return an environment in which everything of Prowl is below ``folder``."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("PROWL_")}
    return kept | {
        "PROWL_SOCKET": str(folder / "run" / "s"),
        "XDG_STATE_HOME": str(folder / "state"),
        "XDG_CONFIG_HOME": str(folder / "config"),
        "PYTHONPATH": os.pathsep.join(path for path in sys.path if path),
    }


def stop(folder):
    """Stop the service that was started below ``folder``, if any."""
    lock = folder / "run" / "s.lock"
    if lock.exists() and lock.read_text().strip():
        pid = int(lock.read_text())
        os.kill(pid, signal.SIGTERM)
        until(lambda: not running(pid))


def running(pid):
    """Tell whether a process runs; a zombie does not."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(") ")[2][0] not in "ZX"
    except OSError:
        return False


def until(true, seconds=20):
    """Return the first true value of a function; fail when there is none in time."""
    deadline = time.monotonic() + seconds
    while not (value := true()):
        assert time.monotonic() < deadline, "did not happen in time"
        time.sleep(0.02)
    return value


class Prowl:
    """The command as a process, with everything below one folder."""

    def __init__(self, folder):
        self.folder = folder
        self.environment = environment(folder)

    def run(self, *argv, stdin=""):
        """Run it to its end."""
        return subprocess.run(
            [sys.executable, "-m", "prowl_cli.main", *argv],
            env=self.environment,
            input=stdin,
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )

    def data(self, *argv, stdin=""):
        """Return the data of a successful JSON answer, which must be as the schema says."""
        done = self.run(*argv, stdin=stdin)
        envelope = json.loads(done.stdout)
        validate(envelope)
        assert envelope["ok"], envelope
        return envelope["data"]

    def client(self):
        """Return a client of the running service, for looking at it often."""
        return Client(self.environment["PROWL_SOCKET"])

    def pane(self, *command, size="80x24"):
        """Create a pane and return its handle."""
        made = self.data("create", "--json", "--size", size, "--", *command)
        return self.row(made["target"]["pane"]["id"]).target.pane.handle

    def row(self, pane):
        """Return the row of a pane by id or handle."""
        with self.client() as client:
            rows = client.list_panes().panes
        return next(row for row in rows if pane in (row.target.pane.id, row.target.pane.handle))

    def text(self, handle):
        """Return the text that the classifier reads."""
        with self.client() as client:
            return client.read_pane(panes_pb2.ReadPaneRequest(pane=handle, source="READ_SOURCE_DETECTION")).text
