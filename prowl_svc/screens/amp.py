"""Amp's screens: a status row under the composer, or, in the newer interface, in its border (detection.md §2.12)."""

import re
from typing import Final

from prowl_svc._fast.rows_glyphs import Glyph, Kind
from prowl_svc.model.agents import Agent
from prowl_svc.model.state import RawState, Style
from prowl_svc.screens.frame import Frame
from prowl_svc.screens.regions import box_above, inner, last_rows
from prowl_svc.screens.rules import AgentScreen, Rule, TitleRules, holds, says

__all__ = ["SCREEN"]

_TAIL: Final = last_rows(24)
_WAVES: Final = "∼≈≋"
_LETTER: Final = re.compile(r"[^\W_]")
_STATUS: Final = re.compile(
    r"[∼≈≋] *[^\W\d_]|(?:Streaming response|Waiting for response|Running tools)\.\.\.|.*\bEsc (?:again )?to cancel\b"
)
_TITLES: Final = ("╭─ Approval Required ", "╭─ Tell Amp what to do differently ")
_ANSWERS: Final = (
    "allowallforthissession",
    "allowallforeverysession",
    "allowfileforeverysession",
    "denywithfeedback",
)
_QUESTIONS: Final = (
    "waitingforapproval",
    "invoketool",
    "runthiscommand?",
    "alloweditingfile:",
    "allowcreatingfile:",
    "confirmtoolcall",
)

# -- where things are --------------------------------------------------------------------------------------------------


def lowest(frame: Frame) -> range:
    """The lowest box, under which at most two rows stand."""
    kinds = frame.kinds
    bottom = kinds.rfind(Kind.BOTTOM)
    if bottom < 1 or (len(frame.nonblank) > 2 and frame.nonblank[-3] > bottom):
        return range(0)
    row = bottom - 1
    while row >= 0 and kinds[row] == Kind.SIDE:
        row -= 1
    return range(row, bottom + 1) if row >= 0 and kinds[row] == Kind.TOP else range(0)


def composer(frame: Frame) -> range:
    """The composer: the lowest box, with labels in its upper border and no question in it."""
    box = frame.fact(lowest)
    if not box:
        return box
    top = frame.trimmed[box.start]
    return range(0) if top.startswith(_TITLES) or _LETTER.search(top) is None else box


def dialog(frame: Frame) -> range:
    """The composer, or the box that stands in its place, with the box directly over it."""
    box = frame.fact(lowest)
    if not box:
        return box
    over = box_above(frame, box.start)
    return range(over.start, box.stop) if over else box


def notice(frame: Frame) -> range:
    """A box in the composer's place that is headed by Error."""
    box = frame.fact(lowest)
    return box if box and inner(frame.trimmed[box.start + 1]) == "Error" else range(0)


def border(frame: Frame) -> range:
    """The lower border of a box that ends the screen."""
    last = frame.nonblank[-1] if frame.nonblank else -1
    return range(last, last + 1) if last >= 0 and frame.heads[last] == "╰" else range(0)


def _border_status(frame: Frame) -> str:
    """Return what the lower border says at its left end, "" for a plain one."""
    span = frame.fact(border)
    if not span:
        return ""
    return frame.trimmed[span.start][1:].split("─", 1)[0].strip(" ╯" + _WAVES)


def status(frame: Frame) -> range:
    """The rows under the composer."""
    box = frame.fact(composer)
    return range(box.stop, frame.end) if box else range(0)


def older(frame: Frame) -> range:
    """The last 24 non-blank rows of a screen without a labelled composer."""
    return range(0) if frame.fact(composer) else frame.fact(_TAIL)


def prompt(frame: Frame) -> range:
    """The last rows of a screen without composer."""
    return range(0) if frame.fact(composer) else frame.last(4)


# -- what they say -----------------------------------------------------------------------------------------------------


