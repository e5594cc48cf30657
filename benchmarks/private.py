"""A private service in a temporary folder, as a process of its own, and what the kernel says of it."""

import contextlib
import json
import os
import shutil
import signal
import subprocess
import sys
import sysconfig
import tempfile
import time
from collections.abc import Iterator, Mapping
from pathlib import Path

from prowl.v1 import common_pb2, panes_pb2
from prowl_client.aio import AsyncClient
from prowl_client.sync import Client

__all__ = ["PATHS", "PYTHON", "PaneProgram", "PrivateService", "agent_program", "pane_request", "private_service"]

ROOT = Path(__file__).resolve().parents[1]
PATHS = os.pathsep.join(
    [*(str(ROOT / part) for part in (".", "clients", "clients/prowl_client/gen")), sysconfig.get_path("platlib")]
)
PYTHON = os.path.realpath(sys.executable)
_START_SECONDS = 30.0


class PrivateService:
    """One service; ``folder`` is its home, everything it knows is below."""

    def __init__(self, folder: Path, environ: Mapping[str, str]) -> None:
        self.folder = folder
        self.socket = folder / "run" / "prowl.sock"
        self._environ = {name: value for name, value in os.environ.items() if not name.startswith("PROWL_")} | {
            "HOME": str(folder),
            "PROWL_SOCKET": str(self.socket),
            "PROWL_STATE_DIRECTORY": str(folder / "state"),
            "PROWL_CONFIG": "",
            "XDG_CONFIG_HOME": str(folder),
            "PYTHONPATH": PATHS,
            **environ,
        }
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def pid(self) -> int:
        """The service's process."""
        assert self._process is not None
        return self._process.pid

    def start(self) -> float:
        """Start it and return the seconds until it serves."""
        began = time.monotonic()
        with (self.folder / "serve.log").open("ab") as log:
            self._process = subprocess.Popen(
                [sys.executable, "-m", "prowl_svc.main"],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                cwd=self.folder,
                env=self._environ,
                start_new_session=True,
            )
        while not self._answers():
            if self._process.poll() is not None or time.monotonic() - began > _START_SECONDS:
                raise RuntimeError(f"the service did not start: {self.log()[-2000:]}")
            time.sleep(0.005)
        return time.monotonic() - began

    def _answers(self) -> bool:
        if not self.socket.exists():
            return False
        try:
            with self.client() as client:
                client.get_info()
        except Exception:
            return False
        return True

    def kill(self) -> None:
        """End it without a warning."""
        assert self._process is not None
        self._process.kill()
        self._process.wait()

    def stop(self) -> None:
        """Ask it to stop, then insist."""
        if self._process is None or self._process.poll() is not None:
            return
        self._process.terminate()
        try:
            self._process.wait(30)
        except subprocess.TimeoutExpired:
            self.kill()

    def log(self) -> str:
        """What it wrote to its log."""
        return (self.folder / "serve.log").read_text("utf-8", "replace")

    def client(self) -> Client:
        """Return a client of it."""
        return Client(self.socket, timeout=60)

    def async_client(self) -> AsyncClient:
        """Return a client for a loop."""
        return AsyncClient(self.socket, timeout=60)

    def cpu(self) -> float:
        """Return the CPU seconds of all its threads so far, to the nanosecond where the kernel tells."""
        total = 0
        for task in Path(f"/proc/{self.pid}/task").iterdir():
            with contextlib.suppress(OSError):
                total += int((task / "schedstat").read_text().split()[0])
        return total / 1e9

    def descriptors(self) -> int:
        """Return how many descriptors it holds."""
        return len(os.listdir(f"/proc/{self.pid}/fd"))

    def memory(self) -> float:
        """Return its resident memory in MiB."""
        pages = int(Path(f"/proc/{self.pid}/statm").read_text().split()[1])
        return pages * os.sysconf("SC_PAGE_SIZE") / (1 << 20)

    def threads(self) -> int:
        """Return how many threads it has."""
        return len(os.listdir(f"/proc/{self.pid}/task"))


@contextlib.contextmanager
def private_service(**environ: str) -> Iterator[PrivateService]:
    """Run a service of one's own; its panes and its folder are gone in the end."""
    folder = Path(tempfile.mkdtemp(prefix="prowl-b-", dir="/tmp"))
    service = PrivateService(folder, environ)
    try:
        service.start()
        yield service
    finally:
        service.stop()
        _end_panes(folder)
        shutil.rmtree(folder, ignore_errors=True)


def _end_panes(folder: Path) -> None:
    """End programs of panes that a killed service left behind: those that run below the folder."""
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            with contextlib.suppress(OSError):
                if os.readlink(entry / "cwd").startswith(str(folder)):
                    os.kill(int(entry.name), signal.SIGKILL)


def agent_program(service: PrivateService, name: str) -> str:
    """Return an interpreter under an agent's name: the kernel names a process after the file that was executed."""
    link = service.folder / "bin" / name
    link.parent.mkdir(exist_ok=True)
    if not link.exists():
        link.symlink_to(PYTHON)
    return str(link)


def pane_request(service: PrivateService, *argv: str, title: str = "") -> panes_pb2.CreatePaneRequest:
    """Return the request for a pane of 120x40 that runs ``argv``."""
    return panes_pb2.CreatePaneRequest(
        argv=argv,
        cwd=str(service.folder),
        size=common_pb2.Size(columns=120, rows=40),
        title=title,
        env={"PYTHONPATH": PATHS, "PYTHONDONTWRITEBYTECODE": "1"},
    )


class PaneProgram:
    """A pane that runs ``pane_program.py`` as Claude; ``go`` starts it, ``result`` waits for what it measured."""

    def __init__(self, service: PrivateService, client: Client, what: str, count: int, rate: float) -> None:
        self._client = client
        self._result = service.folder / f"{what}-{len(list(service.folder.iterdir()))}-{time.monotonic_ns()}.json"
        program = str(Path(__file__).with_name("pane_program.py"))
        argv = (agent_program(service, "claude"), program, what, str(self._result), str(count), str(rate))
        self.pane = client.create_pane(pane_request(service, *argv)).target.pane.id

    def ready(self) -> None:
        """Wait until it runs and its agent is known."""
        until = time.monotonic() + _START_SECONDS
        while not (self._shows("ready") and any(row.id == self.pane for row in self._client.list_agents().agents)):
            if time.monotonic() > until:
                raise RuntimeError("the agent in a pane was not found")
            time.sleep(0.1)

    def _shows(self, word: str) -> bool:
        return word in self._client.read_pane(panes_pb2.ReadPaneRequest(pane=self.pane)).text

    def go(self) -> None:
        """Let it begin."""
        self._client.send_text(panes_pb2.SendTextRequest(pane=self.pane, text="go"))

    def result(self, patience: float = 120.0) -> list[int]:
        """Return what it measured, once it is done."""
        until = time.monotonic() + patience
        while not self._result.exists():
            if time.monotonic() > until:
                raise RuntimeError("a pane's program did not end in time")
            time.sleep(0.05)
        measured: list[int] = json.loads(self._result.read_text("utf-8"))
        return measured
