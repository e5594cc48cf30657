"""AgentService: the roster, one pane's stream, and explanations."""

import asyncio
from collections.abc import AsyncIterator
from typing import Any

from prowl.v1 import agents_pb2, errors_pb2

from prowl_svc.evidence.transcripts import READABLE, ResultState, read_result
from prowl_svc.model.agents import Agent
from prowl_svc.model.errors import Code, ProwlError
from prowl_svc.model.state import DisplayState, RawState
from prowl_svc.probe.prober import Prober
from prowl_svc.rpc import encode
from prowl_svc.rpc.reading import last_fitting
from prowl_svc.rpc.signalling import Signalling
from prowl_svc.rpc.targets import Targets
from prowl_svc.screens.classify import blocker_text, explain
from prowl_svc.signals import payload
from prowl_svc.signals.records import Records
from prowl_svc.watch.roster import Roster, Row

__all__ = ["AgentServicer"]

_LIST_EVERY = 0.05
"""Seconds between two rosters of one WatchAgents stream, so that a burst of changes is one message."""
_DEFAULT_RESULT, _MAX_RESULT = 1 << 20, 4 << 20
_RESULT_STATES = {
    ResultState.PENDING: agents_pb2.RESULT_STATE_PENDING,
    ResultState.UNAVAILABLE: agents_pb2.RESULT_STATE_UNAVAILABLE,
    ResultState.COMPLETE: agents_pb2.RESULT_STATE_COMPLETE,
    ResultState.MISSING: agents_pb2.RESULT_STATE_MISSING,
    ResultState.INCOMPLETE: agents_pb2.RESULT_STATE_INCOMPLETE,
    ResultState.TOO_LARGE: agents_pb2.RESULT_STATE_TOO_LARGE,
}


