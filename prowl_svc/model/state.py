"""States, detections and decisions: what is known of one agent in one pane."""

from dataclasses import dataclass
from enum import StrEnum

__all__ = ["LEGACY_DETECTOR", "NO_RULE_MATCHED", "Decision", "Detection", "DisplayState", "RawState", "Style"]

NO_RULE_MATCHED = "fallback.noRuleMatched"
LEGACY_DETECTOR = "legacy.detector"


class RawState(StrEnum):
    """What evidence says; ``UNKNOWN`` is produced only by viewers and by the absence of evidence."""

    WORKING = "working"
    BLOCKED = "blocked"
    IDLE = "idle"
    UNKNOWN = "unknown"


class DisplayState(StrEnum):
    """What a person sees: ``DONE`` is an idle agent whose completion was not looked at yet."""

    WORKING = "working"
    BLOCKED = "blocked"
    DONE = "done"
    IDLE = "idle"


class Style(StrEnum):
    """The glyph family of the matched row, for indicators (detection.md §3.1)."""

    BRAILLE = "braille"
    SYMBOL_CYCLE = "symbol-cycle"
    HEXAGON = "hexagon"
    MOON = "moon"
    DOT_CYCLE = "dot-cycle"
    BULLET = "bullet"


@dataclass(frozen=True, slots=True)
class Detection:
    """One classified screen: a state, the stable id of the rule that decided, and the animation seen.

    Equality is that of (state, reason): the style never makes a screen new evidence.
    """

    state: RawState
    reason: str
    style: Style | None = None

    def same(self, other: "Detection") -> bool:
        """Tell whether both say the same (providers.md §1.3)."""
        return self.state is other.state and self.reason == other.reason


@dataclass(frozen=True, slots=True)
class Decision:
    """The state machine's answer (providers.md §1).

    ``screen_reason`` is the reason of the latest classified screen. ``session`` is the privately selected root or
    native session, never the public one. ``outstanding`` tells that open work is known from a source with authority.
    """

    state: RawState
    reason: str
    screen_reason: str
    session: str | None = None
    outstanding: bool = False
