"""Who is behind a call: the front door's table, the gate that refuses strangers, and the caller's pane."""

import inspect
import logging
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

import grpc

from prowl_svc.evidence.throttle import Warnings
from prowl_svc.identity.caller import Attribution, Caller, attribute, attribute_thread
from prowl_svc.model.errors import Code, ProwlError
from prowl_svc.model.process import Generation
from prowl_svc.rpc.errors import abort

__all__ = ["Callers", "Gate"]

log = logging.getLogger("prowl.identity")

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


class Gate(grpc.aio.ServerInterceptor):
    """Refuses every call that did not come through the front door."""

    def __init__(self, callers: Callers) -> None:
        self._callers = callers

    async def intercept_service(
        self,
        continuation: Callable[[grpc.HandlerCallDetails], Awaitable[Any]],
        handler_call_details: grpc.HandlerCallDetails,
    ) -> Any:
        """Wrap the handler, since only its context knows the peer."""
        handler = await continuation(handler_call_details)
        if handler is None:
            return None
        behaviours = {
            (False, False): ("unary_unary", grpc.unary_unary_rpc_method_handler),
            (False, True): ("unary_stream", grpc.unary_stream_rpc_method_handler),
            (True, False): ("stream_unary", grpc.stream_unary_rpc_method_handler),
            (True, True): ("stream_stream", grpc.stream_stream_rpc_method_handler),
        }
        name, make = behaviours[handler.request_streaming, handler.response_streaming]
        wrapped = (
            self._stream(getattr(handler, name)) if handler.response_streaming else self._single(getattr(handler, name))
        )
        return make(
            wrapped,
            request_deserializer=handler.request_deserializer,
            response_serializer=handler.response_serializer,
        )

    def _single(self, behaviour: Any) -> Any:
        async def call(request: Any, context: Any) -> Any:
            await self._check(context)
            return await behaviour(request, context)

        return call

    def _stream(self, behaviour: Any) -> Any:
        async def generate(request: Any, context: Any) -> Any:
            await self._check(context)
            async for response in behaviour(request, context):
                yield response

        return generate if inspect.isasyncgenfunction(behaviour) else self._single(behaviour)

    async def _check(self, context: Any) -> None:
        if not self._callers.known(context):
            self._callers.turned_away(context, "a call that went round the public socket is refused")
            await abort(context, ProwlError(Code.SOURCE_REQUIRED, "Connect to the public socket; this one is private."))
