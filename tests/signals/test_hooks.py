"""Native hook payloads: checks one by one, parking, sessions, rotation, revocation, and the worked sequences."""

import logging

import pytest

from prowl_svc.model.errors import Code, ProwlError
from prowl_svc.model.observation import Confidence, SignalKind, SignalRecorded
from prowl_svc.model.process import Generation
from prowl_svc.signals import hooks
from prowl_svc.signals.hooks import Refusal
from prowl_svc.signals.surface import HookPayload, SurfaceRecord
from prowl_svc.signals.waits import Condition, Matched, MinConfidence, WaitMachine
from tests.signals.world import PANE, SECOND, Ids, Sink, World, hook_record, payload

AGENT = Generation(10, 20)


def launched(runtime: str = "claude", **more: object) -> World:
    """A world with a registered launch whose process is not known yet."""
    world = World()
    world.records.begin_launch(PANE, hook_record(runtime, **more))
    return world


def attached(runtime: str = "claude", session: str | None = None, **more: object) -> World:
    """A world with a registered launch that is attached to its process."""
    world = launched(runtime, **more)
    world.process(10, 20, session)
    assert world.record.hook is not None
    return world


def refusal(world: World, incoming: HookPayload, *ancestry: Generation) -> Refusal | None:
    """The verdict on a payload, asserting that a refusal changes nothing."""
    before = world.record
    step = hooks.accept(before, incoming, ancestry or (AGENT,), Ids())
    assert step.refusal is None or step.record is before
    return step.refusal


def rejected(world: World, event: str, session: str) -> bool:
    """Whether an event is refused to its sender."""
    refused = None
    try:
        world.hook(event, session)
    except ProwlError as error:
        refused = error
    assert refused is None or "Managed agent hook signal rejected." == refused.message
    assert refused is None or Code.SOURCE_REQUIRED is refused.code
    return refused is not None


def channel_state(record: SurfaceRecord, source: str = "hook_claude") -> str | None:
    channel = record.channels.get(source)
    return channel.state if channel else None


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        ({}, None),
        ({"token": "other"}, Refusal.TOKEN_MISMATCH),
        ({"token": ""}, Refusal.TOKEN_MISMATCH),
        ({"runtime": "codex"}, Refusal.RUNTIME_MISMATCH),
        ({"native_event": "PreToolUse"}, Refusal.EVENT_NOT_DECLARED),
        ({"native_event": "Stop"}, Refusal.EVENT_NOT_DECLARED),
        ({"kind": SignalKind.TURN_ENDED}, Refusal.EVENT_NOT_DECLARED),
        ({"cwd": "/elsewhere"}, Refusal.CWD_MISMATCH),
    ],
)
def test_arrival_checks_one_by_one(change: dict[str, object], expected: Refusal | None) -> None:
    """Each claim is checked: token, runtime, a declared event of the claimed kind, the launch directory."""
    assert expected is refusal(attached(), payload("SessionStart", **change))


def test_generation_must_be_in_the_callers_ancestry() -> None:
    """A sender that does not descend from the bound launch process is refused."""
    world = attached()
    assert Refusal.GENERATION_MISMATCH is refusal(world, payload(), Generation(10, 21))
    assert refusal(world, payload(), Generation(99, 1), AGENT) is None


def test_without_a_registration_everything_is_refused() -> None:
    """A pane without a registered launch takes no hook, and neither does a closed pane."""
    world = World()
    world.process(10, 20)
    assert Refusal.NO_REGISTRATION is refusal(world, payload())
    world.records.close(PANE)
    assert rejected(world, "SessionStart", "S1")


def test_token_of_another_pane_is_refused() -> None:
    """A registration is its pane's: the same token sent from another pane finds none."""
    world = attached()
    world.records.open("other")
    with pytest.raises(ProwlError) as error:
        world.records.hook_signal("other", payload(), (AGENT,))
    assert Code.SOURCE_REQUIRED is error.value.code


