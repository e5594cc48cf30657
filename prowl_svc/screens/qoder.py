"""Qoder's screens (detection.md §2.14), and what 1.1 draws at its start and in its titles."""

import re
from typing import Final

from prowl_svc._fast.rows_glyphs import Glyph, Kind
from prowl_svc.model.agents import Agent
from prowl_svc.model.state import RawState, Style
from prowl_svc.screens.frame import Frame
from prowl_svc.screens.regions import is_numbered, ruled_composer, screen, selected_choice
from prowl_svc.screens.rules import AgentScreen, Rule, TitleRules, holds, says

__all__ = ["SCREEN"]

_CANCEL: Final = "(esctocancel,"
_TIMER: Final = re.compile(r"[\u2800-\u28ff] ?\S.*\((?:[0-9]+[hms] ?)+\)")
_BACKGROUND: Final = re.compile(r"(?:^|[·|│] ?)[1-9][0-9]* Background tasks?(?:\s|$)")
_TITLED: Final = ("Permission Required", "Asking User", "Run a dynamic workflow?")
_SIGN_IN: Final = (
    "sign in to get started",
    "sign in to continue",
    "how would you like to authenticate",
    "waiting for authorization",
    "waiting for authentication",
    "paste your pat here",
)

# -- where things are --------------------------------------------------------------------------------------------------

composer: Final = ruled_composer(">")


def activity(frame: Frame) -> range:
    """The six non-blank rows above the composer, the whole tail without one."""
    box = frame.fact(composer)
    if not box:
        return range(frame.end)
    above = frame.above(box.start, 6)
    return range(above[-1], box.start) if above else range(0)


def around_composer(frame: Frame) -> range:
    """The composer with the row above it and the rows below."""
    box = frame.fact(composer)
    return range(max(box.start - 1, 0), frame.end) if box else range(0)


def covered(frame: Frame) -> range:
    """The whole tail of a screen without the composer."""
    return range(0) if frame.fact(composer) else range(frame.end)


# -- what they say -----------------------------------------------------------------------------------------------------


def _offers(frame: Frame, first: str, second: str) -> bool:
    """Tell whether both phrases are there; beside a composer, where answers stand, only in rows of a menu."""
    lower = frame.lower
    if first not in lower or second not in lower:
        return False
    if not frame.fact(composer):
        return True
    rows = [row.lstrip("❯› ") for row in lower.split("\n")]
    return all(
        any(phrase in row and (row.startswith(phrase) or is_numbered(row)) for row in rows)
        for phrase in (first, second)
    )


def permits(frame: Frame, span: range) -> bool:
    """It offers to allow once and to reject and type something"""
    return _offers(frame, "allow once", "reject and type something")


def asks_user(frame: Frame, span: range) -> bool:
    """It asks the user, who may type something"""
    return _offers(frame, "asking user", "type something")


def reviews_plan(frame: Frame, span: range) -> bool:
    """It offers to start executing and to reject the plan"""
    return _offers(frame, "yes, start executing", "reject plan")


def points(frame: Frame, span: range) -> bool:
    """It has a dialog's title and points at a numbered choice"""
    rows = frame.trimmed
    return any(title in rows for title in _TITLED) and any(map(selected_choice, rows))


def trusts(frame: Frame, span: range) -> bool:
    """It asks whether the folder is trusted"""
    said = frame.said(span)  # in a low pane the question has scrolled off
    return "1.trustfolder" in said and "don'ttrustandexit" in said


def cancels(frame: Frame, span: range) -> bool:
    """A row led by a braille scalar says how to cancel, there or on the next row"""
    for row in range(span.start, span.stop):
        if frame.kinds[row] == Kind.BRAILLE and _CANCEL in frame.said(range(row, min(row + 2, span.stop))):
            return True
    return False


def times(frame: Frame, span: range) -> bool:
    """A row led by a braille scalar ends with the time it took so far"""
    return any(map(_TIMER.fullmatch, frame.trimmed[span.start : span.stop]))


def has_background(frame: Frame, span: range) -> bool:
    """It counts background tasks"""
    return any("Background" in row and _BACKGROUND.search(row) for row in frame.trimmed[span.start : span.stop])


def _is_working(title: str) -> bool:
    return title.startswith("✦ ") and title.rstrip().endswith("| Working")


def _is_blocked(title: str) -> bool:
    return title.startswith("▲ ") and title.rstrip().endswith("| Action Required")


SCREEN: Final = AgentScreen(
    agent=Agent.QODER,
    tail=24,
    rules=(
        Rule("qoder.trust", RawState.BLOCKED, covered, trusts, hints=("enterselect", "trustandexit")),
        Rule("qoder.signIn", RawState.BLOCKED, covered, says(*_SIGN_IN)),
        Rule("qoder.permissionChoices", RawState.BLOCKED, screen, permits),
        Rule("qoder.askUser", RawState.BLOCKED, screen, asks_user),
        Rule("qoder.planReview", RawState.BLOCKED, screen, reviews_plan),
        Rule("qoder.dialog", RawState.BLOCKED, covered, points),
        Rule("qoder.spinnerFooter", RawState.WORKING, activity, cancels, needs=Glyph.BRAILLE, style=Style.BRAILLE),
        Rule("qoder.activityRow", RawState.WORKING, activity, times, needs=Glyph.BRAILLE, style=Style.BRAILLE),
        Rule("qoder.background", RawState.WORKING, around_composer, has_background),
        Rule("qoder.composer", RawState.IDLE, composer, holds),
    ),
    title=TitleRules(
        working=_is_working,
        blocked=_is_blocked,
        silent=lambda frame: not frame.fact(composer),
        doubted=lambda frame: bool(frame.glyphs & Glyph.BRAILLE) and cancels(frame, frame.fact(activity)),
    ),
)
