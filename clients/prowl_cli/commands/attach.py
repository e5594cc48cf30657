"""``prowl attach PANE``: connect this terminal to a pane."""

import argparse
import asyncio
import os
import signal
import sys
from collections.abc import AsyncIterator
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from prowl_cli import connect, parser
from prowl_cli.envelope import CliError
from prowl_cli.keys import Detach, Focus, InputFilter, detach_patterns

if TYPE_CHECKING:
    from prowl.v1 import panes_pb2

__all__ = ["add_attach_options", "attach_to", "register", "require_terminal", "run"]

_ESCAPE_DELAY = 0.03  # how long a lone Escape is held back before it counts as the key
_CHUNK = 32 * 1024
_SIGNALS = (signal.SIGTERM, signal.SIGHUP)


def register(commands: parser.Commands) -> None:
    """Add the command."""
    command = parser.add(
        commands,
        "attach",
        "connect this terminal to a pane",
        run,
        examples="prowl attach p1                    # leave it with ctrl-\\\n"
        "prowl attach p1 --detach-key ctrl-]\n"
        "prowl attach p1 --read-only",
        json=False,
        start=False,
    )
    command.add_argument("pane", help="pane: pN or UUID")
    add_attach_options(command)


def add_attach_options(command: argparse.ArgumentParser) -> None:
    """Add the options of an attachment."""
    command.add_argument(
        "--detach-key",
        metavar="KEY",
        type=_key,
        default=os.environ.get("PROWL_DETACH_KEY") or "ctrl-\\",
        help="key that leaves the pane running and returns here (PROWL_DETACH_KEY, ctrl-\\)",
    )
    command.add_argument("--read-only", action="store_true", help="look only: only the detach key does something")


def _key(text: str) -> tuple[bytes, ...]:
    try:
        return detach_patterns(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from None


def require_terminal() -> None:
    """Raise CliError unless both standard input and output are terminals."""
    if not (sys.stdin.isatty() and sys.stdout.isatty()):
        raise CliError("INVALID_ARGUMENT", "Attaching needs a terminal; use `prowl run --detach` or `prowl read`.")


def run(args: argparse.Namespace) -> int:
    """Attach to the pane."""
    require_terminal()
    return attach_to(args, args.pane)


def attach_to(args: argparse.Namespace, pane: str) -> int:
    """Attach to ``pane`` until its program ends, the pane closes, or the detach key; returns the exit status.

    That is the program's when it ended, else 0.
    """
    return asyncio.run(_Attachment(args, pane).run())


class _Attachment:
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

    async def run(self) -> int:
        from prowl_cli.terminal import Output, attached_terminal

        loop = asyncio.get_running_loop()
        async with connect.client_async(self._args) as client:
            call = client.panes.AttachPane(self._requests())
            try:
                await self._put(open=self._open())
                first = await self._first(client, call)
                self._handle = first.attached.pane.handle or self._pane
                with attached_terminal(self._in, self._out):
                    loop.add_signal_handler(signal.SIGWINCH, self._resized)
                    for number in _SIGNALS:
                        loop.add_signal_handler(number, self._detached.set)
                    reading = asyncio.ensure_future(self._read())
                    showing = asyncio.ensure_future(self._show(client, call, Output(self._out)))
                    leaving = asyncio.ensure_future(self._detached.wait())
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
                        for task in (reading, showing, leaving):
                            task.cancel()
                            with suppress(asyncio.CancelledError, Exception):
                                await task
            finally:
                call.cancel()
        suffix = f" with status {self._status}" if self._end == "exited" else ""
        print(f"[{self._handle} {self._end}{suffix}]", file=sys.stderr)
        return self._status

    def _open(self) -> "panes_pb2.AttachOpen":
        from prowl.v1 import common_pb2, panes_pb2

        from prowl_cli.terminal import size_of

        columns, rows = size_of(self._out)
        size = None if self._args.read_only else common_pb2.Size(columns=columns, rows=rows)
        return panes_pb2.AttachOpen(
            pane=self._pane,
            size=size,
            read_only=self._args.read_only,
            # Whoever types the command looks at this terminal; its focus reports correct that from here on.
            focused=True,
        )

    async def _put(self, **message: Any) -> None:
        from prowl.v1 import panes_pb2

        await self._outgoing.put(panes_pb2.AttachPaneRequest(**message))

    async def _requests(self) -> "AsyncIterator[panes_pb2.AttachPaneRequest]":
        while (request := await self._outgoing.get()) is not None:
            yield request

    def _resized(self) -> None:
        from prowl.v1 import common_pb2, panes_pb2

        from prowl_cli.terminal import size_of

        if self._args.read_only:
            return
        columns, rows = size_of(self._out)
        request = panes_pb2.AttachPaneRequest(resize=common_pb2.Size(columns=columns, rows=rows))
        with suppress(asyncio.QueueFull):
            self._outgoing.put_nowait(request)

    async def _first(self, client: Any, call: Any) -> "panes_pb2.AttachPaneResponse":
        import grpc
        from grpc import aio

        try:
            first = await call.read()
        except grpc.RpcError as error:
            raise client.error(error) from None
        if first is aio.EOF:
            raise CliError("TRANSPORT_FAILED", "The service ended the attachment.")
        found: panes_pb2.AttachPaneResponse = first
        return found

    async def _show(self, client: Any, call: Any, output: Any) -> None:
        """Write the pane's output until the stream ends."""
        import grpc
        from grpc import aio

        try:
            while (response := await call.read()) is not aio.EOF:
                which = response.WhichOneof("message")
                if which == "output":
                    output.write(response.output)
                elif which == "exited":
                    self._end, self._status = "exited", response.exited
        except grpc.RpcError as error:
            raise client.error(error) from None

    async def _read(self) -> None:
        """Send what is typed until the detach key or the terminal's end; one chunk at a time, so that input waits."""
        loop = asyncio.get_running_loop()
        keys = InputFilter(self._args.detach_key)
        ready = asyncio.Event()
        while True:
            loop.add_reader(self._in, ready.set)
            try:
                async with asyncio.timeout(_ESCAPE_DELAY if keys.holding else None):
                    await ready.wait()
                data = os.read(self._in, _CHUNK)
            except TimeoutError:
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
                    await self._put(focused=event.focused)
                elif not self._args.read_only:
                    await self._put(input=event)
