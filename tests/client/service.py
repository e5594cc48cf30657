"""A scripted service: every method answers what the test put there, over a real socket."""

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import grpc
from google.protobuf.any_pb2 import Any as AnyMessage
from google.protobuf.message import Message
from google.rpc import error_details_pb2, status_pb2
from grpc_status import rpc_status
from prowl.v1 import agents_pb2, dispatch_pb2, feed_pb2, panes_pb2, profiles_pb2, server_pb2

FILES = (agents_pb2, panes_pb2, dispatch_pb2, profiles_pb2, feed_pb2, server_pb2)


class Refusal(Exception):
    """A scripted refusal with a stable code and details."""

    def __init__(self, code: str, message: str, status: grpc.StatusCode, *details: Message) -> None:
        super().__init__(message)
        self.status = status_of(code, message, status, *details)


def status_of(code: str, message: str, status: grpc.StatusCode, *details: Message) -> status_pb2.Status:
    """Return the google.rpc.Status that the contract prescribes for a refusal."""
    out = status_pb2.Status(code=status.value[0], message=message)
    for item in (error_details_pb2.ErrorInfo(reason=code, domain="prowl"), *details):
        packed = AnyMessage()
        packed.Pack(item)
        out.details.append(packed)
    return out


class Service:
    """Answers by method name; a method without an answer is UNIMPLEMENTED. Keeps the requests it got."""

    def __init__(self) -> None:
        self.answers: dict[str, Callable[[Any], Any]] = {}
        self.requests: list[Any] = []

    def answer(self, method: str, value: Any) -> None:
        """Let ``method`` answer ``value``: a message, an exception to raise, or a function of the request."""
        self.answers[method] = value if callable(value) and not isinstance(value, Exception) else lambda _: value

    def last(self) -> Any:
        """Return the newest request."""
        return self.requests[-1]

    def handlers(self) -> list[grpc.GenericRpcHandler]:
        """Return the handlers of all services of the contract."""
        out = []
        for file in FILES:
            for service in file.DESCRIPTOR.services_by_name.values():
                methods = {}
                for method in service.methods:
                    made = method.output_type._concrete_class
                    kinds = (method.client_streaming, method.server_streaming)
                    make = {
                        (False, False): grpc.unary_unary_rpc_method_handler,
                        (False, True): grpc.unary_stream_rpc_method_handler,
                        (True, True): grpc.stream_stream_rpc_method_handler,
                    }[kinds]
                    call = self._stream(method.name) if method.server_streaming else self._unary(method.name)
                    methods[method.name] = make(
                        call,
                        request_deserializer=method.input_type._concrete_class.FromString,
                        response_serializer=made.SerializeToString,
                    )
                out.append(grpc.method_handlers_generic_handler(service.full_name, methods))
        return out

    def _unary(self, name: str) -> Any:
        def call(request: Any, context: grpc.ServicerContext) -> Any:
            self.requests.append(request)
            if name not in self.answers:
                context.abort(grpc.StatusCode.UNIMPLEMENTED, "not scripted")
            return self._checked(self.answers[name](request), context)

        return call

    def _stream(self, name: str) -> Any:
        def call(request: Any, context: grpc.ServicerContext) -> Iterator[Any]:
            self.requests.append(request)
            if name not in self.answers:
                context.abort(grpc.StatusCode.UNIMPLEMENTED, "not scripted")
            for item in self.answers[name](request):
                yield self._checked(item, context)

        return call

    @staticmethod
    def _checked(value: Any, context: grpc.ServicerContext) -> Any:
        if isinstance(value, Refusal):
            context.abort_with_status(rpc_status.to_status(value.status))
        return value


@contextmanager
def serving(path: Path) -> Iterator[Service]:
    """Serve a scripted service at ``path``."""
    service = Service()
    server = grpc.server(ThreadPoolExecutor(8), handlers=service.handlers())
    server.add_insecure_port(f"unix:{path}")
    server.start()
    try:
        yield service
    finally:
        server.stop(0).wait()
