"""The thin client without an event loop, tested with grpcio-testing and over a real socket."""

import queue
import threading
from concurrent.futures import ThreadPoolExecutor

import grpc
import grpc_testing
import pytest
from prowl.v1 import agents_pb2, errors_pb2, panes_pb2, server_pb2
from prowl_client.channel import deadline
from prowl_client.errors import ProwlError
from prowl_client.events import Gap
from prowl_client.sync import Client

from tests.client.service import Refusal, serving, status_of

AGENTS = agents_pb2.DESCRIPTOR.services_by_name["AgentService"]
PANES = panes_pb2.DESCRIPTOR.services_by_name["PaneService"]
OVERFLOW = Refusal(
    "BUFFER_OVERFLOW",
    "Too slow.",
    grpc.StatusCode.RESOURCE_EXHAUSTED,
    errors_pb2.OverflowDetails(first_lost_revision=3, current_revision=8),
)


@pytest.fixture
def channel():
    """A channel whose other end is the test."""
    return grpc_testing.channel([AGENTS, PANES], grpc_testing.strict_fake_time(0))


@pytest.fixture
def worker():
    """One thread for the client's side."""
    with ThreadPoolExecutor(1) as pool:
        yield pool


def event(revision, **what):
    """Return an observed event."""
    return agents_pb2.ObserveEvent(revision=revision, **what)


def snapshot(revision):
    """Return a snapshot without an agent."""
    return event(revision, snapshot=agents_pb2.ObservedSnapshot())


def test_a_unary_call_sends_the_request_and_returns_the_response(channel, worker):
    """What the caller gives goes out, what the service answers comes back."""
    client = Client(channel=channel)
    running = worker.submit(client.send_key, panes_pb2.SendKeyRequest(pane="p1", key="enter", repeat=2))

    _, request, call = channel.take_unary_unary(PANES.methods_by_name["SendKey"])
    call.send_initial_metadata(())
    call.terminate(panes_pb2.SendKeyResponse(key="enter", repeat=2), (), grpc.StatusCode.OK, "")

    assert panes_pb2.SendKeyRequest(pane="p1", key="enter", repeat=2) == request
    assert panes_pb2.SendKeyResponse(key="enter", repeat=2) == running.result(10)


def test_a_refusal_is_raised_with_its_code(channel, worker):
    """A failed call raises ProwlError, never the transport's own exception."""
    client = Client(channel=channel)
    running = worker.submit(client.list_agents)
    status = status_of("AGENTS_FAILED", "No list.", grpc.StatusCode.INTERNAL)

    _, _, call = channel.take_unary_unary(AGENTS.methods_by_name["ListAgents"])
    call.send_initial_metadata(())
    trailers = (("grpc-status-details-bin", status.SerializeToString()),)
    call.terminate(agents_pb2.ListAgentsResponse(), trailers, grpc.StatusCode.INTERNAL, "No list.")

    with pytest.raises(ProwlError, match=r"No list\.") as raised:
        running.result(10)
    assert "AGENTS_FAILED" == raised.value.code


def test_observation_yields_single_events_of_joined_messages(channel, worker):
    """Events that the service coalesced into one message come out one by one, in order."""
    client = Client(channel=channel)
    running = worker.submit(lambda: list(client.observe("p1")))

    _, request, call = channel.take_unary_stream(AGENTS.methods_by_name["Observe"])
    call.send_initial_metadata(())
    removed = event(2, removed=agents_pb2.ObservedRemoval())
    closed = event(2, surface_closed=agents_pb2.ObservedClosure())
    call.send_response(agents_pb2.ObserveResponse(events=[snapshot(1)]))
    call.send_response(agents_pb2.ObserveResponse(events=[removed, closed]))
    call.terminate((), grpc.StatusCode.OK, "")

    assert "p1" == request.pane
    assert [snapshot(1), removed, closed] == running.result(10)


