"""Grok's screens: the older interface (detection.md §2.15) and the full, compact and minimal ones of 1.0."""

import re
from typing import Final

from prowl_svc._fast.rows_glyphs import Glyph, Kind
from prowl_svc.model.agents import Agent
from prowl_svc.model.state import RawState, Style
from prowl_svc.screens.frame import Frame
from prowl_svc.screens.regions import boxed_composer, is_braille_row, is_spinner_row, screen, style_of
from prowl_svc.screens.rules import AgentScreen, Rule, TitleRules, holds, says

__all__ = ["SCREEN"]

_OPTION: Final = re.compile(r"┃ +[0-9a-z] \([●○◉◯]\) ")
_COUNTED: Final = r"[1-9][0-9]* (?:command|monitor|loop|subagent|task)s?"
#: What still runs between turns, or what a turn waits for; a narrow pane cuts the end.
_BACKGROUND: Final = re.compile(
    rf"\S (?:{_COUNTED}(?: · {_COUNTED})*(?: still running.*| .*…)|waiting · send a message.*)"
)
_LOGIN: Final = re.compile(r"^Login with .*\S +l$", re.MULTILINE)
_QUIT: Final = re.compile(r"^(?:Quit +q|No, quit +n|n +No, quit)$", re.MULTILINE)
_WORKING_TITLE: Final = re.compile(r"[\u2800-\u28ff] - ")
_YES: Final = ("yes, proceed", "yes, allow", "yes, always allow", "(always-approve mode)")
_NO: Final = ("no, reject", "no, and tell grok")
_ALWAYS: Final = ("always allow this command", "always allow on all sessions", "always allow this exact command")
_STANDING: Final = ("yes, and always allow this exact command", "yes, allow all edits")
_QUESTIONS: Final = (
    "waiting on answers for",
    "type your answer here",
    "pending: question",
    "pending: other (type your own answer",
)
_TOOLS: Final = ("tool calls in flight", "working tools", "still running:")

# -- where things are --------------------------------------------------------------------------------------------------

composer: Final = boxed_composer("❯")


def framed(frame: Frame) -> range:
    """The composer of the full and the compact interface: its box is indented."""
    box = frame.fact(composer)
    return box if box and frame.indents[box.start] else range(0)


def minimal(frame: Frame) -> range:
    """The composer of the minimal interface: a row led by ❯ over the row with the key of the transcript."""
    last = frame.nonblank[-2:]
    if len(last) == 2 and frame.trimmed[last[1]].endswith("ctrl+o transcript"):
        row = frame.heads.rfind("❯", 0, last[1])
        return range(row, frame.end) if row >= 0 else range(0)
    return range(0)


def status(frame: Frame) -> range:
    """The status row above the composer: indented less than the transcript, more than the composer."""
    box = frame.fact(framed)
    if not box:
        return range(0)
    indent = frame.indents[box.start] + 2
    for row in range(box.start - 1, -1, -1):
        if frame.indents[row] == indent and frame.heads[row] not in " ❯#":
            return range(row, row + 1)
    return range(0)


def dialog(frame: Frame) -> range:
    """The rows led by ┃ with the row of the turn above them and all below, with no composer there."""
    last = frame.heads.rfind("┃")
    if last < 0 or frame.fact(composer):
        return range(0)
    first = last
    while first > 0 and (frame.heads[first - 1] == "┃" or frame.heads[max(first - 2, 0) : first] == "┃ "):
        first -= 1
    above = frame.above(first, 1)
    return range(above[0] if above and frame.heads[above[0]] == "◆" else first, frame.end)


def question(frame: Frame) -> range:
    """What the dialog asks, without the rows around it, which count time."""
    found = frame.fact(dialog)
    first = frame.heads.find("┃", found.start) if found else -1
    return range(first, frame.heads.rfind("┃") + 1) if first >= 0 else range(0)


def asked(frame: Frame) -> range:
    """Where the agent may ask: its dialog, else the whole tail of the older interface."""
    return frame.fact(dialog) or old_tail(frame)


def old_tail(frame: Frame) -> range:
    """The whole tail of a screen with neither an indented composer nor a dialog."""
    return range(0) if frame.fact(framed) or frame.fact(dialog) else range(frame.end)


# -- what they say -----------------------------------------------------------------------------------------------------


def answers(frame: Frame, span: range) -> bool:
    """It offers a yes, or to approve always, and a no"""
    lower = frame.lowered(span)
    return any(no in lower for no in _NO) and any(yes in lower for yes in _YES)


def permits(frame: Frame, span: range) -> bool:
    """It offers two of: to allow once, to allow always, to reject"""
    lower = frame.lowered(span)
    always = any(label in lower for label in _ALWAYS)
    reject = "reject" in lower
    return (always and reject) or ("allow once" in lower and (always or reject))


def allows_always(frame: Frame, span: range) -> bool:
    """It offers a standing permission"""
    lower = frame.lowered(span)
    return any(label in lower for label in _STANDING)


def questions(frame: Frame, span: range) -> bool:
    """It waits for answers to a question"""
    lower = frame.lowered(span)
    return any(label in lower for label in _QUESTIONS)


