"""OpenCode's screens: the older interface (detection.md §2.8) and what 1.18 shows."""

import re
from typing import Final

from prowl_svc._fast.rows_glyphs import Glyph, Kind
from prowl_svc.model.agents import Agent
from prowl_svc.model.state import RawState, Style
from prowl_svc.screens.frame import Frame
from prowl_svc.screens.regions import interrupts, last_rows, screen
from prowl_svc.screens.rules import AgentScreen, Rule, holds, text

__all__ = ["SCREEN"]

_BAR: Final = re.compile(r"(?:[⬝■]{4,}|\[⋯\])(?: |$)")
_TASK: Final = re.compile(r"[\u2800-\u28ff] .*\bTask — ")
_AGENTS: Final = re.compile(r"(?:^|[ ·])[1-9][0-9]* (?:background )?(?:sub)?agents?(?: running)?(?= |$)")
_HEADING: Final = re.compile(r"┃ +△ [A-Z]")
_UPDATE: Final = re.compile(r"\bUpdate Available {3,}.*\besc\b")
_TAIL: Final = last_rows(24)

# -- where things are --------------------------------------------------------------------------------------------------


def composer(frame: Frame) -> range:
    """The composer: rows led by ┃ down to the half-block rule led by ╹, under everything else led by ┃."""
    bottom = frame.heads.rfind("╹")
    if bottom < 1 or frame.trimmed[bottom][1:2] != "▀" or frame.heads.rfind("┃") > bottom:
        return range(0)
    top = bottom
    while top > 0 and frame.heads[top - 1] == "┃":
        top -= 1
    return range(top, bottom + 1)


def dialog(frame: Frame) -> range:
    """A dialog in the composer's place: the lowest run of rows led by ┃, with no composer under it."""
    if frame.fact(composer):
        return range(0)
    stop = frame.heads.rfind("┃") + 1
    top = stop
    while top > 0 and frame.heads[top - 1] == "┃":
        top -= 1
    return range(top, stop)


def footer(frame: Frame) -> range:
    """The rows under the composer."""
    box = frame.fact(composer)
    return range(box.stop, frame.end) if box else range(0)


def task_row(frame: Frame) -> range:
    """The lowest row over the composer that is led by a spinner."""
    box = frame.fact(composer)
    row = frame.kinds.rfind(Kind.BRAILLE, 0, box.start) if box else -1
    return range(row, row + 1) if row >= 0 else range(0)


def older(frame: Frame) -> range:
    """The last 24 non-blank rows of a screen without the newer composer."""
    return range(0) if frame.fact(composer) else frame.fact(_TAIL)


# -- what they say -----------------------------------------------------------------------------------------------------


def shows_child(frame: Frame, span: range) -> bool:
    """It leads from a subagent's session to its parent, the one before and the next"""
    joined = frame.joined(span)
    return "Parent " in joined and "Prev " in joined and "Next " in joined and not permits(frame, span)


def permits(frame: Frame, span: range) -> bool:
    """A row is headed by △, as all that concerns permissions is, or its last rows allow or reject"""
    if frame.glyphs & Glyph.TRIANGLE and any(_HEADING.match(row) for row in frame.trimmed[span.start : span.stop]):
        return True
    joined = frame.joined(range(max(span.start, span.stop - 5), span.stop))
    return "Allow once" in joined and "Reject" in joined


def answers(frame: Frame, span: range) -> bool:
    """It ends in the keys that answer or dismiss a question, side by side or in columns"""
    rows = [row for row in frame.trimmed[span.start : span.stop] if row[1:].strip()][-3:]
    said = " ".join(rows).lower()
    if "dismiss" not in said.rsplit("┃", 1)[-1]:
        return False
    return "esc" in said and any(word in said for word in ("submit", "confirm", "toggle"))


def selects(frame: Frame, span: range) -> bool:
    """It says esc dismiss, enter confirm, submit or toggle, and ↑↓ select or ⇆ tab"""
    lower = frame.lowered(span)
    if "esc dismiss" not in lower:
        return False
    if not any(word in lower for word in ("enter confirm", "enter submit", "enter toggle")):
        return False
    joined = frame.joined(span)
    return "↑↓ select" in joined or "⇆ tab" in joined


def offers_update(frame: Frame, span: range) -> bool:
    """A dialog over it offers a new release"""
    if "A new release v" not in frame.joined(span):
        return False
    return any(_UPDATE.search(row) for row in frame.trimmed)


def has_bar(frame: Frame, span: range) -> bool:
    """It starts with the moving bar, or what stands for it without animations"""
    return _BAR.match(frame.trimmed[span.start]) is not None


def interruptible(frame: Frame, span: range) -> bool:
    """It has the interrupt pattern"""
    return interrupts(frame.lowered(span))


def runs_agents(frame: Frame, span: range) -> bool:
    """It counts agents that run"""
    return "agent" in frame.joined(span) and _AGENTS.search(" ".join(frame.lowered(span).split("\n"))) is not None


def is_task(frame: Frame, span: range) -> bool:
    """It is an agent's task"""
    return _TASK.match(frame.trimmed[span.start]) is not None


SCREEN: Final = AgentScreen(
    agent=Agent.OPENCODE,
    tail=0,
    question=dialog,
    rules=(
        Rule("opencode.viewer", RawState.UNKNOWN, dialog, shows_child),
        Rule("opencode.permission", RawState.BLOCKED, dialog, permits),
        Rule("opencode.permission", RawState.BLOCKED, older, text("△ Permission required"), needs=Glyph.TRIANGLE),
        Rule("opencode.selectionFooter", RawState.BLOCKED, dialog, answers),
        Rule("opencode.selectionFooter", RawState.BLOCKED, older, selects, needs=Glyph.ARROW),
        Rule("opencode.update", RawState.BLOCKED, screen, offers_update),
        Rule("opencode.interruptHint", RawState.WORKING, footer, has_bar, style=Style.SYMBOL_CYCLE),
        Rule("opencode.interruptHint", RawState.WORKING, footer, interruptible),
        Rule("opencode.interruptHint", RawState.WORKING, older, interruptible),
        Rule("opencode.backgroundWork", RawState.WORKING, task_row, is_task, style=Style.BRAILLE),
        Rule("opencode.backgroundWork", RawState.WORKING, footer, runs_agents),
        Rule("opencode.idleComposer", RawState.IDLE, composer, holds, needs=Glyph.BOX),
    ),
)
