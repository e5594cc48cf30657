"""ServerService: what this service is and how it was configured."""

import os
import platform
from collections.abc import Callable
from importlib.metadata import PackageNotFoundError, version
from typing import Any

from prowl.v1 import server_pb2

from prowl_svc.config import Config
from prowl_svc.hotpaths import hot_paths
from prowl_svc.rpc.encode import timestamp

__all__ = ["ServerServicer", "service_version"]


def service_version() -> str:
    """Return the installed version, or ``0+source`` when run from a source tree."""
    try:
        return version("prowl")
    except PackageNotFoundError:
        return "0+source"


class ServerServicer:
    """Answers GetInfo; ``counts`` gives the number of panes and of open observers, ``started`` is in nanoseconds."""

    def __init__(self, config: Config, started: int, counts: Callable[[], tuple[int, int]]) -> None:
        self._config = config
        self._started = started
        self._counts = counts

    async def GetInfo(self, request: server_pb2.GetInfoRequest, context: Any) -> server_pb2.GetInfoResponse:
        """Return version, hot paths, configuration and counts."""
        panes, observers = self._counts()
        return server_pb2.GetInfoResponse(
            version=service_version(),
            pid=os.getpid(),
            started_at=timestamp(self._started),
            socket=str(self._config.socket),
            platform=f"{platform.python_implementation()} {platform.python_version()} on {platform.platform()}",
            hot_paths=[
                server_pb2.HotPath(name=path.name, compiled=path.compiled, reason=path.reason) for path in hot_paths()
            ],
            settings=[
                server_pb2.Setting(name=item.name, value=item.value, origin=item.origin)
                for item in self._config.settings
            ],
            panes=panes,
            observers=observers,
        )
