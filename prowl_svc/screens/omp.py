"""Oh My Pi's screens: labelled loaders (detection.md §2.4), and the status row and dialogs of 17.x and 18.x."""

import re
from typing import Final

from prowl_svc._fast.rows_glyphs import Glyph, Kind
from prowl_svc.model.agents import Agent
from prowl_svc.model.state import RawState, Style
from prowl_svc.screens.frame import Frame
from prowl_svc.screens.pi import LOADERS, is_loader
from prowl_svc.screens.regions import labelled_braille, last_box, last_rows, style_of
from prowl_svc.screens.rules import AgentScreen, Rule, TitleRules, holds, says

__all__ = ["SCREEN"]

_ESCAPES: Final = frozenset("⎋\U000f12b7")
_PREFIXES: Final = frozenset(("⎋", "\U000f12b7", "esc"))
_SUFFIXES: Final = ("⟦esc⟧", "⟨esc⟩", "[esc]")
#: The turn's spinner and timer, first in the status row or in the header of the box.
_TIMER: Final = re.compile(r"(?:[\u2800-\u28ff]|[-/\\|]) [0-9]+[smh](?:\s|$)")
_SPINS: Final = re.compile(r"[\u2800-\u28ff] \S")
#: What stands before the status: a corner, or a cap of the Nerd Font.
_CAPS: Final = "╭─ " + "".join(map(chr, range(0xE0B0, 0xE0D8)))
#: Background jobs and running sub-agents in the status row.
_JOBS: Final = re.compile(r"[⚙👥\uf013\uf0c0] ?[1-9][0-9]*(?:\s|$)|[◀<] (?:AG|bg) [1-9][0-9]*(?:\s|$)")
_WORKING_TITLE: Final = re.compile(r"π [\u2800-\u28ff○◔◑◕●\\|/:-](?: |$)")


# -- where things are --------------------------------------------------------------------------------------------------


def band(frame: Frame) -> range:
    """The composer of 18.x: a status row and the row ╰─ below it, with the draft."""
    row = frame.heads.rfind("╰")
    if row <= 0 or frame.kinds[frame.nonblank[-1]] == Kind.RULE:
        return range(0)
    text = frame.trimmed[row]
    if frame.indents[row] or (text != "╰─" and not text.startswith("╰─ ")) or text[-1] == "╯":
        return range(0)
    return range(row - 1, row + 1) if frame.trimmed[row - 1] else range(row, row + 1)


def box(frame: Frame) -> range:
    """The boxed composer of 17.x: a header in the upper border, the last draft row in the lower one."""
    found = last_box(frame)
    if found and frame.trimmed[found.start].startswith("╭── ") and frame.trimmed[found.stop - 1].startswith("╰─ "):
        return found
    return range(0)


def composer(frame: Frame) -> range:
    """The composer, with its status row or in its box."""
    return frame.fact(band) or frame.fact(box)


def status(frame: Frame) -> range:
    """The status row above the prompt, or the header of the boxed composer."""
    found = frame.fact(composer)
    return range(found.start, found.start + 1) if found else range(0)


def without_band(frame: Frame) -> range:
    """The tail of a screen without the status row that tells whether a turn runs."""
    return range(0) if frame.fact(band) else range(frame.end)


def foot(frame: Frame) -> range:
    """The last five non-blank rows of a screen without the status row."""
    return range(0) if frame.fact(band) else frame.last(5)


def above_composer(frame: Frame) -> range:
    """The nearest non-blank row above the composer."""
    found = frame.fact(composer)
    above = frame.above(found.start, 1) if found else []
    return range(above[0], above[0] + 1) if above else range(0)


def panel(frame: Frame) -> range:
    """The dialog in the composer's place: a box that ends the screen, or the rows above a rule that ends it."""
    if not frame.nonblank or frame.fact(composer):
        return range(0)
    bottom = frame.nonblank[-1]
    if frame.kinds[bottom] == Kind.RULE:
        return range(frame.kinds.rfind(Kind.RULE, 0, bottom) + 1, bottom + 1)
    if frame.kinds[bottom] != Kind.BOTTOM and not frame.trimmed[bottom].startswith("+-"):
        return range(0)
    top = bottom - 1
    while top >= 0 and frame.heads[top] in "│├|":
        top -= 1
    return range(max(top, 0), bottom + 1)


# -- what they say -----------------------------------------------------------------------------------------------------


def prompts(frame: Frame, span: range) -> bool:
    """One row holds both Enter select and Esc cancel, and is not that of the session list"""
    return any(
        "Enter select" in row and "Esc cancel" in row and "delete ·" not in row
        for row in frame.trimmed[span.start : span.stop]
    )


def loads(frame: Frame, span: range) -> bool:
    """A row is a loader text, with a braille scalar before it or without"""
    return any(map(is_loader, frame.trimmed[span.start : span.stop]))


def ends_with_escape(frame: Frame, span: range) -> bool:
    """A row ends with ⟦esc⟧, ⟨esc⟩ or [esc] behind a label"""
    return any(row.endswith(_SUFFIXES) and len(row) > 5 for row in frame.trimmed[span.start : span.stop])


