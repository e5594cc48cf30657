"""Qwen Code's screens: the older boxed interface (detection.md §2.13) and what 0.24 shows, in any language."""

import re
from typing import Final

from prowl_svc._fast.rows_glyphs import Glyph, Kind
from prowl_svc.model.agents import Agent
from prowl_svc.model.state import RawState, Style
from prowl_svc.screens.frame import Frame
from prowl_svc.screens.regions import (
    asks_to_confirm,
    boxes,
    final_box,
    inner,
    is_braille_row,
    last_rows,
    rule_above,
    run_above,
    selected_choice,
)
from prowl_svc.screens.rules import AgentScreen, Rule, TitleRules, holds, row, says

__all__ = ["SCREEN"]

_PROMPTS: Final = frozenset(">!*")
_BACKGROUND: Final = re.compile(
    r"[·,] ?[1-9][0-9]* (?:shell|(?:local )?agent|monitor|workflow)s?(?= *$|,| [·⚠⏳])", re.MULTILINE
)
_RUNNING: Final = re.compile(r"^○\ufe0e? .* ▶ [0-9]+[smh]")
_TIMED: Final = re.compile(r"\([0-9]+[smh]")
_ANSWERS: Final = frozenset("✦◆")
_TAIL: Final = last_rows(24)
_KEYS: Final = ("tonavigate", "↑/↓:navigate")

# -- where things are --------------------------------------------------------------------------------------------------


def composer(frame: Frame) -> range:
    """The composer: the lowest two rules, with a prompt under the upper one."""
    bottom = rule_above(frame, frame.end, "─")
    top = rule_above(frame, bottom, "─")
    return range(top, bottom + 1) if top >= 0 and frame.heads[top + 1] in _PROMPTS else range(0)


def boxed(frame: Frame) -> range:
    """The older composer: the lowest box, with a prompt in its first row."""
    box = next(boxes(frame), range(0))
    return box if len(box) > 2 and inner(frame.trimmed[box.start + 1])[:1] in _PROMPTS else range(0)


def dialog(frame: Frame) -> range:
    """A dialog in a box that ends a screen without composer, but for a notice under it."""
    box = final_box(frame, 1)
    if not box or frame.fact(composer) or frame.fact(boxed) == box:
        return range(0)
    return range(box.start, frame.end)


def choices(frame: Frame) -> range:
    """Numbered choices without a box: from the lowest one that › or ❯ points at to the end, with no composer."""
    if frame.fact(composer) or frame.fact(boxed):
        return range(0)
    pointer = max(frame.heads.rfind("›"), frame.heads.rfind("❯"))
    if pointer < 0 or selected_choice(frame.trimmed[pointer], "›❯") is None:
        return range(0)
    return range(pointer, frame.end)


def menu(frame: Frame) -> range:
    """A dialog that the user opened: in a box, cut off by the pane or not, or one that ends in key hints."""
    if not frame.nonblank or frame.fact(composer):
        return range(0)
    box = frame.fact(dialog)
    if box:
        return box
    last = frame.nonblank[-1]
    if frame.kinds[last] == Kind.SIDE:
        top = last
        while top >= 0 and frame.kinds[top] == Kind.SIDE:
            top -= 1
        return range(top, frame.end) if top >= 0 and frame.kinds[top] == Kind.TOP else range(0)
    span = frame.last(2)
    said = frame.said(span)
    if frame.kinds[last] == Kind.BRAILLE or "esc" not in said:
        return range(0)
    return span if any(key in said for key in _KEYS) else range(0)


def older(frame: Frame) -> range:
    """A dialog, or the last 24 non-blank rows of a screen without the newer composer."""
    if frame.fact(composer):
        return range(0)
    return frame.fact(dialog) or (range(0) if frame.fact(menu) else frame.fact(_TAIL))


def _under_scrollbar(frame: Frame, rows: range) -> range:
    """Return the rows below the transcript, whose rows end in a scrollbar."""
    for number in reversed(rows):
        if frame.trimmed[number][-1] in "█│":
            return range(number + 1, rows.stop)
    return rows


def status(frame: Frame) -> range:
    """The status over the newer composer: from its spinner on, with what is queued below it."""
    box = frame.fact(composer)
    if not box:
        return range(0)
    rows = _under_scrollbar(frame, run_above(frame, box.start))
    first = frame.kinds.rfind(Kind.BRAILLE, rows.start, rows.stop)
    if first < 0 and rows and not frame.trimmed[rows.start - 1]:  # a blank row sets off what is queued
        rows = _under_scrollbar(frame, run_above(frame, rows.start - 1))
        first = frame.kinds.rfind(Kind.BRAILLE, rows.start, rows.stop)
    return range(first, rows.stop) if first >= 0 else range(0)


