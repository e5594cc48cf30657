"""The thin client on asyncio, over a real socket."""

import grpc
import pytest
from prowl.v1 import agents_pb2, errors_pb2
from prowl_client.aio import AsyncClient
from prowl_client.errors import ProwlError
from prowl_client.events import Gap

from tests.client.service import Refusal, serving


def snapshot(revision):
    """Return a batch with one snapshot."""
    event = agents_pb2.ObserveEvent(revision=revision, snapshot=agents_pb2.ObservedSnapshot())
    return agents_pb2.ObserveResponse(events=[event])


async def test_a_call_returns_the_response(tmp_path):
    """A unary call gives the service's message."""
    with serving(tmp_path / "s") as service:
        service.answer("ListAgents", agents_pb2.ListAgentsResponse(agents=[agents_pb2.Agent(id="a")]))
        async with AsyncClient(tmp_path / "s") as client:
            assert ["a"] == [agent.id for agent in (await client.list_agents()).agents]


async def test_a_refusal_is_raised_with_its_code(tmp_path):
    """A failed call raises ProwlError with code and details."""
    details = errors_pb2.WaitErrorDetails(mode="condition", waited_ms=5)
    with serving(tmp_path / "s") as service:
        service.answer("Wait", Refusal("WAIT_TIMEOUT", "No.", grpc.StatusCode.DEADLINE_EXCEEDED, details))
        async with AsyncClient(tmp_path / "s") as client:
            with pytest.raises(ProwlError) as raised:
                await client.wait(agents_pb2.WaitRequest())

    assert ("WAIT_TIMEOUT", details) == (raised.value.code, raised.value.details)


async def test_an_overflow_is_bridged_and_told(tmp_path):
    """After BUFFER_OVERFLOW the client subscribes again by itself and marks the gap before the new snapshot."""
    overflow = errors_pb2.OverflowDetails(first_lost_revision=3, current_revision=8)
    refusal = Refusal("BUFFER_OVERFLOW", "Slow.", grpc.StatusCode.RESOURCE_EXHAUSTED, overflow)
    rounds = iter([[snapshot(1), refusal], [snapshot(8)]])
    with serving(tmp_path / "s") as service:
        service.answer("Observe", lambda _: next(rounds))
        async with AsyncClient(tmp_path / "s") as client:
            seen = [event async for event in client.observe("p1")]

    assert [1, Gap(3, 8), 8] == [event if isinstance(event, Gap) else event.revision for event in seen]


async def test_watching_yields_every_roster_and_ends_with_the_stream(tmp_path):
    """Each message of the roster stream is yielded as it comes."""
    rosters = [agents_pb2.WatchAgentsResponse(), agents_pb2.WatchAgentsResponse(agents=[agents_pb2.Agent(id="a")])]
    with serving(tmp_path / "s") as service:
        service.answer("WatchAgents", lambda _: rosters)
        async with AsyncClient(tmp_path / "s") as client:
            assert rosters == [roster async for roster in client.watch_agents()]


async def test_an_absent_service_is_not_running(tmp_path):
    """A call to a socket that does not exist says that no service runs there."""
    async with AsyncClient(tmp_path / "none") as client:
        with pytest.raises(ProwlError) as raised:
            await client.get_info()

    assert "APP_NOT_RUNNING" == raised.value.code
