"""Cline's screens: the older boxed interface (detection.md §2.7) and what 3.0 shows."""

import re
from typing import Final

from prowl_svc._fast.rows_glyphs import Glyph, Kind
from prowl_svc.model.agents import Agent
from prowl_svc.model.state import RawState, Style
from prowl_svc.screens.frame import Frame
from prowl_svc.screens.regions import interrupts, last_rows, ruled_composer, screen
from prowl_svc.screens.rules import AgentScreen, Rule, holds, row, says

__all__ = ["SCREEN"]

_MODES: Final = re.compile(r"(?:○ Plan ● Act|● Plan ○ Act)(?: \(Tab\)|$)")
_CHOICE: Final = re.compile(r"\([0-9-]*-[0-9-]* or type\)", re.IGNORECASE)
_RULED: Final = ruled_composer("❯")
_TAIL: Final = last_rows(24)
_BULLETS: Final = frozenset("❯*▶")

# -- where things are --------------------------------------------------------------------------------------------------


def modes(frame: Frame) -> int:
    """Return the row that shows the two modes under the newer composer, or -1."""
    if frame.glyphs & Glyph.CIRCLE:
        for number in reversed(frame.nonblank[-6:]):
            if frame.masks[number] & Glyph.CIRCLE and _MODES.search(frame.trimmed[number]):
                return number
    return -1


def composer(frame: Frame) -> range:
    """The newer composer: a prompt between two rules, over the row of the modes."""
    row = frame.fact(modes)
    return frame.fact(_RULED) if row >= 0 else range(0)


def _live_end(frame: Frame) -> int:
    """Return the row under the transcript of the newer interface, or -1."""
    row = frame.fact(modes)
    box = frame.fact(composer)
    return box.start if box else row


def bullet(frame: Frame) -> range:
    """The lowest row of the transcript that a spinner leads at the left edge, in the last turn."""
    end = frame.fact(_live_end)
    row = frame.kinds.rfind(Kind.BRAILLE, 0, end) if end > 0 else -1
    while row >= 0 and frame.indents[row] > 1:
        row = frame.kinds.rfind(Kind.BRAILLE, 0, row)
    if row < 0:
        return range(0)
    for below in range(row + 1, end):
        if frame.heads[below] == "❯" and frame.indents[below] <= 1:
            return range(0)
    return range(row, row + 1)


def dialog(frame: Frame) -> range:
    """What Cline asks over the row of the modes: from its heading at the left edge, with no bullet below."""
    end = frame.fact(_live_end)
    for number in range(end - 1, -1, -1):
        if frame.indents[number] > 1 or not frame.trimmed[number]:
            continue
        if frame.heads[number] == "C" and frame.trimmed[number].startswith(("Cline needs ", "Cline is asking ")):
            return range(number, end)
        if frame.heads[number] in _BULLETS and frame.trimmed[number][1:2] == " ":
            break
    return range(0)


def keys(frame: Frame) -> range:
    """The row over the modes that names the keys for an approval, with no composer there."""
    row = frame.fact(modes)
    if row < 0 or frame.fact(composer):
        return range(0)
    for number in frame.above(row, 1):
        if frame.trimmed[number].startswith("[y] "):
            return range(number, number + 1)
    return range(0)


def welcome(frame: Frame) -> range:
    """All of a screen without a bullet of a transcript."""
    for number in frame.nonblank:
        if frame.indents[number] == 1 and frame.heads[number] in _BULLETS and frame.trimmed[number][1:2] == " ":
            return range(0)
    return range(frame.end)


def older(frame: Frame) -> range:
    """The last 24 non-blank rows of a screen without the newer composer or a menu under it."""
    return range(0) if frame.fact(modes) >= 0 or frame.fact(menu) else frame.fact(_TAIL)


def boxed(frame: Frame) -> range:
    """The older composer: a box over the row of its hints."""
    if len(frame.nonblank) < 3:
        return range(0)
    last = frame.nonblank[-1]
    if not frame.trimmed[last].startswith("/ for commands"):
        return range(0)
    bottom = frame.nonblank[-2]
    top = bottom - 1
    while top >= 0 and frame.kinds[top] == Kind.SIDE:
        top -= 1
    if frame.kinds[bottom] != Kind.BOTTOM or top < 0 or frame.kinds[top] != Kind.TOP:
        return range(0)
    return range(top, bottom + 1)


def overlaid(frame: Frame) -> range:
    """All of a screen of the newer interface, where something lies over its composer."""
    return range(frame.end) if frame.fact(modes) >= 0 else range(0)


def menu(frame: Frame) -> range:
    """A menu that the user opened: the box right under the newer composer, over the row of the modes."""
    box = frame.fact(_RULED)
    stop = box.stop if box else frame.end
    return range(stop, frame.end) if stop < frame.end and frame.kinds[stop] == Kind.TOP else range(0)


# -- what they say -----------------------------------------------------------------------------------------------------


def signs_in(frame: Frame, span: range) -> bool:
    """It welcomes and asks to connect a provider"""
    said = frame.said(span)
    return "welcometocline" in said and "connectamodelprovider" in said and "entertoselect" in said


def promotes(frame: Frame, span: range) -> bool:
    """It offers something that Enter opens and any other key closes"""
    joined = " ".join(frame.trimmed[span.start : span.stop])
    return "Press Enter to open, any" in joined and "key to close" in joined


def asks_by_mode(frame: Frame, span: range) -> bool:
    """It names the mode and says yes"""
    lower = frame.lowered(span)
    return ("[act mode]" in lower or "[plan mode]" in lower) and "yes" in lower


def takes_choice(row: str) -> bool:
    """It takes a number of a range, or an answer"""
    return row.find("(") >= 0 and _CHOICE.search(row) is not None


def interruptible(frame: Frame, span: range) -> bool:
    """It has the interrupt pattern"""
    return interrupts(frame.lowered(span))


SCREEN: Final = AgentScreen(
    agent=Agent.CLINE,
    tail=0,
    question=dialog,
    rules=(
        Rule("cline.permission", RawState.BLOCKED, dialog, says("cline needs")),
        Rule("cline.permission", RawState.BLOCKED, keys, says("[n] deny")),
        Rule("cline.question", RawState.BLOCKED, dialog, says("cline is asking")),
        Rule("cline.promotion", RawState.BLOCKED, welcome, promotes, hints=("keytoclose",)),
        Rule("cline.signIn", RawState.BLOCKED, screen, signs_in, hints=("entertoselect",)),
        Rule("cline.toolApproval", RawState.BLOCKED, older, says("let cline use this tool")),
        Rule("cline.modeApproval", RawState.BLOCKED, older, asks_by_mode),
        Rule("cline.choiceOrType", RawState.BLOCKED, older, row(takes_choice)),
        Rule("cline.spinnerBullet", RawState.WORKING, bullet, holds, needs=Glyph.BRAILLE, style=Style.BRAILLE),
        Rule("cline.interruptHint", RawState.WORKING, older, interruptible),
        Rule("cline.idleComposer", RawState.IDLE, composer, holds, needs=Glyph.CHEVRON),
        Rule("cline.menu", RawState.IDLE, menu, holds, needs=Glyph.BOX),
        Rule("cline.menu", RawState.IDLE, overlaid, says("esc to close")),
        Rule("cline.boxedComposer", RawState.IDLE, boxed, holds, needs=Glyph.BOX),
    ),
)
