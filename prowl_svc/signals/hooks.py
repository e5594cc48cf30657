"""Which native hook payloads count: registration, checks, parking, sessions, revocation (signals.md §5.1–5.7)."""

import enum
from dataclasses import dataclass, replace
from types import MappingProxyType

from prowl_svc.identity.tokens import same_token
from prowl_svc.model.observation import Binding, Confidence, Signal, SignalKind
from prowl_svc.signals.surface import (
    PARKING_LIMIT,
    VERIFIED_LIVE,
    Ancestry,
    Channel,
    HookPayload,
    HookRecord,
    NewEpoch,
    Parked,
    Step,
    SurfaceRecord,
    record_signal,
    rotate,
)

__all__ = ["HookStep", "Refusal", "accept", "follow_detector", "ignored_session", "revoke"]


class Refusal(enum.StrEnum):
    """Why a payload was refused; for debug logs only, since senders get one opaque error (signals.md §5.2)."""

    NO_REGISTRATION = "no-registration"
    TOKEN_MISMATCH = "token-mismatch"
    RUNTIME_MISMATCH = "runtime-mismatch"
    EVENT_NOT_DECLARED = "event-not-declared"
    CWD_MISMATCH = "cwd-mismatch"
    GENERATION_MISMATCH = "generation-mismatch"
    PARKING_FULL = "parking-full"
    RETIRED_SESSION = "retired-session"
    DETECTOR_SUPERSEDED = "detector-superseded"
    SESSION_CHANGED = "session-changed"


@dataclass(frozen=True, slots=True)
class HookStep(Step):
    """A step with its verdict: refused for a reason, or the signal that was accepted now or parked for later."""

    refusal: Refusal | None = None
    signal: Signal | None = None


def accept(record: SurfaceRecord, payload: HookPayload, ancestry: Ancestry, new_epoch: NewEpoch) -> HookStep:
    """Check a payload against the pane's registration and take it in; a refusal leaves the record as it was."""
    hook = record.hook
    refusal = _check_origin(hook, payload)
    if hook is None or refusal is not None:
        return HookStep(record, refusal=refusal)
    if hook.generation is None:
        if record.generation is not None or not record.awaiting_first:
            return HookStep(record, refusal=Refusal.GENERATION_MISMATCH)
        if len(hook.parked) >= PARKING_LIMIT:
            return HookStep(record, refusal=Refusal.PARKING_FULL)
        parked = replace(hook, parked=(*hook.parked, Parked(payload, ancestry)))
        return HookStep(replace(record, hook=parked), signal=_signal(hook, payload))
    if hook.generation != record.generation or hook.generation not in ancestry:
        return HookStep(record, refusal=Refusal.GENERATION_MISMATCH)
    refusal = _check_session(hook, payload)
    if refusal is not None:
        return HookStep(record, refusal=refusal)
    return _take(record, hook, payload, new_epoch)


def _check_origin(hook: HookRecord | None, payload: HookPayload) -> Refusal | None:
    if hook is None:
        return Refusal.NO_REGISTRATION
    if not same_token(hook.token, payload.token):
        return Refusal.TOKEN_MISMATCH
    if hook.runtime != payload.runtime:
        return Refusal.RUNTIME_MISMATCH
    if hook.table.get(payload.native_event) is not payload.kind:
        return Refusal.EVENT_NOT_DECLARED
    if hook.cwd != payload.cwd:
        return Refusal.CWD_MISMATCH
    return None


def _check_session(hook: HookRecord, payload: HookPayload) -> Refusal | None:
    starts = payload.kind is SignalKind.SESSION_START
    if payload.session_id in hook.retired and not starts:
        return Refusal.RETIRED_SESSION
    if payload.session_id == hook.superseded and not starts:
        return Refusal.DETECTOR_SUPERSEDED
    if hook.session not in (None, payload.session_id) and hook.announcing and not starts:
        return Refusal.SESSION_CHANGED
    return None


def _take(record: SurfaceRecord, hook: HookRecord, payload: HookPayload, new_epoch: NewEpoch) -> HookStep:
    session = payload.session_id
    retired = hook.retired - {session}
    if hook.session is not None and hook.session != session:
        retired |= {hook.session}
        record = rotate(record, new_epoch, sessionless_ok=False)
    hook = replace(hook, retired=retired, session=session)
    if payload.kind is SignalKind.SESSION_START:
        detector = record.detector_session
        hook = replace(hook, superseded=None, suppressed=None if detector == session else detector)
    channel = Channel(VERIFIED_LIVE, Confidence.EXACT, hook.covered, payload.at, session)
    channels = MappingProxyType({**record.channels, hook.source: channel})
    signal = _signal(hook, payload)
    step = record_signal(replace(record, hook=hook, session=session, channels=channels), signal, Binding.CURRENT)
    return HookStep(step.record, step.events, signal=signal)


def _signal(hook: HookRecord, payload: HookPayload) -> Signal:
    return Signal(
        kind=payload.kind,
        source=hook.source,
        confidence=Confidence.EXACT,
        at=payload.at,
        session_id=payload.session_id,
        detail=payload.detail,
        native_event=payload.native_event,
    )


def ignored_session(hook: HookRecord, session: str) -> bool:
    """Tell whether the detector's word for ``session`` is overruled by what hooks established (§2.5 item 2)."""
    return session in hook.retired or session == hook.suppressed


def follow_detector(hook: HookRecord, session: str) -> HookRecord:
    """Reconcile a registration with a detector that now names another trusted session (signals.md §5.6)."""
    hook = replace(hook, parked=())
    if not hook.announcing:
        retired = hook.retired if hook.session in (None, session) else hook.retired | {hook.session}
        return replace(hook, retired=retired, session=None)
    if hook.session == session:
        return replace(hook, superseded=None)
    return replace(hook, superseded=hook.session, suppressed=None)


def revoke(record: SurfaceRecord, new_epoch: NewEpoch) -> Step:
    """Drop the registration and all current evidence at once (signals.md §5.7); nothing happens without one."""
    if record.hook is None:
        return Step(record)
    files = (record.hook.private_file,) if record.hook.private_file else ()
    record = rotate(record, new_epoch, sessionless_ok=True)
    record = replace(record, hook=None, generation=None, session=None, awaiting_first=False, deadline=None)
    return Step(record, retired_files=files)
