"""The screens room's door: (agent, rows, title) in, a state with the rule that decided out (detection.md §2)."""

from collections.abc import Sequence
from dataclasses import dataclass
from importlib import import_module

from prowl_svc.model.agents import Agent
from prowl_svc.model.state import LEGACY_DETECTOR, Detection, RawState
from prowl_svc.screens.frame import Frame
from prowl_svc.screens.rules import AgentScreen, Rule, describe

__all__ = ["Explanation", "RegionRows", "Tried", "blocker_text", "classify", "explain", "screen_of"]

_NO_FILE = Detection(RawState.IDLE, LEGACY_DETECTOR)
_screens: dict[Agent, AgentScreen | None] = {}


def screen_of(agent: Agent) -> AgentScreen | None:
    """Return the agent's table of rules, imported at its first use; None if the agent has no file."""
    try:
        return _screens[agent]
    except KeyError:
        pass
    name = f"prowl_svc.screens.{agent.short}"
    found: AgentScreen | None
    try:
        found = import_module(name).SCREEN
    except ModuleNotFoundError as error:
        if error.name != name:
            raise
        found = None
    _screens[agent] = found
    return found


def classify(agent: Agent, rows: Sequence[str], title: str = "") -> Detection:
    """Return what the active screen's ``rows`` and the OSC ``title`` prove about ``agent``.

    A pure function: it never sees time, colours, the cursor or earlier frames. Any text is allowed and none raises.
    """
    screen = screen_of(agent)
    if screen is None:
        return _NO_FILE
    return screen.detect(Frame(rows, screen.tail), title)


def blocker_text(agent: Agent, rows: Sequence[str]) -> str | None:
    """Return what a blocked screen asks, choices and key hints as drawn (detection.md §2.1.2 and §2.2.4).

    None when the screen does not say that the agent is blocked, or not where the question stands.
    """
    screen = screen_of(agent)
    if screen is None or screen.question is None:
        return None
    frame = Frame(rows, screen.tail)
    if screen.detect(frame).state is not RawState.BLOCKED:
        return None
    span = frame.fact(screen.question)
    return "\n".join(frame.rows[span.start : span.stop]).strip("\n") or None


@dataclass(frozen=True, slots=True)
class RegionRows:
    """A region that was chosen: its description and its rows on the screen, first and last, counted from 0."""

    name: str
    first: int
    last: int


@dataclass(frozen=True, slots=True)
class Tried:
    """One rule that was tried: whether it held, and why or why not."""

    id: str
    state: RawState
    matched: bool
    why: str
    region: RegionRows | None = None


@dataclass(frozen=True, slots=True)
class Explanation:
    """How a screen was read. It holds row numbers and rule texts, never screen text."""

    agent: Agent
    detection: Detection
    rows: int
    first_row: int
    regions: tuple[RegionRows, ...]
    tried: tuple[Tried, ...]
    title: str


def explain(agent: Agent, rows: Sequence[str], title: str = "") -> Explanation:
    """Return how ``classify`` comes to its answer, every rule up to the deciding one in order."""
    screen = screen_of(agent)
    if screen is None:
        return Explanation(agent, _NO_FILE, len(rows), 0, (), (), "the agent has no rules yet")
    frame = Frame(rows, screen.tail)
    detection = screen.detect(frame, title)
    tried: list[Tried] = []
    regions: dict[str, RegionRows] = {}
    for rule in screen.rules:
        one = _try(frame, rule)
        tried.append(one)
        if one.region is not None:
            regions.setdefault(one.region.name, one.region)
        if one.matched:
            break
    return Explanation(
        agent, detection, len(rows), frame.start, tuple(regions.values()), tuple(tried), _title(screen, frame, title)
    )


def _try(frame: Frame, rule: Rule) -> Tried:
    if rule.needs & ~frame.glyphs:
        return Tried(rule.id, rule.state, False, "none of its glyphs is on the screen")
    if rule.hints and not frame.hinted(rule.hints):
        return Tried(rule.id, rule.state, False, "none of its words is in the last rows")
    name = describe(rule.region)
    span = frame.fact(rule.region)
    if not span:
        return Tried(rule.id, rule.state, False, f"the region is not on this screen: {name}")
    region = RegionRows(name, frame.start + span.start, frame.start + span.stop - 1)
    if rule.when(frame, span):
        return Tried(rule.id, rule.state, True, describe(rule.when), region)
    return Tried(rule.id, rule.state, False, f"does not hold there: {describe(rule.when)}", region)


def _title(screen: AgentScreen, frame: Frame, title: str) -> str:
    rules = screen.title
    if rules is None:
        return "titles prove nothing for this agent"
    if not title:
        return "no title"
    if rules.blocked(title):
        return "the title says blocked"
    if rules.working(title):
        silent = rules.silent(frame)
        return "the title says working" + (
            " where the screen may be silent" if silent else ", which the screen decides"
        )
    return "the title proves nothing"
