"""The options that every channel to the service is made with."""

from google.protobuf.message import Message
from prowl.v1 import agents_pb2, panes_pb2

__all__ = ["DEFAULT_TIMEOUT", "MAX_REQUEST_BYTES", "MAX_RESPONSE_BYTES", "METADATA", "OPTIONS", "deadline"]

DEFAULT_TIMEOUT = 15.0
"""Seconds after which a unary call without its own deadline fails with TIMEOUT."""

MAX_REQUEST_BYTES = 1 << 20
MAX_RESPONSE_BYTES = 4 << 20

_ERROR_BYTES = 1 << 20

METADATA = (("prowl-error-bytes", str(_ERROR_BYTES)),)
"""Of calls whose failures may carry a screen or a long text: this client takes it whole."""

OPTIONS: tuple[tuple[str, int | str], ...] = (
    ("grpc.max_send_message_length", MAX_REQUEST_BYTES),
    ("grpc.max_receive_message_length", MAX_RESPONSE_BYTES),
    ("grpc.max_metadata_size", 2 * _ERROR_BYTES),
    ("grpc.keepalive_time_ms", 0x7FFFFFFF),  # a Unix socket tells at once when its peer is gone
    ("grpc.http2.max_pings_without_data", 0),
    ("grpc.enable_http_proxy", 0),
    ("grpc.default_authority", "localhost"),  # else the socket's path, which some servers refuse
    ("grpc.enable_retries", 0),  # a call that types into a pane must not happen twice
    ("grpc.use_local_subchannel_pool", 1),
    ("grpc.initial_reconnect_backoff_ms", 100),
    ("grpc.max_reconnect_backoff_ms", 500),
)

_GRACE = 10.0


def deadline(request: Message, timeout: float | None, default: float) -> float:
    """Return the transport deadline in seconds of a call: ``timeout`` when given, else ``default``.

    A request that makes the service wait gets that wait and a grace on top, so that the service's own answer, such as
    WAIT_TIMEOUT with its details, arrives before the transport gives up.
    """
    if timeout is not None:
        return timeout
    if isinstance(request, agents_pb2.WaitRequest):
        return (request.timeout_seconds or 600) + _GRACE
    if isinstance(request, panes_pb2.SendTextRequest) and request.wait:
        return (request.timeout_seconds or 30) + _GRACE
    if isinstance(request, panes_pb2.ReadPaneRequest) and request.HasField("stable"):
        return (request.stable.timeout_seconds or 10) + _GRACE
    return default
