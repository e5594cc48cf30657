"""The thin client for programs on asyncio."""

from collections.abc import AsyncGenerator
from pathlib import Path
from types import TracebackType
from typing import Self, TypeVar

import grpc
from google.protobuf.message import Message
from grpc import aio
from prowl.v1 import (
    agents_pb2,
    agents_pb2_grpc,
    dispatch_pb2,
    dispatch_pb2_grpc,
    feed_pb2_grpc,
    panes_pb2,
    panes_pb2_grpc,
    profiles_pb2,
    profiles_pb2_grpc,
    server_pb2,
    server_pb2_grpc,
)

from prowl_client import address
from prowl_client.channel import DEFAULT_TIMEOUT, METADATA, OPTIONS, deadline
from prowl_client.errors import ProwlError, from_call
from prowl_client.events import Observed, bridged

__all__ = ["AsyncClient"]

_Request = TypeVar("_Request", bound=Message)
_Response = TypeVar("_Response", bound=Message)


class AsyncClient:
    """Calls the service from one event loop; every failure is a ProwlError.

    The arguments are those of prowl_client.sync.Client. Make it while the loop runs, and close it there.
    """

    def __init__(
        self,
        socket: Path | str | None = None,
        *,
        channel: aio.Channel | None = None,
        timeout: float = DEFAULT_TIMEOUT,
    ) -> None:
        self._path = None if channel is not None else Path(socket) if socket is not None else address.socket_path()
        self._timeout = timeout
        if channel is None:
            assert self._path is not None
            try:
                channel = aio.insecure_channel(address.target(self._path), options=OPTIONS)
            except ValueError as error:
                raise ProwlError("TRANSPORT_FAILED", str(error)) from None
        self.channel = channel
        self.agents = agents_pb2_grpc.AgentServiceStub(channel)
        self.panes = panes_pb2_grpc.PaneServiceStub(channel)
        self.dispatches = dispatch_pb2_grpc.DispatchServiceStub(channel)
        self.profiles = profiles_pb2_grpc.ProfileServiceStub(channel)
        self.feed = feed_pb2_grpc.FeedServiceStub(channel)
        self.server = server_pb2_grpc.ServerServiceStub(channel)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    async def close(self) -> None:
        """Close the connection; streams end."""
        await self.channel.close()

    async def observe(self, pane: str) -> AsyncGenerator[Observed, None]:
        """Yield the events of one pane, first a snapshot, until the pane closes.

        When this observer was too slow, the stream is opened again by itself: a Gap comes first, then a new snapshot.
        """
        while True:
            gap = None
            call = self.agents.Observe(agents_pb2.ObserveRequest(pane=pane))
            try:
                async for batch in call:
                    for event in batch.events:
                        yield event
            except grpc.RpcError as failure:
                error = self.error(failure)
                gap = bridged(error)
                if gap is None:
                    raise error from None
            finally:
                call.cancel()
            if gap is None:
                return
            yield gap

    async def watch_agents(self) -> AsyncGenerator[agents_pb2.WatchAgentsResponse, None]:
        """Yield the whole roster, now and after each change."""
        call = self.agents.WatchAgents(agents_pb2.WatchAgentsRequest())
        try:
            async for roster in call:
                yield roster
        except grpc.RpcError as failure:
            raise self.error(failure) from None
        finally:
            call.cancel()

    async def list_agents(
        self, request: agents_pb2.ListAgentsRequest | None = None, *, timeout: float | None = None
    ) -> agents_pb2.ListAgentsResponse:
        """Every detected agent, in order of first detection."""
        return await self._call(self.agents.ListAgents, request or agents_pb2.ListAgentsRequest(), timeout)

    async def signal(
        self, request: agents_pb2.SignalRequest, *, timeout: float | None = None
    ) -> agents_pb2.SignalResponse:
        """Report a runtime event of the pane that this process runs in."""
        return await self._call(self.agents.Signal, request, timeout)

    async def wait(self, request: agents_pb2.WaitRequest, *, timeout: float | None = None) -> agents_pb2.WaitResponse:
        """Wait for a state, an event, an exit or a receipt; refused with WAIT_TIMEOUT and WaitErrorDetails."""
        return await self._call(self.agents.Wait, request, timeout)

    async def read_agent(
        self, request: agents_pb2.ReadAgentRequest, *, timeout: float | None = None
    ) -> agents_pb2.ReadAgentResponse:
        """Read an agent's status, blocker and last complete result."""
        return await self._call(self.agents.ReadAgent, request, timeout)

    async def explain_agent(
        self, request: agents_pb2.ExplainAgentRequest, *, timeout: float | None = None
    ) -> agents_pb2.ExplainAgentResponse:
        """Explain how an agent was found and why it has its state."""
        return await self._call(self.agents.ExplainAgent, request, timeout)

    async def list_panes(
        self, request: panes_pb2.ListPanesRequest | None = None, *, timeout: float | None = None
    ) -> panes_pb2.ListPanesResponse:
        """Every pane, and the caller's own when it runs in one."""
        return await self._call(self.panes.ListPanes, request or panes_pb2.ListPanesRequest(), timeout)

    async def create_pane(
        self, request: panes_pb2.CreatePaneRequest, *, timeout: float | None = None
    ) -> panes_pb2.CreatePaneResponse:
        """Start a program in a new pane."""
        return await self._call(self.panes.CreatePane, request, timeout)

    async def read_pane(
        self, request: panes_pb2.ReadPaneRequest, *, timeout: float | None = None
    ) -> panes_pb2.ReadPaneResponse:
        """Read rows of a pane's screen."""
        return await self._call(self.panes.ReadPane, request, timeout)

    async def send_text(
        self, request: panes_pb2.SendTextRequest, *, timeout: float | None = None
    ) -> panes_pb2.SendTextResponse:
        """Type or paste text into a pane."""
        return await self._call(self.panes.SendText, request, timeout)

    async def send_key(
        self, request: panes_pb2.SendKeyRequest, *, timeout: float | None = None
    ) -> panes_pb2.SendKeyResponse:
        """Press a key in a pane."""
        return await self._call(self.panes.SendKey, request, timeout)

    async def resize_pane(
        self, request: panes_pb2.ResizePaneRequest, *, timeout: float | None = None
    ) -> panes_pb2.ResizePaneResponse:
        """Change a hosted pane's size."""
        return await self._call(self.panes.ResizePane, request, timeout)

    async def close_pane(
        self, request: panes_pb2.ClosePaneRequest, *, timeout: float | None = None
    ) -> panes_pb2.ClosePaneResponse:
        """End a pane's programs and remove the pane."""
        return await self._call(self.panes.ClosePane, request, timeout)

    async def view_pane(
        self, request: panes_pb2.ViewPaneRequest, *, timeout: float | None = None
    ) -> panes_pb2.ViewPaneResponse:
        """Tell whether a person looks at a pane."""
        return await self._call(self.panes.ViewPane, request, timeout)

    async def focus_pane(
        self, request: panes_pb2.FocusPaneRequest, *, timeout: float | None = None
    ) -> panes_pb2.FocusPaneResponse:
        """Mark a pane as the one with the keyboard focus in its tab."""
        return await self._call(self.panes.FocusPane, request, timeout)

    async def dispatch(
        self, request: dispatch_pb2.DispatchRequest, *, timeout: float | None = None
    ) -> dispatch_pb2.DispatchResponse:
        """Type a task into an idle agent's composer."""
        return await self._call(self.dispatches.Dispatch, request, timeout)

    async def complete_dispatch(
        self, request: dispatch_pb2.CompleteDispatchRequest, *, timeout: float | None = None
    ) -> dispatch_pb2.CompleteDispatchResponse:
        """Complete the pending dispatch of the pane that this process runs in."""
        return await self._call(self.dispatches.CompleteDispatch, request, timeout)

    async def abandon_dispatch(
        self, request: dispatch_pb2.AbandonDispatchRequest, *, timeout: float | None = None
    ) -> dispatch_pb2.AbandonDispatchResponse:
        """Give a dispatch up."""
        return await self._call(self.dispatches.AbandonDispatch, request, timeout)

    async def list_profiles(
        self, request: profiles_pb2.ListProfilesRequest | None = None, *, timeout: float | None = None
    ) -> profiles_pb2.ListProfilesResponse:
        """The launch profiles."""
        return await self._call(self.profiles.ListProfiles, request or profiles_pb2.ListProfilesRequest(), timeout)

    async def launch_profile(
        self, request: profiles_pb2.LaunchProfileRequest, *, timeout: float | None = None
    ) -> profiles_pb2.LaunchProfileResponse:
        """Launch a profile in a new pane."""
        return await self._call(self.profiles.LaunchProfile, request, timeout)

    async def get_info(
        self, request: server_pb2.GetInfoRequest | None = None, *, timeout: float | None = None
    ) -> server_pb2.GetInfoResponse:
        """Version, hot paths and effective configuration of the service."""
        return await self._call(self.server.GetInfo, request or server_pb2.GetInfoRequest(), timeout)

    def error(self, failure: grpc.RpcError) -> ProwlError:
        """Turn the failure of a call that was made through a stub into a ProwlError."""
        return from_call(failure.code(), failure.details(), failure.trailing_metadata(), self._path)

    async def _call(
        self, method: "aio.UnaryUnaryMultiCallable[_Request, _Response]", request: _Request, timeout: float | None
    ) -> _Response:
        try:
            return await method(request, timeout=deadline(request, timeout, self._timeout), metadata=METADATA)
        except grpc.RpcError as failure:
            raise self.error(failure) from None
