"""ProwlError to gRPC status: ErrorInfo with the stable code, and our details (signals.md, status mapping).

A status travels in trailers, and a client that gets more of them than it takes sees a broken stream instead of the
error. So texts are cut to what every client takes, unless one says that it takes more.
"""

from collections.abc import Iterable, Iterator
from typing import NoReturn

import grpc
from google.protobuf.any_pb2 import Any as AnyMessage
from google.protobuf.descriptor import FieldDescriptor
from google.protobuf.message import Message
from google.rpc import code_pb2, error_details_pb2, status_pb2
from grpc_status import rpc_status
from prowl.v1 import common_pb2

from prowl_svc.model.errors import Code, ProwlError

__all__ = ["DOMAIN", "ROOM", "ROOM_KEY", "abort", "status_of"]

DOMAIN = "prowl"
ROOM = 5_500
"""Bytes of details that fit beside the rest into the 8 KiB of trailers which clients take by default."""
ROOM_KEY = "prowl-error-bytes"
"""Request metadata by which a client says that it takes details of so many bytes."""
_MAX_ROOM = 1 << 20
_MAX_MESSAGE = 600
_MAX_METADATA = 1_000

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


def status_of(error: ProwlError, details: Iterable[Message] = (), room: int = ROOM) -> status_pb2.Status:
    """Return the google.rpc.Status of ``error``: ErrorInfo first, then the given detail messages, cut to ``room``."""
    fallback = code_pb2.INTERNAL if error.code in _INTERNAL else code_pb2.FAILED_PRECONDITION
    status = status_pb2.Status(code=_STATUS.get(error.code, fallback), message=_cut(error.message, _MAX_MESSAGE))
    metadata = {
        key: _cut(str(value), _MAX_METADATA)
        for key, value in (error.details or {}).items()
        if not isinstance(value, Message)
    }
    info = error_details_pb2.ErrorInfo(reason=error.code.value, domain=DOMAIN, metadata=metadata)
    own = [value for value in (error.details or {}).values() if isinstance(value, Message)]
    for message in (info, *own, *details):
        fitting = _fitting(message, room)
        if fitting is not None:
            packed = AnyMessage()
            packed.Pack(fitting)
            status.details.append(packed)
            room -= packed.ByteSize()
    return status


async def abort(context: "grpc.aio.ServicerContext[Message, Message]", error: ProwlError) -> NoReturn:
    """End the call with the status of ``error``."""
    await context.abort_with_status(rpc_status.to_status(status_of(error, room=_room(context))))
    raise AssertionError("abort_with_status returned")


def _room(context: "grpc.aio.ServicerContext[Message, Message]") -> int:
    for key, value in context.invocation_metadata() or ():
        if key == ROOM_KEY and isinstance(value, str) and value.isascii() and value.isdecimal() and len(value) < 10:
            return min(max(int(value), ROOM), _MAX_ROOM)
    return ROOM


def _fitting(message: Message, room: int) -> Message | None:
    """Return ``message`` with its longest texts cut until it fits, or None when that is not enough."""
    if message.ByteSize() <= room:
        return message
    copy = type(message)()
    copy.CopyFrom(message)
    while (excess := copy.ByteSize() - room) > 0:
        holder, name, text = max(_texts(copy), key=lambda found: len(found[2]), default=(copy, "", ""))
        size = len(text.encode("utf-8", "replace"))
        if size < 64:
            return None
        keep = max(size - excess - 8, size // 2)
        if isinstance(holder, common_pb2.ScreenCapture):  # the last rows are the ones that matter
            rows = text.encode("utf-8", "replace")[-keep:].decode("utf-8", "ignore").split("\n")[1:]
            holder.text, holder.line_count = "\n".join(rows), len(rows)
        else:
            setattr(holder, name, _cut(text, keep))
    return copy


def _texts(message: Message) -> Iterator[tuple[Message, str, str]]:
    """Yield every text of a message and of those in it, with its holder and the field's name."""
    for field, value in message.ListFields():
        if field.type == FieldDescriptor.TYPE_STRING and isinstance(value, str):
            yield message, field.name, value
        elif field.type == FieldDescriptor.TYPE_MESSAGE:
            for inner in [value] if isinstance(value, Message) else value:
                if isinstance(inner, Message):  # keys of a map are not
                    yield from _texts(inner)


def _cut(text: str, size: int) -> str:
    data = text.encode("utf-8", "replace")
    return text if len(data) <= size else data[: size - 3].decode("utf-8", "ignore") + "…"
