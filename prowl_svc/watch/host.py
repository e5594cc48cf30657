"""The panes of this service: creating and closing hosted ones, and feeding their watchers."""

import asyncio
import contextlib
import logging
import os
import pwd
import uuid
from collections import OrderedDict, deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from prowl_svc.clocks import Clocks
from prowl_svc.identity.tokens import mint_token, resolve_directory
from prowl_svc.model.errors import Code, ProwlError
from prowl_svc.model.observation import SignalKind
from prowl_svc.model.process import Generation
from prowl_svc.model.terminal import PromptMark, SideEvent, WorkingDirectory
from prowl_svc.panes.facts import Worktree, WorktreeCache, directory_of_report, working_directory
from prowl_svc.panes.hosted import HostedPane
from prowl_svc.panes.reader import ReadScheduler
from prowl_svc.panes.registry import Change, Registry, Slot
from prowl_svc.panes.spawn import child_environment, spawn
from prowl_svc.probe.table import ProcessTable
from prowl_svc.signals.records import Records
from prowl_svc.signals.surface import HookRecord
from prowl_svc.terminal.factory import new_screen
from prowl_svc.watch.inputarea import leaves_draft
from prowl_svc.watch.roster import Roster
from prowl_svc.watch.watcher import Watcher

__all__ = ["Creation", "Host", "Launch", "PaneSlot"]

ENDED_LIMIT = 256
LAST_LOOKS = 16
_FACTS_LIFETIME = 1.0
_TOKEN = "PROWL_AGENT_HOOK_TOKEN"

log = logging.getLogger("prowl.panes")

PaneSlot = Slot[HostedPane]


@dataclass(frozen=True, slots=True)
class Creation:
    """What a new hosted pane should be; sizes in cells, ``cwd`` absolute, ``group`` any target of a tab or pane."""

    argv: tuple[str, ...] = ()
    cwd: str = ""
    env: Mapping[str, str] = field(default_factory=dict)
    columns: int = 120
    rows: int = 40
    group: str = ""
    title: str = ""
    initial_input: str | None = None
    launch: "Launch | None" = None


@dataclass(frozen=True, slots=True)
class Launch:
    """What a launched runtime may report by native hooks: its raw value, its events, its own config root."""

    runtime: str
    events: Mapping[str, SignalKind]
    config_root: str | None = None


@dataclass(slots=True)
class _Facts:
    """Where a pane is: the folder that was known last, that was read within the last second, that a program told.

    ``owner`` is the worktree of that folder, until it is read again.
    """

    known: str
    read_at: float = float("-inf")
    cwd: str | None = None
    reported: str | None = None
    owner: Worktree | None = None


