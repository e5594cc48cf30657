"""The little HTTP/1.1 that a model server needs: requests in, JSON or server-sent events out."""

import asyncio
import gzip
import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

__all__ = ["Exchange", "HttpRequest", "ListenerGone", "read_request"]

_MAX_BODY = 64 << 20
_TICK = 0.1  # seconds; how late a client that hung up is noticed


class ListenerGone(Exception):
    """The client hung up, which is how a CLI interrupts the model."""


@dataclass(frozen=True, slots=True)
class HttpRequest:
    """One request with its body read and decompressed."""

    method: str
    target: str
    headers: Mapping[str, str]
    body: bytes

    @property
    def path(self) -> str:
        """The target without its query."""
        return self.target.partition("?")[0]

    def json(self) -> dict[str, Any]:
        """Return the body as an object, empty when it is none."""
        try:
            value = json.loads(self.body or b"{}")
        except ValueError:
            return {}
        return value if isinstance(value, dict) else {}


async def read_request(reader: asyncio.StreamReader) -> HttpRequest | None:
    """Read the next request of a connection, None at its end."""
    head = await reader.readuntil(b"\r\n\r\n")
    first, *lines = head.decode("latin-1").rstrip("\r\n").split("\r\n")
    method, target, _ = first.split(" ", 2)
    headers = {name.strip().lower(): value.strip() for name, _, value in (line.partition(":") for line in lines)}
    if headers.get("transfer-encoding", "").lower() == "chunked":
        body = b""
        while size := int((await reader.readline()).split(b";")[0], 16):
            body += await reader.readexactly(size)
            await reader.readline()
        await reader.readline()
    else:
        body = await reader.readexactly(min(int(headers.get("content-length") or 0), _MAX_BODY))
    if headers.get("content-encoding") == "gzip":
        body = gzip.decompress(body)
    return HttpRequest(method, target, headers, body)


class Exchange:
    """The answering side of one request."""

    def __init__(self, request: HttpRequest, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.request = request
        self._reader = reader
        self._writer = writer

    async def pause(self, seconds: float) -> None:
        """Wait; raises ListenerGone as soon as the client has hung up."""
        loop = asyncio.get_running_loop()
        end = loop.time() + seconds
        while True:
            if self._reader.at_eof() or self._writer.is_closing():
                raise ListenerGone
            left = end - loop.time()
            if left <= 0:
                return
            await asyncio.sleep(min(left, _TICK))

    async def send_json(self, value: Any, status: int = 200) -> None:
        """Answer with one JSON document."""
        body = json.dumps(value).encode()
        await self._head(status, "application/json", f"content-length: {len(body)}")
        if self.request.method != "HEAD":
            await self._write(body)

    async def start_events(self) -> None:
        """Begin a stream of server-sent events."""
        await self._head(200, "text/event-stream", "transfer-encoding: chunked")

    async def event(self, value: Any, name: str | None = None) -> None:
        """Send one event; text goes as it is, anything else as JSON."""
        data = value if isinstance(value, str) else json.dumps(value)
        chunk = (f"event: {name}\n" if name else "") + f"data: {data}\n\n"
        raw = chunk.encode()
        await self._write(b"%x\r\n%s\r\n" % (len(raw), raw))

    async def end_events(self) -> None:
        """End the stream."""
        await self._write(b"0\r\n\r\n")

    async def _head(self, status: int, kind: str, framing: str) -> None:
        await self._write(f"HTTP/1.1 {status} Mock\r\ncontent-type: {kind}\r\n{framing}\r\n\r\n".encode())

    async def _write(self, data: bytes) -> None:
        if self._writer.is_closing():
            raise ListenerGone
        self._writer.write(data)
        try:
            await self._writer.drain()
        except ConnectionError as error:
            raise ListenerGone from error
