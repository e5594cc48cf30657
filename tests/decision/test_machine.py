"""The state machine decides as its page says."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from prowl_svc.decision.machine import MachineState, step
from prowl_svc.model.facts import (
    ChildEnded,
    ChildStarted,
    Fact,
    Interaction,
    InventoryFact,
    NativeFact,
    ProgramFact,
    ProgramSummary,
    ScreenFact,
    Suspended,
    Tick,
    TurnEnded,
    TurnStarted,
    Unavailable,
)
from prowl_svc.model.state import Decision, Detection, RawState
from tests.decision.cases import shown, traces

IDLE, WORKING, BLOCKED, UNKNOWN = RawState.IDLE, RawState.WORKING, RawState.BLOCKED, RawState.UNKNOWN


def screen(state: RawState, rule: str | None = None, content: str | None = None) -> ScreenFact:
    return ScreenFact(Detection(state, rule or f"demo.{state}"), content)


def program(state: RawState, reason: str, revision: int, completed: bool = False) -> ProgramFact:
    return ProgramFact(ProgramSummary(state, reason, revision, completed))


def run(*facts: Fact, state: MachineState | None = None, now: float = 0.0) -> MachineState:
    state = state or MachineState()
    for fact in facts:
        state = step(state, fact, now)
    return state


def summary(decision: Decision) -> tuple[str, str, str | None, bool]:
    return (decision.state.value, decision.reason, decision.session, decision.outstanding)


@pytest.mark.parametrize("steps", [pytest.param(steps, id=name) for name, steps in traces()])
def test_trace(steps):
    """Every step of a recorded trace gives the decision written beside it."""
    state = MachineState()
    for now, fact, expect in steps:
        state = step(state, fact, now)

        assert expect == shown(state.decision, expect)


OPEN_CHILD = (InventoryFact(frozenset({"r"})), ChildStarted("r", "c", "w"))
REST = screen(IDLE)
ASK = screen(BLOCKED, "demo.ask", "q1")


@pytest.mark.parametrize(
    ("facts", "expected"),
    [
        pytest.param(
            [REST, program(BLOCKED, "osc.blocked.permission", 1)],
            ("blocked", "osc.blocked.permission", None, True),
            id="1-program",
        ),
        pytest.param(
            [ASK, NativeFact("s", BLOCKED, 1), program(BLOCKED, "osc.blocked.permission", 1)],
            ("blocked", "osc.blocked.permission", "s", True),
            id="1-program-names-the-reason-when-all-agree",
        ),
        pytest.param(
            [REST, NativeFact("s", BLOCKED, 1), program(WORKING, "osc.working", 1)],
            ("blocked", "native.blocked", "s", True),
            id="2-registry-over-working",
        ),
        pytest.param(
            [REST, NativeFact("s", BLOCKED, 1), program(IDLE, "osc.idle", 1)],
            ("blocked", "native.blocked", "s", True),
            id="2-registry-over-idle",
        ),
        pytest.param([ASK, program(IDLE, "osc.idle", 1)], ("blocked", "demo.ask", None, False), id="3-screen"),
        pytest.param(
            [ASK, program(WORKING, "osc.working", 1)], ("blocked", "demo.ask", None, True), id="3-screen-over-working"
        ),
        pytest.param(
            [ASK, *OPEN_CHILD, program(IDLE, "osc.done", 1, True)],
            ("blocked", "demo.ask", "r", True),
            id="3-screen-over-open-child",
        ),
        pytest.param(
            [REST, NativeFact("s", IDLE, 1), program(WORKING, "osc.childWorking", 1)],
            ("working", "osc.childWorking", "s", True),
            id="4-program-over-registry-idle",
        ),
        pytest.param(
            [REST, NativeFact("s", WORKING, 1), program(IDLE, "osc.done", 1, True)],
            ("working", "native.working", "s", True),
            id="5-registry-over-done",
        ),
        pytest.param(
            [REST, *OPEN_CHILD, program(IDLE, "osc.done", 1, True)],
            ("working", "log.openWork", "r", True),
            id="6-log-over-done",
        ),
        pytest.param(
            [REST, *OPEN_CHILD, program(IDLE, "osc.done", 1, True), Suspended()],
            ("idle", "osc.done", None, False),
            id="6-not-without-authority",
        ),
        pytest.param(
            [REST, NativeFact("s", WORKING, 1), program(IDLE, "osc.done", 1, True), Suspended()],
            ("idle", "osc.done", None, False),
            id="5-not-without-authority",
        ),
        pytest.param(
            [screen(WORKING), program(IDLE, "osc.idle", 1)], ("idle", "osc.idle", None, False), id="7-over-screen"
        ),
        pytest.param(
            [REST, NativeFact("s", IDLE, 1), program(IDLE, "osc.error", 1, True)],
            ("idle", "osc.error", "s", False),
            id="7-over-registry",
        ),
    ],
)
def test_where_sources_disagree(facts, expected):
    """Each row of the table gives its state, its reason and what it says of outstanding work."""
    assert expected == summary(run(*facts).decision)


def test_program_takes_authority_without_recency():
    """Taking authority drops the fence and the log's recency and keeps open work."""
    before = run(InventoryFact(frozenset({"r"})), TurnStarted("r", "t"), screen(WORKING), TurnEnded("r", "t"))
    assert before.fence is not None

    after = run(program(WORKING, "osc.working", 1), state=before)

    assert after.fence is None
    assert after.roots["r"].activity is None
    assert ("idle", "osc.idle", None, False) == summary(run(program(IDLE, "osc.idle", 2), state=after).decision)