class Host:
    """Hosts panes on one event loop and watches each of them."""

    def __init__(
        self,
        roster: Roster,
        records: Records,
        table: ProcessTable,
        clocks: Clocks,
        *,
        environ: Mapping[str, str],
        hostname: str,
        scrollback: int,
        close_grace: float,
        answer_status_query: bool,
    ) -> None:
        self.roster = roster
        self.registry: Registry[HostedPane] = Registry(self.worktree)
        self._records = records
        self._table = table
        self._clocks = clocks
        self._environ = environ
        self._hostname = hostname
        self._scrollback = scrollback
        self._close_grace = close_grace
        self._answer_status_query = answer_status_query
        self._scheduler = ReadScheduler(asyncio.get_running_loop())
        self._worktrees = WorktreeCache()
        self._facts: dict[str, _Facts] = {}
        self._roots: dict[Generation, str] = {}
        self._ended: OrderedDict[str, int] = OrderedDict()
        self._marks: dict[str, dict[Callable[[PromptMark], None], None]] = {}
        self._last: deque[PaneSlot] = deque(maxlen=LAST_LOOKS)
        self._marking: set[str] = set()
        self._typing: set[asyncio.Task[None]] = set()
        self._closing = False

    # Life

    def create(self, wanted: Creation) -> PaneSlot:
        """Start a program in a new pane; raises ProwlError CREATE_FAILED, TARGET_* for the group, or SHUTTING_DOWN."""
        if self._closing:
            raise ProwlError(Code.SHUTTING_DOWN, "The service is stopping; no new panes are created.")
        group = self.registry.resolve_group(wanted.group) if wanted.group else None
        pane_id = str(uuid.uuid4())
        argv = list(wanted.argv) or _login_shell()
        cwd = wanted.cwd or str(Path.home())
        own = dict(wanted.env)
        hook = None
        if wanted.launch is not None:
            # The environment is the only way that the token takes: argv, logs and answers never hold it.
            hook = _hook_record(wanted.launch, cwd)
            own[_TOKEN] = hook.token
        env = child_environment(self._environ, own, pane_id)
        columns, rows = _clamp(wanted.columns), _clamp(wanted.rows)
        child = spawn(argv, cwd=cwd, env=env, columns=columns, rows=rows)
        screen = new_screen(columns, rows, scrollback=self._scrollback, answer_status_query=self._answer_status_query)
        pane = HostedPane(pane_id, child, screen, self._scheduler)
        process = self._table.process(child.pid)
        root = process.generation if process is not None else None
        if root is not None:
            self._roots[root] = pane_id
        # For a moment the child is where this process is, before it goes to its folder.
        place = os.path.realpath(cwd)
        self._facts[pane_id] = _Facts(place, self._clocks.monotonic(), place)
        watcher = self.roster.add(pane)
        if wanted.launch is not None:
            # Nothing of the program is heard before this: it runs on the same turn of the loop.
            self._records.begin_launch(pane_id, hook)
            watcher.config_root = wanted.launch.config_root
        pane.on_output = lambda events, revision: self._output(pane_id, watcher, events)
        pane.on_exit = lambda status: self._exited(pane_id, root, status)
        command = os.path.basename(argv[0]).lstrip("-")
        slot = self.registry.add(pane, command=command, group=group, title=wanted.title)
        watcher.wake()
        if wanted.initial_input:
            task = asyncio.get_running_loop().create_task(self._type(pane, wanted.initial_input))
            self._typing.add(task)
            task.add_done_callback(self._typing.discard)
        log.info("pane created", extra={"fields": {"pane": pane_id, "handle": slot.handle, "pid": child.pid}})
        return slot

    async def _type(self, pane: HostedPane, text: str) -> None:
        with contextlib.suppress(ProwlError):  # the program ended before it read: its status says so
            await pane.submit_text(text)
        self.interacted(pane.id, b"\r")

    async def close(self, slot: PaneSlot) -> None:
        """End a pane's programs and forget it; returns when it is gone."""
        await slot.pane.close(self._close_grace)

    async def stop(self) -> None:
        """Close every pane, side by side, and take no new ones."""
        self._closing = True
        await asyncio.gather(*(self.close(slot) for slot in self.registry), return_exceptions=True)

    def last_look(self, selector: str) -> PaneSlot | None:
        """Return a pane that ended a moment ago, by UUID or handle, so that its last screen can be shown."""
        key = selector.strip().lower()
        return next((slot for slot in self._last if key in (slot.pane.id, slot.handle)), None)

    def ended(self, selector: str) -> int | None:
        """Return the exit status of a pane that ended not long ago, by UUID or handle."""
        return self._ended.get(selector.strip().lower())

    @property
    def roots(self) -> Mapping[Generation, str]:
        """The first processes of live panes, for callers' attribution."""
        return self._roots

    # Facts

    def cwd(self, pane: HostedPane) -> str | None:
        """Return where the pane's foreground process is, or its first one; kept for a second. None: it is not known."""
        facts = self._facts.get(pane.id)
        if facts is None:
            return None
        now = self._clocks.monotonic()
        if pane.running and now - facts.read_at >= _FACTS_LIFETIME:
            watcher = self.roster.watcher(pane.id)
            agent = watcher.presence.process if watcher is not None else None
            facts.cwd = working_directory([agent.pid if agent else None, self._foreground(pane), pane.child])
            facts.read_at, facts.owner = now, None
            facts.known = facts.cwd or facts.reported or facts.known
        return facts.cwd or facts.reported

    def worktree(self, pane: HostedPane) -> Worktree | None:
        """Return the owner of the folder where the pane is or was last, kept for a second; None long after its end."""
        cwd = self.cwd(pane)
        facts = self._facts.get(pane.id)
        if facts is None:
            return None
        if facts.owner is None:
            facts.owner = self._worktrees.find(cwd or facts.known)
        return facts.owner

    def busy(self, owner: Worktree) -> bool:
        """Tell whether any pane of a worktree is busy."""
        return self.roster.busy([slot.pane.id for slot in self.registry if self.worktree(slot.pane) == owner])

    def _foreground(self, pane: HostedPane) -> int | None:
        watcher = self.roster.watcher(pane.id)
        return watcher.foreground if watcher is not None else None

    # Input and marks

    def interacted(self, pane_id: str, data: bytes) -> None:
        """Input reached a pane; ``data`` is what was typed, or bytes that stand for it."""
        watcher = self.roster.watcher(pane_id)
        if watcher is not None:
            watcher.unsubmitted = leaves_draft(data, watcher.unsubmitted)
            watcher.interact()

    def reports_commands(self, pane_id: str) -> bool:
        """Tell whether the pane's shell ever reported prompts and commands (OSC 133)."""
        return pane_id in self._marking

    async def command_end(self, pane_id: str) -> PromptMark:
        """Wait for the shell's report that a command ended (OSC 133 D); cancel to stop waiting."""
        found: asyncio.Future[PromptMark] = asyncio.get_running_loop().create_future()

        def take(mark: PromptMark) -> None:
            if mark.mark == "D" and not found.done():
                found.set_result(mark)

        marks = self._marks.setdefault(pane_id, {})
        marks[take] = None
        try:
            return await found
        finally:
            marks.pop(take, None)

    # What panes tell

    def _output(self, pane_id: str, watcher: Watcher, events: Sequence[SideEvent]) -> None:
        for event in events:
            match event:
                case WorkingDirectory():
                    place = directory_of_report(event.value, self._hostname)
                    if place is not None and pane_id in self._facts:
                        facts = self._facts[pane_id]
                        facts.reported, facts.owner = place, None
                case PromptMark():
                    self._marking.add(pane_id)
                    for take in tuple(self._marks.get(pane_id, ())):
                        take(event)
                case _:
                    pass
        watcher.output(events)

    def _exited(self, pane_id: str, root: Generation | None, status: int) -> None:
        slot = self.registry.get(pane_id)
        watcher = self.roster.watcher(pane_id)
        if watcher is not None:
            watcher.exited()
        if root is not None:
            self._roots.pop(root, None)
        self.roster.remove(pane_id)
        self._marks.pop(pane_id, None)
        self._marking.discard(pane_id)
        if slot is not None:
            for name in (pane_id, slot.handle):
                self._ended[name] = status
            while len(self._ended) > ENDED_LIMIT:
                name, _ = self._ended.popitem(last=False)
                self._facts.pop(name, None)
            self._last.append(slot)
            self.registry.remove(pane_id)
            log.info("pane ended", extra={"fields": {"pane": pane_id, "handle": slot.handle, "status": status}})

    def watch_focus(self, told: Callable[[str], None]) -> None:
        """Call ``told`` with a pane's id whenever the focus within groups moves to it."""

        def changed(change: Change, slot: PaneSlot) -> None:
            if change is Change.FOCUSED:
                told(slot.pane.id)

        self.registry.watch(changed)


def _hook_record(launch: Launch, cwd: str) -> HookRecord:
    directory = resolve_directory(cwd)
    if directory is None:
        raise ProwlError(Code.CREATE_FAILED, f"There is no folder {cwd}.")
    return HookRecord(token=mint_token(), runtime=launch.runtime, cwd=directory, table=dict(launch.events))


def _clamp(size: int) -> int:
    return max(1, min(1000, size))


def _login_shell() -> list[str]:
    shell = os.environ.get("SHELL", "")
    if not os.path.isabs(shell):
        with contextlib.suppress(KeyError):
            shell = pwd.getpwuid(os.getuid()).pw_shell
    # A dash in front makes it a login shell; the program is found by the name without it.
    return [shell or "/bin/sh", "-l"]
