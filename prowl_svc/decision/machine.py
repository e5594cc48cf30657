"""The state machine: facts in, one decision out, pure over immutable state (providers.md §1).

``step`` applies one fact (§1.3) and resolves (§1.4). With OSC 7501 evidence the following table decides, first row
that holds; without it, the order of §1.4 from its second entry on. A source has authority while its evidence belongs to
the current process generation: OSC 7501 while an eligible record exists, the registry while its last read succeeded,
the log while exactly one root session has open work or recent main activity.

Where sources disagree

| # | holds                                                | state   | reason                    | outstanding |
| - | ---------------------------------------------------- | ------- | ------------------------- | ----------- |
| 1 | a program record, own or child, says blocked         | blocked | ``osc.blocked.<kind>`` …  | yes         |
| 2 | the registry says waiting                            | blocked | ``native.blocked``        | yes         |
| 3 | the screen is Blocked and no completion fences it    | blocked | the screen's rule id      | as 4 to 6   |
| 4 | a program record, own or child, says working         | working | ``osc.working`` …         | yes         |
| 5 | the registry says busy or shell                      | working | ``native.working``        | yes         |
| 6 | the log has authority and open work                  | working | ``log.openWork``          | yes         |
| 7 | nothing of these: the program record says idle, done | idle    | ``osc.idle|done|error``   | no          |

Rows 1 to 3: a fresh blocker from any trusted source is Blocked. Rows 4 to 6: outstanding work known from any source
with authority keeps Working over another source's done or idle. Row 7: only then does the highest source decide.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from enum import Enum

from prowl_svc.model.facts import (
    ChildEnded,
    ChildScheduled,
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
from prowl_svc.model.state import NO_RULE_MATCHED, Decision, Detection, RawState

__all__ = ["ACTIVITY_WINDOW", "Fence", "MachineState", "Owner", "Root", "step"]

ACTIVITY_WINDOW = 120.0
"""Seconds for which main activity keeps a quiet log root selected; a heuristic of selection, never a work timeout."""


class Owner(Enum):
    """The owner of a fence that OSC 7501 evidence set; fences of files belong to a session id."""

    PROGRAM = "program"


@dataclass(frozen=True, slots=True)
class Fence:
    """A completion's mark on the frame that was shown then: the same frame is no evidence against it."""

    detection: Detection
    content: str | None
    owner: str | Owner


@dataclass(frozen=True, slots=True)
class Root:
    """One main session of the log: its open turn, its children's open work, its last main activity (monotonic)."""

    turn: str | None = None
    children: Mapping[str, str] = field(default_factory=dict)
    activity: float | None = None

    @property
    def busy(self) -> bool:
        """Whether a turn or a child's work is open."""
        return self.turn is not None or bool(self.children)


_START = Detection(RawState.UNKNOWN, NO_RULE_MATCHED)
_NOTHING = Decision(RawState.UNKNOWN, NO_RULE_MATCHED, NO_RULE_MATCHED)


@dataclass(frozen=True, slots=True)
class MachineState:
    """All that the machine holds (§1.2); ``MachineState()`` is the start.

    ``held`` is set from the withdrawal of program evidence until the next screen: meanwhile the decision stands.
    """

    screen: Detection = _START
    content: str | None = None
    stable: RawState | None = None
    roots: Mapping[str, Root] = field(default_factory=dict)
    native: NativeFact | None = None
    native_available: bool = False
    log_available: bool = False
    has_provider: bool = False
    fence: Fence | None = None
    program: ProgramSummary | None = None
    program_revision: int = -1
    held: bool = False
    decision: Decision = _NOTHING


def step(state: MachineState, fact: Fact, now: float) -> MachineState:
    """Apply one fact at ``now`` (monotonic seconds) and return the state with its new ``decision``."""
    after = _apply(state, fact, now)
    if after.held:
        return after
    return replace(after, decision=_resolve(after, now))


# --- transitions (§1.3) ---------------------------------------------------------------------------------------------


