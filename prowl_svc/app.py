"""Wires the rooms together and runs them: the only place that knows them all."""

import asyncio
import contextlib
import gc
import logging
import os
import signal
import socket
import sys
from collections.abc import Mapping
from typing import Any, cast

import grpc
from grpc_health.v1 import health, health_pb2, health_pb2_grpc
from grpc_reflection.v1alpha import reflection, reflection_pb2_grpc
from prowl.v1 import agents_pb2, dispatch_pb2, feed_pb2, panes_pb2, profiles_pb2, server_pb2

from prowl_svc.clocks import Clocks
from prowl_svc.config import Config
from prowl_svc.decision.coordinator import Binding
from prowl_svc.evidence.acquire import FileProvider, Providers
from prowl_svc.evidence.host import SystemHost
from prowl_svc.evidence.session import Ladder
from prowl_svc.evidence.session_cache import SessionResolver
from prowl_svc.evidence.watch import open_watch
from prowl_svc.identity.frontdoor import FrontDoor, listen
from prowl_svc.identity.portable import environment_of, raise_descriptor_limit, running_system
from prowl_svc.model.agents import Agent
from prowl_svc.observe.hub import Hub
from prowl_svc.probe.prober import Prober, system_table
from prowl_svc.rpc.agents import AgentServicer
from prowl_svc.rpc.callers import Callers, Gate
from prowl_svc.rpc.dispatching import DispatchServicer
from prowl_svc.rpc.encode import encode_event
from prowl_svc.rpc.handlers import method_handlers
from prowl_svc.rpc.panes import PaneServicer
from prowl_svc.rpc.server import ServerServicer
from prowl_svc.rpc.signalling import Signalling
from prowl_svc.rpc.targets import Targets
from prowl_svc.signals.dispatches import Dispatches
from prowl_svc.signals.journal import Journal, JournalBusy
from prowl_svc.signals.records import Records
from prowl_svc.signals.surface import Facts
from prowl_svc.socketfile import SocketOwner
from prowl_svc.watch.host import Host
from prowl_svc.watch.roster import Roster
from prowl_svc.watch.sessions import SessionSource
from prowl_svc.watch.watcher import Environment

__all__ = ["Service", "StartError", "serve"]

_OPTIONS = [
    ("grpc.max_receive_message_length", 1 << 20),
    ("grpc.max_send_message_length", 4 << 20),
    ("grpc.so_reuseport", 0),
    ("grpc.keepalive_permit_without_calls", 0),
]
_SWITCH_S = 0.0005
_GARBAGE = (10_000, 20, 50)
_SERVICES = (
    agents_pb2.DESCRIPTOR.services_by_name["AgentService"],
    panes_pb2.DESCRIPTOR.services_by_name["PaneService"],
    dispatch_pb2.DESCRIPTOR.services_by_name["DispatchService"],
    profiles_pb2.DESCRIPTOR.services_by_name["ProfileService"],
    feed_pb2.DESCRIPTOR.services_by_name["FeedService"],
    server_pb2.DESCRIPTOR.services_by_name["ServerService"],
)

log = logging.getLogger("prowl")


class StartError(Exception):
    """The service cannot start; the message says what stands in the way."""