def test_token_never_shows(caplog: pytest.LogCaptureFixture) -> None:
    """The token is in no representation and no log of a refusal."""
    caplog.set_level(logging.DEBUG)
    world = attached()
    assert rejected(world, "PreToolUse", "S1")
    assert "t0ken" not in caplog.text + repr(world.record) + repr(payload())


def test_first_valid_event_verifies_the_channel() -> None:
    """No channel is exposed before the first valid event; it then covers all declared kinds."""
    world = attached()
    assert channel_state(world.record) is None
    receipt = world.hook("SessionStart", "S1")
    channel = world.record.channels["hook_claude"]
    assert ("hook_claude", Confidence.EXACT, "S1") == (receipt.source, receipt.confidence, receipt.session_id)
    assert ("verified_live", receipt.at, "S1") == (channel.state, channel.last_seen, channel.session_id)
    assert {"session-start", "turn-ended", "needs-input", "session-end"} == set(channel.events)
    assert ("current", "S1") == (world.record.latest_binding, world.record.session)


def test_channels_stay_apart() -> None:
    """A cooperative signal neither touches the hook's channel nor is lifted by it."""
    world = attached()
    world.hook("SessionStart", "S1")
    world.signal("turn-ended", "S1")
    assert ("verified_live", "observed") == (
        channel_state(world.record),
        channel_state(world.record, "cooperative_cli"),
    )


def test_parking_and_late_attachment() -> None:
    """Early payloads get a receipt, are replayed in order at the first attach however late, and publish then."""
    world = launched()
    for event, session in (("SessionStart", "S1"), ("PermissionRequest", "S1"), ("Stop", "S1")):
        assert "hook_claude" == world.hook(event, session, AGENT).source
    assert channel_state(world.record) is None
    assert 0 == world.record.revision
    world.process(10, 5000)
    assert not [event for event in world.published if isinstance(event, SignalRecorded)]
    assert channel_state(world.record) is None  # these senders descended from another process
    late = launched()
    for event in ("SessionStart", "PermissionRequest", "Stop"):
        late.hook(event, "S1", AGENT)
    late.process(AGENT.pid, AGENT.start)
    assert "turn-ended" == getattr(late.record.active_terminal, "kind", None)
    kinds = [event.signal.kind.value for event in late.published if isinstance(event, SignalRecorded)]
    assert ["session-start", "needs-input", "turn-ended"] == kinds
    assert isinstance(late.sink, Sink)
    assert ["session-start", "needs-input", "turn-ended"] == [told[-1] for told in late.sink.told]


def test_replayed_payloads_answer_a_wait_one_by_one() -> None:
    """A wait judges each replayed payload by itself, so a needs-input followed by a turn-ended is seen."""
    world = launched()
    world.detect("working")
    machine = WaitMachine(Condition.BLOCKED, MinConfidence.AUTO, 600.0, 0.0)
    machine.step(world.record, 0.0, 0)
    world.hook("PermissionRequest", "S1", AGENT)
    world.hook("Stop", "S1", AGENT)
    answers: list[object] = []
    world.records.listen(PANE, lambda record: answers.append(machine.step(record, 1.0, 0)))
    world.process(AGENT.pid, AGENT.start)
    world.records.read(PANE)
    assert [True, False] == [isinstance(answer, Matched) for answer in answers]


def test_parked_payload_is_checked_again_at_replay() -> None:
    """The ninth early payload is refused like any other, with one warning; a parked one proves nothing yet."""
    world = launched()
    for _ in range(8):
        world.hook("Stop", "S1", AGENT)
    assert rejected(world, "Stop", "S1")
    hook = world.record.hook
    assert hook is not None
    assert 8 == len(hook.parked)


def test_parking_warns_once(caplog: pytest.LogCaptureFixture) -> None:
    """Further refused early payloads within half a minute are not warned of again."""
    world = launched()
    for _ in range(8):
        world.hook("Stop", "S1", AGENT)
    for _ in range(3):
        assert rejected(world, "Stop", "S1")
    assert 1 == len([record for record in caplog.records if record.levelno == logging.WARNING])
    world.seconds += 31
    assert rejected(world, "Stop", "S1")
    assert 2 == len([record for record in caplog.records if record.levelno == logging.WARNING])


