"""Rules and how to write an agent's file.

An agent's file is ``screens/<short id>.py`` and exposes ``SCREEN``, an ordered table::

    \"\"\"Amp's screens (detection.md §2.12).\"\"\"

    def status_row(frame: Frame) -> range:
        \"\"\"The row under the composer.\"\"\"
        ...

    SCREEN = AgentScreen(
        agent=Agent.AMP,
        tail=24,
        rules=(
            Rule("amp.approval", RawState.BLOCKED, last_rows(16), says("run this command?") & says("approve")),
            Rule("amp.cancelHint", RawState.WORKING, status_row, says("esc to cancel"), needs=Glyph.WAVE),
            Rule("amp.composer", RawState.IDLE, boxed_composer, holds),
        ),
    )

* A **region** is a function ``Frame -> range`` of rows; an empty range means "not on this screen" and ends the rule.
  Regions are computed once a frame, so rules share them; whatever else they share is ``frame.fact(function)``. The
  first docstring line is what people read in an explanation. Walk structure (boxes, composers, dialogs:
  ``regions.py``) rather than counting rows from the bottom.
* A **condition** is a function ``(Frame, range) -> bool``, or one of ``says`` (words anywhere in the region, whatever
  the wrapping and case), ``text`` (a literal in one row, case-sensitive), ``row`` (a predicate on some trimmed row),
  ``holds`` (the region alone is the evidence); join them with ``&``, ``|`` and ``~``.
* ``needs`` are ``Glyph`` bits without which the rule cannot hold: the cheapest rejection there is, one ``and`` a rule.
  ``hints`` are words, squeezed (lower case, no blanks: ``"esctocancel"``), one of which must stand in the last six
  non-blank rows: the second cheapest. Give every rule whose region is not free one of the two.
* Order is the file's order and the first rule that holds decides: viewers, then blocked, working, idle. Within a rule
  test the rarest thing first: ``frame.heads``, ``frame.kinds`` and ``frame.masks`` are free, ``says`` costs a pass over
  the region's text.
* A positive idle rule recognises the agent's *empty or drafted composer by its structure*. An agent with an idle rule
  answers ``fallback.noRuleMatched`` when nothing holds, one without answers ``legacy.detector`` (detection.md §2.0).
* Titles: ``title=TitleRules(working=..., blocked=..., silent=...)`` (detection.md §2.17). ``silent(frame)`` says where
  the screen may show nothing while the agent works; elsewhere a working title over an idle screen is stale.
* ``style`` is the glyph family of the matched row: a ``Style``, or a function ``(Frame, range) -> Style | None``.
* Never key on prompts, paths, model names or what one recording happens to say: only on what the agent itself draws.
"""

from collections.abc import Callable
from dataclasses import dataclass, field

from prowl_svc._fast.rows import squeeze
from prowl_svc.model.agents import Agent
from prowl_svc.model.state import LEGACY_DETECTOR, NO_RULE_MATCHED, Detection, RawState, Style
from prowl_svc.screens.frame import Frame, Region

__all__ = ["AgentScreen", "Condition", "Rule", "TitleRules", "describe", "holds", "row", "says", "text"]

Test = Callable[[Frame, range], bool]
StyleOf = Style | Callable[[Frame, range], Style | None] | None


class Condition:
    """A test of a region that can be joined with others and says in words what it asks for."""

    __slots__ = ("label", "test")

    def __init__(self, label: str, test: Test) -> None:
        self.label = label
        self.test = test

    def __call__(self, frame: Frame, span: range) -> bool:
        """Tell whether the condition holds in ``span``."""
        return self.test(frame, span)

    def __and__(self, other: Test) -> "Condition":
        """Both hold."""
        first = self.test
        second = other.test if isinstance(other, Condition) else other
        return Condition(
            f"{self.label} and {describe(other)}", lambda frame, span: first(frame, span) and second(frame, span)
        )

    def __or__(self, other: Test) -> "Condition":
        """Either holds."""
        first = self.test
        second = other.test if isinstance(other, Condition) else other
        return Condition(
            f"({self.label} or {describe(other)})", lambda frame, span: first(frame, span) or second(frame, span)
        )

    def __invert__(self) -> "Condition":
        """It does not hold."""
        first = self.test
        return Condition(f"not {self.label}", lambda frame, span: not first(frame, span))


def describe(part: object) -> str:
    """Return what people read for a condition or region: its label, else its docstring's first line, else its name."""
    label = getattr(part, "label", None)
    if isinstance(label, str):
        return label
    doc = getattr(part, "__doc__", None)
    if isinstance(doc, str) and doc.strip():
        return doc.strip().splitlines()[0].rstrip(".")
    return str(getattr(part, "__name__", part)).replace("_", " ").strip()


def says(*phrases: str) -> Condition:
    """Some phrase stands in the region, in any case and however the rows wrap; blank space does not count."""
    wanted = tuple(squeeze(phrase) for phrase in phrases)
    label = " or ".join(f"“{phrase}”" for phrase in phrases)
    if len(wanted) == 1:
        only = wanted[0]
        return Condition(f"says {label}", lambda frame, span: only in frame.said(span))

    def some(frame: Frame, span: range) -> bool:
        said = frame.said(span)
        return any(phrase in said for phrase in wanted)

    return Condition(f"says {label}", some)


