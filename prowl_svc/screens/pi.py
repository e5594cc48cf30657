"""Pi's screens (detection.md §2.3): the loader row of 0.x, the working border of 1.x, sub-agent cards, dialogs."""

import re
from typing import Final

from prowl_svc._fast.rows_glyphs import BLANKS, Glyph, Kind
from prowl_svc.model.agents import Agent
from prowl_svc.model.state import RawState, Style
from prowl_svc.screens.frame import Frame
from prowl_svc.screens.regions import labelled_braille, last_rows, screen, style_of
from prowl_svc.screens.rules import AgentScreen, Rule, says

__all__ = ["LOADERS", "SCREEN", "is_loader"]

#: What the loader row says while a turn runs.
LOADERS: Final = ("Working...", "Working…", "Interrupting…")
_BACKGROUND: Final = " · background"
_HEADER: Final = "async subagent "
_COUNT: Final = re.compile(r"\([0-9]+\)")
_CUT_COUNT: Final = re.compile(r"\([0-9]*")
_MODES: Final = (" [fresh]", " [fork]", " [mixed]")
_AGENTS: Final = re.compile(r"Async agents · ([0-9]+) agent(s?) running(?:, ([0-9]+) queued)?")
_SUBAGENTS: Final = re.compile(
    r"subagents \(([0-9]+)/([0-9]+) running((?:, [0-9]+ (?:queued|failed|stopped|paused))*)\)"
)
#: Other loaders, which say how to cancel; in narrow panes the hint is on the next row.
_CANCELLED: Final = re.compile(
    r"(?:Retrying \([0-9]+/[0-9]+\) in|Compacting context\.\.\.|Context overflow detected, |Auto-compacting\.\.\."
    r"|Summarizing branch\.\.\.|Running\.\.\. \()"
)
#: A border of the editor: a rule, a status behind two dashes, or a count of hidden draft rows.
_BORDER: Final = re.compile(r"─{1,3} ?(?:[\u2800-\u28ff]|[↑↓] [0-9]+ more ).*─|─+ [↑↓] [0-9]+ more ─+")


#: Messages that wait over the editor.
_QUEUED: Final = ("Steering: ", "Follow-up: ", "↳ ")


def is_loader(row: str) -> bool:
    """A loader text, alone or after one braille scalar."""
    if row[:1] and "\u2800" <= row[0] <= "\u28ff":
        row = row[1:].lstrip(BLANKS)
    return row in LOADERS


def _is_border(frame: Frame, row: int) -> bool:
    if frame.heads[row] != "─":
        return False
    return frame.kinds[row] == Kind.RULE or _BORDER.fullmatch(frame.trimmed[row]) is not None


def editor(frame: Frame) -> range:
    """The editor, or the picker or dialog in its place: the lowest two borders and what is between them."""
    heads = frame.heads
    bottom = heads.rfind("─")
    while bottom > 0 and not _is_border(frame, bottom):
        bottom = heads.rfind("─", 0, bottom)
    top = heads.rfind("─", 0, bottom) if bottom > 0 else -1
    while top >= 0 and not _is_border(frame, top):
        top = heads.rfind("─", 0, top)
    return range(top, bottom + 1) if top >= 0 else range(0)


def working_border(frame: Frame) -> range:
    """The upper border of the editor, when a braille frame is in it."""
    box = frame.fact(editor)
    if box and frame.masks[box.start] & Glyph.BRAILLE:
        return range(box.start, box.start + 1)
    return range(0)


def braille_rows(frame: Frame) -> range:
    """From the first row led by a braille scalar to the last one."""
    first = frame.kinds.find(Kind.BRAILLE)
    return range(first, frame.kinds.rfind(Kind.BRAILLE) + 1) if first >= 0 else range(0)


# -- what they say -----------------------------------------------------------------------------------------------------


def loads(frame: Frame, span: range) -> bool:
    """A row is a loader text, with a braille scalar before it or without"""
    if frame.glyphs & Glyph.BRAILLE:
        for row, kind in enumerate(frame.kinds):
            if kind == Kind.BRAILLE and is_loader(frame.trimmed[row]):
                box = frame.fact(editor)
                if row not in box or not has_footer(frame, box):  # a draft proves nothing
                    return True
    for text in LOADERS:
        if text in frame.trimmed:
            return _is_live(frame, frame.end - 1 - frame.trimmed[::-1].index(text))
    return False


def _is_live(frame: Frame, row: int) -> bool:
    """Tell whether a loader without a spinner is next to the editor, if there is an editor with its footer."""
    box = frame.fact(editor)
    if not has_footer(frame, box):
        return True
    return row < box.start and not any(frame.trimmed[row + 1 : box.start])


def framed(frame: Frame, span: range) -> bool:
    """A row: ── braille, Working ──"""
    for row in range(span.start, span.stop):
        text = frame.trimmed[row]
        if text[:3] == "── " and text[-2:] == "──" and labelled_braille(text.strip("─ ")) == "Working":
            # Above the editor only a row of the answer is indented.
            return not (frame.indents[row] and has_footer(frame, frame.fact(editor)) and row < frame.fact(editor).start)
    return False


