"""One attachment: the person's terminal on one side, the stream of a pane on the other."""

import argparse
import asyncio
import os
import signal
import sys
from collections.abc import AsyncIterator
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import grpc
from prowl.v1 import common_pb2, panes_pb2
from prowl_client.aio import AsyncClient
from prowl_client.errors import ProwlError
from prowl_client.events import Gap

from prowl_cli import connect, encode, status_report
from prowl_cli.envelope import CliError
from prowl_cli.keys import Answer, Detach, Focus, InputFilter
from prowl_cli.terminal import Output, own_screen, raw_input, size_of, take_answer, write_all

__all__ = ["Attachment"]

if TYPE_CHECKING:
    Responses = AsyncIterator[panes_pb2.AttachPaneResponse]

_ESCAPE_DELAY = 0.03  # how long a lone Escape is held back before it counts as the key
_ANSWER_DELAY = 1.0  # the same for what begins as only an answer of the terminal does
_LAST_ANSWER = 0.5  # how long leaving waits for an answer, which would be typed into the shell
_UNREPORTED_VIEW = 15.0
_CHUNK = 32 * 1024
_SIGNALS = (signal.SIGTERM, signal.SIGHUP)


class Attachment:
    """One attachment: the terminal on one side, the stream on the other."""

    def __init__(self, args: argparse.Namespace, pane: str) -> None:
        self._args = args
        self._pane = pane
        self._in = sys.stdin.fileno()
        self._out = sys.stdout.fileno()
        self._outgoing: asyncio.Queue[panes_pb2.AttachPaneRequest | None] = asyncio.Queue(maxsize=64)
        self._detached = asyncio.Event()
        self._end = "closed"
        self._status = 0
        self._handle = pane
        self._report = status_report.StatusReport()

    async def run(self) -> int:
        """Run it; returns the program's exit status when it ended, else 0."""
        async with connect.client_async(self._args) as client:
            call = client.panes.AttachPane(self._requests())
            try:
                await self._put(open=self._open())
                responses = aiter(call)
                first = await self._first(client, responses)
                if first.attached.pane.id == os.environ.get("PROWL_PANE_ID"):
                    raise CliError(
                        "INVALID_ARGUMENT", "This terminal is that pane; it would show its own output for ever."
                    )
                self._handle = first.attached.pane.handle or self._pane
                with raw_input(self._in):
                    try:
                        with own_screen(self._out) as output:
                            await self._attached(client, responses, output, first.attached.pane.id)
                    finally:
                        if self._report.waiting:
                            take_answer(self._in, _LAST_ANSWER)
            finally:
                call.cancel()
        suffix = f" with status {self._status}" if self._end == "exited" else ""
        print(f"[{self._handle} {self._end}{suffix}]", file=sys.stderr)
        return self._status

    async def _attached(self, client: AsyncClient, responses: "Responses", output: Output, pane: str) -> None:
        loop = asyncio.get_running_loop()
        loop.add_signal_handler(signal.SIGWINCH, self._resized)
        for number in _SIGNALS:
            loop.add_signal_handler(number, self._detached.set)
        reading = asyncio.ensure_future(self._read())
        showing = asyncio.ensure_future(self._show(client, responses, output))
        leaving = asyncio.ensure_future(self._detached.wait())
        telling = asyncio.ensure_future(self._tell(client, pane))
        try:
            await asyncio.wait({reading, showing, leaving}, return_when=asyncio.FIRST_COMPLETED)
            if showing.done():
                await showing
            elif reading.done():
                await reading
                self._end = "detached"
            else:
                self._end = "detached"
        finally:
            loop.remove_reader(self._in)
            for task in (reading, showing, leaving, telling):
                task.cancel()
                with suppress(asyncio.CancelledError, Exception):
                    await task
            write_all(self._out, self._report.ends())

    def _open(self) -> panes_pb2.AttachOpen:
        columns, rows = size_of(self._out)
        size = None if self._args.read_only else common_pb2.Size(columns=columns, rows=rows)
        return panes_pb2.AttachOpen(
            pane=self._pane,
            size=size,
            read_only=self._args.read_only,
            focused=True,  # whoever types the command looks at this terminal; see _read for what follows
        )

    async def _put(self, **message: Any) -> None:
        await self._outgoing.put(panes_pb2.AttachPaneRequest(**message))

    async def _requests(self) -> AsyncIterator[panes_pb2.AttachPaneRequest]:
        while (request := await self._outgoing.get()) is not None:
            yield request

    def _resized(self) -> None:
        if self._args.read_only:
            return
        columns, rows = size_of(self._out)
        request = panes_pb2.AttachPaneRequest(resize=common_pb2.Size(columns=columns, rows=rows))
        with suppress(asyncio.QueueFull):
            self._outgoing.put_nowait(request)

    async def _first(self, client: AsyncClient, responses: "Responses") -> panes_pb2.AttachPaneResponse:
        try:
            first = await anext(responses, None)
        except grpc.RpcError as error:
            raise client.error(error) from None
        if first is None:
            raise CliError("TRANSPORT_FAILED", "The service ended the attachment.")
        return first

    async def _show(self, client: AsyncClient, responses: "Responses", output: Output) -> None:
        """Write the pane's output until the stream ends.

        A key that is pressed when the service has just ended the stream cannot be sent, for which grpc calls the whole
        call failed. What had arrived is read all the same, since this iterates; ``read`` would throw it away.
        """
        try:
            async for response in responses:
                which = response.WhichOneof("message")
                if which == "output":
                    output.write(self._report.passing(response.output))
                elif which == "exited":
                    self._end, self._status = "exited", response.exited
        except grpc.RpcError as error:
            if self._end != "exited":
                raise client.error(error) from None

    async def _tell(self, client: AsyncClient, pane: str) -> None:
        """Report the state of the pane's agent to the terminal, unless told not to; without the service it ends."""
        with suppress(ProwlError):
            wanted = status_report.wanted(self._args.report_status, os.environ)
            if wanted is None:
                settings = (await client.get_info()).settings
                wanted = any((item.name, item.value) == ("report_status", "true") for item in settings)
            if not wanted:
                return
            async for event in client.observe(pane):
                if isinstance(event, Gap):
                    continue
                match event.WhichOneof("event"):
                    case "snapshot":
                        agent = event.snapshot.agent if event.snapshot.HasField("agent") else None
                    case "changed":
                        agent = event.changed
                    case "removed":
                        agent = None
                    case _:
                        continue
                state = encode.status(agent.status) if agent else ""
                write_all(self._out, self._report.shows(status_report.encode(state, agent.name if agent else "")))

    async def _read(self) -> None:
        """Send what is typed until the detach key or the terminal's end; one chunk at a time, so that input waits.

        A terminal that reports its focus is believed. One that does not counts as looked at from each key on for as
        long as the service believes a viewer that does not repeat itself.
        """
        loop = asyncio.get_running_loop()
        keys = InputFilter(self._args.detach_key)
        ready = asyncio.Event()
        reports, focused = False, True
        while True:
            if keys.holding:
                patience: float | None = _ANSWER_DELAY if keys.answering else _ESCAPE_DELAY
            else:
                patience = _UNREPORTED_VIEW if focused and not reports else None
            loop.add_reader(self._in, ready.set)
            try:
                async with asyncio.timeout(patience):
                    await ready.wait()
                data = os.read(self._in, _CHUNK)
            except TimeoutError:
                if not keys.holding:
                    focused = False
                    await self._put(focused=False)
                    continue
                events = keys.flush()
            except OSError:
                return
            else:
                if not data:
                    return
                events = keys.feed(data)
            finally:
                loop.remove_reader(self._in)
                ready.clear()
            for event in events:
                if isinstance(event, Detach):
                    return
                if isinstance(event, Focus):
                    reports, focused = True, event.focused
                    await self._put(focused=focused)
                    continue
                if isinstance(event, Answer):
                    write_all(self._out, self._report.answered(event.data))
                    continue
                if not reports and not focused:
                    focused = True
                    await self._put(focused=True)
                if not self._args.read_only:
                    await self._put(input=event)
