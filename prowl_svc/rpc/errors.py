"""ProwlError to gRPC status: ErrorInfo with the stable code, and our details (signals.md, status mapping)."""

from collections.abc import Iterable
from typing import NoReturn

import grpc
from google.protobuf.any_pb2 import Any as AnyMessage
from google.protobuf.message import Message
from google.rpc import code_pb2, error_details_pb2, status_pb2
from grpc_status import rpc_status

from prowl_svc.model.errors import Code, ProwlError

__all__ = ["DOMAIN", "abort", "status_of"]

DOMAIN = "prowl"

_STATUS = {
    Code.INVALID_ARGUMENT: code_pb2.INVALID_ARGUMENT,
    Code.EMPTY_INPUT: code_pb2.INVALID_ARGUMENT,
    Code.UNSUPPORTED_KEY: code_pb2.INVALID_ARGUMENT,
    Code.INVALID_REPEAT: code_pb2.INVALID_ARGUMENT,
    Code.PATH_NOT_ALLOWED: code_pb2.INVALID_ARGUMENT,
    Code.TARGET_NOT_FOUND: code_pb2.NOT_FOUND,
    Code.AGENT_NOT_FOUND: code_pb2.NOT_FOUND,
    Code.DISPATCH_NOT_FOUND: code_pb2.NOT_FOUND,
    Code.PROFILE_NOT_FOUND: code_pb2.NOT_FOUND,
    Code.RESULT_NOT_FOUND: code_pb2.NOT_FOUND,
    Code.NO_ACTIVE_PANE: code_pb2.NOT_FOUND,
    Code.BUFFER_OVERFLOW: code_pb2.RESOURCE_EXHAUSTED,
    Code.DISPATCH_CAPACITY_EXCEEDED: code_pb2.RESOURCE_EXHAUSTED,
    Code.SOURCE_REQUIRED: code_pb2.PERMISSION_DENIED,
    Code.DISPATCH_CONTEXT_REQUIRED: code_pb2.PERMISSION_DENIED,
    Code.WAIT_TIMEOUT: code_pb2.DEADLINE_EXCEEDED,
    Code.AGENT_GONE: code_pb2.ABORTED,
    Code.TIMEOUT: code_pb2.CANCELLED,
    Code.NOT_IMPLEMENTED: code_pb2.UNIMPLEMENTED,
    Code.AGENT_UNSUPPORTED: code_pb2.FAILED_PRECONDITION,
    Code.SHUTTING_DOWN: code_pb2.UNAVAILABLE,
}
_INTERNAL = {Code.AGENTS_FAILED, Code.LIST_FAILED, Code.PROFILES_FAILED}


def status_of(error: ProwlError, details: Iterable[Message] = ()) -> status_pb2.Status:
    """Return the google.rpc.Status of ``error``: ErrorInfo first, then the given detail messages."""
    fallback = code_pb2.INTERNAL if error.code in _INTERNAL else code_pb2.FAILED_PRECONDITION
    status = status_pb2.Status(code=_STATUS.get(error.code, fallback), message=error.message)
    metadata = {key: str(value) for key, value in (error.details or {}).items() if not isinstance(value, Message)}
    info = error_details_pb2.ErrorInfo(reason=error.code.value, domain=DOMAIN, metadata=metadata)
    own = [value for value in (error.details or {}).values() if isinstance(value, Message)]
    for message in (info, *own, *details):
        packed = AnyMessage()
        packed.Pack(message)
        status.details.append(packed)
    return status


async def abort(context: "grpc.aio.ServicerContext[Message, Message]", error: ProwlError) -> NoReturn:
    """End the call with the status of ``error``."""
    await context.abort_with_status(rpc_status.to_status(status_of(error)))
    raise AssertionError("abort_with_status returned")
