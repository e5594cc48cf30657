"""Observe over real gRPC: order, independence, overflow, and streams of panes that are gone."""

import asyncio
from dataclasses import replace

import grpc
import pytest
from google.rpc import error_details_pb2
from grpc_status import rpc_status
from prowl.v1 import agents_pb2, agents_pb2_grpc, errors_pb2

from prowl_svc.app import Service
from prowl_svc.model.agents import Agent
from prowl_svc.model.observation import AgentEntry
from prowl_svc.model.state import DisplayState, RawState
from tests.service.conftest import Create, dial

ENTRY = AgentEntry(Agent.CLAUDE, DisplayState.WORKING, RawState.WORKING, 1)


async def events_of(
    call: "grpc.aio.UnaryStreamCall[object, agents_pb2.ObserveResponse]",
) -> list[agents_pb2.ObserveEvent]:
    return [event async for response in call for event in response.events]


async def subscribed(service: Service, pane: str, count: int) -> None:
    async with asyncio.timeout(20):
        while service.hub.subscriber_count(pane) < count:
            await asyncio.sleep(0.01)


async def test_two_hundred_observers_get_every_event_in_order(service: Service, create: Create) -> None:
    """Each of 200 observers on 20 connections gets the snapshot, 100 changes in order, and the end."""
    pane = await create("cat")
    channels = [dial(service) for _ in range(20)]
    calls = [
        agents_pb2_grpc.AgentServiceStub(channels[n % 20]).Observe(agents_pb2.ObserveRequest(pane=pane))
        for n in range(200)
    ]
    collected = [asyncio.ensure_future(events_of(call)) for call in calls]
    await subscribed(service, pane, 200)
    for n in range(100):
        service.records.change(pane, replace(ENTRY, last_changed_at=n + 1))
        if n % 20 == 19:
            await asyncio.sleep(0.2)  # a burst of more than 64 would rightly overflow
    await service.host.close(service.host.registry.resolve_pane(pane))
    for events in await asyncio.gather(*collected):
        kinds = [event.WhichOneof("event") for event in events]
        assert kinds == ["snapshot", *["changed"] * 100, "removed", "surface_closed"]
        assert [event.revision for event in events] == [*range(102), 101]
    await asyncio.gather(*(channel.close() for channel in channels))


async def test_a_stalled_observer_overflows_alone(service: Service, create: Create) -> None:
    """One that does not read is told what it lost; its neighbour on another connection gets everything."""
    pane = await create("cat")
    async with dial(service) as slow, dial(service) as quick:
        stalled = agents_pb2_grpc.AgentServiceStub(slow).Observe(agents_pb2.ObserveRequest(pane=pane))
        reading = asyncio.ensure_future(
            events_of(agents_pb2_grpc.AgentServiceStub(quick).Observe(agents_pb2.ObserveRequest(pane=pane)))
        )
        await subscribed(service, pane, 2)
        last = 0
        while service.hub.subscriber_count(pane) == 2 and last < 3000:
            last += 1
            service.records.change(pane, replace(ENTRY, last_changed_at=last, title="x" * 100_000))
            await asyncio.sleep(0.002)
        assert service.hub.subscriber_count(pane) == 1
        with pytest.raises(grpc.aio.AioRpcError) as failure:
            async for _ in stalled:
                pass
        status = rpc_status.from_call(failure.value)  # type: ignore[arg-type]
        assert failure.value.code() is grpc.StatusCode.RESOURCE_EXHAUSTED
        assert status is not None
        info, details = error_details_pb2.ErrorInfo(), errors_pb2.OverflowDetails()
        assert status.details[0].Unpack(info)
        assert status.details[1].Unpack(details)
        assert (info.reason, info.domain) == ("BUFFER_OVERFLOW", "prowl")
        assert 1 < details.first_lost_revision <= details.current_revision
        await service.host.close(service.host.registry.resolve_pane(pane))
        revisions = [event.revision for event in await reading]
        assert revisions == [*range(last + 2), last + 1]


async def test_what_a_stalled_observer_holds_is_still_sent(service: Service, create: Create) -> None:
    """Everything before the first lost revision arrives before the overflow, without a gap."""
    pane = await create("cat")
    async with dial(service) as channel:
        call = agents_pb2_grpc.AgentServiceStub(channel).Observe(agents_pb2.ObserveRequest(pane=pane))
        await subscribed(service, pane, 1)
        for n in range(70):  # without a pause: nothing can be delivered in between
            service.records.change(pane, replace(ENTRY, last_changed_at=n + 1))
        revisions: list[int] = []
        with pytest.raises(grpc.aio.AioRpcError) as failure:
            async for response in call:
                revisions += [event.revision for event in response.events]
        status = rpc_status.from_call(failure.value)  # type: ignore[arg-type]
        details = errors_pb2.OverflowDetails()
        assert status is not None
        assert status.details[1].Unpack(details)
        assert revisions == list(range(details.first_lost_revision))
        assert details.current_revision == 70


async def test_an_unknown_pane_gives_an_empty_snapshot_then_closed(
    agents: "agents_pb2_grpc.AgentServiceAsyncStub",
) -> None:
    """The finite stream registers nothing and ends normally."""
    events = await events_of(agents.Observe(agents_pb2.ObserveRequest(pane="11111111-2222-3333-4444-555555555555")))
    assert [(event.WhichOneof("event"), event.revision) for event in events] == [("snapshot", 0), ("surface_closed", 0)]
    assert not events[0].snapshot.HasField("agent")


async def test_cancelling_returns_the_subscriber_count_to_the_start(
    service: Service, create: Create, agents: "agents_pb2_grpc.AgentServiceAsyncStub"
) -> None:
    """A client that goes away leaves nothing behind."""
    pane = await create("cat")
    call = agents.Observe(agents_pb2.ObserveRequest(pane=pane))
    await subscribed(service, pane, 1)
    call.cancel()
    async with asyncio.timeout(10):
        while service.hub.subscriber_count(pane):
            await asyncio.sleep(0.01)


async def test_a_stopping_service_ends_streams_with_a_reason(
    service: Service, create: Create, agents: "agents_pb2_grpc.AgentServiceAsyncStub"
) -> None:
    """The roster's stream and a pane's end with UNAVAILABLE, and nothing hangs."""
    pane = await create("cat")
    streams = [
        agents.Observe(agents_pb2.ObserveRequest(pane=pane)),
        agents.WatchAgents(agents_pb2.WatchAgentsRequest()),
    ]
    for stream in streams:
        await stream.read()
    service.end_streams()
    for stream in streams:
        with pytest.raises(grpc.aio.AioRpcError) as failure:
            await stream.read()
        assert failure.value.code() is grpc.StatusCode.UNAVAILABLE