def _apply(state: MachineState, fact: Fact, now: float) -> MachineState:
    match fact:
        case ScreenFact():
            return _screen(state, fact)
        case Tick():
            return state
        case Interaction():
            return replace(state, fence=None)
        case ProgramFact():
            return _program(state, fact.summary)
        case NativeFact():
            return _native(state, fact)
        case Suspended():
            return replace(state, native_available=False, log_available=False, has_provider=True)
        case Unavailable():
            return replace(
                state,
                native=None,
                native_available=False,
                log_available=False,
                has_provider=True,
                roots={},
                fence=None,
            )
        case InventoryFact():
            roots = {root: state.roots.get(root, Root()) for root in sorted(fact.roots)}
            return replace(state, roots=roots, log_available=True, has_provider=True)
        case TurnStarted() | TurnEnded():
            return _turn(state, fact, now)
        case ChildStarted() | ChildScheduled() | ChildEnded():
            return _child(state, fact)


def _screen(state: MachineState, fact: ScreenFact) -> MachineState:
    fence = state.fence
    if fence and not (fence.detection.same(fact.detection) and fence.content == fact.content):
        fence = None
    stable = state.stable if fact.detection.state is RawState.UNKNOWN else fact.detection.state
    return replace(state, screen=fact.detection, content=fact.content, stable=stable, fence=fence, held=False)


def _turn(state: MachineState, fact: TurnStarted | TurnEnded, now: float) -> MachineState:
    root = state.roots.get(fact.root)
    if root is None:
        return state
    if isinstance(fact, TurnStarted):
        if root.turn == fact.turn:
            return state
        return replace(_with_root(state, fact.root, replace(root, turn=fact.turn, activity=now)), fence=None)
    if root.turn != fact.turn:
        return state
    return _fence_completion(_with_root(state, fact.root, replace(root, turn=None, activity=now)), fact.root)


def _child(state: MachineState, fact: ChildStarted | ChildScheduled | ChildEnded) -> MachineState:
    root = state.roots.get(fact.root)
    if root is None:
        return state
    current = root.children.get(fact.child)
    if isinstance(fact, ChildEnded):
        if current != fact.work:
            return state
        rest = {child: work for child, work in root.children.items() if child != fact.child}
        return _fence_completion(_with_root(state, fact.root, replace(root, children=rest)), fact.root)
    if isinstance(fact, ChildScheduled) and current is not None:
        return state  # a late notice never overwrites an observed child turn
    return _with_root(state, fact.root, replace(root, children={**root.children, fact.child: fact.work}))


def _with_root(state: MachineState, name: str, root: Root) -> MachineState:
    return replace(state, roots={**state.roots, name: root})


def _fence_completion(state: MachineState, root: str) -> MachineState:
    # Only a root that was already selected may fence, so an ambiguous pane never does.
    if state.decision.session != root or state.roots[root].busy:
        return state
    return _fenced(state, root)


def _fenced(state: MachineState, owner: str | Owner) -> MachineState:
    return replace(state, fence=Fence(state.screen, state.content, owner))


def _native(state: MachineState, new: NativeFact) -> MachineState:
    old = state.native
    if old and old.session == new.session and new.updated < old.updated:
        return state
    may_fence = (
        state.screen.state is not RawState.BLOCKED
        or new.state is RawState.BLOCKED
        or (new.state is RawState.IDLE and old is not None)
        or _fence_matches(state)
    )
    after = replace(state, native=new, native_available=True, has_provider=True)
    return _fenced(after, new.session) if new != old and may_fence else after


def _program(state: MachineState, new: ProgramSummary | None) -> MachineState:
    old = state.program
    if new is None:
        if old is None:
            return state
        fence = None if state.fence and state.fence.owner is Owner.PROGRAM else state.fence
        return replace(state, program=None, fence=fence, held=True)
    if new.revision <= state.program_revision:
        return state
    after = replace(state, program=new, program_revision=new.revision, held=False)
    if old is None:  # taking authority drops the fence and the log's recency, and keeps open work
        roots = {name: replace(root, activity=None) for name, root in state.roots.items()}
        return replace(after, fence=None, roots=roots)
    # Programs are silent about some dialogs: a mere idle never fences a blocker, the end of work or of a dialog does.
    may_fence = (
        state.screen.state is not RawState.BLOCKED
        or new.state is RawState.BLOCKED
        or (new.state is RawState.IDLE and (old.state is RawState.BLOCKED or (new.completed and not old.completed)))
        or _fence_matches(state)
    )
    changed = (old.state, old.reason) != (new.state, new.reason)
    return _fenced(after, Owner.PROGRAM) if changed and may_fence else after


# --- resolution (§1.4) ----------------------------------------------------------------------------------------------


