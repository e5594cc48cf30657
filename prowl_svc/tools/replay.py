"""A recording through screen, rules and state machine, as a pane that nobody looks at would go; no clock is read."""

from collections.abc import Iterator
from dataclasses import dataclass
from hashlib import blake2b

from prowl_svc.decision.display import Attention, observe
from prowl_svc.decision.machine import MachineState, step
from prowl_svc.model.agents import Agent
from prowl_svc.model.facts import Interaction, ScreenFact, Tick
from prowl_svc.model.state import Decision, Detection, DisplayState, RawState
from prowl_svc.screens.classify import classify
from prowl_svc.terminal.cast import Cast
from prowl_svc.terminal.factory import new_screen
from prowl_svc.terminal.screen import Screen

__all__ = ["Change", "Moment", "replay", "watch"]

_SETTLE = 0.006  # a frame is looked at when nothing followed it for so long,
_SETTLE_AT_MOST = 0.04  # or at the latest after this
_SYNCHRONIZED_AT_MOST = 0.15


@dataclass(frozen=True, slots=True)
class Moment:
    """A settled frame: its time in seconds, the screen as it is then, and the last marker before it."""

    at: float
    screen: Screen
    interacted: bool
    marker: str | None


@dataclass(frozen=True, slots=True)
class Change:
    """The published state changed; ``revision`` counts these changes as an observer of the pane would."""

    at: float
    revision: int
    status: DisplayState
    detection: Detection
    decision: Decision
    rows: tuple[str, ...]
    title: str
    marker: str | None


def watch(cast: Cast) -> Iterator[Moment]:
    """Yield every settled frame of the recording, and one more at its end.

    The screen of a moment is the one that lives on; take from it what is needed before going on.
    """
    screen = new_screen(cast.columns, cast.rows, scrollback=0)
    began: float | None = None
    last = 0.0
    interacted = False
    marker: str | None = None
    for event in cast.events:
        if began is not None and (event.time - last > _SETTLE or event.time - began > _SETTLE_AT_MOST):
            if screen.synchronizing and event.time - last > _SYNCHRONIZED_AT_MOST:
                screen.flush()
            yield Moment(last, screen, interacted, marker)
            began, interacted = None, False
        match event.kind:
            case "o":
                screen.feed(event.raw)
                screen.take_answers()
                began = event.time if began is None else began
                last = event.time
            case "i":
                interacted = True
            case "r":
                screen.resize(*event.size)
                began = event.time if began is None else began
                last = event.time
            case "m":
                marker = event.data
            case _:
                pass
    screen.flush()
    yield Moment(last, screen, interacted, marker)


def replay(agent: Agent, cast: Cast) -> Iterator[Change]:
    """Yield each change of state that ``agent`` shows on its screen alone."""
    machine = MachineState()
    shown = Attention()
    before: tuple[object, ...] = ()
    revision = 0
    for moment in watch(cast):
        if moment.interacted:
            machine = step(machine, Interaction(), moment.at)
        rows = moment.screen.active_rows()
        detection = classify(agent, rows, moment.screen.title)
        content = None
        if detection.state is RawState.BLOCKED:
            content = blake2b("\n".join(rows).encode("utf-8", "replace"), digest_size=16).hexdigest()
        machine = step(machine, ScreenFact(detection, content), moment.at)
        machine = step(machine, Tick(), moment.at)
        decision = machine.decision
        shown = observe(shown, agent, decision, False, int(moment.at * 1e9))
        status = shown.shown
        if status is None or not shown.listed:
            continue
        now = (status, decision.reason, decision.screen_reason, detection.state)
        if now == before:
            continue
        before = now
        revision += 1
        yield Change(moment.at, revision, status, detection, decision, tuple(rows), moment.screen.title, moment.marker)
