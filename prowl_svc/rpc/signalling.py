"""Signal and Wait: a process in a pane reports, and a coordinator waits for what was reported or detected."""

import asyncio
from typing import Any

from prowl.v1 import agents_pb2, common_pb2, errors_pb2

from prowl_svc.clocks import Clocks
from prowl_svc.identity.caller import Attribution
from prowl_svc.identity.tokens import resolve_directory
from prowl_svc.model.errors import Code, ProwlError
from prowl_svc.model.observation import Binding, Confidence, Signal, SignalKind
from prowl_svc.rpc import encode
from prowl_svc.rpc.callers import Callers
from prowl_svc.rpc.reading import last_fitting
from prowl_svc.rpc.targets import Targets
from prowl_svc.signals import limits, payload
from prowl_svc.signals.dispatches import Dispatches, Receipt, wait_for_receipt
from prowl_svc.signals.driver import until_answered
from prowl_svc.signals.records import Records, rejected_hook
from prowl_svc.signals.surface import COOPERATIVE, HookPayload
from prowl_svc.signals.waits import (
    Condition,
    Matched,
    MinConfidence,
    Observation,
    Outcome,
    WaitMachine,
)
from prowl_svc.watch.host import Host

__all__ = ["Signalling", "observation_message", "signal_kind"]

_KINDS = {
    common_pb2.SIGNAL_KIND_TURN_ENDED: SignalKind.TURN_ENDED,
    common_pb2.SIGNAL_KIND_NEEDS_INPUT: SignalKind.NEEDS_INPUT,
    common_pb2.SIGNAL_KIND_SESSION_START: SignalKind.SESSION_START,
    common_pb2.SIGNAL_KIND_SESSION_END: SignalKind.SESSION_END,
    common_pb2.SIGNAL_KIND_PROGRESS: SignalKind.PROGRESS,
}
_CONDITIONS = {
    agents_pb2.WAIT_CONDITION_IDLE: Condition.IDLE,
    agents_pb2.WAIT_CONDITION_BLOCKED: Condition.BLOCKED,
    agents_pb2.WAIT_CONDITION_CHANGED: Condition.CHANGED,
    agents_pb2.WAIT_CONDITION_EXIT: Condition.EXIT,
}
_MINIMA = {
    agents_pb2.MIN_CONFIDENCE_UNSPECIFIED: MinConfidence.AUTO,
    agents_pb2.MIN_CONFIDENCE_AUTO: MinConfidence.AUTO,
    agents_pb2.MIN_CONFIDENCE_EXACT: MinConfidence.EXACT,
    agents_pb2.MIN_CONFIDENCE_HIGH: MinConfidence.HIGH,
    agents_pb2.MIN_CONFIDENCE_HEURISTIC: MinConfidence.HEURISTIC,
}
_STATUS = {
    "working": common_pb2.AGENT_STATUS_WORKING,
    "blocked": common_pb2.AGENT_STATUS_BLOCKED,
    "done": common_pb2.AGENT_STATUS_DONE,
    "idle": common_pb2.AGENT_STATUS_IDLE,
}
_RAW = {
    "working": common_pb2.RAW_STATE_WORKING,
    "blocked": common_pb2.RAW_STATE_BLOCKED,
    "idle": common_pb2.RAW_STATE_IDLE,
    "unknown": common_pb2.RAW_STATE_UNKNOWN,
    "gone": common_pb2.RAW_STATE_GONE,
}
_SCREEN_SAMPLE, _SCREEN_STABLE, _SCREEN_CAP = 0.2, 0.8, 2.0


def observation_message(found: Observation) -> agents_pb2.WaitObservation:
    """Return what answered a wait as its message."""
    return agents_pb2.WaitObservation(
        status=_STATUS[found.status],
        raw_state=_RAW[found.raw_state],
        source=found.source,
        confidence=encode.confidence(found.confidence),
        at=encode.timestamp(found.at),
        revision=found.revision,
    )


def signal_kind(value: "common_pb2.SignalKind.ValueType") -> SignalKind:
    """Return the kind of an enum value; raises INVALID_ARGUMENT for one that names no event."""
    kind = _KINDS.get(value)
    if kind is None:
        raise ProwlError(Code.INVALID_ARGUMENT, "kind must name one of the five events")
    return kind


