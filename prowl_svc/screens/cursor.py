"""Cursor's screens (detection.md §2.6); drawn ones only, since its CLI cannot be had for recording."""

from typing import Final

from prowl_svc._fast.rows_glyphs import Glyph
from prowl_svc.model.agents import Agent
from prowl_svc.model.state import RawState, Style
from prowl_svc.screens.frame import Frame
from prowl_svc.screens.regions import boxes, inner, screen
from prowl_svc.screens.rules import AgentScreen, Rule, holds, row, says

__all__ = ["SCREEN"]

_HEADERS: Final = ("run this command?", "run command?", "not in allowlist", "to allowlist?", "allow execution")

# -- where things are --------------------------------------------------------------------------------------------------


def boxed(frame: Frame) -> range:
    """The composer in a box: the lowest box, whose first row starts with →."""
    box = next(boxes(frame), range(0))
    return box if len(box) > 2 and inner(frame.trimmed[box.start + 1]).startswith("→") else range(0)


def composer(frame: Frame) -> range:
    """The composer: the lowest row that → leads, with its draft, set off by blank rows, over the status."""
    prompt = frame.heads.rfind("→")
    if prompt < 0:
        return range(0)
    end = prompt + 1
    while end < frame.end and frame.trimmed[end]:
        end += 1
    if prompt and frame.trimmed[prompt - 1]:
        return range(0)
    return range(prompt, end)


# -- what they say -----------------------------------------------------------------------------------------------------


def permits(frame: Frame, span: range) -> bool:
    """A permission's header, and a row with (y) and run or allow, or a way to skip or keep"""
    said = frame.said(span)
    if not any(header.replace(" ", "") in said for header in _HEADERS):
        return False
    if "skip(escorn)" in said or "keep(n)" in said:
        return True
    return any("(y)" in row and ("run" in row or "allow" in row) for row in frame.lowered(span).split("\n"))


def is_hexagon(row: str) -> bool:
    """It is led by a hexagon and holds “ing”"""
    return row[0] in "⬡⬢" and "ing" in row.lower()


SCREEN: Final = AgentScreen(
    agent=Agent.CURSOR,
    tail=24,
    rules=(
        Rule(
            "cursor.workspaceTrust",
            RawState.BLOCKED,
            screen,
            says("workspace trust required", "trust this workspace"),
        ),
        Rule("cursor.enterKeyPrompt", RawState.BLOCKED, screen, says("(y) (enter)")),
        Rule("cursor.runPermission", RawState.BLOCKED, screen, permits),
        Rule("cursor.trustingWorkspace", RawState.WORKING, screen, says("trusting workspace")),
        Rule("cursor.stopHint", RawState.WORKING, screen, says("ctrl+c to stop")),
        Rule(
            "cursor.hexagonRow",
            RawState.WORKING,
            screen,
            row(is_hexagon),
            needs=Glyph.HEXAGON,
            style=Style.HEXAGON,
        ),
        Rule("cursor.idleComposer", RawState.IDLE, composer, holds, needs=Glyph.ARROW),
        Rule("cursor.boxedComposer", RawState.IDLE, boxed, holds, needs=Glyph.BOX),
    ),
)
