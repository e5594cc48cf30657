"""Gemini CLI's screens: the older boxed interface (detection.md §2.5) and what 0.61 shows."""

import re
from typing import Final

from prowl_svc._fast.rows_glyphs import Glyph, Kind
from prowl_svc.model.agents import Agent
from prowl_svc.model.state import RawState, Style
from prowl_svc.screens.frame import Frame
from prowl_svc.screens.regions import asks_to_confirm, boxes, final_box, inner, last_rows, rule_above, run_above
from prowl_svc.screens.rules import AgentScreen, Rule, TitleRules, holds, says, text

__all__ = ["SCREEN"]

_PROMPTS: Final = frozenset(">!*")
_OVER: Final = frozenset("✦✕ℹ⚠")
_BACKGROUND: Final = re.compile(r"(?:^| )[1-9][0-9]* background process(?:es)?(?:$| |\()")
_CHOICE: Final = re.compile(r"^[│ ]*● *[0-9]+\. ", re.MULTILINE)
_TAIL: Final = last_rows(24)

# -- where things are --------------------------------------------------------------------------------------------------


def composer(frame: Frame) -> range:
    """The composer: half-block rows, or rules, around a prompt; nothing of the transcript under it."""
    kinds, heads = frame.kinds, frame.heads
    bottom = rule_above(frame, frame.end, "▀─")
    top = rule_above(frame, bottom, "▄" if bottom >= 0 and heads[bottom] == "▀" else "─")
    if top < 0 or heads[top + 1] not in _PROMPTS:
        return range(0)
    # A message of the user's looks the same, but an answer or a box follows it.
    for row in range(bottom + 1, frame.end):
        if kinds[row] in "tu" or heads[row] in _OVER:
            return range(0)
    return range(top, bottom + 1)


def _is_composer(frame: Frame, box: range) -> bool:
    """Tell whether a box is the older composer: its first row is a prompt, and it offers no choices."""
    if len(box) < 3 or frame.kinds[box.start] != Kind.TOP or inner(frame.trimmed[box.start + 1])[:1] not in _PROMPTS:
        return False
    return not any("● " in row for row in frame.trimmed[box.start : box.stop])


def boxed(frame: Frame) -> range:
    """The older composer: the lowest box, with a prompt in it."""
    box = next(boxes(frame), range(0))
    return box if box and _is_composer(frame, box) else range(0)


def dialog(frame: Frame) -> range:
    """A dialog: the box that ends a screen without composer, but for a notice under it."""
    box = final_box(frame, 1)
    if not box or frame.fact(composer) or _is_composer(frame, box):
        return range(0)
    return range(box.start, frame.end)


def _by_the_user(frame: Frame, box: range) -> bool:
    """Tell whether a slash command of the user's stands right over a box."""
    for row in frame.above(box.start, 2):
        if frame.kinds[row] != Kind.RULE:
            return frame.trimmed[row].startswith("> /")
    return False


def asked(frame: Frame) -> range:
    """A dialog that Gemini put up."""
    box = frame.fact(dialog)
    return range(0) if not box or _by_the_user(frame, box) else box


def opened(frame: Frame) -> range:
    """A dialog that the user opened with a slash command, or that closes with Esc."""
    box = frame.fact(dialog)
    return box if box and (_by_the_user(frame, box) or "esctoclose" in frame.said(box)) else range(0)


def older(frame: Frame) -> range:
    """The last 24 non-blank rows of a screen without the newer composer or a dialog that the user opened."""
    return range(0) if frame.fact(composer) or frame.fact(opened) else frame.fact(_TAIL)


def mode(frame: Frame) -> range:
    """The rows over the newer composer, which a blank row sets off in narrow panes."""
    box = frame.fact(composer)
    if not box:
        return range(0)
    set_off = box.start > 0 and frame.kinds[box.start - 1] == Kind.BLANK
    return run_above(frame, box.start - set_off)


def status(frame: Frame) -> range:
    """The status over the newer composer: the row led by a spinner over the mode's rule, and what it wrapped to."""
    rows = frame.fact(mode)
    first = frame.kinds.rfind(Kind.BRAILLE, rows.start, rows.stop)
    return range(first, rows.stop) if first >= 0 else range(0)


# -- what they say -----------------------------------------------------------------------------------------------------


def confirms(frame: Frame, span: range) -> bool:
    """It has the confirmation vocabulary"""
    return asks_to_confirm(frame.lowered(span))


def is_dialog(frame: Frame, span: range) -> bool:
    """It selects a choice, or says how to answer"""
    said = frame.said(span)
    if "esctoclose" in said:
        return False
    if "●" in said and _CHOICE.search(frame.joined(span)):
        return True
    return "entertosubmit" in said or "(useentertoselect" in said


def runs_processes(frame: Frame, span: range) -> bool:
    """It counts background processes"""
    if "ackground" not in frame.joined(span):
        return False
    return _BACKGROUND.search(" ".join(frame.lowered(span).split("\n"))) is not None


def spins(frame: Frame, span: range) -> Style | None:
    """Braille where a row is led by it."""
    return Style.BRAILLE if frame.kinds.find(Kind.BRAILLE, span.start, span.stop) >= 0 else None


def _has_no_composer(frame: Frame) -> bool:
    return not frame.fact(composer) and not frame.fact(boxed)


def _runs_a_command(frame: Frame) -> bool:
    return bool(frame.fact(status))


SCREEN: Final = AgentScreen(
    agent=Agent.GEMINI,
    tail=0,
    question=asked,
    rules=(
        Rule("gemini.confirmationWait", RawState.BLOCKED, older, says("waiting for user confirmation")),
        Rule("gemini.confirmationWait", RawState.BLOCKED, status, says("waiting for user confirmation")),
        Rule(
            "gemini.dialogRow",
            RawState.BLOCKED,
            older,
            text("│ Apply this change", "│ Allow execution", "│ Do you want to proceed"),
            needs=Glyph.BOX,
        ),
        Rule("gemini.trust", RawState.BLOCKED, asked, says("do you trust"), needs=Glyph.BOX),
        Rule(
            "gemini.signIn",
            RawState.BLOCKED,
            asked,
            says(
                "how would you like to authenticate",
                "terms of services and privacy",
                "enter gemini api key",
                "waiting for auth",
                "waiting for verification",
            ),
            needs=Glyph.BOX,
        ),
        Rule(
            "gemini.question",
            RawState.BLOCKED,
            asked,
            says("enter to select", "enter to submit") & says("esc to cancel"),
            needs=Glyph.BOX,
        ),
        Rule("gemini.dialog", RawState.BLOCKED, asked, is_dialog, needs=Glyph.BOX),
        Rule("gemini.confirmation", RawState.BLOCKED, older, confirms),
        Rule("gemini.cancelHint", RawState.WORKING, status, says("esc to cancel"), style=Style.BRAILLE),
        Rule("gemini.cancelHint", RawState.WORKING, older, says("esc to cancel"), style=spins),
        Rule("gemini.backgroundWork", RawState.WORKING, mode, runs_processes),
        Rule("gemini.idleComposer", RawState.IDLE, composer, holds),
        Rule("gemini.boxedComposer", RawState.IDLE, boxed, holds, needs=Glyph.BOX),
        Rule("gemini.menu", RawState.IDLE, opened, holds, needs=Glyph.BOX),
    ),
    title=TitleRules(
        working=lambda title: title[:1] in ("✦", "⏲"),
        blocked=lambda title: title[:1] == "✋",
        doubted=_runs_a_command,
        silent=_has_no_composer,
    ),
)
