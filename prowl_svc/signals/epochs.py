"""When evidence starts and stops to count: epochs, generations, bindings (signals.md §2.5, §2.6)."""

from dataclasses import replace

from prowl_svc.model.observation import AgentEntry, Binding, Signal
from prowl_svc.model.process import Generation
from prowl_svc.model.state import DisplayState
from prowl_svc.signals import hooks
from prowl_svc.signals.surface import (
    Ancestry,
    Facts,
    HookRecord,
    NewEpoch,
    Recorded,
    Step,
    SurfaceRecord,
    record_signal,
    rotate,
)

__all__ = ["begin", "change_entry", "refresh", "remove_entry", "signal"]


def refresh(record: SurfaceRecord, facts: Facts, new_epoch: NewEpoch) -> Step:
    """Bring the epoch up to the detector's present facts (updateEvidenceEpoch, signals.md §2.5).

    The events are parked hook payloads that became acceptable because their launch process is known now.
    """
    hook, generation = record.hook, facts.generation
    if (
        not record.awaiting_first
        and record.generation == generation
        and record.detector_session == facts.session
        and facts.session in (None, record.session)
    ):
        return Step(record)  # every read comes through here, and most find nothing new
    if hook is not None and record.generation is not None and generation is None:
        return Step(record)
    record = replace(record, detector_session=facts.session)
    session = facts.session
    if hook is not None and session is not None and hooks.ignored_session(hook, session):
        session = None
    attaches, late = _first(record, generation)
    process_changed = late or (not attaches and record.generation != generation)
    session_changed = not process_changed and None not in (record.session, session) and record.session != session
    retired: tuple[str, ...] = ()
    if process_changed or session_changed:
        record = rotate(record, new_epoch, sessionless_ok=process_changed)
    if process_changed:
        retired = (hook.private_file,) if hook is not None and hook.private_file else ()
        record = replace(record, session=None, hook=None)
    elif session_changed and hook is not None and session is not None:
        record = replace(record, hook=hooks.follow_detector(hook, session))
    if attaches or late:
        record = replace(record, awaiting_first=False, deadline=None)
    record = replace(record, generation=generation, session=session if session is not None else record.session)
    if attaches and record.hook is not None:
        return _attach(record, record.hook, new_epoch)
    return Step(record, retired_files=retired)


def _first(record: SurfaceRecord, generation: Generation | None) -> tuple[bool, bool]:
    """Tell whether ``generation`` is the launch's awaited first process, or one that started too late to be it."""
    if not record.awaiting_first or record.generation is not None or generation is None:
        return False, False
    late = record.hook is None and record.deadline is not None and generation.start > record.deadline
    return not late, late


def _attach(record: SurfaceRecord, hook: HookRecord, new_epoch: NewEpoch) -> Step:
    """Bind the registration to the first process and replay what came before it, each through all checks."""
    record = replace(record, hook=replace(hook, generation=record.generation, parked=()))
    events: list[Recorded] = []
    for parked in hook.parked:
        step = hooks.accept(record, parked.payload, parked.ancestry, new_epoch)
        record = step.record
        events.extend(step.events)
    return Step(record, tuple(events))


def begin(record: SurfaceRecord, deadline: int, new_epoch: NewEpoch, hook: HookRecord | None = None) -> Step:
    """Begin the epoch of a launch: its first process must have started by ``deadline``, unless a hook binds it.

    ``deadline`` is in raw start-time units, ten seconds after the launch binding (beginDispatchEpoch).
    """
    old = record.hook
    record = replace(
        rotate(record, new_epoch, sessionless_ok=True),
        generation=None,
        session=None,
        awaiting_first=True,
        deadline=deadline,
        hook=hook,
    )
    return Step(record, retired_files=(old.private_file,) if old is not None and old.private_file else ())


def signal(record: SurfaceRecord, incoming: Signal, ancestry: Ancestry) -> tuple[Step, Binding]:
    """Bind and record a cooperative signal of a caller with this ancestry (signals.md §2.6)."""
    binding = _bind(record, incoming, ancestry)
    if binding is Binding.CURRENT and incoming.session_id is not None:
        record = replace(record, session=incoming.session_id)
    return record_signal(record, incoming, binding), binding


def _bind(record: SurfaceRecord, incoming: Signal, ancestry: Ancestry) -> Binding:
    proved = record.generation is not None and record.generation in ancestry
    if incoming.session_id is None:
        current = proved and record.sessionless_ok
    else:
        current = proved and record.session in (None, incoming.session_id)
    return Binding.CURRENT if current else Binding.UNBOUND


def change_entry(record: SurfaceRecord, entry: AgentEntry) -> tuple[SurfaceRecord, bool]:
    """Take a detector entry in; tell whether the agent began working, which ends the active level (§1.5).

    An entry equal to the stored one returns the record itself.
    """
    old = record.agent
    if entry == old:
        return record, False
    began = entry.status is DisplayState.WORKING and (old is None or old.status is not DisplayState.WORKING)
    level = None if began else record.active_terminal
    return replace(record, agent=entry, active_terminal=level, revision=record.revision + 1), began


def remove_entry(record: SurfaceRecord) -> SurfaceRecord:
    """Forget the entry alone; evidence is settled by the epoch rules. Without an entry nothing changes."""
    return record if record.agent is None else replace(record, agent=None, revision=record.revision + 1)
