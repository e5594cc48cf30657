"""Kimi's screens: the older interface (detection.md §2.10), kimi-cli 1.49 and Kimi Code 2.1."""

import re
from typing import Final

from prowl_svc._fast.rows_glyphs import Glyph, Kind
from prowl_svc.model.agents import Agent
from prowl_svc.model.state import RawState, Style
from prowl_svc.screens.frame import Frame
from prowl_svc.screens.regions import asks_to_confirm, inner, labelled_braille, last_box, style_of
from prowl_svc.screens.rules import AgentScreen, Rule, holds, says

__all__ = ["SCREEN"]

_INPUT: Final = re.compile(r"[─╌]{2} input(?: · plan)?(?: · [0-9]+ queued)? [─╌]*")
_PICKER: Final = "Ctrl+C cancel):"
_CHOICE: Final = re.compile(r"▶ [0-9]+\. ")
_OPTION: Final = re.compile(r"(?:→ )?\[(?:[0-9]|[ x✓])\] ")
#: Rows of kimi-cli that say without a spinner what it does.
_PLAIN: Final = re.compile(
    r"Thinking \S.*[0-9]+s(?: · .*)?|Retrying after .*|\S Compacting\.\.\.|(?:● )?Compacting context….*"
)
_BACKGROUND: Final = re.compile(r"\[[1-9][0-9]* (?:task|agent)s? running\]|⚙ (?:bash|agent): [1-9]")
_WORDS: Final = ("allow?", "confirm?", "approve?", "proceed?", "[y/n]", "(y/n)")
_WORKING: Final = (
    "thinking",
    "processing",
    "generating",
    "waiting for response",
    "ctrl+c to cancel",
    "ctrl-c to cancel",
)

# -- where things are --------------------------------------------------------------------------------------------------


def ruled_composer(frame: Frame) -> range:
    """The composer of kimi-cli: the row ── input ──, or a rule over $ in shell mode, and all below it."""
    row = frame.kinds.rfind(Kind.DASH)
    while row >= 0:
        if not frame.indents[row] and _INPUT.fullmatch(frame.trimmed[row]):
            return range(row, frame.end)
        row = frame.kinds.rfind(Kind.DASH, 0, row)
    row = frame.heads.rfind("$")
    if row <= 0 or frame.kinds[row - 1] != Kind.RULE or frame.indents[row - 1]:
        return range(0)
    return range(row - 1, frame.end) if frame.kinds.find(Kind.RULE, row) > 0 else range(0)


def boxed_composer(frame: Frame) -> range:
    """The composer of Kimi Code: the lowest box, with > or ! in its first row."""
    bottom = frame.kinds.rfind(Kind.BOTTOM)
    top = bottom - 1
    while top >= 0 and frame.kinds[top] == Kind.SIDE:
        top -= 1
    if top < 0 or top + 1 >= bottom or frame.heads[top] not in "╭├":
        return range(0)
    return range(top, bottom + 1) if inner(frame.trimmed[top + 1])[:1] in (">", "!") else range(0)


def composer(frame: Frame) -> range:
    """The composer."""
    return frame.fact(boxed_composer) or frame.fact(ruled_composer)


def activity_row(frame: Frame) -> range:
    """The row above the composer, below the last prompt of the user's, that says what is being done."""
    found = frame.fact(composer)
    if not found:
        return range(0)
    deepest = 2 if frame.heads[found.start] in "╭├" else 0  # both draw answers deeper than that
    for row in range(found.start - 1, max(frame.heads.rfind("✨", 0, found.start), -1), -1):
        text = frame.trimmed[row]
        if not text or frame.indents[row] > deepest:
            continue
        kind = frame.kinds[row]
        if kind == Kind.MOON or (kind == Kind.BRAILLE and labelled_braille(text)) or _PLAIN.fullmatch(text):
            return range(row, row + 1)
    return range(0)


def footer(frame: Frame) -> range:
    """The rows below the prompt."""
    found = frame.fact(composer)
    return range(found.start + 1, frame.end) if found else range(0)


def panel(frame: Frame) -> range:
    """What stands in the composer's place: the rows between two indented rules, or a list that waits for a key."""
    if frame.fact(composer):
        return range(0)
    bottom = frame.kinds.rfind(Kind.RULE)
    if bottom > 0 and frame.indents[bottom] == 1 and len(frame.below(bottom)) <= 3:
        return range(frame.kinds.rfind(Kind.RULE, 0, bottom) + 1, bottom)
    for row in range(frame.end - 1, -1, -1):
        if frame.trimmed[row].endswith(_PICKER):
            return range(row, frame.end)
    return range(0)


def question_box(frame: Frame) -> range:
    """The box of kimi-cli's questions."""
    if frame.fact(composer):
        return range(0)
    for row in range(frame.end - 1, -1, -1):
        if frame.kinds[row] == Kind.TOP:
            return range(row, frame.end) if frame.trimmed[row].startswith("╭─ question ─") else range(0)
    return range(0)


def question(frame: Frame) -> range:
    """What a dialog asks: the panel, else the lowest box."""
    return frame.fact(panel) or last_box(frame)


