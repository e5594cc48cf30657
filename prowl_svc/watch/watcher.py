"""Watches one pane: what it writes, what runs in it, what that agent shows and says; publishes the decision.

Output, side-channel events, input and the death of the agent wake it; the cadence is the latest a scan happens.
"""

import asyncio
import hashlib
import logging
import os
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Protocol

from prowl_svc.clocks import Clocks
from prowl_svc.decision import progress, schedule
from prowl_svc.decision.coordinator import Binding, Coordinator, Observation, Provider
from prowl_svc.decision.display import Attention, acknowledge, observe
from prowl_svc.decision.display import busy as display_busy
from prowl_svc.evidence.program_status import RecordStore, summarize
from prowl_svc.model.agents import Agent
from prowl_svc.model.facts import ProgramSummary
from prowl_svc.model.observation import AgentEntry, SessionRef
from prowl_svc.model.process import Generation, Identification, Process
from prowl_svc.model.state import Decision, Detection, RawState
from prowl_svc.model.terminal import Progress, PromptMark, Reset, SideEvent, Title
from prowl_svc.probe import presence
from prowl_svc.probe.prober import Prober
from prowl_svc.screens.classify import classify
from prowl_svc.signals.records import Records
from prowl_svc.signals.surface import Facts
from prowl_svc.terminal.screen import Screen
from prowl_svc.watch.liveness import Liveness
from prowl_svc.watch.pulse import Pulse
from prowl_svc.watch.sessions import SessionLookup, SessionSource
from prowl_svc.watch.viewers import Viewers

__all__ = ["Environment", "WatchedPane", "Watcher"]

SETTLE = 0.006
"""Seconds of silence after output that end a frame; programs that do not bracket their frames write them in pieces."""

SETTLE_AT_MOST = 0.04
TITLE_INTERVAL = 1.0

log = logging.getLogger("prowl.watch")


class WatchedPane(Protocol):
    """What a watcher needs of a pane, wherever the pane comes from."""

    @property
    def id(self) -> str:
        """UUID of the pane."""
        ...

    @property
    def screen(self) -> Screen:
        """The active screen."""
        ...

    @property
    def master(self) -> int | None:
        """Descriptor of the terminal, when the service hosts it."""
        ...

    @property
    def child(self) -> int | None:
        """Pid of the pane's first process."""
        ...


@dataclass(frozen=True, slots=True)
class Environment:
    """What every watcher shares. ``acquire`` makes file providers; ``watched`` tells which agents to detect."""

    clocks: Clocks
    prober: Prober
    records: Records
    acquire: Callable[[str, Binding], Provider | None]
    watched: Callable[[Agent], bool]
    viewer_timeout: float = 15.0
    sessions: SessionSource | None = None
    pulse: Pulse = field(default_factory=Pulse)


