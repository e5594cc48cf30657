"""GitHub Copilot's screens: the older interface (detection.md §2.9) and what 1.0.102 shows."""

import re
from typing import Final

from prowl_svc._fast.rows_glyphs import Glyph, Kind
from prowl_svc.model.agents import Agent
from prowl_svc.model.state import RawState, Style
from prowl_svc.screens.frame import Frame
from prowl_svc.screens.regions import last_rows, ruled_composer, run_above
from prowl_svc.screens.rules import AgentScreen, Rule, holds, says

__all__ = ["SCREEN"]

_SIZE: Final = r"(?: *· *[0-9]+(?:\.[0-9]+)? *[kmgt]?i?b)?"
_FOOTER: Final = re.compile(rf"[∙∘○◎◉] +working{_SIZE} +esc +interrupt(?:\s|$)", re.IGNORECASE)
#: The newer footer shows ● too, and other hints than to interrupt.
_NEWER: Final = re.compile(r"[∙∘○◎◉●] +(?:Working|Thinking)(?: |$)")
_LIVE: Final = re.compile(r"[∙∘○◎◉] +\w+.*\besc\b", re.IGNORECASE)
_WAITING: Final = re.compile(r"[∙∘○◎◉●] +Waiting for (?:[0-9]+ )?background agents?\b")
_CHOICE: Final = re.compile(r"│ *❯ *[0-9]+\.")
_TABS: Final = ("[Sessions]", "[Issues]", "[Pull requests]", "[Gists]")
_RULED: Final = ruled_composer("❯")
_TAIL: Final = last_rows(24)

# -- where things are --------------------------------------------------------------------------------------------------


def _barred(frame: Frame) -> range:
    """Return the prompt between half blocks that terminals with more colours get: ╻▄, rows led by ┃, ╹▀."""
    bottom = frame.heads.rfind("╹")
    if bottom < 2 or frame.trimmed[bottom][1:2] != "▀":
        return range(0)
    top = bottom - 1
    while top > 0 and frame.heads[top] == "┃":
        top -= 1
    return range(top, bottom + 1) if frame.heads[top] == "╻" else range(0)


def _prompt(frame: Frame) -> tuple[range, bool]:
    """Return the lowest prompt, between rules or half blocks, and whether it filters a picker."""
    box = frame.fact(_barred) or frame.fact(_RULED)
    if not box:
        return box, False
    said = frame.said(range(box.stop, frame.end))
    return box, "entertoselect" in said and "esctocancel" in said


def composer(frame: Frame) -> range:
    """The composer: a prompt between two rules or half blocks, and no picker's hints under it."""
    box, filters = frame.fact(_prompt)
    return range(0) if filters else box


def picker(frame: Frame) -> range:
    """A picker that the user opened: its filter between two rules or half blocks, over its hints."""
    box, filters = frame.fact(_prompt)
    return range(box.start, frame.end) if filters else range(0)


def footer(frame: Frame) -> range:
    """The rows under the composer."""
    box = frame.fact(composer)
    return range(box.stop, frame.end) if box else range(0)


def status(frame: Frame) -> range:
    """The nearest rows over the composer, those over the row of the folder too."""
    box = frame.fact(composer)
    if not box:
        return range(0)
    rows = run_above(frame, box.start)
    if len(rows) == 1 and frame.heads[rows.start] in "~/" and not frame.trimmed[rows.start - 1]:
        over = run_above(frame, rows.start - 1)
        return range(max(over.start, over.stop - 2), rows.stop)
    return rows


def form(frame: Frame) -> range:
    """A form that ends the screen: the rows between its last two rules."""
    if not frame.nonblank or frame.kinds[frame.nonblank[-1]] != Kind.RULE:
        return range(0)
    bottom = frame.nonblank[-1]
    top = frame.kinds.rfind(Kind.RULE, 0, bottom)
    return range(top, bottom + 1) if top >= 0 else range(0)


def box(frame: Frame) -> range:
    """The last 16 non-blank rows of a screen that ends in the bottom of a box."""
    if not frame.nonblank or frame.heads[frame.nonblank[-1]] != "╰":
        return range(0)
    return frame.last(16)


def older(frame: Frame) -> range:
    """The last 24 non-blank rows of a screen without the newer composer or a picker."""
    return range(0) if frame.fact(_prompt)[0] else frame.fact(_TAIL)


def header(frame: Frame) -> range:
    """The first row of the screen."""
    return range(frame.nonblank[0], frame.nonblank[0] + 1) if frame.nonblank else range(0)