def test_an_overflow_is_bridged_and_told(channel, worker):
    """After BUFFER_OVERFLOW the client subscribes again by itself and marks the gap before the new snapshot."""
    client = Client(channel=channel)
    seen: queue.Queue = queue.Queue()
    running = worker.submit(lambda: [seen.put(event) for event in client.observe("p1")])
    method = AGENTS.methods_by_name["Observe"]

    _, _, first = channel.take_unary_stream(method)
    first.send_initial_metadata(())
    first.send_response(agents_pb2.ObserveResponse(events=[snapshot(1)]))
    assert snapshot(1) == seen.get(timeout=10)
    trailers = (("grpc-status-details-bin", OVERFLOW.status.SerializeToString()),)
    first.terminate(trailers, grpc.StatusCode.RESOURCE_EXHAUSTED, "Too slow.")
    _, _, second = channel.take_unary_stream(method)
    second.send_initial_metadata(())
    second.send_response(agents_pb2.ObserveResponse(events=[snapshot(8)]))

    assert [Gap(3, 8), snapshot(8)] == [seen.get(timeout=10), seen.get(timeout=10)]
    second.terminate((), grpc.StatusCode.OK, "")
    running.result(10)


def test_what_was_held_is_delivered_before_the_gap(tmp_path):
    """Events that the service still owed are yielded before the gap is told."""
    rounds = iter([[agents_pb2.ObserveResponse(events=[snapshot(1), snapshot(2)]), OVERFLOW], []])
    with serving(tmp_path / "s") as service, Client(tmp_path / "s") as client:
        service.answer("Observe", lambda _: next(rounds))

        assert [snapshot(1), snapshot(2), Gap(3, 8)] == list(client.observe("p1"))


def test_any_other_end_of_a_stream_is_an_error(tmp_path):
    """Only an overflow is bridged; other failures of a stream are the caller's to handle."""
    with serving(tmp_path / "s") as service, Client(tmp_path / "s") as client:
        refusal = Refusal("INVALID_ARGUMENT", "No pane.", grpc.StatusCode.INVALID_ARGUMENT)
        service.answer("Observe", lambda _: [refusal])

        with pytest.raises(ProwlError) as raised:
            list(client.observe(""))

    assert "INVALID_ARGUMENT" == raised.value.code


def test_leaving_an_observation_early_ends_the_subscription(tmp_path):
    """A caller that stops iterating does not leave a subscription behind."""
    ended = threading.Event()

    def forever(_):
        try:
            while True:
                yield agents_pb2.ObserveResponse(events=[snapshot(1)])
                if ended.wait(0.01):
                    return
        finally:
            ended.set()

    with serving(tmp_path / "s") as service, Client(tmp_path / "s") as client:
        service.answer("Observe", forever)
        stream = client.observe("p1")
        next(stream)
        stream.close()

        assert ended.wait(10)


def test_a_service_that_does_not_answer_is_a_timeout(tmp_path):
    """The default deadline of a client bounds every unary call."""
    release = threading.Event()
    with serving(tmp_path / "s") as service, Client(tmp_path / "s", timeout=0.1) as client:
        service.answer("GetInfo", lambda _: release.wait(10) and server_pb2.GetInfoResponse())

        with pytest.raises(ProwlError) as raised:
            client.get_info()
        release.set()

    assert "TIMEOUT" == raised.value.code


def test_an_absent_service_is_not_running(tmp_path):
    """A call to a socket that does not exist says that no service runs there."""
    with Client(tmp_path / "none") as client, pytest.raises(ProwlError) as raised:
        client.get_info()

    assert "APP_NOT_RUNNING" == raised.value.code


def test_a_request_over_the_limit_never_leaves(tmp_path):
    """Requests are limited to 1 MiB on the client's side too."""
    with serving(tmp_path / "s"), Client(tmp_path / "s") as client, pytest.raises(ProwlError):
        client.send_text(panes_pb2.SendTextRequest(pane="p1", text="x" * (1 << 20)))


@pytest.mark.parametrize(
    ("request_", "given", "expected"),
    [
        (agents_pb2.ListAgentsRequest(), None, 15.0),
        (agents_pb2.ListAgentsRequest(), 3.0, 3.0),
        (agents_pb2.WaitRequest(timeout_seconds=60), None, 70.0),
        (agents_pb2.WaitRequest(), None, 610.0),
        (panes_pb2.SendTextRequest(wait=True), None, 40.0),
        (panes_pb2.SendTextRequest(wait=False, timeout_seconds=300), None, 15.0),
        (panes_pb2.ReadPaneRequest(stable=panes_pb2.StableWait(timeout_seconds=20)), None, 30.0),
        (panes_pb2.ReadPaneRequest(), None, 15.0),
    ],
)
def test_a_call_that_waits_outlasts_the_wait(request_, given, expected):
    """The transport's deadline leaves room for the service's own timeout answer."""
    assert expected == deadline(request_, given, 15.0)