class Watcher:
    """One pane's watcher; ``run`` is its task, everything else is called on the same loop and never waits."""

    def __init__(self, pane: WatchedPane, environment: Environment, changed: Callable[[str], None]) -> None:
        self._pane = pane
        self._env = environment
        self._changed = changed
        self._monotonic = environment.clocks.monotonic
        self.programs = RecordStore()
        self.indicator = progress.Indicator()
        self.viewers = Viewers(self._monotonic, environment.viewer_timeout)
        self.coordinator = Coordinator(self._acquire, self._program, self._monotonic)
        self.presence = presence.Presence()
        self.config_root: str | None = None
        self.unsubmitted = False
        """Whether a local user typed something that was not submitted yet."""
        self._sessions = SessionLookup(environment.sessions, self._session_changed)
        self.detection: Detection | None = None
        self.foreground: int | None = None
        self._found: Identification | None = None
        self._attention = Attention()
        self._schedule = schedule.Schedule()
        self._memo: tuple[Agent, int, str] | None = None
        self._content: str | None = None
        self._entry: AgentEntry | None = None
        self._title_at = float("-inf")
        self._command_finished = False
        self._burst_began: float | None = None
        self._last_output = float("-inf")
        self._wakeup = asyncio.Event()
        self._watched_pid: int | None = None
        self._pidfd: int | None = None
        self._launch_alive = Liveness(environment.prober.table)

    # What happens to the pane

    def output(self, events: Sequence[SideEvent]) -> None:
        """The pane wrote something; ``events`` are its side-channel events in order."""
        now = self._monotonic()
        pushed = False
        for event in events:
            pushed |= self.programs.apply(event, self._env.clocks.process_seconds())
            match event:
                case Progress():
                    self._progress(progress.report(self.indicator, event, now))
                case PromptMark(mark="A"):
                    self._progress(progress.clear(self.indicator))
                case PromptMark(mark="D"):
                    self._command_finished = True
                case Reset(hard=True):
                    self._progress(progress.clear(self.indicator))
                case Title():
                    pass  # the memo knows the title
                case _:
                    pass
        if pushed and self.presence.agent is not None:
            self._program_changed(now)
        if self._burst_began is None:
            self._burst_began = now
        self._last_output = now
        before = schedule.deadline(self._schedule)
        self._schedule = schedule.output(self._schedule, now)
        if self._command_finished or schedule.deadline(self._schedule) != before:
            self._wakeup.set()

    def wake(self) -> None:
        """Input, or the pane began with a command: look soon, and for a while."""
        self._schedule = schedule.wake(self._schedule, self._monotonic())
        self._wakeup.set()

    def interact(self) -> None:
        """A key press, a paste or sent text reached the pane."""
        if self.presence.agent is not None:
            self._publish(self.coordinator.interact())
        self.wake()

    def evidence_changed(self) -> None:
        """A file that the agent keeps changed: look at once, whatever the cadence."""
        self._schedule = replace(self._schedule, scan_at=self._monotonic())
        self._wakeup.set()

    def view_changed(self) -> int | None:
        """A viewer came, left or looked elsewhere; returns the wall time of an acknowledgement that this caused."""
        before = self._attention
        wall = self._env.clocks.wall_ns()
        self._attention = acknowledge(before, self.viewers.viewed, wall)
        if self._attention is before:
            return None
        self._emit()
        return wall

    def exited(self) -> None:
        """The pane's first process ended."""
        self.programs.exited()
        self._command_finished = True
        self.wake()

    # What is known

    @property
    def entry(self) -> AgentEntry | None:
        """The live row of the agent, or None while there is none; reads take this, not the last event."""
        return self._build() if self._attention.listed else None

    @property
    def session(self) -> SessionRef | None:
        """The session that is attributed to the agent, or None."""
        return self._sessions.session

    async def settle_session(self) -> None:
        """Look for the session once more, for someone who asks, if it is not known for sure."""
        agent, process = self.presence.agent, self.presence.process
        if agent is not None and self.presence.identified:
            await self._sessions.settle(
                agent, process, self.config_root, self.coordinator.noted, self._pane.screen.text
            )

    @property
    def attention(self) -> Attention:
        """What is published of the pane's agent."""
        return self._attention

    @property
    def busy(self) -> bool:
        """Whether the pane counts as running (providers.md §6)."""
        return progress.pane_busy(self.indicator.running, self._attention.shown)

    @property
    def agent_busy(self) -> bool:
        """Whether the pane's agent is Working or Blocked."""
        return display_busy(self._attention.shown)

    def facts(self) -> Facts:
        """The launch process and the trusted session, for evidence epochs; looks whether the process still lives."""
        launch = self.presence.launch
        if launch is None:
            self._launch_alive.close()
            return Facts()
        generation = launch.generation if self._launch_alive.alive(launch.generation) else None
        return Facts(generation, self.session.trusted if self.session is not None else None)

    def evidence(self) -> list[str]:
        """Return what each further source says, one line of words each, without any text of the screen."""
        machine = self.coordinator.machine
        lines = [f"state {machine.decision.state} by {machine.decision.reason}"]
        if machine.program is not None:
            lines.append(f"OSC 7501: {machine.program.reason}, revision {machine.program.revision}")
        elif self.programs.records:
            lines.append(f"OSC 7501: {len(self.programs.records)} record(s) that do not count for this agent")
        if machine.native is not None:
            lines.append(f"registry: {machine.native.state}" + ("" if machine.native_available else ", not current"))
        if machine.has_provider and machine.native is None:
            open_roots = sum(root.busy for root in machine.roots.values())
            available = "" if machine.log_available else ", not available"
            lines.append(f"log: {len(machine.roots)} root(s), {open_roots} with open work{available}")
        if machine.fence is not None:
            lines.append("a completion fences the present frame")
        return lines

    # The task

    async def run(self) -> None:
        """Scan whenever something is due, until cancelled."""
        try:
            while True:
                now = self._monotonic()
                self._schedule, due = schedule.poll(self._schedule, now)
                if due is schedule.Due.SCAN:
                    pause = self._unsettled(now)
                    if pause > 0:
                        await asyncio.sleep(pause)
                        continue
                    await self._scan_guarded()
                elif due is schedule.Due.LOOK:
                    self._look()
                else:
                    await self._sleep(now)
        finally:
            self._env.pulse.forget(self._due)
            self._env.pulse.forget(self._catch_up)
            self._sessions.cancel()
            self._watch_process(None)
            self._launch_alive.close()

    async def _scan_guarded(self) -> None:
        try:
            await self._scan()
        except Exception as error:
            # One pane's fault must neither freeze its state for good nor spin; the next scan tries again.
            log.exception("scan failed", extra={"fields": {"pane": self._pane.id, "error": type(error).__name__}})
            now = self._monotonic()
            self._schedule = schedule.scanned(self._schedule, now, present=self.presence.agent is not None)

    async def _sleep(self, now: float) -> None:
        self._expire(now)
        times = [schedule.deadline(self._schedule), progress.next_wake(self.indicator, now)]
        until = min((at for at in times if at is not None), default=None)
        if until is not None:
            self._env.pulse.at(self._due, until - now, early=self._resting)
        await self._wakeup.wait()
        self._wakeup.clear()
        self._env.pulse.forget(self._due)

    @property
    def _resting(self) -> bool:
        """Whether the next scan is one of cadence only: nothing happened since the last one."""
        return (
            self._schedule.mode is schedule.Mode.ACTIVE
            and self._burst_began is None
            and not self._command_finished
            and not self.indicator.running
        )

    def _due(self) -> float | None:
        """The time to wake has come; where a glance finds everything as it was, the task sleeps on."""
        if self._resting and not self._wakeup.is_set():
            now = self._monotonic()
            if self._glance(now):
                self._schedule = schedule.glanced(self._schedule, now)
                return schedule.ACTIVE_INTERVAL
            self._schedule = replace(self._schedule, scan_at=now)
        self._wakeup.set()
        return None

    def _glance(self, now: float) -> bool:
        """Tell, at a fraction of a scan's cost, that a scan now would change nothing."""
        pane, prober, process = self._pane, self._env.prober, self.presence.process
        title = pane.screen.title
        if (
            process is None
            or not self.presence.identified
            or self._pidfd is None  # the kernel tells when it dies
            or (self._entry is not None and self._entry.title != title)
            or self._memo != (self.presence.agent, pane.screen.revision, title)
        ):
            return False
        group = prober.foreground(pane.master, pane.child)
        if group != self.foreground or prober.identify(group) is not self._found or not self.coordinator.quiet():
            return False
        if self._sessions.due(now):
            self._look_for_session(process, news=False)
        return True

    def _unsettled(self, now: float) -> float:
        """Return how long to wait for the rest of a frame that is being written."""
        if self._burst_began is None or now - self._burst_began >= SETTLE_AT_MOST:
            return 0.0
        return self._last_output + SETTLE - now

    def _look(self) -> None:
        group = self._env.prober.foreground(self._pane.master, self._pane.child)
        self._schedule = schedule.looked(self._schedule, self._monotonic(), self._moved(group))

    def _moved(self, group: int | None) -> bool:
        """Note the terminal's foreground group; tell whether it is another one, with which progress ends."""
        if group == self.foreground:
            return False
        self.foreground = group
        self._progress(progress.clear(self.indicator))
        return True

    async def _scan(self) -> None:
        captured = self._monotonic()
        self._burst_began = None
        prober = self._env.prober
        group = prober.foreground(self._pane.master, self._pane.child)
        self._moved(group)
        finished, self._command_finished = self._command_finished, False
        found = self._found = prober.identify(group, fresh=finished)
        if found is not None and not self._env.watched(found.agent):
            found = None
        before = self.presence
        self.presence = presence.step(before, found, prober.ancestors, command_finished=finished)
        agent, process = self.presence.agent, self.presence.process
        if agent is None or process is None:
            if before.agent is not None:
                self._release()
            self._schedule = schedule.scanned(self._schedule, self._monotonic(), present=False)
            return
        if not self.presence.identified and finished:
            self.programs.owner_gone()
        self._watch_process(process.pid if self.presence.identified else None)
        generation = process.generation if self.presence.identified else None
        self.programs.bind(generation, self._started(generation))
        self.detection = self._detect(agent)
        decision = await self.coordinator.observe(
            Observation(captured, Binding(agent, generation, self.config_root), self.detection, self._content)
        )
        if decision is None or self.presence.agent is not agent:
            return
        self._publish(decision)
        self._look_for_session(process if self.presence.identified else None)
        self._schedule = schedule.scanned(
            self._schedule,
            self._monotonic(),
            present=True,
            # Without a timer only the kernel can tell that the process died.
            pushed=self.coordinator.pushed and self.presence.identified and self._pidfd is not None,
        )
        if (more := self._catch_up()) is not None:
            self._env.pulse.at(self._catch_up, more)

    def _detect(self, agent: Agent) -> Detection:
        screen = self._pane.screen
        key = (agent, screen.revision, screen.title)
        if self._memo == key and self.detection is not None:
            return self.detection
        rows = screen.active_rows()
        detection = classify(agent, rows, screen.title)
        self._content = None
        if detection.state is RawState.BLOCKED:
            self._content = hashlib.blake2b("\n".join(rows).encode("utf-8", "replace"), digest_size=16).hexdigest()
        self._memo = key
        return detection

    def _look_for_session(self, process: Process | None, *, news: bool = True) -> None:
        if self.presence.agent is not None:
            noted = self.coordinator.noted
            self._sessions.look(
                self.presence.agent, process, self.config_root, noted, self._pane.screen.text, news=news
            )

    def _catch_up(self) -> float | None:
        """Do what had to wait, in a pane whose scans have no cadence; returns in how many seconds there is more."""
        if self.presence.agent is None or not self.presence.identified or not self.coordinator.pushed:
            return None
        now, noted = self._monotonic(), self.coordinator.noted
        self._emit()
        if self._sessions.again_in(now, noted) == 0:
            self._look_for_session(self.presence.process, news=False)
        waits = [self._sessions.again_in(now, noted)]
        if self._entry is not None and self._entry.title != self._pane.screen.title:
            waits.append(max(0.0, self._title_at + TITLE_INTERVAL - now))
        return min((wait for wait in waits if wait is not None), default=None)

    def _release(self) -> None:
        self.coordinator.invalidate()
        self.programs.owner_gone()
        self._memo = None
        self._content = None
        self.detection = None
        self._sessions.forget()
        self._attention = Attention()
        self._watch_process(None)
        if self._entry is not None:
            log.debug("agent left", extra={"fields": {"pane": self._pane.id, "agent": self._entry.agent.value}})
        self._entry = None
        self._env.records.remove(self._pane.id)
        self._changed(self._pane.id)

    def _session_changed(self) -> None:
        # Acknowledgements that came while the lookup ran stay: the row is built from what holds now.
        self._emit()

    # Evidence

    def _acquire(self, binding: Binding) -> Provider | None:
        return self._env.acquire(self._pane.id, binding)

    def _program(self, binding: Binding) -> ProgramSummary | None:
        return summarize(self.programs, binding.agent, self._started(binding.generation))

    def _started(self, generation: Generation | None) -> float | None:
        return None if generation is None else self._env.clocks.started_seconds(generation.start)

    def _program_changed(self, now: float) -> None:
        pushed = self.coordinator.pushed
        self._publish(self.coordinator.program_changed())
        if pushed and not self.coordinator.pushed:
            self._schedule = schedule.withdrawn(self._schedule, now)
            self._wakeup.set()

    def _watch_process(self, pid: int | None) -> None:
        """Wake when the agent's process dies, so that a pane whose evidence is pushed needs no timer."""
        if pid == self._watched_pid:
            return
        self._watched_pid = pid
        if self._pidfd is not None:
            asyncio.get_running_loop().remove_reader(self._pidfd)
            os.close(self._pidfd)
            self._pidfd = None
        if pid is None or not hasattr(os, "pidfd_open"):
            return
        try:
            self._pidfd = os.pidfd_open(pid)
        except OSError:
            return  # gone, or no descriptors left: the cadence finds out
        asyncio.get_running_loop().add_reader(self._pidfd, self._process_died)

    def _process_died(self) -> None:
        self._watch_process(None)
        now = self._monotonic()
        self._schedule = replace(schedule.wake(self._schedule, now), scan_at=now)
        self._wakeup.set()

    # Publication (detection.md §4.4)

    def _publish(self, decision: Decision) -> None:
        agent = self.presence.agent
        if agent is None:
            return
        before = self._attention
        wall = self._env.clocks.wall_ns()
        self._attention = observe(before, agent, decision, self.viewers.viewed, wall)
        if before.agent is not agent or before.state is not self._attention.state:
            log.debug(
                "state changed",
                extra={
                    "fields": {
                        "pane": self._pane.id,
                        "agent": agent.value,
                        "state": decision.state.value,
                        "reason": decision.reason,
                    }
                },
            )
        self._emit()

    def _emit(self) -> None:
        if not self._attention.listed:
            return
        entry, last = self._build(), self._entry
        now = self._monotonic()
        if last is not None and _shown(entry) == _shown(last):
            # Readers and waits want the live reasons; observers are not told of them.
            self._env.records.amend(self._pane.id, replace(entry, title=last.title))
            if entry.title == last.title or now - self._title_at < TITLE_INTERVAL:
                return
        self._title_at = now
        self._entry = entry
        self._env.records.change(self._pane.id, entry)
        self._changed(self._pane.id)

    def _build(self) -> AgentEntry:
        attention = self._attention
        decision = self.coordinator.decision
        assert attention.agent is not None
        assert attention.shown is not None
        return AgentEntry(
            agent=attention.agent,
            status=attention.shown,
            raw_state=self.detection.state if self.detection is not None else RawState.UNKNOWN,
            last_changed_at=attention.changed_at,
            detection_reason=decision.reason,
            screen_reason=decision.screen_reason,
            style=self.detection.style if self.detection is not None else None,
            seen=attention.seen,
            outstanding=decision.outstanding,
            session=self.session,
            title=self._pane.screen.title,
            icon=self.presence.icon or attention.agent.display_name,
        )

    def _progress(self, after: progress.Indicator) -> None:
        before, self.indicator = self.indicator, after
        if before.running != after.running:
            self._changed(self._pane.id)

    def _expire(self, now: float) -> None:
        self._progress(progress.expire(self.indicator, now))
        self.indicator, _ = progress.take(self.indicator, now)


def _shown(entry: AgentEntry) -> Iterable[object]:
    """What makes a row news by itself: not the raw state, not reasons, and not the title, which has its own pace."""
    return (entry.agent, entry.status, entry.last_changed_at, entry.seen, entry.session, entry.icon, entry.style)