def text(*literals: str) -> Condition:
    """Some literal stands in one row of the region, exactly as drawn (case-sensitive)."""
    label = " or ".join(f"“{literal}”" for literal in literals)

    def some(frame: Frame, span: range) -> bool:
        joined = frame.joined(span)
        return any(literal in joined for literal in literals)

    return Condition(f"holds {label}", some)


def row(matches: Callable[[str], bool]) -> Condition:
    """Some non-blank row of the region, trimmed, passes ``matches``."""

    def some(frame: Frame, span: range) -> bool:
        return any(matches(trimmed) for trimmed in frame.trimmed[span.start : span.stop] if trimmed)

    return Condition(f"a row: {describe(matches)}", some)


#: The region alone is the evidence.
holds = Condition("the region is there", lambda frame, span: True)


@dataclass(frozen=True, slots=True)
class Rule:
    """One condition with a stable id: what it proves, where it looks, what it asks for (see the module's text).

    ``needs`` and ``hints`` only reject early: all glyph bits of ``needs`` must be on screen, and one of the squeezed
    ``hints`` in the foot of the screen. They never widen what the rule says.
    """

    id: str
    state: RawState
    region: Region
    when: Test
    needs: int = 0
    hints: tuple[str, ...] = ()
    style: StyleOf = None
    #: what the rule answers when its style is fixed; made once
    detection: Detection = field(init=False)

    def __post_init__(self) -> None:
        """Make the answer once."""
        style = self.style if isinstance(self.style, Style) else None
        object.__setattr__(self, "detection", Detection(self.state, self.id, style))

    def answer(self, frame: Frame, span: range) -> Detection:
        """Return what the rule answers where it holds."""
        if self.style is None or isinstance(self.style, Style):
            return self.detection
        return Detection(self.state, self.id, self.style(frame, span))


def _never(title: str) -> bool:
    """Never."""
    return False


def _nowhere(frame: Frame) -> bool:
    """Nowhere."""
    return False


@dataclass(frozen=True, slots=True)
class TitleRules:
    """What an agent's title proves: working or blocked, never idle (detection.md §2.17).

    ``silent`` tells whether this screen may be that of a working agent although no rule says so, ``doubted`` whether it
    shows that the agent works although its title calls for a person.
    """

    working: Callable[[str], bool] = _never
    blocked: Callable[[str], bool] = _never
    silent: Callable[[Frame], bool] = _nowhere
    doubted: Callable[[Frame], bool] = _nowhere
    style: Style | None = None


_Row = tuple[int, tuple[str, ...], Region, Test, Rule]


def _plain(when: Test) -> Test:
    """Return the bare function of a condition, which saves a call a rule."""
    return when.test if isinstance(when, Condition) else when


@dataclass(frozen=True, slots=True)
class AgentScreen:
    """One agent's ordered rules, the tail of the screen they see (0: all of it) and its title rules.

    ``question`` chooses the rows that say what a blocked screen asks, where it can be told.
    """

    agent: Agent
    rules: tuple[Rule, ...]
    tail: int = 24
    title: TitleRules | None = None
    question: Region | None = None
    fallback: Detection = field(init=False)
    title_working: Detection = field(init=False)
    title_blocked: Detection = field(init=False)
    _table: tuple[_Row, ...] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        """Make the answers once, and the table that the loop of ``detect`` runs over."""
        table = tuple((rule.needs, rule.hints, rule.region, _plain(rule.when), rule) for rule in self.rules)
        object.__setattr__(self, "_table", table)
        positive = any(rule.state is RawState.IDLE for rule in self.rules)
        prefix = self.agent.short
        style = self.title.style if self.title else None
        answers = {
            "fallback": Detection(RawState.IDLE, NO_RULE_MATCHED if positive else LEGACY_DETECTOR),
            "title_working": Detection(RawState.WORKING, f"{prefix}.titleWorking", style),
            "title_blocked": Detection(RawState.BLOCKED, f"{prefix}.titleBlocked"),
        }
        for name, answer in answers.items():
            object.__setattr__(self, name, answer)

    def detect(self, frame: Frame, title: str = "") -> Detection:
        """Return what the frame and the title prove together (detection.md §2.17)."""
        seen = self.fallback
        missing = ~frame.glyphs
        foot = ""
        fact = frame.fact
        for needs, hints, region, when, rule in self._table:
            if needs & missing:
                continue
            if hints:  # spelled out: this loop is most of what a classification costs
                foot = foot or frame.foot
                for hint in hints:
                    if hint in foot:
                        break
                else:
                    continue
            span = fact(region)
            if span and when(frame, span):
                seen = rule.answer(frame, span)
                break
        rules = self.title
        if rules is None or not title or seen.state is RawState.BLOCKED or seen.state is RawState.UNKNOWN:
            return seen
        if rules.blocked(title) and not rules.doubted(frame):
            return self.title_blocked
        if seen.state is RawState.IDLE and rules.working(title) and rules.silent(frame):
            return self.title_working
        return seen