def wait_row(frame: Frame) -> range:
    """The row led by a spinner that ends a screen without composer, under choices, with no time in it."""
    last = frame.nonblank[-1] if frame.nonblank else 0
    if not last or frame.kinds[last] != Kind.BRAILLE or _TIMED.search(frame.trimmed[last]):
        return range(0)
    offered = frame.fact(choices)
    if not offered or any(scalar in _ANSWERS for scalar in frame.heads[offered.start : last]):
        return range(0)
    return range(last, frame.end)


def footer(frame: Frame) -> range:
    """The rows under the newer composer."""
    box = frame.fact(composer)
    return range(box.stop, frame.end) if box else range(0)


# -- what they say -----------------------------------------------------------------------------------------------------


def confirms(frame: Frame, span: range) -> bool:
    """It has the confirmation vocabulary"""
    return asks_to_confirm(frame.lowered(span))


def has_no_message(frame: Frame, span: range) -> bool:
    """No message of the user's stands above"""
    return not any(row.startswith("> ") for row in frame.trimmed[: span.start])


def starts_up(frame: Frame, span: range) -> bool:
    """It is a question of the start: trust, a welcome back, an editor to connect to, or a sign-in that waits"""
    said = frame.said(span)
    if "trust" in said and "trustthisfolder" in said:
        return True
    return (
        "whatwouldyouliketodo?" in said
        or "waitingforqwenoauth" in said
        or "waitingforauthorization" in said
        or "doyouwanttoconnect" in said
        or "keepit?" in said
    )


def needs_approval(frame: Frame, span: range) -> bool:
    """It says that background work needs approval"""
    return runs_work(frame, span) and "⚠needsapproval" in frame.said(span)


def runs_work(frame: Frame, span: range) -> bool:
    """It counts shells, agents, monitors or workflows that run, or lists an agent that has not ended"""
    if _BACKGROUND.search(frame.lowered(span)) is not None:
        return True
    # A narrow pane cuts the count off; ✔ leads an agent that has ended.
    return any(frame.heads[row] == "○" and _RUNNING.search(frame.trimmed[row]) for row in span)


def spins(frame: Frame, span: range) -> Style | None:
    """Braille where a row is led by it."""
    return Style.BRAILLE if frame.kinds.find(Kind.BRAILLE, span.start, span.stop) >= 0 else None


def _has_no_composer(frame: Frame) -> bool:
    return not frame.fact(composer) and not frame.fact(boxed)


SCREEN: Final = AgentScreen(
    agent=Agent.QWEN,
    tail=0,
    rules=(
        Rule("qwen.confirmationWait", RawState.BLOCKED, older, says("waiting for user confirmation")),
        Rule("qwen.proceedQuestion", RawState.BLOCKED, older, says("do you want to proceed?")),
        Rule("qwen.choices", RawState.BLOCKED, wait_row, holds, needs=Glyph.BRAILLE),
        Rule(
            "qwen.signIn",
            RawState.BLOCKED,
            dialog,
            says(
                "connect a provider",
                "get started",
                "how would you like to authenticate",
                "terms of services and privacy",
            )
            & has_no_message,
            needs=Glyph.BOX,
        ),
        Rule("qwen.startQuestion", RawState.BLOCKED, dialog, starts_up, needs=Glyph.BOX),
        Rule("qwen.agentApproval", RawState.BLOCKED, footer, needs_approval, needs=Glyph.WARNING),
        Rule("qwen.confirmation", RawState.BLOCKED, older, confirms),
        Rule("qwen.cancelHint", RawState.WORKING, status, says("esc to cancel"), style=Style.BRAILLE),
        Rule("qwen.brailleRow", RawState.WORKING, status, row(is_braille_row), style=Style.BRAILLE),
        Rule("qwen.cancelHint", RawState.WORKING, older, says("esc to cancel", "ctrl+c to cancel"), style=spins),
        Rule(
            "qwen.brailleRow",
            RawState.WORKING,
            older,
            row(is_braille_row),
            needs=Glyph.BRAILLE,
            style=Style.BRAILLE,
        ),
        Rule("qwen.backgroundWork", RawState.WORKING, footer, runs_work),
        Rule("qwen.idleComposer", RawState.IDLE, composer, holds, needs=Glyph.BOX),
        Rule("qwen.menu", RawState.IDLE, menu, holds),
        Rule("qwen.boxedComposer", RawState.IDLE, boxed, holds, needs=Glyph.BOX),
    ),
    title=TitleRules(
        working=lambda title: title[:1] in ("◐", "◓", "◑", "◒"),
        blocked=lambda title: title[:1] == "✳",
        silent=_has_no_composer,
        style=Style.DOT_CYCLE,
    ),
)