class Service:
    """One running service. ``environ`` is the environment that panes inherit; ``clocks`` may be a test's.

    Make it on the loop that it runs on, then ``start`` it, and ``stop`` it in the end.
    """

    def __init__(self, config: Config, environ: Mapping[str, str], clocks: Clocks | None = None) -> None:
        self.config = config
        self.clocks = clocks or Clocks()
        self._owner = SocketOwner(config.socket)
        table = system_table()
        self.hub = Hub(encode_event, pace=asyncio.get_running_loop())
        self.prober = Prober(table, self.clocks.monotonic)
        self._journal = Journal(config.state_directory, lambda: str(self.clocks.wall_ns()))
        self.dispatches = Dispatches(
            clock=self.clocks.monotonic,
            now_ns=self.clocks.wall_ns,
            schedule=asyncio.get_running_loop().call_later,
            keeper=self._journal,
        )
        self.records = Records(
            self.hub,
            self._facts,
            sink=self.dispatches,
            now_ns=self.clocks.wall_ns,
            process_clock=self.clocks.process_clock,
            units_per_second=self.clocks.units_per_second,
        )
        self._files = open_watch()
        system = SystemHost()
        self._providers = Providers(system, self._files, self.clocks)
        ladder = Ladder(system, self.clocks.monotonic, lambda: self.clocks.wall_ns() / 1e9)
        self.roster = Roster(
            Environment(
                clocks=self.clocks,
                prober=self.prober,
                records=self.records,
                acquire=self._acquire,
                watched=self._watched,
                viewer_timeout=config.viewer_timeout,
                sessions=SessionSource(SessionResolver(ladder.attribute, system), system, self.clocks),
            )
        )
        self.host = Host(
            self.roster,
            self.records,
            table,
            self.clocks,
            environ=_pane_environment(environ) | {"PROWL_SOCKET": str(config.socket)},
            hostname=socket.gethostname(),
            scrollback=config.scrollback_rows,
            close_grace=config.close_grace,
            answer_status_query=True,
        )
        # The lock makes it ours alone, so what a killed instance left there is replaced, and never piles up.
        self._private = config.socket.with_name(f".{config.socket.name}")
        self._door = FrontDoor(
            listen(str(config.socket)),
            str(self._private),
            uid=os.getuid(),
            read=table.process,
            system=running_system(str(config.socket.parent)),
        )
        self.callers = Callers(
            self._door.caller,
            lambda: self.host.roots,
            self.roster.daemon_threads,
            lambda generation: environment_of(generation, table.process),
            self.clocks.monotonic,
        )
        self._server: grpc.aio.Server | None = None
        self._health = health.aio.HealthServicer()
        self._agents: AgentServicer | None = None

    async def start(self) -> None:
        """Serve; returns once clients can connect."""
        targets = Targets(self.host)
        self.dispatches.restore(self._journal.load(), ())
        rooms: dict[str, Any] = {
            "host": self.host,
            "records": self.records,
            "dispatches": self.dispatches,
            "targets": targets,
            "callers": self.callers,
            "clocks": self.clocks,
        }
        signalling = Signalling(**rooms)
        self._agents = agents = AgentServicer(self.roster, self.records, targets, self.prober, signalling)
        servicers = {
            "AgentService": agents,
            "PaneService": PaneServicer(self.host, targets, agents, self.callers, self.clocks),
            "DispatchService": DispatchServicer(**rooms),
            "ServerService": ServerServicer(self.config, self.clocks.wall_ns(), self._counts),
        }
        server = grpc.aio.server(options=_OPTIONS)
        gate = Gate(server, self.callers)
        for service in _SERVICES:
            encoded = ("Observe",) if service.name == "AgentService" else ()
            handlers = method_handlers(service, servicers.get(service.name), encoded)
            gate.add_registered_method_handlers(service.full_name, handlers)
        standard = cast(grpc.aio.Server, gate)
        health_pb2_grpc.add_HealthServicer_to_server(self._health, standard)
        names = [service.full_name for service in _SERVICES]
        reflected = reflection.aio.ReflectionServicer([*names, health.SERVICE_NAME, reflection.SERVICE_NAME])
        reflection_pb2_grpc.add_ServerReflectionServicer_to_server(reflected, standard)  # type: ignore[no-untyped-call]
        server.add_insecure_port(f"unix:{self._private}")
        await server.start()
        self._server = server
        for name in ("", *names):
            await self._health.set(name, health_pb2.HealthCheckResponse.SERVING)
        self._door.start()
        log.info("serving", extra={"fields": {"socket": str(self.config.socket), "pid": os.getpid()}})

    async def stop(self) -> None:
        """End streams, close panes, then stop: what observers are owed is still sent."""
        log.info("stopping", extra={"fields": {"panes": len(self.host.registry)}})
        await self._health.enter_graceful_shutdown()
        await self.host.stop()
        self.end_streams()
        if self._server is not None:
            await self._server.stop(self.config.stop_grace)
        await asyncio.get_running_loop().run_in_executor(None, self._door.stop)
        with contextlib.suppress(FileNotFoundError):
            self._private.unlink()
        self._files.close()
        await asyncio.get_running_loop().run_in_executor(None, self._journal.close)
        self._owner.release()
        log.info("stopped")

    def end_streams(self) -> None:
        """End every stream that could go on for ever; what observers are owed is still sent."""
        self.hub.end_all()
        if self._agents is not None:
            self._agents.stop()

    def _facts(self, pane: str) -> Facts:
        return self.roster.facts(pane)

    def _watched(self, agent: Agent) -> bool:
        return self.config.detection and agent not in self.config.detection_disabled

    def _acquire(self, pane: str, binding: Binding) -> FileProvider | None:
        watcher = self.roster.watcher(pane)
        if watcher is None or binding.generation is None:
            return None
        return self._providers.acquire(binding.agent, binding.generation, binding.config_root, watcher.evidence_changed)

    def _counts(self) -> tuple[int, int]:
        panes = [slot.pane.id for slot in self.host.registry]
        return len(panes), sum(self.hub.subscriber_count(pane) for pane in panes)


def _pane_environment(environ: Mapping[str, str]) -> dict[str, str]:
    """Return what panes inherit: nothing of how this service itself was started, and no token of a pane around it."""
    return {name: value for name, value in environ.items() if not name.startswith("PROWL_")}


def _unexpected(loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
    """Log what no code caught: only the type and the place, since asyncio's own words may quote what panes show."""
    error = context.get("exception")
    fields = {"error": type(error).__name__}
    log.error("unexpected error", extra={"fields": fields}, exc_info=error if isinstance(error, Exception) else None)


async def serve(config: Config, environ: Mapping[str, str]) -> None:
    """Run the service until SIGTERM or SIGINT; raises SocketError when the socket cannot be owned, else StartError."""
    raise_descriptor_limit()
    # The front door relays in a thread of its own: it must not wait 5 ms for a turn while the loop is busy.
    sys.setswitchinterval(_SWITCH_S)
    try:
        service = Service(config, environ)
    except JournalBusy as error:
        raise StartError(f"{error}; stop it, or set PROWL_STATE_DIRECTORY to another folder") from None
    except OSError as error:
        raise StartError(f"cannot start: {error}") from None
    stopping = asyncio.Event()
    loop = asyncio.get_running_loop()
    loop.set_exception_handler(_unexpected)
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stopping.set)
    await service.start()
    # What there is now stays, and streams make and drop much that is no garbage: look through it all less often.
    gc.freeze()
    gc.set_threshold(*_GARBAGE)
    await stopping.wait()
    await service.stop()
