"""Failed calls become one exception with a stable code."""

import grpc
import pytest
from prowl.v1 import errors_pb2
from prowl_client.errors import from_call

from tests.client.service import status_of


def trailer(code, message, status, *details):
    """Return the trailers of a refusal."""
    return [("other", "x"), ("grpc-status-details-bin", status_of(code, message, status, *details).SerializeToString())]


def test_the_reason_and_the_details_are_taken_from_the_trailer():
    """The code is the ErrorInfo reason, and the contract's own message comes along."""
    overflow = errors_pb2.OverflowDetails(first_lost_revision=7, current_revision=9)
    status = grpc.StatusCode.RESOURCE_EXHAUSTED

    error = from_call(status, "too slow", trailer("BUFFER_OVERFLOW", "Too slow.", status, overflow))

    assert ("BUFFER_OVERFLOW", "Too slow.", overflow) == (error.code, error.message, error.details)


@pytest.mark.parametrize("details", [errors_pb2.WaitErrorDetails(mode="condition"), errors_pb2.DispatchErrorDetails()])
def test_every_detail_message_of_the_contract_is_known(details):
    """Wait and dispatch details arrive as their own messages."""
    status = grpc.StatusCode.DEADLINE_EXCEEDED

    error = from_call(status, "", trailer("WAIT_TIMEOUT", "No.", status, details))

    assert details == error.details


@pytest.mark.parametrize(
    ("status", "code"),
    [
        (grpc.StatusCode.DEADLINE_EXCEEDED, "TIMEOUT"),
        (grpc.StatusCode.UNIMPLEMENTED, "NOT_IMPLEMENTED"),
        (grpc.StatusCode.UNAVAILABLE, "TRANSPORT_FAILED"),
        (grpc.StatusCode.INTERNAL, "TRANSPORT_FAILED"),
        (None, "TRANSPORT_FAILED"),
    ],
)
def test_a_status_without_a_reason_becomes_a_transport_code(status, code):
    """A failure that the service did not explain is told by its status."""
    assert code == from_call(status, "text", None).code


def test_a_timeout_of_the_service_is_not_one_of_the_transport():
    """WAIT_TIMEOUT and the transport's deadline share a status but not a code."""
    status = grpc.StatusCode.DEADLINE_EXCEEDED

    assert "WAIT_TIMEOUT" == from_call(status, "", trailer("WAIT_TIMEOUT", "No.", status)).code


@pytest.mark.parametrize("data", [b"", b"\xff\xff\xff", b"\x08\x05"])
def test_a_trailer_that_is_not_ours_is_ignored(data):
    """Garbage in the details trailer leaves the status as the only word."""
    error = from_call(grpc.StatusCode.INTERNAL, "text", [("grpc-status-details-bin", data)])

    assert ("TRANSPORT_FAILED", "text") == (error.code, error.message)


def test_an_absent_service_is_named_as_such(tmp_path):
    """An unreachable service whose socket does not exist is not running."""
    assert "APP_NOT_RUNNING" == from_call(grpc.StatusCode.UNAVAILABLE, "x", None, tmp_path / "none.sock").code
