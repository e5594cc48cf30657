"""Droid's screens: the older interface (detection.md §2.11) and what 0.225 draws around its composer."""

import re
from typing import Final

from prowl_svc._fast.rows_glyphs import Glyph, Kind
from prowl_svc.model.agents import Agent
from prowl_svc.model.state import RawState, Style
from prowl_svc.screens.frame import Frame
from prowl_svc.screens.regions import boxed_composer, inner, labelled_braille, last_box, run_above
from prowl_svc.screens.rules import AgentScreen, Rule, holds, says

__all__ = ["SCREEN"]

_HINTS: Final = ("enter to select", "↑↓ to navigate", "esc to cancel")
_ANSWERS: Final = ("> yes, allow", "> no, cancel")
_OPTIONS: Final = ("Yes, ", "No, ", "Proceed", "Cancel")
_BACKGROUND: Final = re.compile(
    r"\([1-9][0-9]*\) (?:process(?:es)?|sub-agents?)(?: and \([1-9][0-9]*\) sub-agents?)? running(?: .*)?"
)
_OLD_COMPOSER: Final = boxed_composer(">")

# -- where things are --------------------------------------------------------------------------------------------------


def composer(frame: Frame) -> range:
    """The composer: the mode's row and directly below it the lowest box, with a prompt in its first row."""
    box = frame.fact(last_box)
    if len(box) > 2 and box.start > 0 and inner(frame.trimmed[box.start + 1])[:1] in (">", "!", "$"):
        above = box.start - 1
        if frame.kinds[above] in (Kind.LETTER, Kind.OTHER) and frame.indents[above] == 1:
            return range(above, box.stop)
    return range(0)


def activity_row(frame: Frame) -> range:
    """The nearest non-blank row above the mode's row."""
    found = frame.fact(composer)
    for row in frame.above(found.start, 1) if found else ():
        if frame.kinds[row] == Kind.BRAILLE and frame.indents[row] <= 1:  # answers are indented more
            return range(row, row + 1)
    return range(0)


def around_composer(frame: Frame) -> range:
    """From the sixth non-blank row above the mode's row to the end."""
    found = frame.fact(composer)
    above = frame.above(found.start, 6) if found else []
    return range(above[-1] if above else found.start, frame.end) if found else range(0)


def status_bar(frame: Frame) -> range:
    """The mode's row and the rows below the composer."""
    found = frame.fact(composer)
    return range(found.start, frame.end) if found else range(0)


def old_tail(frame: Frame) -> range:
    """The whole tail of a screen without the mode's row."""
    return range(0) if frame.fact(composer) else range(frame.end)


def listed(frame: Frame) -> range:
    """A box with a hint below it that ends the screen: a question of the agent's or a menu of the user's."""
    bottom = frame.kinds.rfind(Kind.BOTTOM)
    if bottom < 0 or frame.fact(composer) or not 1 <= len(frame.below(bottom)) <= 3:
        return range(0)
    top = bottom - 1
    while top >= 0 and frame.kinds[top] == Kind.SIDE:
        top -= 1
    return range(top + 1, frame.end)


def question(frame: Frame) -> range:
    """What a dialog asks: the rows that lead to its box, the box and the hint below it."""
    options = frame.fact(listed)
    return range(run_above(frame, options.start).start, options.stop) if options else range(0)


def end_rows(frame: Frame) -> range:
    """The last four non-blank rows of a screen without the composer."""
    return range(0) if frame.fact(composer) else frame.last(4)


# -- what they say -----------------------------------------------------------------------------------------------------


def hints(frame: Frame, span: range) -> bool:
    """It says how to select, to move or to cancel"""
    lower = frame.lowered(span)
    return any(hint in lower for hint in _HINTS)


def answers(frame: Frame, span: range) -> bool:
    """It points at Yes, allow or No, cancel"""
    lower = frame.lowered(span)
    return any(answer in lower for answer in _ANSWERS)


def executes(frame: Frame, span: range) -> bool:
    """It says EXECUTE, and how to answer or an answer"""
    return "EXECUTE" in frame.joined(span) and (hints(frame, span) or answers(frame, span))


def chooses(frame: Frame, span: range) -> bool:
    """It says how to answer, and an answer"""
    return hints(frame, span) and answers(frame, span)


def stops(frame: Frame, span: range) -> bool:
    """It says esc to stop"""
    return "esc to stop" in frame.lowered(span)


def permits(frame: Frame, span: range) -> bool:
    """Its box has a yes, a no, a way to proceed or to cancel, and the row below says how to select"""
    bottom = frame.kinds.rfind(Kind.BOTTOM)
    hint = frame.said(range(bottom + 1, span.stop))
    if not hint.startswith("↑↓navigate") or "enterselect" not in hint:
        return False
    return any(inner(row).startswith(_OPTIONS) for row in frame.trimmed[span.start : bottom])


def acts(frame: Frame, span: range) -> bool:
    """It is a braille scalar with a label"""
    return labelled_braille(frame.trimmed[span.start]) is not None


def has_background(frame: Frame, span: range) -> bool:
    """A row counts processes or sub-agents that run in the background"""
    return any("running" in row and _BACKGROUND.match(row) for row in frame.trimmed[span.start : span.stop])


def runs_command(frame: Frame, span: range) -> bool:
    """A command of the user's runs"""
    return any("⏳ Executing" in row for row in frame.trimmed[span.start : span.stop])


def _style(frame: Frame, span: range) -> Style | None:
    return Style.BRAILLE if Kind.BRAILLE in frame.kinds else None


SCREEN: Final = AgentScreen(
    agent=Agent.DROID,
    tail=24,
    question=question,
    rules=(
        Rule("droid.trust", RawState.BLOCKED, end_rows, says("1. trust this folder") & says("enter to confirm")),
        Rule(
            "droid.signIn", RawState.BLOCKED, end_rows, says("login with your factory account", "> press enter to try")
        ),
        Rule("droid.startQuestion", RawState.BLOCKED, end_rows, says("enter to confirm, esc to skip")),
        Rule("droid.permission", RawState.BLOCKED, listed, permits),
        Rule("droid.askUser", RawState.BLOCKED, end_rows, says("esc stop agent")),
        Rule("droid.executeApproval", RawState.BLOCKED, old_tail, executes),
        Rule("droid.choiceDialog", RawState.BLOCKED, old_tail, chooses),
        Rule("droid.stopHint", RawState.WORKING, activity_row, stops, needs=Glyph.BRAILLE, style=Style.BRAILLE),
        Rule("droid.stopHint", RawState.WORKING, old_tail, stops, style=_style),
        Rule("droid.activityRow", RawState.WORKING, activity_row, acts, needs=Glyph.BRAILLE, style=Style.BRAILLE),
        Rule("droid.userCommand", RawState.WORKING, status_bar, runs_command),
        Rule("droid.background", RawState.WORKING, around_composer, has_background),
        Rule("droid.composer", RawState.IDLE, composer, holds),
        Rule("droid.composer", RawState.IDLE, _OLD_COMPOSER, holds, needs=Glyph.BOX),
        Rule("droid.menu", RawState.IDLE, listed, says("enter select", "esc cancel", "esc close")),
    ),
)
