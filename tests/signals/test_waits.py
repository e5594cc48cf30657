"""Condition waits: levels, fallback, stabilisation, grace, and the driver that evaluates on every event."""

import asyncio
from collections.abc import Callable

import pytest

from prowl_svc.model.errors import Code
from prowl_svc.model.observation import AgentEntry, Confidence, Signal, SignalKind
from prowl_svc.model.state import NO_RULE_MATCHED
from prowl_svc.signals.driver import until_answered
from prowl_svc.signals.surface import SurfaceRecord
from prowl_svc.signals.waits import (
    Condition,
    Failed,
    Matched,
    MinConfidence,
    Outcome,
    WaitMachine,
    normalised_state,
)
from tests.signals.world import CODEX_TABLE, PANE, SECOND, World, entry, hook_record


class Waiting:
    """A wait on a world's pane, asked by hand at chosen times."""

    def __init__(self, world: World, until: str, minimum: str = "auto", timeout: float = 600.0) -> None:
        self.world = world
        self.machine = WaitMachine(Condition(until), MinConfidence(minimum), timeout, world.seconds)

    def ask(self, at: float | None = None) -> Outcome | float:
        """The machine's answer now, or at this later time."""
        if at is not None:
            self.world.seconds = at
        record = self.world.records.read(PANE)
        return self.machine.step(record, self.world.seconds, int(self.world.seconds * SECOND))

    def source(self, at: float | None = None) -> str | None:
        """The source of the match, None while there is none."""
        answer = self.ask(at)
        return answer.observation.source if isinstance(answer, Matched) else None


def managed(table: dict[str, SignalKind] | None = None) -> World:
    """A world whose pane has a launch with an attached hook and an agent at work."""
    world = World()
    runtime = "codex" if table is CODEX_TABLE else "claude"
    world.records.begin_launch(PANE, hook_record(runtime))
    world.process()
    world.detect("working")
    return world


def plain(status: str = "working", **more: object) -> World:
    """A world whose pane has an agent without a hook."""
    world = World()
    world.process()
    world.detect(status, **more)
    return world


def test_fresh_signal_answers_although_the_screen_is_working() -> None:
    """A turn-ended that arrives after arming stands alone."""
    world = plain("working")
    wait = Waiting(world, "idle")
    assert wait.source() is None
    world.signal("turn-ended")
    answer = wait.ask()
    assert isinstance(answer, Matched)
    seen = answer.observation
    assert ("working", "working", "cooperative_cli", Confidence.EXACT) == (
        seen.status,
        seen.raw_state,
        seen.source,
        seen.confidence,
    )
    assert (world.record.revision, world.record.latest_signal and world.record.latest_signal.at) == (
        seen.revision,
        seen.at,
    )


def test_pre_arm_level_needs_corroboration() -> None:
    """A level that predates arming answers only once the detector says idle as well."""
    world = plain("working")
    world.signal("turn-ended")
    wait = Waiting(world, "idle")
    assert wait.source() is None
    assert wait.source(5.0) is None
    world.detect("done")
    assert "cooperative_cli" == wait.source()


def test_pre_arm_needs_input_with_and_without_corroboration() -> None:
    """The same holds for a wait until blocked."""
    world = plain("working")
    world.signal("needs-input")
    wait = Waiting(world, "blocked")
    assert wait.source() is None
    world.detect("blocked")
    assert "cooperative_cli" == wait.source()


def test_unbound_and_stale_signals_never_answer() -> None:
    """Neither an unproved sender nor evidence of a replaced process satisfies a wait."""
    world = plain("working")
    wait = Waiting(world, "idle")
    world.records.signal(PANE, Signal(SignalKind.TURN_ENDED, "cooperative_cli", Confidence.EXACT, 9), ())
    assert wait.source() is None
    world.signal("turn-ended")
    world.process(11)
    assert wait.source() is None


def test_opposite_level_of_a_managed_pane_suppresses_the_fallback() -> None:
    """A needs-input level of a verified channel keeps an idle screen from answering an idle wait."""
    world = managed()
    world.hook("SessionStart")
    world.hook("PermissionRequest")
    world.detect("idle")
    wait = Waiting(world, "idle")
    wait.ask()
    assert wait.source(5.0) is None
    assert wait.source(60.0) is None
    world.hook("Stop")
    assert "hook_claude" == wait.source()