class Signalling:
    """Records signals of identified callers and answers waits."""

    def __init__(
        self,
        *,
        host: Host,
        records: Records,
        dispatches: Dispatches,
        targets: Targets,
        callers: Callers,
        clocks: Clocks,
    ) -> None:
        self._host = host
        self._records = records
        self._dispatches = dispatches
        self._targets = targets
        self._callers = callers
        self._clocks = clocks

    async def signal(self, request: agents_pb2.SignalRequest, context: Any) -> agents_pb2.SignalResponse:
        """Record a signal for the pane that the caller runs in (signals.md §2, §5.2)."""
        kind = signal_kind(request.kind)
        attribution = self._callers.attribution(context)
        if request.HasField("launch_token"):
            if attribution is None:
                self._callers.turned_away(context, "a hook's signal of a process in no pane is refused")
            return self._hook(request, kind, attribution)
        signal = Signal(
            kind=kind,
            source=COOPERATIVE,
            confidence=Confidence.EXACT,
            at=self._clocks.wall_ns(),
            progress=request.progress if request.HasField("progress") else None,
            session_id=request.session_id if request.HasField("session_id") else None,
            detail=request.detail if request.HasField("detail") else None,
            claimed_origin=request.claimed_origin if request.HasField("claimed_origin") else None,
        )
        limits.check_signal(kind, signal.progress, signal.session_id, signal.detail, signal.claimed_origin)
        if attribution is None:
            self._callers.turned_away(context, "a signal of a process in no pane is refused")
            raise ProwlError(
                Code.SOURCE_REQUIRED,
                "The calling process runs in no pane of this service; run it inside a pane. "
                "Programs behind another terminal or a detached server cannot be attributed.",
            )
        binding = self._records.signal(attribution.surface, signal, attribution.ancestry)
        return self._response(attribution, signal, binding)

    def _hook(
        self, request: agents_pb2.SignalRequest, kind: SignalKind, attribution: Attribution | None
    ) -> agents_pb2.SignalResponse:
        detail = request.detail if request.HasField("detail") else None
        limits.check_hook(
            token=request.launch_token,
            runtime=request.runtime,
            native_event=request.native_event,
            cwd=request.cwd,
            session_id=request.session_id,
            detail=detail,
        )
        if attribution is None:
            raise rejected_hook()
        cwd = resolve_directory(request.cwd)
        if cwd is None:
            raise rejected_hook()
        hook = HookPayload(
            token=request.launch_token,
            runtime=request.runtime,
            native_event=request.native_event,
            kind=kind,
            cwd=cwd,
            session_id=request.session_id,
            at=self._clocks.wall_ns(),
            detail=detail,
        )
        signal = self._records.hook_signal(attribution.surface, hook, attribution.ancestry)
        return self._response(attribution, signal, Binding.CURRENT)

    def _response(self, attribution: Attribution, signal: Signal, binding: Binding) -> agents_pb2.SignalResponse:
        slot = self._host.registry.get(attribution.surface)
        owner = self._host.worktree(slot.pane) if slot is not None else None
        response = agents_pb2.SignalResponse(
            pane_id=attribution.surface,
            worktree_id=owner.id if owner is not None else "",
            signal=encode.recorded_signal(signal),
            binding=encode.binding(binding),
        )
        if binding is Binding.UNBOUND:
            response.warnings.add(
                code="signal_unbound",
                message="The signal was recorded, but its sender is not proved to belong to the pane's present agent; "
                "it is no evidence for waits and dispatches.",
            )
        return response

    async def wait(self, request: agents_pb2.WaitRequest, context: Any) -> agents_pb2.WaitResponse:
        """Wait for a condition or a receipt (signals.md §3)."""
        limit = limits.check_wait_timeout(request.timeout_seconds)
        limits.check_screen_lines(request.include_screen_lines)
        match request.WhichOneof("mode"):
            case "condition":
                return await self._condition(request, limit)
            case "dispatch":
                return await self._receipt(request, limit)
            case _:
                raise ProwlError(Code.INVALID_ARGUMENT, "Name a pane and a condition, or a dispatch.")

    async def _condition(self, request: agents_pb2.WaitRequest, limit: int) -> agents_pb2.WaitResponse:
        until = _CONDITIONS.get(request.condition.until)
        minimum = _MINIMA.get(request.condition.min_confidence)
        if until is None or minimum is None:
            raise ProwlError(Code.INVALID_ARGUMENT, "until must be idle, blocked, changed or exit.")
        slot = self._targets.explicit(request.condition.pane)
        surface, target = slot.pane.id, self._targets.describe(slot)
        clock = self._clocks.monotonic
        machine = WaitMachine(until, minimum, float(limit), clock())
        outcome: Outcome = await until_answered(
            self._records, surface, machine.step, clock=clock, now_ns=self._clocks.wall_ns
        )
        waited = int(outcome.waited * 1000)
        screen = await self._capture(surface, request.include_screen_lines)
        signals = encode.signals(payload.diagnostic(self._records.read(surface)))
        if isinstance(outcome, Matched):
            return agents_pb2.WaitResponse(
                waited_ms=waited,
                target=target,
                observation=observation_message(outcome.observation),
                signals=signals,
                screen=screen,
            )
        details = errors_pb2.WaitErrorDetails(
            mode="condition",
            condition=request.condition.until,
            waited_ms=waited,
            target=target,
            observation=None if outcome.observation is None else observation_message(outcome.observation),
            signals=signals,
            screen=screen,
        )
        raise ProwlError(outcome.code, _WAIT_MESSAGES[outcome.code], {"wait": details})

    async def _receipt(self, request: agents_pb2.WaitRequest, limit: int) -> agents_pb2.WaitResponse:
        dispatch_id = request.dispatch.dispatch_id
        limits.check_dispatch_id(dispatch_id)
        outcome = await wait_for_receipt(self._dispatches, dispatch_id, float(limit), clock=self._clocks.monotonic)
        entry = outcome.entry
        if entry is None or entry.binding is None:
            raise ProwlError(Code.DISPATCH_NOT_FOUND, "There is no such dispatch.")
        waited = int(outcome.waited * 1000)
        surface = entry.binding.surface
        target = common_pb2.Target.FromString(entry.binding.target)
        screen = await self._capture(surface, request.include_screen_lines)
        record = self._records.read(surface)
        signals = encode.signals(payload.diagnostic(record))
        if isinstance(outcome, Receipt):
            return agents_pb2.WaitResponse(
                waited_ms=waited,
                target=target,
                receipt=encode.dispatch_record(entry.record),
                signals=signals,
                screen=screen,
            )
        details = errors_pb2.WaitErrorDetails(
            mode="dispatch",
            waited_ms=waited,
            target=target,
            record=encode.dispatch_record(entry.record),
            signals=signals,
            screen=screen,
        )
        raise ProwlError(outcome.code, _WAIT_MESSAGES[outcome.code], {"wait": details})

    async def _capture(self, surface: str, lines: int) -> common_pb2.ScreenCapture | None:
        """Return the last rows of the screen once they were the same for 0.8 s, after 2 s at the latest (§1.6)."""
        if not lines:
            return None
        slot = self._host.registry.get(surface)
        capture = common_pb2.ScreenCapture(requested_lines=lines)
        began = self._clocks.monotonic()
        if slot is not None:
            screen = slot.pane.screen
            last, since = screen.revision, began
            while (now := self._clocks.monotonic()) - since < _SCREEN_STABLE and now - began < _SCREEN_CAP:
                await asyncio.sleep(_SCREEN_SAMPLE)
                if screen.revision != last:
                    last, since = screen.revision, self._clocks.monotonic()
            capture.stabilized = self._clocks.monotonic() - since >= _SCREEN_STABLE
            if slot.pane.running:
                rows = last_fitting(screen.active_rows()[-lines:])
                capture.captured = True
                capture.text, capture.line_count = "\n".join(rows), len(rows)
        capture.waited_ms = int((self._clocks.monotonic() - began) * 1000)
        return capture


_WAIT_MESSAGES = {
    Code.AGENT_GONE: "The pane closed, or the task lost its worker.",
    Code.AGENT_NOT_FOUND: "No agent appeared in the pane.",
    Code.WAIT_TIMEOUT: "The time is over; the details hold the last view.",
    Code.DISPATCH_FAILED: "The worker reported that the task failed; the record holds its summary.",
    Code.DISPATCH_ABANDONED: "The dispatch was given up.",
    Code.DISPATCH_NEEDS_INPUT: "The worker needs a person; the dispatch is still pending, so wait again afterwards.",
    Code.DISPATCH_INCOMPLETE: "The worker's turn ended without a completion; the dispatch is still pending.",
    Code.DISPATCH_NOT_FOUND: "There is no such dispatch.",
}
