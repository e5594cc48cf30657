"""Who is behind a call: the front door's table, the gate that refuses strangers, and the caller's pane."""

import inspect
import logging
from collections.abc import Callable, Iterable, Mapping
from typing import Any, TypeAlias

import grpc

from prowl_svc.evidence.throttle import Warnings
from prowl_svc.identity.caller import Attribution, Caller, attribute, attribute_thread
from prowl_svc.model.errors import Code, ProwlError
from prowl_svc.model.process import Generation
from prowl_svc.rpc.errors import abort

__all__ = ["Callers", "Gate", "Handler"]

log = logging.getLogger("prowl.identity")

Handler: TypeAlias = "grpc.RpcMethodHandler[Any, Any]"
DaemonThreads = Mapping[Generation, Mapping[str, tuple[str, Generation]]]


class Callers:
    """Looks callers up by the peer name of their connection.

    ``roots`` are the first processes of live panes, ``daemons`` the threads that shared daemons run for panes, and
    ``environment`` reads the variables of exactly one process. ``clock`` is monotonic seconds.
    """

    def __init__(
        self,
        caller: Callable[[str], Caller | None],
        roots: Callable[[], Mapping[Generation, str]],
        daemons: Callable[[], DaemonThreads],
        environment: Callable[[Generation], Mapping[str, str] | None],
        clock: Callable[[], float],
    ) -> None:
        self._caller = caller
        self._roots = roots
        self._daemons = daemons
        self._environment = environment
        self._clock = clock
        self._warnings = Warnings(log.warning)

    def known(self, context: Any) -> bool:
        """Tell whether the call came through the front door."""
        return self._caller(context.peer()) is not None

    def caller(self, context: Any) -> Caller | None:
        """Return who calls."""
        return self._caller(context.peer())

    def attribution(self, context: Any) -> Attribution | None:
        """Return the pane that the caller runs in, or None."""
        caller = self._caller(context.peer())
        if caller is None:
            return None
        return attribute(caller, self._roots()) or attribute_thread(caller, self._daemons(), self._environment)

    def turned_away(self, context: Any, why: str) -> None:
        """Say in the log whom a call is refused, for the same reason once in a while: strangers must not fill it."""
        caller = self._caller(context.peer())
        self._warnings.failed(why, self._clock(), f"(pid {caller.pid if caller is not None else 'unknown'})")


class Gate:
    """Adds handlers to a server so that every call is refused that did not come through the front door.

    It takes the place of the server where handlers are added. An interceptor would do the same, but make a handler
    anew for each call.
    """

    def __init__(self, server: grpc.aio.Server, callers: Callers) -> None:
        self._server = server
        self._callers = callers

    def add_generic_rpc_handlers(self, handlers: Iterable[grpc.GenericRpcHandler]) -> None:
        """Leave these out: they say of no method whether they have it before it is called, so they cannot be kept."""

    def add_registered_method_handlers(self, service: str, handlers: Mapping[str, Handler]) -> None:
        """Add the methods of a service; gRPC finds them without asking each service for every call."""
        guarded = {name: self._guarded(handler) for name, handler in handlers.items()}
        self._server.add_registered_method_handlers(service, guarded)

    def _guarded(self, handler: Any) -> Handler:
        name, make = _KINDS[handler.request_streaming, handler.response_streaming]
        behaviour = getattr(handler, name)
        generates = inspect.isasyncgenfunction(behaviour)
        return make(
            (self._stream if generates else self._single)(behaviour),
            request_deserializer=handler.request_deserializer,
            response_serializer=handler.response_serializer,
        )

    def _single(self, behaviour: Any) -> Any:
        async def call(request: Any, context: Any) -> Any:
            if not self._callers.known(context):
                await self._refuse(context)
            return await behaviour(request, context)

        return call

    def _stream(self, behaviour: Any) -> Any:
        async def generate(request: Any, context: Any) -> Any:
            if not self._callers.known(context):
                await self._refuse(context)
            async for response in behaviour(request, context):
                yield response

        return generate

    async def _refuse(self, context: Any) -> None:
        self._callers.turned_away(context, "a call that went round the public socket is refused")
        await abort(context, ProwlError(Code.SOURCE_REQUIRED, "Connect to the public socket; this one is private."))


_KINDS: dict[tuple[bool, bool], tuple[str, Callable[..., Handler]]] = {
    (False, False): ("unary_unary", grpc.unary_unary_rpc_method_handler),
    (False, True): ("unary_stream", grpc.unary_stream_rpc_method_handler),
    (True, False): ("stream_unary", grpc.stream_unary_rpc_method_handler),
    (True, True): ("stream_stream", grpc.stream_stream_rpc_method_handler),
}
