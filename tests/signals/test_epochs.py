"""Epochs, generations and bindings: what counts as evidence, and when it stops to."""

import pytest

from prowl_svc.model.observation import SignalKind
from prowl_svc.model.process import Generation
from tests.signals.world import PANE, World, hook_record

OLD, NEW = Generation(10, 100), Generation(10, 900)


def test_first_timely_generation_keeps_the_launch_epoch() -> None:
    """The first process that started within ten seconds of the launch joins the epoch of the launch."""
    world = World()
    epoch = world.records.begin_launch(PANE)
    world.process(10, 1000)
    assert epoch == world.record.epoch
    assert not world.record.awaiting_first


def test_start_eleven_seconds_after_binding_rotates() -> None:
    """A process that started later than ten seconds after the launch is a replacement with a fresh epoch."""
    world = World()
    epoch = world.records.begin_launch(PANE)
    world.process(10, 1100)
    assert epoch != world.record.epoch
    settled = world.record
    assert settled.generation == Generation(10, 1100)
    assert settled.epoch == world.record.epoch


def test_start_counts_not_the_time_of_detection() -> None:
    """A timely process that is detected a minute later still joins the launch's epoch."""
    world = World()
    epoch = world.records.begin_launch(PANE)
    world.seconds = 60.0
    world.process(10, 900)
    assert epoch == world.record.epoch


def test_managed_launch_attaches_however_late() -> None:
    """With a registered hook the ten-second rule does not apply."""
    world = World()
    epoch = world.records.begin_launch(PANE, hook_record())
    world.process(10, 2500)
    assert epoch == world.record.epoch
    assert world.record.hook is not None


def test_replacement_rotates_and_marks_stale() -> None:
    """A new process ends the old evidence: channels and levels are cleared and the latest signal is stale."""
    world = World()
    world.process(10, 100)
    world.signal("turn-ended", "A")
    before = world.record
    world.process(11, 200)
    after = world.record
    assert before.epoch != after.epoch
    assert ({}, None, None, None) == (dict(after.channels), after.latest_current, after.active_terminal, after.session)
    assert ("stale", before.latest_signal) == (after.latest_binding, after.latest_signal)
    assert after.sessionless_ok


def test_reused_pid_with_another_start_time_is_a_replacement() -> None:
    """The same pid with another start time is another process."""
    world = World()
    world.facts = type(world.facts)(OLD)
    world.signal()
    before = world.record
    world.facts = type(world.facts)(NEW)
    assert before.epoch != world.record.epoch
    assert "stale" == world.record.latest_binding
    assert "unbound" == world.signal("turn-ended", None, OLD)


def test_unmanaged_process_loss_rotates() -> None:
    """Without a hook, a launch process that is no longer there ends the epoch on the next read."""
    world = World()
    world.process()
    world.signal()
    world.process(None)
    assert world.record.active_terminal is None
    assert "stale" == world.record.latest_binding


def test_probe_gap_on_a_managed_pane_changes_nothing() -> None:
    """With a hook attached, a probe that fails for a moment does not revoke the evidence."""
    world = World()
    world.records.begin_launch(PANE, hook_record())
    world.process()
    world.hook("SessionStart")
    before = world.record
    world.process(None)
    assert before == world.record


def test_s7_first_detection_is_a_change_and_promotes_nothing() -> None:
    """Signals sent before the agent was known are unbound and become stale, never current."""
    world = World()
    assert "unbound" == world.signal("turn-ended", None, Generation(10, 0))
    before = world.record
    world.process()
    after = world.record
    assert before.epoch != after.epoch
    assert "stale" == after.latest_binding
    assert after.active_terminal is None


def test_session_change_in_the_same_process_clears_and_forbids_sessionless() -> None:
    """After session A became B in one process, sessionless signals are unbound until a new process."""
    world = World()
    world.process(session="A")
    world.signal("turn-ended")
    before = world.record
    world.process(session="B")
    assert before.epoch != world.record.epoch
    assert world.record.active_terminal is None
    assert "unbound" == world.signal("turn-ended")
    assert "unbound" == world.signal("turn-ended", "A")
    assert "current" == world.signal("turn-ended", "B")
    world.process(11, session="B")
    assert "current" == world.signal("turn-ended")


def test_delayed_child_of_the_old_session_is_unbound() -> None:
    """A child of session A that signals after the switch to B is unbound."""
    world = World()
    world.process(session="A")
    world.detect()
    world.process(session="B")
    assert "unbound" == world.signal("turn-ended", "A")
    assert {} == dict(world.record.channels)


def test_null_session_never_erases_a_known_one() -> None:
    """A detector without a session leaves the known one in place."""
    world = World()
    world.process(session="A")
    world.detect()
    world.process(session=None)
    assert "A" == world.record.session