def test_fresh_managed_launch_falls_back_after_two_seconds() -> None:
    """With nothing but a session start seen, an idle screen answers after two unchanged seconds."""
    world = managed()
    world.hook("SessionStart")
    world.detect("idle")
    wait = Waiting(world, "idle")
    start = world.seconds
    assert start + 2.0 == wait.ask()
    assert wait.source(start + 1.99) is None
    assert "detection" == wait.source(start + 2.0)


def test_terminal_signal_resets_the_fallback_of_a_covered_pane() -> None:
    """A terminal signal that arrives midway takes the candidate away and the clock starts anew."""
    world = managed()
    world.hook("SessionStart")
    world.detect("idle")
    wait = Waiting(world, "idle")
    wait.ask()
    world.seconds = 1.5
    world.hook("PermissionRequest")
    assert wait.source() is None
    world.hook("SessionStart")
    assert wait.source(2.5) is None
    assert wait.source(4.4) is None
    assert "detection" == wait.source(4.6)


def test_changed_state_restarts_the_clock() -> None:
    """Idle turning done is another candidate, so its two seconds start over."""
    world = plain("idle")
    wait = Waiting(world, "idle")
    wait.ask()
    world.seconds = 1.5
    world.detect("done")
    assert 3.5 == wait.ask()
    assert wait.source(2.5) is None
    assert "detection" == wait.source(3.5)


def test_interrupted_candidate_starts_over() -> None:
    """A moment of work between two idle looks resets the stabiliser."""
    world = plain("idle")
    wait = Waiting(world, "idle")
    wait.ask()
    world.seconds = 1.0
    world.detect("working")
    wait.ask()
    world.seconds = 1.2
    world.detect("idle")
    assert wait.source(2.1) is None
    wait.ask(2.5)
    assert wait.source(4.0) is None
    assert "detection" == wait.source(4.2)


def test_cooperative_channel_never_suppresses_the_fallback() -> None:
    """An observed channel leaves the heuristic answer in place, even with an opposite level."""
    world = plain("idle")
    world.signal("needs-input")
    wait = Waiting(world, "idle")
    wait.ask()
    assert "detection" == wait.source(3.0)


@pytest.mark.parametrize(("minimum", "found"), [("auto", "detection"), ("heuristic", "detection"), ("high", None)])
def test_minimum_confidence_decides_on_heuristics(minimum: str, found: str | None) -> None:
    """Without a covering channel auto and heuristic fall back; high and exact never do."""
    world = plain("idle")
    wait = Waiting(world, "idle", minimum)
    wait.ask()
    assert found == wait.source(30.0)


def test_heuristic_minimum_ignores_coverage() -> None:
    """A minimum of heuristic falls back even over an opposite level of a verified channel."""
    world = managed()
    world.hook("PermissionRequest")
    world.detect("idle")
    wait = Waiting(world, "idle", "heuristic")
    wait.ask()
    assert "detection" == wait.source(3.0)


def test_changed_answers_to_a_new_signal_only_on_a_live_channel() -> None:
    """With a verified channel a changed state is no answer; the next native event is."""
    world = managed()
    world.hook("SessionStart")
    wait = Waiting(world, "changed")
    wait.ask()
    world.detect("blocked")
    wait.ask()
    assert wait.source(30.0) is None
    world.hook("Stop")
    assert "hook_claude" == wait.source()


def test_changed_by_the_detector_after_two_seconds() -> None:
    """Without a verified channel another normalised state answers after two seconds; the same state does not."""
    world = plain("working")
    wait = Waiting(world, "changed")
    wait.ask()
    world.detect("working", title="other")
    wait.ask()
    assert wait.source(9.0) is None
    world.detect("idle")
    wait.ask()
    assert wait.source(10.9) is None
    assert "detection" == wait.source(11.0)


def test_changed_ignores_the_signal_that_was_there() -> None:
    """The latest signal of the moment of arming is not news."""
    world = plain("working")
    world.signal("progress")
    wait = Waiting(world, "changed")
    wait.ask()
    world.detect("working", title="other")
    assert wait.source() is None
    world.signal("progress")
    assert "cooperative_cli" == wait.source()


def test_exit_of_a_managed_pane_needs_the_session_end() -> None:
    """Where a channel covers session-end, a missing roster row is no exit; the event is."""
    world = World()
    world.records.begin_launch(PANE, hook_record())
    world.process()
    world.hook("SessionStart")
    wait = Waiting(world, "exit")
    wait.ask()
    assert wait.source(30.0) is None
    world.hook("SessionEnd")
    assert "hook_claude" == wait.source()


