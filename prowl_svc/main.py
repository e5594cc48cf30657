"""The ``prowl-serve`` command: read the configuration, own the socket, serve until told to stop."""

import argparse
import asyncio
import os
import sys
from collections.abc import Sequence
from pathlib import Path

__all__ = ["main"]


def main(argv: Sequence[str] | None = None) -> int:
    """Run the service; returns 0 after a graceful stop, 1 when it cannot start, with the reason on standard error."""
    parser = argparse.ArgumentParser(
        prog="prowl-serve",
        description="Serve the agents in your terminal panes over gRPC on a Unix socket.",
        epilog="example: PROWL_SOCKET=/tmp/mine/prowl.sock prowl-serve --log-level debug",
    )
    parser.add_argument("--socket", metavar="PATH", help="absolute path of the socket (PROWL_SOCKET)")
    parser.add_argument("--log-level", choices=["debug", "info", "warning", "error"], help="(PROWL_LOG_LEVEL)")
    parser.add_argument("--log-format", choices=["text", "json"], help="(PROWL_LOG_FORMAT)")
    options = parser.parse_args(argv)
    environ = dict(os.environ)
    for name, value in (
        ("PROWL_SOCKET", options.socket),
        ("PROWL_LOG_LEVEL", options.log_level),
        ("PROWL_LOG_FORMAT", options.log_format),
    ):
        if value:
            environ[name] = value

    # Else the socket or the journal would get these numbers, and what libraries print there.
    for descriptor in range(3):
        try:
            os.fstat(descriptor)
        except OSError:
            os.open(os.devnull, os.O_RDWR)

    # gRPC reads these at import; this process never forks, and its own log would mix with ours.
    os.environ["GRPC_ENABLE_FORK_SUPPORT"] = "0"
    os.environ.setdefault("GRPC_VERBOSITY", "NONE")
    # Its older listener hands a call on through fewer threads: a fifth less time and CPU for each.
    os.environ.setdefault("GRPC_EXPERIMENTS", "-event_engine_listener")
    from prowl_svc import logs  # noqa: PLC0415
    from prowl_svc.app import StartError, serve  # noqa: PLC0415
    from prowl_svc.config import ConfigError, load  # noqa: PLC0415
    from prowl_svc.socketfile import SocketError  # noqa: PLC0415

    try:
        config = load(environ, Path.home())
        logs.configure(config.log_level, config.log_format)
        asyncio.run(serve(config, environ))
    except (ConfigError, SocketError, StartError) as error:
        print(f"prowl-serve: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
