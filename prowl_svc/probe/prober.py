"""Asks which agent is in the foreground of a pane, with one process-table pass for all panes (detection.md §1)."""

import sys
from collections.abc import Callable, Iterator, Mapping
from typing import Final

from prowl_svc.model.agents import Agent
from prowl_svc.model.process import Identification, Job, Process
from prowl_svc.probe.cache import LIFETIME, GroupCache
from prowl_svc.probe.explain import Explanation, explain
from prowl_svc.probe.foreground import foreground_group
from prowl_svc.probe.score import SCORES, identify
from prowl_svc.probe.table import LinuxProcessTable, ProcessTable, Snapshot, walk

__all__ = ["Prober", "system_table"]

_SNAPSHOT_LIFETIME: Final = LIFETIME  # what is found ages with its pass, so all panes are looked at anew together
_EMULATORS: Final = frozenset(
    [
        "vi",
        "vim",
        "nvim",
        "view",
        "emacs",
        "code",
        "cursor",
        "kitty",
        "alacritty",
        "ghostty",
        "foot",
        "xterm",
        "konsole",
        "wezterm",
        "wezterm-gui",
    ]
)  # they draw a terminal of their own instead of relaying it


def system_table() -> ProcessTable:
    """Return the process table of this system."""
    if sys.platform == "linux":
        return LinuxProcessTable()
    from prowl_svc.probe.portable import PortableProcessTable  # noqa: PLC0415 - psutil is needed only here

    return PortableProcessTable()


class Prober:
    """The probe of all panes; owned by the event loop, every call is a few reads of ``/proc``.

    ``clock`` is monotonic seconds. ``aliases`` are further executable names that the user declared.
    """

    def __init__(
        self, table: ProcessTable, clock: Callable[[], float], aliases: Mapping[str, Agent] | None = None
    ) -> None:
        self.table = table
        self._clock = clock
        self._aliases = aliases or {}
        self._found: GroupCache[tuple[Job, Identification | None]] = GroupCache(clock)
        self._pass: tuple[float, Snapshot] | None = None

    def foreground(self, master: int | None, child: int | None) -> int | None:
        """Return the foreground group of a pane: its terminal's, else that of its first process."""
        return foreground_group(master, child, self.table.foreground)

    def identify(self, pgrp: int | None, *, fresh: bool = False) -> Identification | None:
        """Return the agent of a process group; ``fresh`` asks past the cache (after OSC 133 D)."""
        found = self._look(pgrp, fresh)
        return found[1] if found else None

    def explain(self, pgrp: int | None) -> Explanation:
        """Tell why a process group is the agent it is."""
        found = self._look(pgrp, fresh=True)
        return explain(found[0] if found else None, self.table.executable, self._aliases)

    def ancestors(self, pid: int) -> Iterator[Process]:
        """Yield a process and its ancestors, as ``presence.step`` wants them."""
        return walk(self.table, pid)

    def _look(self, pgrp: int | None, fresh: bool) -> tuple[Job, Identification | None] | None:
        if pgrp is None or pgrp <= 0:
            return None
        if not fresh and (kept := self._found.get(pgrp)) is not None:
            return kept[0]
        read_at, snapshot = self._snapshot(fresh)
        job = snapshot.job(pgrp)
        if job is None and read_at != self._clock():  # the group may be younger than the shared pass
            read_at, snapshot = self._snapshot(fresh=True)
            job = snapshot.job(pgrp)
        value = None if job is None else self._repeated(pgrp, job) or self._identified(snapshot, job)
        self._found.put(pgrp, value, read_at)
        return value

    def _repeated(self, pgrp: int, job: Job) -> tuple[Job, Identification | None] | None:
        """Return the last answer itself when the same job was enough for it, so that nothing is judged twice."""
        last = self._found.last(pgrp)
        if last is None or last[1] is None or last[1].score <= SCORES["token"] or last[0] != job:
            return None
        return last

    def _identified(self, snapshot: Snapshot, job: Job) -> tuple[Job, Identification | None]:
        """Prefer the job; a relay's inner terminal counts when the job tells nothing, or the same less surely."""
        outer = identify(job, self.table.executable, self._aliases)
        if outer is not None and outer.score > SCORES["token"]:
            return job, outer
        if any(process.name in _EMULATORS for process in job.processes):
            return job, outer
        inner_job = snapshot.inner_job(job)
        inner = identify(inner_job, self.table.executable, self._aliases)
        if inner_job is None or inner is None:
            return job, outer
        if outer is None or (outer.agent is inner.agent and outer.score < inner.score):
            return inner_job, inner
        return job, outer

    def _snapshot(self, fresh: bool) -> tuple[float, Snapshot]:
        now = self._clock()
        if fresh or self._pass is None or now - self._pass[0] >= _SNAPSHOT_LIFETIME:
            self._pass = (now, self.table.snapshot())
        return self._pass