def test_exit_of_a_codex_like_pane_falls_back() -> None:
    """A channel that cannot report session-end does not cover exit, so a lost agent answers after two seconds."""
    world = managed(CODEX_TABLE)
    world.hook("agent-turn-complete", "T1")
    wait = Waiting(world, "exit")
    wait.ask()
    world.records.remove(PANE)
    wait.ask()
    answer = wait.ask(world.seconds + 2.0)
    assert isinstance(answer, Matched)
    assert ("detection", "done", "gone") == (
        answer.observation.source,
        answer.observation.status,
        answer.observation.raw_state,
    )


def test_s8_close_is_an_exit_and_ends_other_conditions() -> None:
    """A closed pane answers exit from the surface and ends any other condition with AGENT_GONE."""
    world = plain("working")
    leaving, idling = Waiting(world, "exit"), Waiting(world, "idle")
    leaving.ask()
    idling.ask()
    world.records.close(PANE)
    answer = leaving.ask()
    assert isinstance(answer, Matched)
    assert ("surface", Confidence.EXACT, "done", "gone") == (
        answer.observation.source,
        answer.observation.confidence,
        answer.observation.status,
        answer.observation.raw_state,
    )
    gone = idling.ask()
    assert isinstance(gone, Failed)
    assert Code.AGENT_GONE is gone.code


def test_closed_before_arming() -> None:
    """A pane that is not live at the start fails at once with nothing waited."""
    world = World()
    world.records.close(PANE)
    assert (Code.AGENT_GONE, 0.0) == failure(Waiting(world, "blocked").ask())
    assert "surface" == Waiting(world, "exit").source()


def failure(answer: Outcome | float) -> tuple[Code, float]:
    assert isinstance(answer, Failed)
    return answer.code, answer.waited


@pytest.mark.parametrize("agent", ["claude", "gemini", "qwen"])
@pytest.mark.parametrize("status", ["idle", "done"])
def test_no_rule_matched_is_no_idle_evidence_for_any_agent(agent: str, status: str) -> None:
    """A screen that matched no rule makes idle and done unknown, unless a log, native or pushed fact decided."""
    row = {"screen_reason": NO_RULE_MATCHED, "detection_reason": NO_RULE_MATCHED}
    unmatched = AgentEntry(type(entry().agent)(agent), entry(status).status, entry(status).raw_state, 1, **row)
    assert "unknown" == normalised_state(SurfaceRecord("e", agent=unmatched))
    for reason in ("log.turnEnded", "native.idle", "osc.idle", "osc.done", "osc.error"):
        decided = entry(status, screen_reason=NO_RULE_MATCHED, detection_reason=reason)
        assert status == normalised_state(SurfaceRecord("e", agent=decided))
    assert "working" == normalised_state(SurfaceRecord("e", agent=entry("working", **row)))
    legacy = entry(status, screen_reason="legacy.detector", detection_reason="legacy.detector")
    assert status == normalised_state(SurfaceRecord("e", agent=legacy))


def test_unmatched_idle_screen_does_not_answer() -> None:
    """An idle status without a matched rule never answers an idle wait."""
    world = plain("idle", screen_reason=NO_RULE_MATCHED, detection_reason=NO_RULE_MATCHED)
    wait = Waiting(world, "idle")
    wait.ask()
    assert wait.source(30.0) is None


def test_outstanding_work_vetoes_idle() -> None:
    """While open work is known neither a turn-ended nor an idle screen answers; once it is done both may."""
    world = plain("idle", outstanding=True)
    wait = Waiting(world, "idle")
    world.signal("turn-ended")
    wait.ask()
    assert wait.source(30.0) is None
    world.detect("idle", outstanding=False)
    assert "cooperative_cli" == wait.source()


def test_appearance_grace_then_agent_not_found() -> None:
    """A pane without an agent is given ten seconds, then the wait fails without an observation."""
    world = World()
    wait = Waiting(world, "idle")
    assert 10.0 == wait.ask()
    assert isinstance(wait.ask(9.9), float)
    answer = wait.ask(10.0)
    assert (Code.AGENT_NOT_FOUND, 10.0) == failure(answer)
    assert isinstance(answer, Failed)
    assert answer.observation is None


def test_appearance_grace_is_bounded_by_the_timeout() -> None:
    """A shorter timeout bounds the grace."""
    world = World()
    assert (Code.AGENT_NOT_FOUND, 3.0) == failure(Waiting(world, "idle", timeout=3.0).ask(3.0))


