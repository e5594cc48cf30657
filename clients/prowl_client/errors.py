"""Failed calls as one exception: the stable code, the message for people, and the details for programs."""

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import grpc
from google.protobuf.message import DecodeError, Message
from google.rpc import error_details_pb2, status_pb2
from prowl.v1 import errors_pb2

from prowl_client import address

__all__ = ["ProwlError", "from_call"]

_TRAILER = "grpc-status-details-bin"
_DETAILS: tuple[type[Message], ...] = (
    errors_pb2.OverflowDetails,
    errors_pb2.WaitErrorDetails,
    errors_pb2.DispatchErrorDetails,
)


class ProwlError(Exception):
    """A call that the service refused, or that did not reach it.

    ``code`` is the ErrorInfo reason, or one of ``APP_NOT_RUNNING``, ``SOCKET_PERMISSION_DENIED``, ``TRANSPORT_FAILED``,
    ``TIMEOUT`` and ``NOT_IMPLEMENTED`` when no such reason travelled. ``details`` is the message of errors.proto that
    came along, if any; ``metadata`` is that of the ErrorInfo; ``status`` the gRPC status.
    """

    def __init__(
        self,
        code: str,
        message: str,
        details: Message | None = None,
        metadata: dict[str, str] | None = None,
        status: grpc.StatusCode | None = None,
    ) -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.details = details
        self.metadata = metadata or {}
        self.status = status

    def __str__(self) -> str:
        return f"{self.message} [{self.code}]"


def from_call(
    status: grpc.StatusCode | None,
    message: str | None,
    trailers: Iterable[Any] | None,
    path: Path | None = None,
) -> ProwlError:
    """Turn the end of a failed call into a ProwlError; ``path`` is the socket that the call went to."""
    for key, value in trailers or ():
        if key == _TRAILER:
            error = _decode(bytes(value, "latin-1") if isinstance(value, str) else value, status)
            if error is not None:
                return error
    text = message or "The call failed."
    if status is grpc.StatusCode.UNAVAILABLE:
        return _unreachable(text, path)
    code = {
        grpc.StatusCode.DEADLINE_EXCEEDED: "TIMEOUT",
        grpc.StatusCode.UNIMPLEMENTED: "NOT_IMPLEMENTED",
        grpc.StatusCode.INVALID_ARGUMENT: "INVALID_ARGUMENT",
    }.get(status or grpc.StatusCode.UNKNOWN, "TRANSPORT_FAILED")
    if code == "TIMEOUT":
        text = "The service did not answer in time."
    return ProwlError(code, text, status=status)


def _decode(data: bytes, status: grpc.StatusCode | None) -> ProwlError | None:
    """Return the error that a google.rpc.Status trailer describes, or None when it has no ErrorInfo of ours."""
    envelope = status_pb2.Status()
    info = error_details_pb2.ErrorInfo()
    found = False
    details: Message | None = None
    try:
        envelope.ParseFromString(data)
        for item in envelope.details:
            if item.Is(error_details_pb2.ErrorInfo.DESCRIPTOR):
                item.Unpack(info)
                found = found or info.domain == "prowl"
                continue
            for kind in _DETAILS:
                if item.Is(kind.DESCRIPTOR):
                    details = kind()
                    item.Unpack(details)
    except DecodeError:
        return None
    if not found or not info.reason:
        return None
    return ProwlError(info.reason, envelope.message or info.reason, details, dict(info.metadata), status)


def _unreachable(text: str, path: Path | None) -> ProwlError:
    """Say why a service that cannot be connected to cannot."""
    status = grpc.StatusCode.UNAVAILABLE
    if path is None:
        return ProwlError("TRANSPORT_FAILED", f"The connection failed: {text}", status=status)
    reason = address.diagnose(path)
    explain: dict[str | None, Callable[[], ProwlError]] = {
        "absent": lambda: ProwlError(
            "APP_NOT_RUNNING", f"No service listens on {path}; start one with `prowl serve`.", status=status
        ),
        "denied": lambda: ProwlError(
            "SOCKET_PERMISSION_DENIED", f"You may not connect to {path}; it {address.denial(path)}.", status=status
        ),
        "foreign": lambda: ProwlError("TRANSPORT_FAILED", f"{path} is not the socket of a service.", status=status),
    }
    return explain.get(
        reason, lambda: ProwlError("TRANSPORT_FAILED", f"The connection failed: {text}", status=status)
    )()