def test_s11_medium_session() -> None:
    """A guess binds nothing; a signal's session does, an upgrade to it rotates nothing, another one does."""
    world = World()
    world.process(session=None)  # a medium guess reaches the epoch rules as no session
    assert "current" == world.signal("turn-ended", "A")
    epoch = world.record.epoch
    world.process(session="A")
    assert epoch == world.record.epoch
    world.process(session="B")
    assert epoch != world.record.epoch


def test_s12_sessionless_signal_then_a_later_session() -> None:
    """A trusted session that appears later is adopted without rotation and the level is kept."""
    world = World()
    world.process()
    world.signal("turn-ended")
    epoch = world.record.epoch
    world.process(session="X")
    assert (epoch, "X") == (world.record.epoch, world.record.session)
    assert world.record.active_terminal is not None


def test_session_start_a_then_b() -> None:
    """The first session that a proved sender names is the epoch's; another one is unbound."""
    world = World()
    world.process()
    assert "current" == world.signal("session-start", "A")
    assert "unbound" == world.signal("session-start", "B")
    assert "A" == world.record.session


def test_sender_outside_the_agents_tree_is_unbound() -> None:
    """A process of the pane that does not descend from the launch process proves nothing."""
    world = World()
    world.process(10)
    assert "unbound" == world.signal("turn-ended", None, Generation(77, 1))
    assert {} == dict(world.record.channels)


def test_ancestry_contains_generations() -> None:
    """Any descendant of the launch process is proved by its frozen ancestry."""
    world = World()
    world.process(10)
    assert "current" == world.signal("turn-ended", None, Generation(99, 5), Generation(10, 0), Generation(2, 0))


def test_s6_plain_shell() -> None:
    """In a pane without an agent a signal is unbound, makes no row, no channel and no level."""
    world = World()
    assert "unbound" == world.signal("needs-input")
    record = world.record
    assert (None, {}, None) == (record.agent, dict(record.channels), record.active_terminal)


def test_s10_working_invalidation() -> None:
    """Beginning to work clears the level; the last signal stays, bound as it was."""
    world = World()
    world.process()
    world.detect("idle")
    world.signal("turn-ended")
    world.detect("working")
    record = world.record
    assert record.active_terminal is None
    assert record.latest_signal is not None
    assert "current" == record.latest_binding


def test_metadata_churn_while_working_keeps_the_level() -> None:
    """An animated title while already working does not clear the level."""
    world = World()
    world.process()
    world.detect("working")
    world.signal("turn-ended")
    world.detect("working", title="⠋")
    assert world.record.active_terminal is not None


def test_idle_removed_working_clears_the_level() -> None:
    """Removal keeps the level, and the next appearance at work clears it."""
    world = World()
    world.process()
    world.detect("idle")
    world.signal("turn-ended")
    world.records.remove(PANE)
    assert world.record.active_terminal is not None
    world.detect("working")
    assert world.record.active_terminal is None


@pytest.mark.parametrize("kind", ["session-start", "progress"])
def test_activity_signals_clear_the_level(kind: str) -> None:
    """A session start or progress ends the level of an earlier terminal signal."""
    world = World()
    world.process()
    world.signal("needs-input")
    world.signal(kind)
    assert world.record.active_terminal is None


def test_a_level_is_the_latest_terminal_signal() -> None:
    """After needs-input and turn-ended only the latter is the level."""
    world = World()
    world.process()
    world.signal("needs-input")
    world.signal("turn-ended")
    level = world.record.active_terminal
    assert level is not None
    assert SignalKind.TURN_ENDED is level.kind


def test_unbound_signal_touches_no_level() -> None:
    """An unbound signal neither sets nor clears the level."""
    world = World()
    world.process()
    world.signal("turn-ended")
    level = world.record.active_terminal
    world.signal("needs-input", None, Generation(5, 5))
    assert level == world.record.active_terminal


def test_channel_collects_kinds_and_keeps_its_state() -> None:
    """A cooperative channel is observed, gathers the kinds it carried, and remembers the last of them."""
    world = World()
    world.process()
    world.signal("turn-ended")
    world.signal("progress", "A")
    channel = world.record.channels["cooperative_cli"]
    assert ("observed", {"turn-ended", "progress"}, "A") == (channel.state, set(channel.events), channel.session_id)
    assert world.record.latest_current is not None
    assert world.record.latest_current.at == channel.last_seen


def test_every_read_refreshes_the_epoch() -> None:
    """A dead process invalidates evidence on the next read, without any detector event."""
    world = World()
    world.process()
    world.signal("turn-ended")
    assert world.record.active_terminal is not None
    world.process(11)
    assert world.record.active_terminal is None