def test_withdrawal_holds_the_decision():
    """After withdrawal the decision stands until a screen that is captured afterwards."""
    state = run(REST, program(WORKING, "osc.working", 3), ProgramFact(None), Tick(), Interaction())
    assert ("working", "osc.working", None, True) == summary(state.decision)

    assert ("idle", "demo.idle", None, False) == summary(run(REST, state=state).decision)


def test_older_program_revision_is_ignored():
    """An equal or older revision changes nothing."""
    state = run(REST, program(WORKING, "osc.working", 3))

    assert state == run(program(IDLE, "osc.idle", 3), program(IDLE, "osc.idle", 2), state=state)


def test_silent_dialog_survives_a_boot():
    """A dialog that the program does not report stays Blocked while its start-up goes working, then idle."""
    state = run(program(IDLE, "osc.idle", 1), ASK, program(WORKING, "osc.working", 2), program(IDLE, "osc.idle", 3))

    assert ("blocked", "demo.ask", None, False) == summary(state.decision)


def test_reported_dialog_that_ended_is_fenced():
    """When the program says its own dialog is over, the frame that still shows it does not block."""
    state = run(program(WORKING, "osc.working", 1), program(BLOCKED, "osc.blocked.question", 2), ASK)

    ended = run(program(IDLE, "osc.idle", 3), state=state)
    assert ("idle", "osc.idle", None, False) == summary(ended.decision)
    assert ("blocked", "demo.ask", None, False) == summary(run(screen(BLOCKED, "demo.ask", "q2"), state=ended).decision)


def test_done_fences_the_frame_of_the_turn():
    """A turn's end fences the blocker that is still drawn; a key press lifts the fence."""
    state = run(program(WORKING, "osc.working", 1), ASK, program(IDLE, "osc.done", 2, True))

    assert ("idle", "osc.done", None, False) == summary(state.decision)
    assert ("blocked", "demo.ask", None, False) == summary(run(Interaction(), state=state).decision)


def test_program_fence_ends_with_the_program():
    """A fence of program evidence does not outlive it."""
    state = run(program(WORKING, "osc.working", 1), ASK, program(IDLE, "osc.done", 2, True), ProgramFact(None), ASK)

    assert ("blocked", "demo.ask", None, False) == summary(state.decision)