def _resolve(state: MachineState, now: float) -> Decision:
    if state.program is not None:
        return _resolve_program(state, state.program, now)
    if state.native is not None and state.native_available:
        return _resolve_native(state, state.native)
    if state.native is not None and state.native.state is RawState.IDLE and _suppressed(state, state.native.session):
        return _decide(state, RawState.IDLE, "screen.retainedCompletion")
    eligible = _eligible(state, now)
    if not state.log_available or len(eligible) != 1:
        return _resolve_screen(state, len(eligible))
    return _resolve_log(state, eligible[0])


def _resolve_program(state: MachineState, program: ProgramSummary, now: float) -> Decision:
    """Apply the table "Where sources disagree", row by row."""
    native = state.native if state.native_available else None
    eligible = _eligible(state, now) if state.log_available else []
    log = eligible[0] if len(eligible) == 1 else None
    session = native.session if native else log
    native_open = native is not None and native.state is not RawState.IDLE
    log_open = log is not None and state.roots[log].busy
    outstanding = program.state is not RawState.IDLE or native_open or log_open

    if program.state is RawState.BLOCKED:
        return _decide(state, RawState.BLOCKED, program.reason, session, outstanding)
    if native is not None and native.state is RawState.BLOCKED:
        return _decide(state, RawState.BLOCKED, "native.blocked", session, outstanding)
    if state.screen.state is RawState.BLOCKED and not _suppressed(state, Owner.PROGRAM, session):
        return _decide(state, RawState.BLOCKED, state.screen.reason, session, outstanding)
    if program.state is RawState.WORKING:
        return _decide(state, RawState.WORKING, program.reason, session, outstanding)
    if native_open:
        return _decide(state, RawState.WORKING, "native.working", session, outstanding)
    if log_open:
        return _decide(state, RawState.WORKING, "log.openWork", session, outstanding)
    return _decide(state, program.state, program.reason, session, outstanding)


def _resolve_native(state: MachineState, native: NativeFact) -> Decision:
    outstanding = native.state is not RawState.IDLE
    if native.state is not RawState.BLOCKED and _blocker(state, native.session):
        return _decide(state, RawState.BLOCKED, state.screen.reason, native.session, outstanding)
    return _decide(state, native.state, f"native.{native.state.value}", native.session, outstanding)


def _resolve_screen(state: MachineState, eligible: int) -> Decision:
    if len(state.roots) == 1:
        ((name, root),) = state.roots.items()
        if not root.busy and _suppressed(state, name):
            return _decide(state, RawState.IDLE, "screen.retainedCompletion")
    if not state.has_provider:
        reason = state.screen.reason
    elif not state.log_available:
        reason = "screen.logUnavailable"
    elif eligible > 1:
        reason = "screen.ambiguousLogs"
    else:
        reason = "screen.noLiveTurn"
    return _decide(state, state.stable or RawState.UNKNOWN, reason)


def _resolve_log(state: MachineState, name: str) -> Decision:
    busy = state.roots[name].busy
    if _blocker(state, name):
        return _decide(state, RawState.BLOCKED, state.screen.reason, name, busy)
    if busy:
        return _decide(state, RawState.WORKING, "log.openWork", name, True)
    if state.screen.state is RawState.WORKING and not _suppressed(state, name):
        return _decide(state, RawState.WORKING, "screen.afterTurn", name)
    return _decide(state, RawState.IDLE, "log.turnEnded", name)


def _eligible(state: MachineState, now: float) -> list[str]:
    return [
        name
        for name, root in state.roots.items()
        if root.busy or (root.activity is not None and now - root.activity < ACTIVITY_WINDOW)
    ]


def _blocker(state: MachineState, owner: str) -> bool:
    return state.screen.state is RawState.BLOCKED and not _suppressed(state, owner)


def _suppressed(state: MachineState, *owners: str | Owner | None) -> bool:
    return state.fence is not None and state.fence.owner in owners and _fence_matches(state)


def _fence_matches(state: MachineState) -> bool:
    fence = state.fence
    return fence is not None and fence.detection.same(state.screen) and fence.content == state.content


def _decide(
    state: MachineState, raw: RawState, reason: str, session: str | None = None, outstanding: bool = False
) -> Decision:
    return Decision(raw, reason, state.screen.reason, session, outstanding)