def test_early_payload_with_a_wrong_claim_is_not_parked() -> None:
    """Only payloads that pass the other checks are kept for later."""
    assert Refusal.CWD_MISMATCH is refusal(launched(), payload(cwd="/elsewhere"))


def test_launch_attaches_the_process_that_is_there() -> None:
    """A launch in a pane whose process is known already binds to it on the next look."""
    world = World()
    world.process(10, 20)
    world.detect()
    world.records.begin_launch(PANE, hook_record())
    record = world.records.read(PANE)
    assert record is not None
    assert record.hook is not None
    assert AGENT == record.hook.generation


def test_s1_managed_launch_with_prompt() -> None:
    """An early session start is parked and replayed; a fresh turn-ended answers, a pre-arm one needs corroboration."""
    world = launched()
    epoch = world.record.epoch
    world.seconds = 0.4
    world.hook("SessionStart", "S", AGENT)
    world.seconds = 2.0
    world.process(AGENT.pid, AGENT.start)
    world.detect("working")
    assert (epoch, "verified_live", None, "S") == (
        world.record.epoch,
        channel_state(world.record),
        world.record.active_terminal,
        world.record.session,
    )
    early = WaitMachine(Condition.IDLE, MinConfidence.AUTO, 600.0, 5.0)
    assert isinstance(early.step(world.record, 5.0, 0), float)
    world.seconds = 30.0
    world.hook("Stop", "S")
    assert isinstance(early.step(world.record, 30.0, 0), Matched)
    late = WaitMachine(Condition.IDLE, MinConfidence.AUTO, 600.0, 40.0)
    assert isinstance(late.step(world.record, 40.0, 0), float)
    assert isinstance(late.step(world.record, 50.0, 0), float)
    world.detect("done")
    assert isinstance(late.step(world.record, 50.0, 0), Matched)


def test_s2_slow_start() -> None:
    """A process that starts 25 s late attaches to a managed launch and is a replacement for an unmanaged one."""
    managed, plain = launched(), World()
    bound = plain.records.begin_launch(PANE)
    for world in (managed, plain):
        world.process(10, 2500)
    assert managed.record.hook is not None
    assert AGENT.pid == getattr(managed.record.generation, "pid", None)
    assert "hook_claude" == managed.hook("SessionStart", "S").source
    plain.signal("session-end")
    assert isinstance(plain.sink, Sink)
    assert [told[2] for told in plain.sink.told] == [plain.record.epoch]
    assert bound != plain.record.epoch


def test_s3_claude_new_and_resume() -> None:
    """A session start of S2 retires S1 in a new epoch; late events of S1 are refused; its resume brings it back."""
    world = attached(session="S1")
    world.hook("SessionStart", "S1")
    world.hook("Stop", "S1")
    first = world.record.epoch
    world.hook("SessionStart", "S2")
    second = world.record
    assert first != second.epoch
    assert ("verified_live", None, "S2") == (channel_state(second), second.active_terminal, second.session)
    assert rejected(world, "Stop", "S1")
    assert second == world.record  # the detector still says S1 and is ignored
    world.hook("SessionStart", "S1")
    third = world.record
    assert third.epoch not in (first, second.epoch)
    assert rejected(world, "Stop", "S2")
    assert not rejected(world, "Stop", "S1")


def test_s4_detector_false_positive() -> None:
    """A detector that insists on S2 supersedes S1 until it corrects itself, or until a session start settles it."""
    world = attached(session="S1")
    world.hook("SessionStart", "S1")
    epoch = world.record.epoch
    world.process(10, 20, "S2")
    superseded = world.record
    assert epoch != superseded.epoch
    assert channel_state(superseded) is None
    assert rejected(world, "Stop", "S1")
    world.process(10, 20, "S1")
    assert not rejected(world, "Stop", "S1")
    assert "verified_live" == channel_state(world.record)
    world.process(10, 20, "S2")
    assert rejected(world, "Stop", "S1")
    world.hook("SessionStart", "S1")
    settled = world.record
    assert ("verified_live", "S1") == (channel_state(settled), settled.session)
    assert settled == world.record  # S2 reads are ignored from now on
    assert not rejected(world, "Stop", "S1")