def asked(frame: Frame) -> range:
    """Where the agent may ask: in the panel, else on the whole screen without a composer."""
    return range(0) if frame.fact(composer) else frame.fact(panel) or range(frame.end)


def old_tail(frame: Frame) -> range:
    """The whole tail of a screen without a composer and without a panel."""
    return range(0) if frame.fact(composer) or frame.fact(panel) else range(frame.end)


# -- what they say -----------------------------------------------------------------------------------------------------


def has_word(frame: Frame, span: range) -> bool:
    """It says allow?, confirm?, approve?, proceed?, [y/n] or (y/n)"""
    lower = frame.lowered(span)
    return any(word in lower for word in _WORDS)


def confirms(frame: Frame, span: range) -> bool:
    """It asks, and offers a yes or points at a choice"""
    return asks_to_confirm(frame.lowered(span))


def approves(frame: Frame, span: range) -> bool:
    """It requests approval, or offers to approve once, for the session, or to reject, or is the approval panel"""
    lower = frame.lowered(span)
    if "requesting approval" in lower or (
        "approve once" in lower and "approve for this session" in lower and "reject" in lower
    ):
        return True
    text = frame.joined(span)
    return "─ approval" in text and "↵ confirm" in text


def chooses(frame: Frame, span: range) -> bool:
    """It points at a numbered choice, or wants feedback"""
    return any(map(_CHOICE.match, frame.trimmed[span.start : span.stop])) or "typefeedback·↵submit" in frame.said(span)


def questions(frame: Frame, span: range) -> bool:
    """It offers numbered options in brackets, or confirms or saves an answer"""
    rows = frame.trimmed[span.start : span.stop]
    if any(_OPTION.match(inner(row)) for row in rows):
        return True
    said = frame.said(span)
    return "question" in said and ("↵confirm" in said or "↵save" in said or "pressentertosubmit" in said)


def authorizes(frame: Frame, span: range) -> bool:
    """It waits for the authorization of a sign-in"""
    return "Waiting for authorization" in frame.trimmed[span.start]


def has_working_word(frame: Frame, span: range) -> bool:
    """It says thinking, processing, generating, waiting for response or how to cancel"""
    lower = frame.lowered(span)
    return any(word in lower for word in _WORKING)


def runs_tool(frame: Frame, span: range) -> bool:
    """It says using, and a row starts with a braille scalar"""
    return Kind.BRAILLE in frame.kinds and "using " in frame.lowered(span)


def has_background(frame: Frame, span: range) -> bool:
    """It counts tasks or agents that run in the background"""
    return any(map(_BACKGROUND.search, frame.trimmed[span.start : span.stop]))


def _style(frame: Frame, span: range) -> Style | None:
    return style_of(frame.heads[span.start])


def _old_style(frame: Frame, span: range) -> Style | None:
    return Style.BRAILLE if Kind.BRAILLE in frame.kinds else None


_ENTER_UPDATE: Final = says("kimi code update available", "kimi-cli update available")

SCREEN: Final = AgentScreen(
    agent=Agent.KIMI,
    tail=24,
    question=question,
    rules=(
        Rule(
            "kimi.trust",
            RawState.BLOCKED,
            panel,
            says("trust this folder") & says("don't trust"),
            needs=Glyph.CHEVRON,
        ),
        Rule(
            "kimi.migrate",
            RawState.BLOCKED,
            panel,
            says("migrate from kimi-cli") & says("⏎ select"),
            needs=Glyph.CHEVRON,
        ),
        Rule(
            "kimi.update",
            RawState.BLOCKED,
            asked,
            _ENTER_UPDATE & says("enter confirm · esc continue", "not now, remind me next time"),
        ),
        Rule("kimi.signIn", RawState.BLOCKED, activity_row, authorizes, needs=Glyph.BRAILLE),
        Rule("kimi.approvalWord", RawState.BLOCKED, asked, has_word),
        Rule("kimi.confirmation", RawState.BLOCKED, asked, confirms),
        Rule("kimi.approvalPanel", RawState.BLOCKED, asked, approves),
        Rule("kimi.choice", RawState.BLOCKED, panel, chooses),
        Rule("kimi.question", RawState.BLOCKED, panel, questions),
        Rule("kimi.question", RawState.BLOCKED, question_box, questions, needs=Glyph.BOX),
        Rule("kimi.workingWord", RawState.WORKING, old_tail, has_working_word, style=_old_style),
        Rule("kimi.moonPhase", RawState.WORKING, old_tail, holds, needs=Glyph.MOON, style=Style.MOON),
        Rule("kimi.toolRow", RawState.WORKING, old_tail, runs_tool, needs=Glyph.BRAILLE, style=Style.BRAILLE),
        Rule("kimi.activityRow", RawState.WORKING, activity_row, holds, style=_style),
        Rule("kimi.background", RawState.WORKING, footer, has_background),
        Rule("kimi.composer", RawState.IDLE, composer, holds, needs=Glyph.BOX),
        Rule("kimi.menu", RawState.IDLE, panel, holds),
    ),
)