class AgentServicer:
    """Serves agents from the roster and the records of all panes."""

    def __init__(
        self, roster: Roster, records: Records, targets: Targets, prober: Prober, signalling: Signalling
    ) -> None:
        self._signalling = signalling
        self._roster = roster
        self._records = records
        self._targets = targets
        self._prober = prober
        self._stopping = asyncio.Event()

    def stop(self) -> None:
        """End the streams that only the roster feeds, as the service stops."""
        self._stopping.set()

    async def ListAgents(self, request: agents_pb2.ListAgentsRequest, context: Any) -> agents_pb2.ListAgentsResponse:
        """Return the roster."""
        return agents_pb2.ListAgentsResponse(agents=self._rows())

    async def WatchAgents(
        self, request: agents_pb2.WatchAgentsRequest, context: Any
    ) -> AsyncIterator[agents_pb2.WatchAgentsResponse]:
        """Send the roster now and after each change."""
        changed = asyncio.Event()
        stop = self._roster.listen(changed.set)
        ended = asyncio.ensure_future(self._stopping.wait())
        try:
            last = None
            while not ended.done():
                changed.clear()
                response = agents_pb2.WatchAgentsResponse(agents=self._rows())
                if response != last:
                    yield response
                    last = response
                await asyncio.sleep(_LIST_EVERY)
                waiting = asyncio.ensure_future(changed.wait())
                try:
                    await asyncio.wait({waiting, ended}, return_when=asyncio.FIRST_COMPLETED)
                finally:
                    waiting.cancel()
        finally:
            ended.cancel()
            stop()
        raise ProwlError(Code.SHUTTING_DOWN, "The service is stopping.")

    async def Observe(self, request: agents_pb2.ObserveRequest, context: Any) -> AsyncIterator[bytes]:
        """Send a pane's snapshot and every event after it; the hub's bytes go out as they are."""
        observer = self._records.observe(self._targets.observed(request.pane))
        try:
            async for body in observer:
                yield body
            if observer.overflow is not None:
                lost = observer.overflow
                details = errors_pb2.OverflowDetails(first_lost_revision=lost.first_lost, current_revision=lost.current)
                raise ProwlError(
                    Code.BUFFER_OVERFLOW,
                    "The observer fell too far behind; observe again to start from a fresh snapshot.",
                    {
                        "first_lost_revision": lost.first_lost,
                        "current_revision": lost.current,
                        "overflow": details,
                    },
                )
            if observer.interrupted:
                raise ProwlError(Code.SHUTTING_DOWN, "The service is stopping.")
        finally:
            observer.close()

    async def Signal(self, request: agents_pb2.SignalRequest, context: Any) -> agents_pb2.SignalResponse:
        """Record a runtime event of the pane that the caller runs in."""
        return await self._signalling.signal(request, context)

    async def Wait(self, request: agents_pb2.WaitRequest, context: Any) -> agents_pb2.WaitResponse:
        """Wait for a condition of a pane, or a receipt."""
        return await self._signalling.wait(request, context)

    async def ReadAgent(self, request: agents_pb2.ReadAgentRequest, context: Any) -> agents_pb2.ReadAgentResponse:
        """Return the agent's status, what it asks, and its last complete result (signals.md §7.5)."""
        limit = request.max_bytes or _DEFAULT_RESULT
        if not 1 <= limit <= _MAX_RESULT:
            raise ProwlError(Code.INVALID_ARGUMENT, f"max_bytes must be 1 to {_MAX_RESULT}.")
        pane = self._targets.pane(request.pane)
        watcher = self._roster.watcher(pane.id)
        if watcher is not None:
            await watcher.settle_session()
        entry = watcher.entry if watcher is not None else None
        if watcher is None or entry is None:
            raise ProwlError(Code.AGENT_NOT_FOUND, "No agent is detected in the pane.")
        if entry.agent not in READABLE:
            names = " and ".join(sorted(agent.display_name for agent in READABLE))
            raise ProwlError(Code.AGENT_UNSUPPORTED, f"Only {names} can be read, not {entry.agent.display_name}.")
        if not pane.running:
            raise ProwlError(Code.AGENT_READ_FAILED, "The pane ended before its screen could be read.")
        response = agents_pb2.ReadAgentResponse(target=self._targets.target(pane.id), agent=encode.agent_entry(entry))
        if entry.status is DisplayState.BLOCKED:
            text = blocker_text(entry.agent, pane.screen.active_rows())
            if text is None and watcher.detection is not None and watcher.detection.state is RawState.BLOCKED:
                raise ProwlError(Code.BLOCKER_UNREADABLE, "The agent needs a person, but its question is not readable.")
            if text is not None:
                response.blocker = text
        result = await asyncio.to_thread(read_result, entry.agent, entry.status, watcher.session, limit)
        response.result.state = _RESULT_STATES[result.state]
        if result.text is not None:
            response.result.text = result.text
        elif result.error is not None:
            response.result.error_code, response.result.error_message = result.error
        return response

    async def ExplainAgent(
        self, request: agents_pb2.ExplainAgentRequest, context: Any
    ) -> agents_pb2.ExplainAgentResponse:
        """Return how the pane's agent was found and what each source says; row text only when asked for."""
        pane = self._targets.pane(request.pane)
        watcher = self._roster.watcher(pane.id)
        if watcher is None:
            raise ProwlError(Code.AGENT_GONE, "The pane closed.")
        probe = self._prober.explain(self._prober.foreground(pane.master, pane.child))
        entry = watcher.entry
        response = agents_pb2.ExplainAgentResponse(
            target=self._targets.target(pane.id),
            foreground_group=probe.job.pgrp if probe.job is not None else 0,
            launch_pid=probe.found.launch.pid if probe.found is not None else 0,
            evidence=[f"probe: {line}" for line in probe.lines()],
        )
        if probe.found is not None:
            response.candidates.extend(
                agents_pb2.ProbeCandidate(
                    agent=one.agent.value,
                    matched_name=one.matched_name,
                    source=one.source,
                    score=one.score,
                    pid=one.process.pid,
                )
                for one in probe.found.candidates
            )
        if entry is not None:
            response.agent.CopyFrom(encode.agent_entry(entry))
            response.evidence.extend(f"decision: {line}" for line in watcher.evidence())
        agent = entry.agent if entry is not None else probe.found.agent if probe.found is not None else None
        if agent is not None:
            _explain_screen(response, agent, pane.screen.active_rows(), pane.screen.title)
        if request.show_text:
            response.text = "\n".join(last_fitting(pane.screen.active_rows()))
        return response

    def _rows(self) -> list[agents_pb2.Agent]:
        return [self.row(row) for row in self._roster.rows()]

    def row(self, row: Row) -> agents_pb2.Agent:
        """Return one row of the roster as its message."""
        message = agents_pb2.Agent(
            id=row.pane,
            entry=encode.agent_entry(row.entry),
            project=self._targets.project(row.pane),
            target=self._targets.target(row.pane),
            revision=row.revision,
        )
        record = self._records.read(row.pane)
        signals = payload.roster(record) if record is not None else None
        if signals is not None:
            message.signals.CopyFrom(encode.signals(signals))
        return message


def _explain_screen(response: agents_pb2.ExplainAgentResponse, agent: Agent, rows: list[str], title: str) -> None:
    told = explain(agent, rows, title)
    response.regions.extend(
        agents_pb2.ScreenRegion(name=region.name, first_row=region.first, end_row=region.last + 1)
        for region in told.regions
    )
    response.rules.extend(
        agents_pb2.RuleTrial(rule=rule.id, state=encode.raw_state(rule.state), matched=rule.matched, why=rule.why)
        for rule in told.tried
    )
    response.screen_state = encode.raw_state(told.detection.state)
    response.screen_reason = told.detection.reason
    response.evidence.append(f"title: {told.title}")