def awaits(frame: Frame, span: range) -> bool:
    """It awaits input, and there is a question mark, select or enter"""
    lower = frame.lowered(span)
    return "awaiting your input" in lower and ("?" in lower or "select" in lower or "enter" in lower)


def has_options(frame: Frame, span: range) -> bool:
    """A row is an option with its key and its mark"""
    return any(map(_OPTION.match, frame.trimmed[span.start : span.stop]))


def halts(frame: Frame, span: range) -> bool:
    """It is the row of a turn that stands still"""
    row = frame.trimmed[span.start]
    return row[0] == "◆" and row.endswith("[stop]")


def signs_in(frame: Frame, span: range) -> bool:
    """It offers to log in or to quit"""
    heads = frame.heads  # the letters tell most screens off for free
    if "L" not in heads or "Q" not in heads or "Login with" not in frame.text:
        return False
    return bool(_LOGIN.search(frame.text) and _QUIT.search(frame.text))


def trusts(frame: Frame, span: range) -> bool:
    """It asks to trust the directory, or to quit"""
    if "D" not in frame.heads or "Do you trust" not in frame.text or not _QUIT.search(frame.text):
        return False
    return "doyoutrustthecontentsofthisdirectory?" in frame.said(span)


def tools(frame: Frame, span: range) -> bool:
    """It counts tools that run"""
    lower = frame.lowered(span)
    return any(label in lower for label in _TOOLS)


def loads(frame: Frame, span: range) -> bool:
    """A row: Loading, alone or with dots"""
    return any(row == "Loading" or row.startswith(("Loading…", "Loading...")) for row in frame.trimmed)


def animates(frame: Frame, span: range) -> bool:
    """A row is led by a braille scalar and has a letter"""
    return any(
        frame.kinds[row] == Kind.BRAILLE and is_braille_row(frame.trimmed[row]) for row in range(span.start, span.stop)
    )


def spins(frame: Frame, span: range) -> bool:
    """A row is led by an animated glyph, with … and a letter"""
    return any(map(is_spinner_row, frame.trimmed[span.start : span.stop]))


def has_background(frame: Frame, span: range) -> bool:
    """A row says what still runs, or that the turn waits"""
    return any(map(_BACKGROUND.fullmatch, frame.trimmed[span.start : span.stop]))


def _style(frame: Frame, span: range) -> Style | None:
    row = next((row for row in frame.trimmed[span.start : span.stop] if is_spinner_row(row)), "")
    return style_of(row[0]) if row else None


def is_covered(frame: Frame) -> bool:
    """Neither a composer nor a dialog is there."""
    return not (frame.fact(composer) or frame.fact(dialog) or frame.fact(minimal))


def runs_again(frame: Frame) -> bool:
    """The status row moves."""
    span = frame.fact(status)
    return bool(span) and frame.kinds[span.start] == Kind.BRAILLE


SCREEN: Final = AgentScreen(
    agent=Agent.GROK,
    tail=24,
    question=question,
    rules=(
        Rule("grok.trust", RawState.BLOCKED, screen, trusts),
        Rule("grok.signIn", RawState.BLOCKED, screen, signs_in),
        Rule("grok.permissionAnswers", RawState.BLOCKED, asked, answers),
        Rule("grok.alwaysApproveHint", RawState.BLOCKED, asked, says("ctrl+o:always-approve")),
        Rule("grok.permissionMenu", RawState.BLOCKED, asked, permits),
        Rule("grok.alwaysAllowOption", RawState.BLOCKED, asked, allows_always),
        Rule("grok.question", RawState.BLOCKED, asked, questions),
        Rule("grok.awaitingInput", RawState.BLOCKED, asked, awaits),
        Rule("grok.options", RawState.BLOCKED, dialog, has_options, needs=Glyph.BOX),
        Rule("grok.halted", RawState.BLOCKED, status, halts, needs=Glyph.SQUARE),
        Rule("grok.background", RawState.WORKING, status, has_background, style=Style.DOT_CYCLE),
        Rule("grok.toolsInFlight", RawState.WORKING, old_tail, tools),
        Rule("grok.loadingRow", RawState.WORKING, old_tail, loads),
        Rule("grok.brailleRow", RawState.WORKING, status, animates, needs=Glyph.BRAILLE, style=Style.BRAILLE),
        Rule("grok.brailleRow", RawState.WORKING, old_tail, animates, needs=Glyph.BRAILLE, style=Style.BRAILLE),
        Rule("grok.spinnerRow", RawState.WORKING, status, spins, needs=Glyph.ELLIPSIS, style=_style),
        Rule("grok.spinnerRow", RawState.WORKING, old_tail, spins, needs=Glyph.ELLIPSIS, style=_style),
        Rule("grok.background", RawState.WORKING, old_tail, has_background, style=Style.DOT_CYCLE),
        Rule("grok.composer", RawState.IDLE, composer, holds, needs=Glyph.BOX),
        Rule("grok.composer", RawState.IDLE, minimal, holds, needs=Glyph.CHEVRON),
    ),
    title=TitleRules(
        working=lambda title: _WORKING_TITLE.match(title) is not None,
        blocked=lambda title: title.startswith("⚠ Action Required"),
        silent=is_covered,
        doubted=runs_again,
        style=Style.BRAILLE,
    ),
)