def test_s5_codex_new() -> None:
    """An ordinary event of T2 rotates and retires T1 for good."""
    world = attached("codex")
    world.hook("agent-turn-complete", "T1")
    epoch = world.record.epoch
    world.hook("agent-turn-complete", "T2")
    assert epoch != world.record.epoch
    assert "verified_live" == channel_state(world.record, "hook_codex")
    assert rejected(world, "agent-turn-complete", "T1")


def test_codex_detector_supersession_is_final() -> None:
    """For a runtime that does not announce sessions, a session that the detector left is retired."""
    world = attached("codex", session="T1")
    world.hook("agent-turn-complete", "T1")
    world.process(10, 20, "T2")
    assert world.record.active_terminal is None
    assert rejected(world, "agent-turn-complete", "T1")
    assert not rejected(world, "agent-turn-complete", "T2")


def test_ordinary_event_of_another_session_is_refused() -> None:
    """Where sessions are announced only a session start changes the session."""
    world = attached()
    world.hook("SessionStart", "S1")
    assert Refusal.SESSION_CHANGED is refusal(world, payload("Stop", "S2"))


def test_sessionless_after_a_rotation_by_hook() -> None:
    """After a session replacement in the same process, sessionless cooperative signals are unbound."""
    world = attached()
    world.hook("SessionStart", "S1")
    assert "current" == world.signal("progress")
    world.hook("SessionStart", "S2")
    assert "unbound" == world.signal("turn-ended")
    assert "current" == world.signal("turn-ended", "S2")


def test_revocation_on_removal() -> None:
    """Losing the agent drops registration, epoch and evidence before the removal is published."""
    world = attached(private_file="/run/secret")
    world.hook("SessionStart", "S1")
    world.detect()
    epoch = world.record.epoch
    world.process(None)
    world.records.remove(PANE)
    record = world.record
    assert (None, None, None, {}) == (record.hook, record.generation, record.session, dict(record.channels))
    assert epoch != record.epoch
    assert "stale" == record.latest_binding
    assert ["/run/secret"] == world.retired
    assert rejected(world, "SessionEnd", "S1")


def test_revocation_on_replacement() -> None:
    """Another launch process drops the registration, and its events with it."""
    world = attached(private_file="/run/secret")
    world.hook("SessionStart", "S1")
    world.process(11, 400)
    assert world.record.hook is None
    assert ["/run/secret"] == world.retired
    assert rejected(world, "Stop", "S1")


def test_revocation_on_close_and_rollback() -> None:
    """A closing pane and a rolled-back launch retire the private file."""
    closing, rolled = launched(private_file="/one"), launched(private_file="/two")
    closing.records.close(PANE)
    rolled.records.revoke(PANE)
    assert (["/one"], ["/two"]) == (closing.retired, rolled.retired)
    assert rolled.record.hook is None
    assert not rolled.record.awaiting_first


def test_relaunch_replaces_the_registration() -> None:
    """A new launch in the pane has its own epoch and token and retires the old file."""
    world = attached(private_file="/one")
    old = world.record.epoch
    world.records.begin_launch(PANE, hook_record(token="fresh"))
    assert ["/one"] == world.retired
    assert old != world.record.epoch
    assert rejected(world, "SessionStart", "S1")


def test_engine_child_does_not_revoke() -> None:
    """Hooks of a forked engine descend from the launch process and count."""
    world = attached()
    assert "hook_claude" == world.hook("SessionStart", "S1", Generation(88, 400), Generation(77, 300), AGENT).source


def test_receipt_time_is_that_of_arrival() -> None:
    """A parked payload keeps the time at which it was received."""
    world = launched()
    world.seconds = 0.4
    world.hook("SessionStart", "S", AGENT)
    world.seconds = 9.0
    world.process(AGENT.pid, AGENT.start)
    latest = world.record.latest_signal
    assert latest is not None
    assert latest.at < SECOND
