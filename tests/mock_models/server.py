"""The mock model server: one per CLI under test, on loopback, in the caller's event loop."""

import asyncio
import time
import uuid
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any, Self

from tests.mock_models import internal
from tests.mock_models.dialects import anthropic, chat, gemini, responses
from tests.mock_models.script import Request, Step, current_steps
from tests.mock_models.tools import TOOL_VERBS, offers
from tests.mock_models.turn import perform
from tests.mock_models.wire import Exchange, HttpRequest, ListenerGone, read_request

__all__ = ["MockServer", "Phase"]

_DIALECTS = (
    ("/messages", anthropic),
    ("/responses", responses),
    ("/chat/completions", chat),
    (":generateContent", gemini),
    (":streamGenerateContent", gemini),
)
_COUNTS = {"/count_tokens": {"input_tokens": 1234}, ":countTokens": {"totalTokens": 1234}}
_MODELS = ("mock-model", "gpt-4.1", "claude-sonnet-4-5")


class Phase:
    """What the conversation is doing, as the model sees it; side requests do not count."""

    QUIET = "quiet"
    ANSWERING = "answering"
    TOOL = "tool"
    FAILED = "failed"


@dataclass(frozen=True, slots=True)
class _Open:
    steps: tuple[Step, ...]
    side: bool
    since: float


class MockServer:
    """Speaks every dialect on one port; ``async with`` starts and stops it.

    ``project`` is the folder that file tools get paths in; it may be set later.
    ``script`` is what a prompt without a directive asks for, see script.parse.
    """

    def __init__(self, project: Path = Path("/tmp"), port: int = 0) -> None:
        self.port = port
        self.project = project
        self.script: list[tuple[Step, ...]] = []
        self._server: asyncio.Server | None = None
        self._connections: dict[asyncio.Task[None], asyncio.StreamWriter] = {}
        self._open: dict[str, _Open] = {}
        self._ended = Phase.QUIET
        self._changed = asyncio.Condition()
        self.served: list[str] = []
        self._tools: frozenset[str] = frozenset()

    @property
    def url(self) -> str:
        """The base address, without a path."""
        return f"http://127.0.0.1:{self.port}"

    @property
    def phase(self) -> str:
        """One of the Phase constants."""
        return Phase.ANSWERING if self.answering() else self._ended

    def answering(self) -> list[Step]:
        """Return the steps of the conversation that are being carried out now."""
        return [step for entry in self._open.values() if not entry.side for step in entry.steps]

    def offers(self, verb: str) -> bool:
        """Tell whether the CLI offered a tool for a verb with its latest request of the conversation."""
        return offers(verb, self._tools)

    async def wait(self, condition: Callable[[Self], bool], seconds: float) -> bool:
        """Wait until a condition on this server holds; False when it did not in time."""
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds), self._changed:
                await self._changed.wait_for(lambda: condition(self))
                return True
        return False

    async def __aenter__(self) -> Self:
        self._server = await asyncio.start_server(self._connected, "127.0.0.1", self.port)
        self.port = self._server.sockets[0].getsockname()[1]
        return self

    async def __aexit__(self, *_: object) -> None:
        if self._server is not None:
            self._server.close()
        for writer in self._connections.values():
            writer.close()
        await asyncio.gather(*self._connections)

    async def _connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._connections[task] = writer
        try:
            while (request := await read_request(reader)) is not None:
                await self._serve(Exchange(request, reader, writer))
        except (ListenerGone, ConnectionError, asyncio.IncompleteReadError, asyncio.LimitOverrunError, ValueError):
            pass
        finally:
            del self._connections[task]
            writer.close()

    async def _serve(self, out: Exchange) -> None:
        request = out.request
        if request.path == "/_state":
            await out.send_json(self._state())
            return
        for ending, module in _DIALECTS:
            if request.method == "POST" and request.path.endswith(ending):
                await self._converse(module, request, out)
                return
        await out.send_json(*self._other(request))

    def _other(self, request: HttpRequest) -> tuple[Any, int]:
        """Answer what CLIs ask besides model calls."""
        for ending, count in _COUNTS.items():
            if request.path.endswith(ending):
                return count, 200
        if request.method in ("GET", "HEAD") and request.path.rstrip("/").endswith("/models"):
            return _models(), 200
        known = internal.answer(request)
        if known is not None:
            return known, 200
        return {"error": {"type": "not_found_error", "message": "mock: not found"}}, 404

    async def _converse(self, module: ModuleType, http: HttpRequest, out: Exchange) -> None:
        request: Request = module.read(http.json())
        request.stream = request.stream or "stream" in http.path
        request.beside = http.headers.get("x-grok-req-id", "").startswith("xai-")
        steps = current_steps(request, self.script)
        said = " ++ ".join(map(str, steps))
        if not request.side:
            self._tools = frozenset(request.tools)
        ident = uuid.uuid4().hex
        self.served.append(said)
        await self._note(ident, _Open(steps, request.side, time.time()))
        ended = Phase.QUIET
        try:
            if steps[0].verb == "err":
                ended = Phase.FAILED
                code = int(steps[0].argument or 500)
                await out.send_json(_error(code), code)
            else:
                await module.answer(request, perform(steps, request, self.project, out.pause), out, ident)
                ended = Phase.TOOL if steps[-1].verb in TOOL_VERBS else Phase.QUIET
        finally:
            if not request.side:
                self._ended = ended
            await self._note(ident, None)

    async def _note(self, ident: str, entry: _Open | None) -> None:
        if entry is None:
            self._open.pop(ident, None)
        else:
            self._open[ident] = entry
        async with self._changed:
            self._changed.notify_all()

    def _state(self) -> dict[str, Any]:
        entries = [
            {"steps": list(map(str, entry.steps)), "side": entry.side, "seconds": round(time.time() - entry.since, 3)}
            for entry in self._open.values()
        ]
        return {"phase": self.phase, "inflight": entries}


def _models() -> dict[str, Any]:
    data = [
        {
            "id": name,
            "object": "model",
            "type": "model",
            "created": 1,
            "owned_by": "mock",
            "display_name": name,
            "context_length": 200000,
            "created_at": "2025-01-01T00:00:00Z",
        }
        for name in _MODELS
    ]
    return {"object": "list", "data": data, "models": [], "has_more": False}


def _error(code: int) -> dict[str, Any]:
    kind = "overloaded_error" if code == 529 else "api_error"
    detail = {"type": kind, "code": code, "message": f"mock error {code}", "status": "UNAVAILABLE"}
    return {"type": "error", "error": detail}
