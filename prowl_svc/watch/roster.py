"""All watched panes: their watchers, the agents in order of first detection, and who is told of changes."""

import asyncio
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from prowl_svc.decision.progress import worktree_busy
from prowl_svc.model.observation import AgentEntry
from prowl_svc.model.process import Generation
from prowl_svc.model.state import DisplayState
from prowl_svc.signals.surface import Facts
from prowl_svc.watch.watcher import Environment, WatchedPane, Watcher

__all__ = ["Roster", "Row"]


@dataclass(frozen=True, slots=True)
class Row:
    """One agent of the roster and the pane's revision."""

    pane: str
    entry: AgentEntry
    revision: int


class Roster:
    """Owns one watcher and its task per pane; everything runs on one event loop."""

    def __init__(self, environment: Environment) -> None:
        self._env = environment
        self._watchers: dict[str, Watcher] = {}
        self._tasks: dict[str, asyncio.Task[None]] = {}
        self._order: dict[str, None] = {}
        self._listeners: dict[Callable[[], None], None] = {}

    def add(self, pane: WatchedPane) -> Watcher:
        """Begin to watch a pane; the caller feeds the returned watcher with what happens to the pane."""
        watcher = Watcher(pane, self._env, self._pane_changed)
        self._watchers[pane.id] = watcher
        self._env.records.open(pane.id)
        self._tasks[pane.id] = asyncio.get_running_loop().create_task(watcher.run(), name=f"watch {pane.id}")
        self._notify()
        return watcher

    def remove(self, pane: str) -> None:
        """Stop watching a pane that closed: its agent is removed, its streams end."""
        watcher = self._watchers.pop(pane, None)
        if watcher is None:
            return
        watcher.coordinator.invalidate()
        self._tasks.pop(pane).cancel()
        self._order.pop(pane, None)
        self._env.records.close(pane)
        self._notify()

    def watcher(self, pane: str) -> Watcher | None:
        """Return a pane's watcher, or None when it is not watched."""
        return self._watchers.get(pane)

    def facts(self, pane: str) -> Facts:
        """Return what epochs are bound to: the launch process and the trusted session."""
        watcher = self._watchers.get(pane)
        return Facts() if watcher is None else watcher.facts()

    def daemon_threads(self) -> dict[Generation, dict[str, tuple[str, Generation]]]:
        """Return each shared daemon's threads and the one pane that each works for, with that pane's launch process.

        A thread that several panes show belongs to none of them.
        """
        found: dict[Generation, dict[str, tuple[str, Generation]]] = {}
        twice: set[tuple[Generation, str]] = set()
        for pane, watcher in self._watchers.items():
            daemon, thread = watcher.coordinator.daemon, watcher.coordinator.noted
            launch = watcher.facts().generation if daemon is not None else None
            if daemon is None or thread is None or launch is None:
                continue
            threads = found.setdefault(daemon, {})
            if thread in threads:
                twice.add((daemon, thread))
            threads[thread] = (pane, launch)
        for daemon, thread in twice:
            del found[daemon][thread]
        return found

    def rows(self) -> Iterator[Row]:
        """Yield the agents in order of first detection, each as it is now."""
        for pane in self._order:
            row = self.row(pane)
            if row is not None:
                yield row

    def row(self, pane: str) -> Row | None:
        """Return one pane's agent as it is now, or None."""
        watcher = self._watchers.get(pane)
        entry = watcher.entry if watcher is not None else None
        record = self._env.records.read(pane) if entry is not None else None
        return None if entry is None or record is None else Row(pane, entry, record.revision)

    def busy(self, panes: list[str]) -> bool:
        """Tell whether any of a worktree's panes is busy."""
        return worktree_busy(watcher.busy for pane in panes if (watcher := self._watchers.get(pane)) is not None)

    def blocked(self, pane: str) -> bool:
        """Tell whether a pane's agent is blocked."""
        watcher = self._watchers.get(pane)
        return watcher is not None and watcher.attention.shown is DisplayState.BLOCKED

    def listen(self, listener: Callable[[], None]) -> Callable[[], None]:
        """Call ``listener`` after each change of the roster until the returned function is called."""
        self._listeners[listener] = None
        return lambda: self._listeners.pop(listener, None)

    def _pane_changed(self, pane: str) -> None:
        watcher = self._watchers.get(pane)
        if watcher is None or not watcher.attention.listed:
            self._order.pop(pane, None)
        else:
            self._order.setdefault(pane)
        self._notify()

    def _notify(self) -> None:
        for listener in tuple(self._listeners):
            listener()