def labelled(frame: Frame, span: range) -> bool:
    """A row: a braille scalar, a space and a label"""
    return any(
        frame.kinds[row] == Kind.BRAILLE and labelled_braille(frame.trimmed[row])
        for row in range(span.start, span.stop)
    )


def starts_with_escape(frame: Frame, span: range) -> bool:
    """A row: ⎋, its Nerd Font symbol or esc, then exactly a loader text"""
    for row in frame.trimmed[span.start : span.stop]:
        parts = row.split(None, 1)
        if len(parts) == 2 and parts[0] in _PREFIXES and parts[1] in LOADERS:
            return True
    return False


def turns(frame: Frame, span: range) -> bool:
    """It begins with a spinner and the turn's time"""
    row = frame.trimmed[span.start]
    header = row.lstrip(_CAPS)
    return _TIMER.match(header) is not None or (row[0] == "╭" and _SPINS.match(header) is not None)


def acts(frame: Frame, span: range) -> bool:
    """It is ⎋ or its Nerd Font symbol with what is being done"""
    row = frame.trimmed[span.start]
    if row[0] not in _ESCAPES or frame.indents[span.start] < 2:
        return False
    label = row[1:].strip()
    if not any(map(str.isalpha, label)):
        return False
    return not label.startswith(LOADERS) or label in LOADERS or "  " in label


def has_jobs(frame: Frame, span: range) -> bool:
    """It counts background jobs or sub-agents"""
    return _JOBS.search(frame.trimmed[span.start]) is not None


def _style(frame: Frame, span: range) -> Style | None:
    row = frame.kinds.rfind(Kind.BRAILLE, span.start, span.stop)
    return Style.BRAILLE if row >= 0 else None


def _loader_style(frame: Frame, span: range) -> Style | None:
    rows = [row for row in range(span.start, span.stop) if is_loader(frame.trimmed[row])]
    return style_of(frame.heads[rows[-1]]) if rows else None


def _header_style(frame: Frame, span: range) -> Style | None:
    return Style.BRAILLE if frame.masks[span.start] & Glyph.BRAILLE else None


def hidden(frame: Frame) -> bool:
    """Something covers the composer."""
    return not frame.fact(composer)


_CANCELS: Final = says("esc cancel")

SCREEN: Final = AgentScreen(
    agent=Agent.OMP,
    tail=24,
    question=panel,
    rules=(
        Rule("omp.viewer", RawState.UNKNOWN, last_rows(2), says("j/k:scroll g/G:top/bottom"), hints=("g/g:top",)),
        Rule("omp.setup", RawState.BLOCKED, last_rows(2), says("enter confirm · esc skip"), hints=("esc",)),
        Rule("omp.askPrompt", RawState.BLOCKED, without_band, prompts, hints=("enterselect",)),
        Rule("omp.approval", RawState.BLOCKED, panel, says("Allow tool:") & _CANCELS, hints=("esccancel",)),
        Rule(
            "omp.question",
            RawState.BLOCKED,
            panel,
            says("enter select · n note", "space toggle · enter", "enter submit · ↑/↓ scroll"),
            hints=("enterselect", "spacetoggle", "entersubmit"),
        ),
        Rule(
            "omp.dialog",
            RawState.BLOCKED,
            panel,
            says("up/down navigate", "submit esc cancel") & _CANCELS,
            hints=("esccancel",),
        ),
        Rule("omp.plan", RawState.BLOCKED, panel, says("⏎ confirm") & says("tab regions"), hints=("tabregions",)),
        Rule("omp.loaderRow", RawState.WORKING, without_band, loads, style=_loader_style),
        Rule("omp.escSuffix", RawState.WORKING, without_band, ends_with_escape, style=_style),
        Rule("omp.brailleLabel", RawState.WORKING, without_band, labelled, needs=Glyph.BRAILLE, style=Style.BRAILLE),
        Rule("omp.escPrefix", RawState.WORKING, foot, starts_with_escape, style=_style),
        Rule("omp.statusSpinner", RawState.WORKING, status, turns, needs=Glyph.BOX, style=_header_style),
        Rule("omp.activityRow", RawState.WORKING, above_composer, acts, needs=Glyph.HOOK),
        Rule("omp.loaderAbove", RawState.WORKING, above_composer, labelled, needs=Glyph.BRAILLE, style=Style.BRAILLE),
        Rule("omp.backgroundJobs", RawState.WORKING, status, has_jobs, needs=Glyph.BOX),
        Rule("omp.menu", RawState.IDLE, panel, says("esc close"), hints=("escclose",)),
        Rule("omp.composer", RawState.IDLE, composer, holds, needs=Glyph.BOX),
    ),
    title=TitleRules(
        working=lambda title: _WORKING_TITLE.match(title) is not None,
        blocked=lambda title: title.startswith("π !"),
        silent=hidden,
        doubted=lambda frame: bool(frame.fact(composer)),
        style=Style.BRAILLE,
    ),
)
