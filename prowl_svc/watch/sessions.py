"""Looks up the session of a pane's agent, beside the scans and never more often than it can change anything."""

import asyncio
import os
from collections.abc import Callable
from dataclasses import dataclass

from prowl_svc.clocks import Clocks
from prowl_svc.evidence.acquire import named_root
from prowl_svc.evidence.host import Host
from prowl_svc.evidence.session import SessionQuery
from prowl_svc.evidence.session_cache import Retained, SessionResolver, retain
from prowl_svc.model.agents import Agent
from prowl_svc.model.observation import SessionRef
from prowl_svc.model.process import Process

__all__ = ["SessionLookup", "SessionSource"]

_LOOK_EVERY = 1.0
"""Seconds between two lookups of one pane; the resolver keeps its answers longer than that."""

_TRIES = 5
"""Lookups after the last event of a pane, each after twice the time, for what agents write late."""


@dataclass(frozen=True, slots=True)
class SessionSource:
    """What lookups of all panes share."""

    resolver: SessionResolver
    host: Host
    clocks: Clocks


class SessionLookup:
    """One pane's session: ``session`` is what to show now."""

    def __init__(self, source: SessionSource | None, changed: Callable[[], None]) -> None:
        self._source = source
        self._changed = changed
        self._retained = Retained()
        self._task: asyncio.Task[None] | None = None
        self._looked = float("-inf")
        self._noted: str | None = None
        self._tries = 0

    @property
    def session(self) -> SessionRef | None:
        """The attributed session, or None."""
        return self._retained.session

    def due(self, now: float) -> bool:
        """Tell whether a look at ``now`` would be more than the last one of the same process."""
        return self._task is None and now - self._looked >= _LOOK_EVERY

    def again_in(self, now: float, noted: str | None) -> float | None:
        """Return in how many seconds another look may find more although nothing happens; None for never."""
        if self._source is None or self._retained.pid is None:
            return None
        wait = self._looked + _LOOK_EVERY - now
        if self._task is not None:
            return max(_LOOK_EVERY, wait)
        if noted == self._noted:
            session = self._retained.session
            if (session is not None and session.trusted is not None) or self._tries > _TRIES:
                return None
            wait = self._looked + _LOOK_EVERY * (1 << max(0, self._tries - 1)) - now
        return max(0.0, wait)

    def look(
        self,
        agent: Agent,
        process: Process | None,
        root: str | None,
        noted: str | None,
        screen: Callable[[], str],
        *,
        news: bool = True,
    ) -> None:
        """Begin a lookup unless one is under way or was just made; ``process`` is None in a probe gap.

        ``news`` tells that something happened in the pane, so that what agents write late may be still to come.
        """
        source = self._source
        if source is None:
            return
        now = source.clocks.monotonic()
        if process is None:
            self._take(retain(self._retained, None, None))
            return
        if self._retained.pid != process.pid:
            self._take(retain(self._retained, process.pid, None))
            self._looked = float("-inf")
            self.cancel()
        if news:
            self._tries = 0
        if not self.due(now):
            return
        self._looked, self._noted = now, noted
        self._tries += 1
        kept = source.resolver.kept(agent, process.generation, noted, now)
        if kept is not None:
            self._take(retain(self._retained, process.pid, kept))
            return
        environment = source.host.environment(process.pid)
        query = SessionQuery(
            agent=agent,
            generation=process.generation,
            pids=(process.pid,),
            started=source.clocks.started_wall(process.start),
            cwd=source.host.cwd(process.pid),
            screen=screen(),
            home=environment.get("HOME") or os.path.expanduser("~"),
            root=named_root(agent, root, environment),
            noted=noted,
        )
        self._task = asyncio.get_running_loop().create_task(self._resolve(source, query), name="session lookup")

    async def settle(
        self, agent: Agent, process: Process | None, root: str | None, noted: str | None, screen: Callable[[], str]
    ) -> None:
        """Look once more, and now, for a session that was not found: someone asks for it."""
        session = self._retained.session
        if self._source is not None and process is not None and (session is None or session.trusted is None):
            self._source.resolver.look_again(agent, process.generation)
            self.look(agent, process, root, noted, screen)
            if self._task is not None:
                await asyncio.wait([self._task])

    def forget(self) -> None:
        """The agent left."""
        self.cancel()
        self._retained = Retained()
        self._looked = float("-inf")

    def cancel(self) -> None:
        """Discard a lookup that is under way."""
        if self._task is not None:
            self._task.cancel()
            self._task = None

    async def _resolve(self, source: SessionSource, query: SessionQuery) -> None:
        try:
            resolution = await source.resolver.resolve(query, source.clocks.monotonic())
        finally:
            self._task = None
        self._take(retain(self._retained, query.generation.pid, resolution))

    def _take(self, after: Retained) -> None:
        before, self._retained = self._retained, after
        if before.session != after.session:
            self._changed()