def _name(header: str) -> tuple[str, bool] | None:
    """Return the job's name in a card's header and whether it is whole, or None."""
    if header.endswith(_BACKGROUND):
        title, whole = header[len(_HEADER) : -len(_BACKGROUND)], True
    elif header.endswith("…"):
        title, cut, _ = header[len(_HEADER) : -1].partition(" ·")
        whole = bool(cut)
    else:
        return None
    words = title.split(" ")
    if _COUNT.fullmatch(words[-1]):
        words.pop()
    elif not whole and _CUT_COUNT.fullmatch(words[-1]):
        words.pop()
        whole = True
    name = " ".join(words)
    return (name, whole) if any(map(str.isalpha, name)) else None


def _is_job(label: str, name: str, whole: bool) -> bool:
    if not label.startswith(name):
        return False
    rest = label[len(name) :]
    if rest.startswith(_MODES):
        rest = rest[rest.index("]") + 1 :]
    return not whole or not rest or rest.startswith(" ·")


def card(frame: Frame, span: range) -> bool:
    """A card's header with the braille row of the same job directly below"""
    for row in range(max(1, span.start), span.stop):
        if frame.kinds[row] == Kind.BRAILLE and frame.trimmed[row - 1].startswith(_HEADER):
            named = _name(frame.trimmed[row - 1])
            label = labelled_braille(frame.trimmed[row])
            if named and label and _is_job(label, *named):
                return True
    return False


def _sums_up(label: str) -> bool:
    if label[-1] == "…":
        return label[:-1].startswith(("subagents (", "Async agents · "))
    if label == "Async agents · background":
        return True
    found = _AGENTS.fullmatch(label)
    if found:
        count = int(found[1][:9])
        return count > 0 and (count == 1) == (not found[2]) and found[3] != "0"
    found = _SUBAGENTS.fullmatch(label)
    return found is not None and 0 < int(found[1][:9]) <= int(found[2][:9]) and ", 0 " not in found[3]


def summary(frame: Frame, span: range) -> bool:
    """A braille row counts the sub-agents that run"""
    for row in range(span.start, span.stop):
        if frame.kinds[row] == Kind.BRAILLE:
            label = labelled_braille(frame.trimmed[row])
            if label and label[0] in "sA" and _sums_up(label):
                return True
    return False


def _is_last(frame: Frame, row: int) -> bool:
    """Tell whether only queued messages and rules stand between a row and the editor, if that is there."""
    box = frame.fact(editor)
    if not has_footer(frame, box) or row > box.start:
        return True
    between = [number for number in range(row, box.start) if frame.trimmed[number]]
    return all(frame.kinds[number] == Kind.RULE or frame.trimmed[number].startswith(_QUEUED) for number in between)


def cancellable(frame: Frame, span: range) -> bool:
    """A braille row retries, compacts, sums up or runs the user's command"""
    for row in range(span.start, span.stop):
        if frame.kinds[row] == Kind.BRAILLE:
            label = labelled_braille(frame.trimmed[row])
            if label and _CANCELLED.match(label):
                for stop in range(row + 1, min(row + 3, frame.end) + 1):
                    if "tocancel)" in frame.said(range(row, stop)):
                        if _is_last(frame, stop):
                            return True
                        break
    return False


def asks(frame: Frame, span: range) -> bool:
    """It offers options of which one is pointed at, and is none that the user opened with a command"""
    if not any(frame.heads[row] == "→" for row in range(span.start, span.stop)):
        return False
    said = frame.said(span)
    if not said.endswith("cancel") or "↑↓navigate" not in said or "enterselect" not in said:
        return False
    return not said.startswith(("selectauthenticationmethod", "selectprovider", "summarizebranch?"))


def has_footer(frame: Frame, span: range) -> bool:
    """Something stands below it, as the directory and the usage do"""
    return bool(span) and bool(frame.nonblank) and frame.nonblank[-1] >= span.stop


def _style(frame: Frame, span: range) -> Style | None:
    row = next((row for row in range(span.stop - 1, span.start - 1, -1) if is_loader(frame.trimmed[row])), -1)
    return style_of(frame.heads[row]) if row >= 0 else None


_TRUSTS: Final = says("trust project folder?")

SCREEN: Final = AgentScreen(
    agent=Agent.PI,
    tail=32,
    question=editor,
    rules=(
        Rule("pi.trust", RawState.BLOCKED, editor, _TRUSTS, hints=("enterselect",)),
        Rule("pi.setup", RawState.BLOCKED, editor, says("skip setup"), hints=("skipsetup",)),
        Rule("pi.dialog", RawState.BLOCKED, editor, asks, hints=("enterselect",)),
        Rule("pi.loaderRow", RawState.WORKING, screen, loads, style=_style),
        Rule(
            "pi.framedFooter",
            RawState.WORKING,
            last_rows(5),
            framed,
            needs=Glyph.BRAILLE | Glyph.BOX,
            style=Style.BRAILLE,
        ),
        Rule("pi.asyncCard", RawState.WORKING, braille_rows, card, needs=Glyph.BRAILLE, style=Style.BRAILLE),
        Rule("pi.asyncSummary", RawState.WORKING, braille_rows, summary, needs=Glyph.BRAILLE, style=Style.BRAILLE),
        Rule("pi.statusBorder", RawState.WORKING, working_border, has_footer, needs=Glyph.BRAILLE, style=Style.BRAILLE),
        Rule("pi.cancelRow", RawState.WORKING, braille_rows, cancellable, needs=Glyph.BRAILLE, style=Style.BRAILLE),
        Rule("pi.editor", RawState.IDLE, editor, has_footer, needs=Glyph.BOX),
    ),
)
