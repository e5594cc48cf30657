"""Make the file provider of a pane's agent: its config root, its warnings, and the watch on its files."""

import logging
import os
import re
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Protocol

from prowl_svc.evidence.claude_registry import ClaudeRegistry, RegistryProcess
from prowl_svc.evidence.codex_logs import CodexLogs
from prowl_svc.evidence.host import Host
from prowl_svc.evidence.throttle import Warnings
from prowl_svc.evidence.watch import FileWatch
from prowl_svc.model.agents import Agent
from prowl_svc.model.facts import ProviderFact
from prowl_svc.model.process import Generation

__all__ = ["FileProvider", "Providers", "WallClock", "config_root", "named_root", "pid_domain"]

_ROOT_VARIABLES = {Agent.CLAUDE: "CLAUDE_CONFIG_DIR", Agent.CODEX: "CODEX_HOME"}
_DEFAULT_ROOTS = {Agent.CLAUDE: ".claude", Agent.CODEX: ".codex"}

_FOLLOW_AGAIN = 5.0
_EXECUTING = 1.0
_MAX_EXECUTING = 64

log = logging.getLogger("prowl.AgentDetection")


class WallClock(Protocol):
    """The clocks that files' times are compared with."""

    def wall_ns(self) -> int:
        """Wall-clock nanoseconds since the epoch."""
        ...

    def started_wall(self, start: int) -> float:
        """A raw process start time as wall-clock seconds."""
        ...


class FileProvider(Protocol):
    """A provider that also says which files' changes are news."""

    @property
    def watched(self) -> Sequence[str]:
        """Absolute paths; may change with every sample."""
        ...

    @property
    def noted(self) -> str | None:
        """The session that the last sample proved to be this very process's, or None."""
        ...

    @property
    def daemon(self) -> Generation | None:
        """The shared daemon that runs that session for the process, or None."""
        ...

    async def sample(self, now: float) -> Sequence[ProviderFact]:
        """Return the facts since the last sample."""
        ...

    def unchanged(self, now: float) -> bool:
        """Tell, by a cheap look, that a sample would only repeat the last one; False when in doubt."""
        ...

    def close(self) -> None:
        """Let go of what is held."""
        ...


def config_root(agent: Agent, launch_root: str | None, environment: dict[str, str], home: str) -> str:
    """Return where an agent keeps its state: the launch's root, else what its own environment says, else the default.

    The environment is that of the process (empty where the system does not tell it), ``home`` the service's.
    """
    named = named_root(agent, launch_root, environment)
    return named or os.path.join(environment.get("HOME") or home, _DEFAULT_ROOTS[agent])


def named_root(agent: Agent, launch_root: str | None, environment: dict[str, str]) -> str | None:
    """Return the config root that the launch or the agent's own environment names, None for the default one."""
    return launch_root or environment.get(_ROOT_VARIABLES.get(agent, "")) or None


def pid_domain() -> str:
    """Return this host's own ``pidDomain`` (providers.md §3.3)."""
    if sys.platform == "darwin":
        return "darwin"
    try:
        machine = Path("/etc/machine-id").read_text(encoding="ascii", errors="replace").strip()
    except OSError:
        machine = ""
    return f"linux:{machine}:{os.readlink('/proc/self/ns/pid')}"


class Providers:
    """Makes providers; one for the whole service."""

    def __init__(self, host: Host, watch: FileWatch, clocks: WallClock) -> None:
        self._host = host
        self._watch = watch
        self._clocks = clocks
        self._bare: dict[Generation, float] = {}

    def _wall(self) -> float:
        return self._clocks.wall_ns() / 1e9

    def _being_executed(self, generation: Generation, environment: dict[str, str]) -> bool:
        """Tell whether a process may not have its environment yet, which may name the root.

        The kernel gives a program its name a moment before its environment; for longer, it has none.
        """
        if environment:
            self._bare.pop(generation, None)
            return False
        now = self._wall()
        if len(self._bare) >= _MAX_EXECUTING:
            self._bare = {one: since for one, since in self._bare.items() if now - since < _EXECUTING}
        return abs(now - self._bare.setdefault(generation, now)) < _EXECUTING

    def acquire(
        self, agent: Agent, generation: Generation, launch_root: str | None, wake: Callable[[], None]
    ) -> FileProvider | None:
        """Return the provider of a Codex or Claude process, or None for any other agent.

        None is also the answer about a process without an environment, for a second: ask again.
        ``launch_root`` is the config root of the pane's launch profile; ``wake`` is called when a file changed.
        """
        if agent not in _DEFAULT_ROOTS:
            return None
        environment = self._host.environment(generation.pid)
        if self._being_executed(generation, environment):
            return None
        root = config_root(agent, launch_root, environment, os.path.expanduser("~"))
        warnings = Warnings(lambda line: log.warning("%s", line))
        provider: FileProvider
        if agent is Agent.CODEX:
            provider = CodexLogs(
                self._host,
                generation,
                root,
                own_root=launch_root is not None or _ROOT_VARIABLES[agent] in environment,
                since=self._wall(),
                started=self._clocks.started_wall(generation.start),
                warnings=warnings,
            )
        else:
            process = RegistryProcess(
                generation.pid,
                pid_domain(),
                _start_of_records(generation),
                generation.start if sys.platform == "linux" else None,
            )
            provider = ClaudeRegistry(self._host, generation, process, root, wall=self._wall, warnings=warnings)
        return _Watched(provider, self._watch, wake)


def _start_of_records(generation: Generation) -> float:
    """Return a process's start in wall-clock seconds as records count it: boot time in whole seconds plus ticks."""
    if sys.platform != "linux":
        return generation.start / 1_000_000
    match = re.search(rb"^btime (\d+)", Path("/proc/stat").read_bytes(), re.MULTILINE)
    return (int(match[1]) if match else 0) + generation.start / os.sysconf("SC_CLK_TCK")


class _Watched:
    """A provider whose files are followed for as long as it is held."""

    def __init__(self, provider: FileProvider, watch: FileWatch, wake: Callable[[], None]) -> None:
        self._provider = provider
        self._watch = watch
        self._wake = wake
        self._followed: Sequence[str] = ()
        self._followed_at = float("-inf")

    @property
    def watched(self) -> Sequence[str]:
        return self._provider.watched

    @property
    def daemon(self) -> Generation | None:
        return self._provider.daemon

    @property
    def noted(self) -> str | None:
        return self._provider.noted

    async def sample(self, now: float) -> Sequence[ProviderFact]:
        facts = await self._provider.sample(now)
        paths = self._provider.watched
        # A folder that was not there could not be watched, so it is named again now and then.
        if paths != self._followed or now - self._followed_at >= _FOLLOW_AGAIN:
            self._followed, self._followed_at = paths, now
            self._watch.follow(self, paths, self._wake)
        return facts

    def unchanged(self, now: float) -> bool:
        return self._provider.unchanged(now)

    def close(self) -> None:
        self._watch.follow(self, (), self._wake)
        self._provider.close()
