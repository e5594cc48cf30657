"""Handing a task to a running agent: what is typed, when it may be, and where it may land (signals.md §4.3–4.9)."""

from dataclasses import dataclass
from enum import Enum

from prowl_svc.model.errors import Code
from prowl_svc.model.observation import SignalKind
from prowl_svc.signals.surface import SurfaceRecord
from prowl_svc.signals.waits import (
    Condition,
    MinConfidence,
    Observation,
    Stabiliser,
    detector_observation,
    exact_idle_level,
    fallback_allowed,
    normalised_state,
    reports,
)

__all__ = [
    "SETTLE_S",
    "Composer",
    "IdleMachine",
    "InputArea",
    "Ready",
    "Refused",
    "input_area_reason",
    "launch_prompt",
    "typed_prompt",
]

SETTLE_S = 5.0

_PROTOCOL = """\
---
Prowl dispatch completion protocol v1

This task was assigned through Prowl. When you are done, choose exactly one outcome and run its command as your final \
tool action:

{command} agents dispatch-complete --outcome succeeded --summary "<summary>"
{command} agents dispatch-complete --outcome failed --summary "<summary>"

- Use succeeded only when the task is complete and verified; use failed in every other case.
- The summary is a single line without control characters that says what was done, or why it could not be.
- Do not omit the command: without it the task counts as not completed."""

_CLEAR = "submit or clear what is written there, then dispatch again"
_WAIT = "wait until the agent's prompt is shown empty, then dispatch again"
_BUSY_TEXTS = ("[Image #", "Starting MCP servers", "Shutting down...")


def launch_prompt(prompt: str, command: str = "prowl") -> str:
    """Return the prompt of a launched runtime: the user's, a blank line, and the completion protocol (§4.3)."""
    return f"{prompt}\n\n{_PROTOCOL.format(command=command)}"


def typed_prompt(prompt: str, command: str = "prowl") -> str:
    """Return the text to paste into a running agent (§4.4)."""
    return f"[Prowl] {launch_prompt(prompt, command)}"


@dataclass(frozen=True, slots=True)
class Ready:
    """The agent is idle; ``waited`` is seconds."""

    waited: float


@dataclass(frozen=True, slots=True)
class Refused:
    """The task may not be typed: AGENT_GONE, AGENT_NOT_FOUND or DISPATCH_TARGET_BUSY, with the reason in words."""

    code: Code
    message: str
    waited: float
    observation: Observation | None = None


class IdleMachine:
    """The idle precondition of one dispatch that began at ``started`` (float seconds, monotonic; §4.4)."""

    __slots__ = ("_stabiliser", "_started")

    def __init__(self, started: float) -> None:
        self._started = started
        self._stabiliser = Stabiliser()

    def step(self, record: SurfaceRecord | None, now: float, now_ns: int) -> Ready | Refused | float:
        """Judge the pane as it is now: a verdict, or the time by which to ask again at last."""
        waited = now - self._started
        if record is None:
            return Refused(Code.AGENT_GONE, "The pane closed.", waited, detector_observation(None, now_ns))
        if record.agent is None:
            return Refused(Code.AGENT_NOT_FOUND, "No agent runs in the pane.", waited)
        busy = Refused(Code.DISPATCH_TARGET_BUSY, _busy(record), waited, detector_observation(record, now_ns))
        if record.agent.outstanding:
            return busy
        level = record.active_terminal
        if exact_idle_level(record, MinConfidence.AUTO, armed=level) is not None:
            return Ready(waited)
        guess = reports(record, Condition.IDLE) and fallback_allowed(record, Condition.IDLE, MinConfidence.AUTO)
        if self._stabiliser.settled(normalised_state(record) if guess else None, now):
            return Ready(waited)
        catching_up = (
            level is not None
            and level.kind is SignalKind.TURN_ENDED
            and MinConfidence.AUTO.accepts(level.confidence)
            and not reports(record, Condition.BLOCKED)
        )
        if waited >= SETTLE_S or not (guess or catching_up):
            return busy
        end = self._started + SETTLE_S
        due = self._stabiliser.due
        return end if due is None else min(end, due)


def _busy(record: SurfaceRecord) -> str:
    level = record.active_terminal
    if level is not None and level.kind is SignalKind.NEEDS_INPUT:
        return "The agent is busy: its runtime reported needs-input."
    if record.agent is not None and record.agent.outstanding:
        return "The agent is busy: it has open work."
    return f"The agent is busy: the detector reports {normalised_state(record)}."


class Composer(Enum):
    """What the agent's screen says of its input area."""

    EMPTY = "empty"
    DRAFT = "draft"
    UNRECOGNISED = "unrecognised"  # this agent's composer can be recognised, and is not there
    UNCLASSIFIED = "unclassified"  # nothing is known of this agent's composer


@dataclass(frozen=True, slots=True)
class InputArea:
    """What decides whether text may be typed into a pane (§4.9).

    ``unsubmitted`` tells that a local user wrote bytes since the last Enter or paste. ``text`` is that of the input
    area and of what stands below it, never the transcript, which may say anything.
    """

    composer: Composer
    text: str
    unsubmitted: bool = False
    composing: bool = False
    bracketed_paste: bool = True
    launch_alive: bool = True


def input_area_reason(area: InputArea) -> str | None:
    """Return why text may not be typed now and what to do, in words without screen text; None when it may (§4.9)."""
    if not area.launch_alive:
        return "the agent's process is gone; start the agent again"
    if area.composing:
        return f"an input method is composing text; {_CLEAR}"
    if area.unsubmitted:
        return f"someone is writing in the input area; {_CLEAR}"
    if area.composer is Composer.DRAFT:
        return f"the input area holds a draft; {_CLEAR}"
    if area.composer is Composer.UNRECOGNISED:
        return f"the input area was not recognised as empty; answer or close what covers it, or {_WAIT}"
    if not area.bracketed_paste:
        return f"the agent does not take pastes at the moment; {_WAIT}"
    if any(text in area.text for text in _BUSY_TEXTS):
        return f"the agent is not ready for input; {_WAIT}"
    return None