def help_row(frame: Frame) -> range:
    """The row that ends the screen."""
    return range(frame.nonblank[-1], frame.end) if frame.nonblank else range(0)


# -- what they say -----------------------------------------------------------------------------------------------------


def shows_other_tab(frame: Frame, span: range) -> bool:
    """It marks another tab than the current session's"""
    row = frame.trimmed[span.start]
    return row.startswith("Current  ") and any(tab in row for tab in _TABS)


def picks(frame: Frame, span: range) -> bool:
    """It points at a numbered choice, and its last three rows say enter to select and esc to cancel"""
    said = frame.said(frame.last(3)).lower()
    if "entertoselect" not in said or "esctocancel" not in said:
        return False
    return any(_CHOICE.match(row) for row in frame.trimmed[span.start : span.stop])


def asks(frame: Frame, span: range) -> bool:
    """It ends in enter accept and esc cancel"""
    last = frame.last(5)
    said = frame.said(range(max(span.start, last.start), span.stop))
    return ("enteraccept" in said or "entertoaccept" in said) and ("esccancel" in said or "esctocancel" in said)


def boxes_a_question(frame: Frame, span: range) -> bool:
    """A box's row starts with “do you want”"""
    return "│ do you want" in frame.lowered(span)


def confirms(frame: Frame, span: range) -> bool:
    """It says “confirm with” and “enter”"""
    lower = frame.lowered(span)
    return "confirm with" in lower and "enter" in lower


def _has(frame: Frame, span: range, pattern: re.Pattern[str]) -> bool:
    """Tell whether a row that a dot leads matches; an answer's rows are indented more."""
    if not frame.glyphs & Glyph.CIRCLE:
        return False
    heads, indents = frame.heads, frame.indents
    return any(
        heads[number] in "∙∘○◎◉●" and indents[number] <= 2 and pattern.match(frame.trimmed[number]) for number in span
    )


def has_footer(frame: Frame, span: range) -> bool:
    """A row: a dot, Working, perhaps a size, and esc interrupt"""
    return any(_FOOTER.match(row) for row in frame.trimmed[span.start : span.stop])


def works(frame: Frame, span: range) -> bool:
    """A row: a dot and Working"""
    return _has(frame, span, _NEWER)


def is_live(frame: Frame, span: range) -> bool:
    """A row: a dot that moves, a label and an Esc hint"""
    return _has(frame, span, _LIVE)


def waits(frame: Frame, span: range) -> bool:
    """A row waits for background agents"""
    return _has(frame, span, _WAITING)


SCREEN: Final = AgentScreen(
    agent=Agent.COPILOT,
    tail=0,
    rules=(
        Rule("copilot.viewer", RawState.UNKNOWN, header, shows_other_tab),
        Rule("copilot.picker", RawState.BLOCKED, box, picks, needs=Glyph.CHEVRON),
        Rule("copilot.askUser", RawState.BLOCKED, form, asks, needs=Glyph.BOX, hints=("accept",)),
        Rule("copilot.askUser", RawState.BLOCKED, older, says("copilot needs information") & asks, hints=("accept",)),
        Rule("copilot.boxedQuestion", RawState.BLOCKED, older, boxes_a_question, needs=Glyph.BOX),
        Rule("copilot.confirmHint", RawState.BLOCKED, older, confirms),
        Rule("copilot.workingFooter", RawState.WORKING, footer, works, style=Style.DOT_CYCLE),
        Rule(
            "copilot.workingFooter",
            RawState.WORKING,
            last_rows(5),
            has_footer,
            needs=Glyph.CIRCLE,
            style=Style.DOT_CYCLE,
        ),
        Rule("copilot.backgroundWork", RawState.WORKING, footer, waits, style=Style.DOT_CYCLE),
        Rule("copilot.backgroundWork", RawState.WORKING, status, waits, style=Style.DOT_CYCLE),
        Rule("copilot.statusRow", RawState.WORKING, status, is_live, style=Style.DOT_CYCLE),
        Rule("copilot.cancelHint", RawState.WORKING, older, says("esc to cancel")),
        Rule("copilot.idleComposer", RawState.IDLE, composer, holds, needs=Glyph.BOX),
        Rule("copilot.menu", RawState.IDLE, picker, holds, needs=Glyph.BOX),
        Rule("copilot.menu", RawState.IDLE, help_row, says("↑/↓ scroll · esc close"), needs=Glyph.ARROW),
    ),
)