def test_agent_that_appears_in_the_grace_arms_the_wait() -> None:
    """The baseline is taken when the agent appears, and the time before counts as waited."""
    world = World()
    wait = Waiting(world, "idle")
    wait.ask()
    world.seconds = 4.0
    world.process()
    world.detect("idle")
    wait.ask()
    answer = wait.ask(6.0)
    assert isinstance(answer, Matched)
    assert 6.0 == answer.waited


def test_close_in_the_grace_is_agent_gone() -> None:
    """A pane that closes before an agent appeared ends the wait with AGENT_GONE."""
    world = World()
    wait = Waiting(world, "idle")
    wait.ask()
    world.records.close(PANE)
    assert Code.AGENT_GONE is failure(wait.ask(1.0))[0]


def test_disappearance_after_arming_does_not_end_the_wait() -> None:
    """Once an agent was seen, its loss leaves an idle wait running."""
    world = plain("working")
    wait = Waiting(world, "idle")
    wait.ask()
    world.records.remove(PANE)
    assert isinstance(wait.ask(20.0), float)


def test_timeout_carries_the_detectors_last_view() -> None:
    """At the timeout the pane is judged once more; then the wait fails with the detector's view."""
    world = plain("blocked")
    wait = Waiting(world, "idle", timeout=5.0)
    assert 5.0 == wait.ask()
    answer = wait.ask(5.0)
    assert (Code.WAIT_TIMEOUT, 5.0) == failure(answer)
    assert isinstance(answer, Failed)
    assert answer.observation is not None
    assert ("blocked", "detection") == (answer.observation.status, answer.observation.source)


def test_match_at_exactly_the_timeout_counts() -> None:
    """The check at the timeout itself may still match."""
    world = plain("idle")
    wait = Waiting(world, "idle", timeout=2.0)
    wait.ask()
    assert "detection" == wait.source(2.0)


class FakeTimers:
    """Collects scheduled calls, so that a test decides when they run."""

    class Timer:
        def __init__(self) -> None:
            self.cancelled = False

        def cancel(self) -> None:
            self.cancelled = True

    def __init__(self) -> None:
        self.calls: list[tuple[float, Callable[[], None], FakeTimers.Timer]] = []

    def __call__(self, delay: float, call: Callable[[], None]) -> "FakeTimers.Timer":
        self.calls.append((delay, call, timer := self.Timer()))
        return timer


def drive(world: World, until: str, timers: FakeTimers) -> "asyncio.Task[Outcome]":
    machine = WaitMachine(Condition(until), MinConfidence.AUTO, 600.0, world.seconds)
    return asyncio.create_task(
        until_answered(
            world.records,
            PANE,
            machine.step,
            clock=lambda: world.seconds,
            now_ns=lambda: int(world.seconds * SECOND),
            schedule=timers,
        )
    )


async def test_driver_answers_on_the_event_itself() -> None:
    """A needs-input that a turn-ended follows at once still answers a wait until blocked, without any poll."""
    world, timers = plain("working"), FakeTimers()
    task = drive(world, "blocked", timers)
    await asyncio.sleep(0)
    world.signal("needs-input")
    world.signal("turn-ended")
    answer = await task
    assert isinstance(answer, Matched)
    assert 1 == len(timers.calls)
    assert timers.calls[0][2].cancelled


async def test_driver_polls_as_a_safety_net() -> None:
    """The poll comes at most 200 ms later and sees what no event told, and it comes back until the answer."""
    world, timers = plain("idle"), FakeTimers()
    task = drive(world, "idle", timers)
    await asyncio.sleep(0)
    for index in range(10):
        delay, poll, _ = timers.calls[index]
        assert 0.0 < delay <= 0.2
        world.seconds += delay
        poll()
    world.seconds = 2.0
    timers.calls[-1][1]()
    answer = await task
    assert isinstance(answer, Matched)
    assert "detection" == answer.observation.source


async def test_driver_frees_everything_when_cancelled() -> None:
    """A cancelled wait leaves no listener and no timer."""
    world, timers = plain("working"), FakeTimers()
    task = drive(world, "idle", timers)
    await asyncio.sleep(0)
    assert 1 == world.records.listener_count(PANE)
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)
    assert 0 == world.records.listener_count(PANE)
    assert timers.calls[-1][2].cancelled


async def test_driver_hears_the_close() -> None:
    """A pane that closes during a wait answers it at once."""
    world = plain("working")
    task = drive(world, "exit", FakeTimers())
    await asyncio.sleep(0)
    world.records.close(PANE)
    answer = await task
    assert isinstance(answer, Matched)
    assert "surface" == answer.observation.source
