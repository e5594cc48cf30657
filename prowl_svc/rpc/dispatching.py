"""DispatchService: hand a task to an agent, take its receipt, give it up (signals.md §4)."""

import logging
from typing import Any

from prowl.v1 import common_pb2, dispatch_pb2, errors_pb2

from prowl_svc.clocks import Clocks
from prowl_svc.model.errors import Code, ProwlError
from prowl_svc.rpc import encode
from prowl_svc.rpc.callers import Callers
from prowl_svc.rpc.signalling import observation_message
from prowl_svc.rpc.targets import Targets
from prowl_svc.signals import limits, payload
from prowl_svc.signals.delivery import IdleMachine, Refused, input_area_reason, typed_prompt
from prowl_svc.signals.dispatch import DispatchBinding, DispatchOutcome, DispatchRecord
from prowl_svc.signals.dispatches import Dispatches, Settled
from prowl_svc.signals.driver import until_answered
from prowl_svc.signals.records import Records
from prowl_svc.signals.waits import Observation
from prowl_svc.watch.host import Host, PaneSlot
from prowl_svc.watch.inputarea import input_area

__all__ = ["DispatchServicer"]

log = logging.getLogger("prowl.dispatch")

_OUTCOMES = {
    dispatch_pb2.DISPATCH_OUTCOME_SUCCEEDED: DispatchOutcome.SUCCEEDED,
    dispatch_pb2.DISPATCH_OUTCOME_FAILED: DispatchOutcome.FAILED,
}


class DispatchServicer:
    """Serves dispatches from the store; ``command`` is how the worker calls the command-line client."""

    def __init__(
        self,
        *,
        host: Host,
        records: Records,
        dispatches: Dispatches,
        targets: Targets,
        callers: Callers,
        clocks: Clocks,
        command: str = "prowl",
    ) -> None:
        self._host = host
        self._records = records
        self._dispatches = dispatches
        self._targets = targets
        self._callers = callers
        self._clocks = clocks
        self._command = command

    async def Dispatch(self, request: dispatch_pb2.DispatchRequest, context: Any) -> dispatch_pb2.DispatchResponse:
        """Type a task into an idle agent's composer (§4.4)."""
        limits.check_prompt(request.prompt)
        slot = self._targets.explicit(request.pane)
        surface = slot.pane.id
        pending = self._dispatches.pending(surface)
        if pending is not None:
            raise self._refusal(slot, Code.DISPATCH_PENDING, "The pane has a pending dispatch.", record=pending)
        self._check_input_area(slot)
        machine = IdleMachine(self._clocks.monotonic())
        verdict = await until_answered(
            self._records, surface, machine.step, clock=self._clocks.monotonic, now_ns=self._clocks.wall_ns
        )
        if isinstance(verdict, Refused):
            raise self._refusal(slot, verdict.code, verdict.message, observation=verdict.observation)
        self._check_input_area(slot)
        entry = self._records.read(surface)
        if entry is None:
            raise self._refusal(slot, Code.AGENT_GONE, "The pane closed.")
        record = self._dispatches.issue()
        target = self._targets.describe(slot)
        try:
            self._dispatches.bind(
                record.id, DispatchBinding(surface, entry.epoch, target.SerializeToString(deterministic=True))
            )
            await self._dispatches.saved()
            await slot.pane.submit_text(typed_prompt(request.prompt, self._command), paste=True)
        except ProwlError as error:
            self._dispatches.cancel(record.id)
            if error.code is Code.SEND_FAILED:
                raise self._refusal(
                    slot, Code.DISPATCH_FAILED, f"{error.message} Text may remain in the target pane."
                ) from error
            raise
        except BaseException:
            self._dispatches.cancel(record.id)  # the caller left before the task was typed
            raise
        self._host.interacted(surface, b"\r")
        return dispatch_pb2.DispatchResponse(target=target, dispatch=encode.dispatch_record(record))

    async def CompleteDispatch(
        self, request: dispatch_pb2.CompleteDispatchRequest, context: Any
    ) -> dispatch_pb2.CompleteDispatchResponse:
        """Complete the pending record of the caller's pane (§4.5)."""
        outcome = _OUTCOMES.get(request.outcome)
        if outcome is None:
            raise ProwlError(Code.INVALID_ARGUMENT, "outcome must be succeeded or failed")
        limits.check_summary(request.summary)
        if request.HasField("dispatch_id"):
            limits.check_dispatch_id(request.dispatch_id)
        own = self._callers.attribution(context)
        if own is None:
            self._callers.turned_away(context, "the completion of a task by a process in no pane is refused")
            raise ProwlError(
                Code.DISPATCH_CONTEXT_REQUIRED,
                "The calling process runs in no pane of this service; run it inside the pane that holds the task.",
            )
        settled = self._dispatches.complete(own.surface, outcome, request.summary)
        if request.HasField("dispatch_id") and request.dispatch_id != settled.record.id:
            log.info(
                "another dispatch was completed than the worker named", extra={"fields": {"id": settled.record.id}}
            )
        await self._dispatches.saved()
        return dispatch_pb2.CompleteDispatchResponse(
            target=_target(settled), receipt=encode.dispatch_record(settled.record), replayed=settled.replayed
        )

    async def AbandonDispatch(
        self, request: dispatch_pb2.AbandonDispatchRequest, context: Any
    ) -> dispatch_pb2.AbandonDispatchResponse:
        """Give a dispatch up (§4.7)."""
        limits.check_dispatch_id(request.dispatch_id)
        limits.check_reason(request.reason)
        settled = self._dispatches.abandon(request.dispatch_id, request.reason)
        await self._dispatches.saved()
        return dispatch_pb2.AbandonDispatchResponse(
            target=_target(settled), record=encode.dispatch_record(settled.record), replayed=settled.replayed
        )

    def _check_input_area(self, slot: PaneSlot) -> None:
        watcher = self._host.roster.watcher(slot.pane.id)
        if watcher is None or watcher.entry is None:
            return  # the idle precondition says that there is no agent
        why = input_area_reason(input_area(watcher, slot.pane))
        if why is not None:
            raise self._refusal(slot, Code.DISPATCH_TARGET_BUSY, f"Nothing was typed: {why}.")

    def _refusal(
        self,
        slot: PaneSlot,
        code: Code,
        message: str,
        *,
        record: DispatchRecord | None = None,
        observation: Observation | None = None,
    ) -> ProwlError:
        details = errors_pb2.DispatchErrorDetails(
            target=self._targets.describe(slot),
            record=None if record is None else encode.dispatch_record(record),
            observation=None if observation is None else observation_message(observation),
            signals=encode.signals(payload.diagnostic(self._records.read(slot.pane.id))),
        )
        return ProwlError(code, message, {"dispatch": details})


def _target(settled: Settled) -> common_pb2.Target:
    return common_pb2.Target() if settled.binding is None else common_pb2.Target.FromString(settled.binding.target)
