"""The owner of pane records: what it publishes, in what order, and whom it tells."""

import pytest

from prowl_svc.model.errors import Code, ProwlError
from prowl_svc.model.observation import Binding, Changed, Closed, Removed, SignalRecorded, Snapshot
from tests.signals.world import PANE, Sink, World, cooperative, entry, hook_record


def told(world: World) -> list[tuple[str, ...]]:
    assert isinstance(world.sink, Sink)
    return world.sink.told


def kinds(world: World) -> list[type]:
    return [type(event) for event in world.published]


def test_snapshot_first_and_equal_entry_not_republished() -> None:
    """A subscription starts with the snapshot, and an entry equal to the stored one is no event and no revision."""
    world = World()
    world.detect("working")
    world.detect("working")
    assert [Snapshot, Changed] == kinds(world)
    assert 1 == world.record.revision


def test_revision_counts_accepted_changes_only() -> None:
    """Change, signal and removal move the revision by one; rotation, registration and revocation do not."""
    world = World()
    world.process()
    world.detect("working")
    world.signal()
    world.records.begin_launch(PANE, hook_record())
    world.records.revoke(PANE)
    world.process(11, 5)
    assert 2 == world.record.revision
    world.records.remove(PANE)
    assert [0, 1, 2, 3] == [event.revision for event in world.published]


def test_removed_keeps_the_stream_and_needs_an_entry() -> None:
    """Removal is published once and only if an agent was there, and the stream goes on."""
    world = World()
    world.records.remove(PANE)
    world.detect()
    world.records.remove(PANE)
    world.records.remove(PANE)
    world.detect()
    assert [Snapshot, Changed, Removed, Changed] == kinds(world)
    assert 1 == world.hub.subscriber_count(PANE)


def test_close_publishes_removed_then_closed_and_tells_dispatches() -> None:
    """A closing pane with an agent publishes the removal first; the dispatch store is told of every close."""
    world = World()
    world.detect()
    world.records.close(PANE)
    assert [Snapshot, Changed, Removed, Closed] == kinds(world)
    assert 2 == world.published[-1].revision
    assert not world.records.live(PANE)
    world.records.close("never opened")
    assert [("closed", PANE), ("closed", "never opened")] == told(world)[-2:]


async def test_closed_pane_gives_the_finite_stream() -> None:
    """Observing a pane that closed gives the empty snapshot at revision 0 and the close."""
    world = World()
    world.detect()
    world.records.close(PANE)
    observer = world.records.observe(PANE)
    assert b"xx" == b"".join([batch async for batch in observer])
    assert [Snapshot(None, None, 0), Closed(0)] == world.published[-2:]


def test_unbound_signals_are_published_too() -> None:
    """Observers see every recorded signal with its binding, even that of a plain shell."""
    world = World()
    assert "unbound" == world.signal("needs-input")
    event = world.published[-1]
    assert isinstance(event, SignalRecorded)
    assert (Binding.UNBOUND, 1) == (event.binding, event.revision)
    assert world.record.agent is None


def test_resubscription_snapshot_contains_the_latest_signal() -> None:
    """A new subscription's snapshot holds the latest signal, its binding and the revision."""
    world = World()
    world.signal("needs-input")
    world.records.observe(PANE)
    snapshot = world.published[-1]
    assert isinstance(snapshot, Snapshot)
    assert snapshot.latest_signal is not None
    assert ("needs-input", Binding.UNBOUND, 1) == (
        snapshot.latest_signal.kind,
        snapshot.latest_binding,
        snapshot.revision,
    )


def test_only_current_signals_reach_the_dispatch_store() -> None:
    """Evidence is forwarded with the pane's epoch, and never for an unbound signal."""
    world = World()
    world.signal("turn-ended")
    world.process()
    world.signal("turn-ended")
    assert [("evidence", PANE, world.record.epoch, "turn-ended")] == told(world)


def test_began_working_tells_activity_with_the_refreshed_epoch() -> None:
    """Activity carries the epoch after the detector's facts were taken in; staying at work is not activity."""
    world = World()
    world.process()
    world.detect("working")
    world.detect("working", title="spinner")
    assert [("activity", PANE, world.record.epoch)] == told(world)


def test_signal_to_a_closed_pane_is_agent_gone() -> None:
    """A pane that closed between attribution and recording answers AGENT_GONE."""
    world = World()
    world.records.close(PANE)
    with pytest.raises(ProwlError) as error:
        world.records.signal(PANE, cooperative(), ())
    assert Code.AGENT_GONE is error.value.code


def test_detector_news_of_a_closed_pane_are_ignored() -> None:
    """A late detector result cannot bring a closed pane back."""
    world = World()
    world.records.close(PANE)
    world.records.change(PANE, entry())
    world.records.remove(PANE)
    assert world.records.read(PANE) is None
    assert () == world.records.surfaces()


def test_listeners_hear_each_event_until_they_stop() -> None:
    """A listener gets the record after each event and None at the close, and nothing after it stopped."""
    world = World()
    heard: list[int | None] = []
    stopped: list[int | None] = []
    world.records.listen(PANE, lambda record: heard.append(record.revision if record else None))
    stop = world.records.listen(PANE, lambda record: stopped.append(0))
    stop()
    stop()
    world.detect()
    world.signal()
    world.records.close(PANE)
    assert [1, 2, None] == heard
    assert [] == stopped
    assert 0 == world.records.listener_count(PANE)


def test_listener_sees_the_epoch_after_the_entrys_facts() -> None:
    """A listener is called for a change after the epoch was brought up to date, so it never sees a dead level."""
    world = World()
    world.process()
    world.detect("idle")
    world.signal("turn-ended")
    levels = []
    world.records.listen(PANE, lambda record: levels.append(record and record.active_terminal))
    world.process(11, 5)
    world.detect("done")
    assert [None] == levels
