"""Binds servicers to the contract: one wrapper maps errors for every method, and Observe may send bytes as they are."""

import asyncio
import logging
from collections.abc import AsyncIterator, Callable, Collection
from contextlib import aclosing
from typing import Any

import grpc
from google.protobuf.descriptor import MethodDescriptor, ServiceDescriptor
from google.protobuf.message import DecodeError, Message
from google.protobuf.message_factory import GetMessageClass

from prowl_svc.model.errors import Code, ProwlError
from prowl_svc.rpc.callers import Handler
from prowl_svc.rpc.errors import abort

__all__ = ["method_handlers"]

log = logging.getLogger("prowl.rpc")
Context = grpc.aio.ServicerContext[Any, Any]
_BROKEN = object()
"""What stands for a request that could not be decoded, since only the behaviour can answer properly."""


def method_handlers(service: ServiceDescriptor, servicer: object, encoded: Collection[str] = ()) -> dict[str, Handler]:
    """Return the handlers of ``service`` by method: each calls the servicer's method of the same name.

    A method that the servicer lacks answers UNIMPLEMENTED with reason NOT_IMPLEMENTED. Responses of the methods named
    in ``encoded`` are bytes already. A ProwlError ends the call with its status; anything else is logged without its
    text and ends it with INTERNAL.
    """
    return {
        method.name: _handler(method, getattr(servicer, method.name, None), method.name in encoded)
        for method in service.methods
    }


def _handler(method: MethodDescriptor, call: Callable[..., Any] | None, encoded: bool) -> Any:
    streams = method.server_streaming
    behaviour = _streaming(method, call) if streams else _unary(method, call)
    make = {
        (False, False): grpc.unary_unary_rpc_method_handler,
        (False, True): grpc.unary_stream_rpc_method_handler,
        (True, False): grpc.stream_unary_rpc_method_handler,
        (True, True): grpc.stream_stream_rpc_method_handler,
    }[method.client_streaming, streams]
    return make(
        behaviour,
        request_deserializer=_decoder(GetMessageClass(method.input_type)),
        response_serializer=None if encoded else _serialize,
    )


def _decoder(kind: type[Message]) -> Callable[[bytes], Any]:
    def decode(data: bytes) -> Any:
        try:
            return kind.FromString(data)
        except DecodeError:
            return _BROKEN

    return decode


def _sound(request: Any, method: MethodDescriptor) -> Any:
    """Return the request or requests; one that could not be decoded raises INVALID_ARGUMENT in its turn."""
    if method.client_streaming:
        return _each_sound(request, method)
    if request is _BROKEN:
        raise ProwlError(Code.INVALID_ARGUMENT, f"The request is not a valid {method.input_type.name}.")
    return request


async def _each_sound(requests: AsyncIterator[Any], method: MethodDescriptor) -> AsyncIterator[Any]:
    async for request in requests:
        if request is _BROKEN:
            raise ProwlError(Code.INVALID_ARGUMENT, f"A message of the stream is not a valid {method.input_type.name}.")
        yield request


def _serialize(message: Message) -> bytes:
    return message.SerializeToString()


def _unary(method: MethodDescriptor, call: Callable[..., Any] | None) -> Callable[[Any, Context], Any]:
    async def behaviour(request: Any, context: Context) -> Any:
        try:
            if call is None:
                raise _missing(method)
            return await call(_sound(request, method), context)
        except Exception as error:
            await _fail(method, context, error)

    return behaviour


def _streaming(method: MethodDescriptor, call: Callable[..., Any] | None) -> Callable[[Any, Context], Any]:
    # Writes by itself: each generator around a generator would cost every message to every observer something.
    async def behaviour(request: Any, context: Context) -> None:
        try:
            if call is None:
                raise _missing(method)
            async with aclosing(call(_sound(request, method), context)) as responses:
                async for response in responses:
                    await context.write(response)
        except Exception as error:
            await _fail(method, context, error)

    return behaviour


async def _fail(method: MethodDescriptor, context: Context, error: Exception) -> None:
    if isinstance(error, ProwlError):
        await abort(context, error)
    if isinstance(error, (grpc.aio.AbortError, grpc.aio.BaseError, asyncio.CancelledError)):
        raise error
    # Only the type: an exception's text may hold screen text or a path of the user's.
    log.error("call failed", extra={"fields": {"method": method.name, "error": type(error).__name__}}, exc_info=error)
    await context.abort(grpc.StatusCode.INTERNAL, f"{method.name} failed inside the service; its log says more.")


def _missing(method: MethodDescriptor) -> ProwlError:
    return ProwlError(Code.NOT_IMPLEMENTED, f"{method.name} is not available in this version of the service.")
