"""The real service in a process of its own, and one of its panes as a test sees it: through gRPC alone."""

import asyncio
import os
import sys
import tempfile
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Self

from prowl.v1 import agents_pb2, common_pb2, panes_pb2
from prowl_client.aio import AsyncClient
from prowl_client.errors import ProwlError
from prowl_client.events import Gap

__all__ = ["PATHS", "Service", "ServicePane"]

_ROOT = Path(__file__).resolve().parent.parent.parent
PATHS = (_ROOT, _ROOT / "clients", _ROOT / "clients/prowl_client/gen")
_START = 20.0  # seconds
_GRACE = 10.0


class Service:
    """``async with Service() as service``: a private service on a private socket, stopped at the end."""

    def __init__(self) -> None:
        self._folder = tempfile.TemporaryDirectory(prefix="prowl-live-")
        self.socket = Path(self._folder.name) / "prowl.sock"
        self._log = Path(self._folder.name) / "log"
        self._process: asyncio.subprocess.Process | None = None
        self._client: AsyncClient | None = None

    @property
    def client(self) -> AsyncClient:
        """The connection to the service."""
        assert self._client is not None
        return self._client

    def log(self) -> str:
        """Return what the service logged, which holds no screen text."""
        return self._log.read_text()

    async def __aenter__(self) -> Self:
        folder = Path(self._folder.name)
        environment = {
            "HOME": str(folder),
            "PATH": os.environ["PATH"],
            "PYTHONPATH": os.pathsep.join(map(str, PATHS)),
            "PROWL_SOCKET": str(self.socket),
            "LANG": "C.UTF-8",
        }
        with self._log.open("w") as log:
            self._process = await asyncio.create_subprocess_exec(
                *(sys.executable, "-m", "prowl_svc.main"),
                env=environment,
                cwd=_ROOT,
                stdin=asyncio.subprocess.DEVNULL,
                stdout=log,
                stderr=log,
            )
        self._client = AsyncClient(self.socket)
        try:
            await self._answering()
        except BaseException:
            await self.__aexit__()
            raise
        return self

    async def _answering(self) -> None:
        assert self._process is not None
        loop = asyncio.get_running_loop()
        end = loop.time() + _START
        while True:
            try:
                await self.client.get_info()
                return
            except ProwlError as error:
                if self._process.returncode is not None or loop.time() > end:
                    raise RuntimeError(f"the service did not start: {error}\n{self.log()}") from error
                await asyncio.sleep(0.1)

    async def __aexit__(self, *_: object) -> None:
        if self._client is not None:
            await self._client.close()
        if self._process is not None and self._process.returncode is None:
            self._process.terminate()
            try:
                async with asyncio.timeout(_GRACE):
                    await self._process.wait()
            except TimeoutError:
                self._process.kill()
                await self._process.wait()
        self._folder.cleanup()

    async def open(
        self, argv: Sequence[str], environment: Mapping[str, str], cwd: Path, columns: int, rows: int
    ) -> "ServicePane":
        """Start a program in a new pane and observe it from its first event on."""
        request = panes_pb2.CreatePaneRequest(
            argv=argv, cwd=str(cwd), env=environment, size=common_pb2.Size(columns=columns, rows=rows)
        )
        created = await self.client.create_pane(request)
        return ServicePane(self, created.target.pane.id)


class ServicePane:
    """One hosted pane: its screen, its keyboard, and all that was observed: statuses in order, reasons with times."""

    def __init__(self, service: Service, ident: str) -> None:
        self._service = service
        self.ident = ident
        self.statuses: list[str] = []
        self.reasons: list[tuple[float, str]] = []
        self.entry: common_pb2.AgentEntry | None = None
        self._changed = asyncio.Condition()
        self._observer = asyncio.create_task(self._observe())

    @property
    def status(self) -> str:
        """The status shown now: ``working``, ``blocked``, ``done``, ``idle``, or ``none`` without an agent."""
        return self.statuses[-1] if self.statuses else "none"

    async def until(self, *wanted: str, seconds: float = 15.0) -> str:
        """Wait for one of these statuses; returns the status then, whatever it is."""
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds), self._changed:
                await self._changed.wait_for(lambda: self.status in wanted)
        return self.status

    async def reasoned(self, reason: str, seconds: float = 10.0) -> None:
        """Wait until a reason decides, which is no event by itself; an AssertionError tells the one that does."""
        loop = asyncio.get_running_loop()
        end = loop.time() + seconds
        while (now := await self.reason()) != reason:
            if loop.time() > end:
                request = agents_pb2.ExplainAgentRequest(pane=self.ident)
                known = "\n".join((await self._service.client.explain_agent(request)).evidence)
                raise AssertionError(f"{now} decides, not {reason}:\n{known}")
            await asyncio.sleep(0.05)

    async def reason(self) -> str:
        """Return the id of what decides now, also where nobody was told that it changed."""
        for row in (await self._service.client.list_agents()).agents:
            if row.target.pane.id == self.ident:
                return row.entry.detection_reason
        return "nothing"

    async def process(self) -> int:
        """Return the pid of the process that was found to be the agent."""
        explained = await self._service.client.explain_agent(agents_pb2.ExplainAgentRequest(pane=self.ident))
        return explained.candidates[0].pid

    async def view(self, viewed: bool) -> None:
        """Report that a person looks at the pane, or no longer does."""
        request = panes_pb2.ViewPaneRequest(pane=self.ident, viewed=viewed, viewer="test")
        await self._service.client.view_pane(request)

    async def rows(self) -> list[str]:
        """Return the rows that the classifier reads."""
        request = panes_pb2.ReadPaneRequest(pane=self.ident, source=panes_pb2.READ_SOURCE_DETECTION)
        return (await self._service.client.read_pane(request)).text.split("\n")

    async def title(self) -> str:
        """Return the title as the roster shows it."""
        return self.entry.title if self.entry else ""

    async def type(self, text: str) -> None:
        """Type text."""
        await self._service.client.send_text(panes_pb2.SendTextRequest(pane=self.ident, text=text))

    async def press(self, key: str) -> None:
        """Press one key."""
        await self._service.client.send_key(panes_pb2.SendKeyRequest(pane=self.ident, key=key))

    async def close(self) -> None:
        """Close the pane and stop observing."""
        with suppress(ProwlError):
            await self._service.client.close_pane(panes_pb2.ClosePaneRequest(target=self.ident, force=True))
        self._observer.cancel()
        with suppress(asyncio.CancelledError, ProwlError):
            await self._observer

    async def _observe(self) -> None:
        async for event in self._service.client.observe(self.ident):
            if isinstance(event, Gap):
                continue
            match event.WhichOneof("event"):
                case "snapshot":
                    entry = event.snapshot.agent if event.snapshot.HasField("agent") else None
                case "changed":
                    entry = event.changed
                case "removed" | "surface_closed":
                    entry = None
                case _:
                    continue
            self.entry = entry
            if entry is not None:
                self.reasons.append((asyncio.get_running_loop().time(), entry.detection_reason))
            status = _name(entry)
            if not self.statuses or self.statuses[-1] != status:
                self.statuses.append(status)
            async with self._changed:
                self._changed.notify_all()


def _name(entry: common_pb2.AgentEntry | None) -> str:
    if entry is None:
        return "none"
    return common_pb2.AgentStatus.Name(entry.status).removeprefix("AGENT_STATUS_").lower()