def test_ambiguous_logs_have_no_authority_over_a_program():
    """Two roots with open work say nothing against the program."""
    state = run(
        REST,
        InventoryFact(frozenset({"a", "b"})),
        TurnStarted("a", "1"),
        TurnStarted("b", "2"),
        program(IDLE, "osc.done", 1, True),
    )

    assert ("idle", "osc.done", None, False) == summary(state.decision)


# --- properties -----------------------------------------------------------------------------------------------------

_names = st.sampled_from("ab")
_works = st.sampled_from("123")
_details = st.builds(
    lambda state, rule: Detection(state, f"demo.{state}.{rule}"), st.sampled_from(list(RawState)), st.sampled_from("xy")
)
_screens = st.builds(
    lambda detection, content: ScreenFact(detection, content if detection.state is BLOCKED else None),
    _details,
    st.sampled_from(["p", "q"]),
)
_natives = st.builds(NativeFact, _names, st.sampled_from([IDLE, WORKING, BLOCKED]), st.integers(0, 5))
_programs = st.builds(
    ProgramFact,
    st.none()
    | st.builds(
        lambda state, revision: ProgramSummary(state, f"osc.{state}", revision),
        st.sampled_from([IDLE, WORKING, BLOCKED]),
        st.integers(0, 50),
    ),
)
facts = st.one_of(
    _screens,
    _natives,
    _programs,
    st.builds(InventoryFact, st.frozensets(_names)),
    st.builds(TurnStarted, _names, _works),
    st.builds(TurnEnded, _names, _works),
    st.builds(ChildStarted, _names, _names, _works),
    st.builds(ChildEnded, _names, _names, _works),
    st.sampled_from([Suspended(), Unavailable(), Interaction(), Tick()]),
)
histories = st.lists(st.tuples(facts, st.floats(0, 90)), max_size=25)


def play(history: list[tuple[Fact, float]]) -> tuple[MachineState, float]:
    state, now = MachineState(), 0.0
    for fact, wait in history:
        now += wait
        state = step(state, fact, now)
    return state, now


@given(histories)
def test_same_history_same_decisions(history):
    """The same events at the same times give the same state."""
    assert play(history) == play(history)


@given(histories, st.floats(0, 1e9))
def test_open_work_never_times_out(history, wait):
    """No wait makes open work of a source with authority anything but Working or Blocked."""
    state, now = play(history)
    if state.decision.outstanding and not state.held:
        later = step(state, Tick(), now + wait)

        assert later.decision.outstanding
        assert state.roots == later.roots


@given(histories, _screens)
def test_a_fence_never_hides_a_changed_blocker(history, fact):
    """A blocked screen that differs from the fenced one is never suppressed by authority of any file or program."""
    state, now = play(history)
    if fact.detection.state is not BLOCKED:
        return
    unchanged = state.fence and state.fence.detection.same(fact.detection) and state.fence.content == fact.content
    after = step(state, fact, now)

    assert unchanged or (BLOCKED, None) == (after.decision.state, after.fence)


@given(histories)
def test_suspended_never_forgets(history):
    """Suspension keeps roots, native snapshot, fence and program evidence."""
    state, now = play(history)
    after = step(state, Suspended(), now)

    assert (state.roots, state.native, state.fence, state.program) == (
        after.roots,
        after.native,
        after.fence,
        after.program,
    )
    assert not after.native_available
    assert not after.log_available


@given(histories)
def test_unavailable_always_forgets(history):
    """Lost continuity leaves no root, snapshot or fence, and no log or native reason."""
    state, now = play(history)
    after = step(state, Unavailable(), now)

    assert ({}, None, None) == (after.roots, after.native, after.fence)
    assert after.held or not after.decision.reason.startswith(("log.", "native."))


@given(histories)
def test_reasons_name_their_source(history):
    """The screen's reason is always the last one, and program evidence leaves no fall-back reason."""
    state, _ = play(history)
    if not state.held:
        assert state.screen.reason == state.decision.screen_reason
        assert state.program is None or not state.decision.reason.startswith("screen.")