def is_cut(frame: Frame, span: range) -> bool:
    """It is no border of a whole box, or it says that Amp is disconnected"""
    said = frame.fact(_border_status)
    if said in ("Disconnected", "Amp Is Redeploying"):
        return True
    return not frame.fact(lowest) and not said


def logs_in(frame: Frame, span: range) -> bool:
    """It ends in a question of the login"""
    said = frame.said(span)
    return said.endswith(("[(y)es,(n)o]:", "pasteyourcodehere:"))


def welcomes(frame: Frame, span: range) -> bool:
    """It ends in the keys that lead through the first start"""
    return frame.said(span).endswith(("spacetocontinue", "entertogetstarted"))


def approves(frame: Frame, span: range) -> bool:
    """It offers to approve, another scope or a denial, under one of the dialogs' titles or with ▸ at an answer"""
    said = frame.said(span)
    if "approve" not in said or not any(answer in said for answer in _ANSWERS):
        return False
    return "▸●" in said or any(question in said for question in _QUESTIONS)


def chooses(frame: Frame, span: range) -> bool:
    """A row points at an answer with ‣, or the box is headed as an approval"""
    if frame.trimmed[span.start].startswith(_TITLES):
        return True
    if not frame.glyphs & Glyph.TRIANGLE:
        return False
    return any(row.startswith("│ ‣ ") for row in frame.trimmed[span.start : span.stop])


def dismisses(frame: Frame, span: range) -> bool:
    """It can only be dismissed"""
    return "‣dismiss" in frame.said(span)


def retries(frame: Frame, span: range) -> bool:
    """It says when Amp retries by itself"""
    return "(auto-retryin" in frame.said(span)


def has_border_status(frame: Frame, span: range) -> bool:
    """It says what Amp does"""
    return bool(frame.fact(_border_status))


def has_status(frame: Frame, span: range) -> bool:
    """A row is led by a wave, or says what Amp does, or how to cancel it"""
    return any(_STATUS.match(row) for row in frame.trimmed[span.start : span.stop] if row)


def _has_no_composer(frame: Frame) -> bool:
    return not frame.fact(composer)


def _is_error(frame: Frame, span: range) -> bool:
    return bool(frame.fact(notice)) and (retries(frame, span) or dismisses(frame, span))


def needs_answer(frame: Frame, span: range) -> bool:
    """A row points at an answer with ‣, or the box is headed as an approval; not an error that only informs"""
    return chooses(frame, span) and not _is_error(frame, span)


SCREEN: Final = AgentScreen(
    agent=Agent.AMP,
    tail=0,
    question=dialog,
    rules=(
        Rule("amp.viewer", RawState.UNKNOWN, border, is_cut, needs=Glyph.BOX),
        Rule("amp.signIn", RawState.BLOCKED, prompt, logs_in, hints=("(n)o]:", "codehere:")),
        Rule("amp.onboarding", RawState.BLOCKED, prompt, welcomes, hints=("spacetocontinue", "entertogetstarted")),
        Rule("amp.approval", RawState.BLOCKED, older, approves),
        Rule("amp.dialog", RawState.BLOCKED, dialog, needs_answer, needs=Glyph.BOX),
        Rule("amp.retry", RawState.WORKING, notice, retries, needs=Glyph.TRIANGLE),
        Rule(
            "amp.borderStatus",
            RawState.WORKING,
            border,
            has_border_status,
            needs=Glyph.BOX,
            style=Style.SYMBOL_CYCLE,
        ),
        Rule("amp.cancelHint", RawState.WORKING, status, has_status, style=Style.SYMBOL_CYCLE),
        Rule("amp.cancelHint", RawState.WORKING, older, says("esc to cancel")),
        Rule("amp.idleComposer", RawState.IDLE, composer, holds, needs=Glyph.BOX),
        Rule("amp.notice", RawState.IDLE, notice, dismisses, needs=Glyph.TRIANGLE),
    ),
    title=TitleRules(
        working=lambda title: "\u2801" <= title[:1] <= "\u28ff",
        silent=_has_no_composer,
        style=Style.BRAILLE,
    ),
)
