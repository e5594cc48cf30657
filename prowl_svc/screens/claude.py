"""Claude Code's screens: the older interface (detection.md §2.1) and what 2.1.197 to 2.1.332 show."""

import re
from typing import Final

from prowl_svc._fast.rows_glyphs import ANIMATED, BLANKS, Glyph, Kind
from prowl_svc.model.agents import Agent
from prowl_svc.model.state import RawState, Style
from prowl_svc.screens.frame import Frame, Region
from prowl_svc.screens.regions import (
    asks_to_confirm,
    choice_number,
    inner,
    is_numbered,
    is_spinner_row,
    last_rows,
    rows_upwards,
)
from prowl_svc.screens.regions import boxed_composer as boxed
from prowl_svc.screens.rules import AgentScreen, Rule, holds, says

__all__ = ["SCREEN", "composer_text", "is_border"]

_BORDER: Final = re.compile(r"[─-]{3,}(?: .*[─-])?")
_SPINNER: Final = frozenset(ANIMATED + "*")
_STARTS: Final = frozenset(ANIMATED + "●⏺◯⎿❯─-")
_CHROME: Final = frozenset(ANIMATED + "●⎿❯◻◼☐✔✘")
_TASKS: Final = re.compile(r"[0-9]+ tasks? \(|… \+[0-9]+ ")
_STAR: Final = re.compile(r"\* [^\W\d_][^…]*…(?: |$)")
_STAR_WAITS: Final = re.compile(r"\* (?:Waiting for [0-9]+ .{0,60}to finish|.*\b[Rr]etry(?:ing)? in [0-9])")
_FINISHED: Final = re.compile(r"\S+ [^\W\d_]+(?: [^\W\d_]+)? for [0-9]+[smhd](?: [0-9]+[smh])*(?: ·.*)?")
_ELAPSED: Final = re.compile(r"[0-9]+[smh](?: [0-9]+[smh])*(?:\)| · )")
_WAITING: Final = re.compile(r"waiting for [0-9]+ .{0,60}to finish")
_RETRYING: Final = re.compile(r"(?:retrying in|will retry in) [0-9]")
_SCROLL: Final = re.compile(r"(?:Jump to bottom|[1-9][0-9]* new messages?) \((?:click|[a-z]+\+[A-Za-z]{1,8})\) ↓")
_TRANSCRIPT: Final = re.compile(r"(?:working · )?Showing detailed transcript(?: ·|$)")
_INTERRUPT: Final = re.compile(r"(?:^| · )esc to interrupt(?: · |  |$)")
_SHELLS: Final = re.compile(
    r"(?:^|· )[0-9]+ (?:shells?|bash(?:es)?|monitors?|background tasks?)(?: running)?(?: ·|  |$)"
)
_SHELL_HINTS: Final = ("shell", "bash", "monitor", "backgroundtask")
_REFUSAL: Final = re.compile(r"[0-9]+\. (?:no|deny|decline|reject|don['’]t allow)\b")
_OLD_COMPOSER: Final = boxed(">")
_TRUST: Final = frozenset(("no, exit", "yes, i trust this folder"))

_BLOCKERS: Final = (
    "do you want to proceed?",
    "would you like to proceed?",
    "waiting for permission",
    "do you want to allow this connection?",
    "tab to amend",
    "ctrl+e to explain",
    "chat about this",
    "review your answers",
    "skip interview and plan immediately",
)
_TRUST_WORDS: Final = (
    "quick safety check:",
    "claude code'll be able to read, edit, and execute files here.",
    "no, exit",
    "yes, i trust this folder",
    "enter to confirm",
)

# -- where things are --------------------------------------------------------------------------------------------------


def is_border(frame: Frame, row: int) -> bool:
    """Tell whether a row is a border of the composer: a rule, or a rule with a title chip (§2.1.1)."""
    if not 0 <= row < frame.end:
        return False
    kind = frame.kinds[row]
    if kind == Kind.RULE:
        return frame.heads[row] in "─-"
    return kind == Kind.DASH and _BORDER.fullmatch(frame.trimmed[row]) is not None


def _border_above(frame: Frame, row: int) -> int:
    """Return the last border strictly above ``row``, or -1."""
    for number in range(min(row, frame.end) - 1, -1, -1):
        if frame.kinds[number] in "=-" and is_border(frame, number):
            return number
    return -1


def _border_below(frame: Frame, row: int) -> int:
    """Return the first border below ``row``, or -1."""
    for number in range(row + 1, frame.end):
        if frame.kinds[number] in "=-" and is_border(frame, number):
            return number
    return -1


def composer(frame: Frame) -> range:
    """The composer: the last row led by ❯ under a border, its draft, and the border below; a draft may hold ❯ too."""
    last = frame.heads.rfind("❯")
    top = last - 1 if is_border(frame, last - 1) else _border_above(frame, last)
    if top >= 0 and frame.heads[top + 1] == "❯":
        bottom = _border_below(frame, last)
        if bottom > 0:
            return range(top, bottom + 1)
    return range(0)


def shell_composer(frame: Frame) -> range:
    """The composer in shell mode: the lowest two borders with a row led by ! under the upper one."""
    if "!" not in frame.heads:
        return range(0)
    bottom = _border_above(frame, frame.end)
    top = _border_above(frame, bottom) if bottom > 0 else -1
    return range(top, bottom + 1) if top >= 0 and frame.heads[top + 1] == "!" else range(0)


def prompt_row(frame: Frame) -> int:
    """Return the row of the prompt: the last one that contains ❯ anywhere, or the shell composer's; else -1."""
    shell = frame.fact(shell_composer)
    return shell.start + 1 if shell else frame.last_with(Glyph.CHEVRON)


def menu(frame: Frame) -> range:
    """A menu that the user opened: everything under the lowest ▔ rule, with no composer there."""
    if "▔" not in frame.heads:
        return range(0)
    top = frame.heads.rfind("▔")
    if frame.kinds[top] != Kind.RULE or frame.fact(composer) or frame.fact(shell_composer):
        return range(0)
    return range(top, frame.end)


def boxed_composer(frame: Frame) -> range:
    """The boxed composer of versions before 2.0, on a screen without ❯."""
    return range(0) if frame.fact(prompt_row) >= 0 else _OLD_COMPOSER(frame)


def _is_numbered_selection(row: str) -> bool:
    if row[:1] == "│":  # dialogs of versions before 2.0 are boxed
        row = inner(row)
    return row[:1] == "❯" and is_numbered(row[1:].lstrip(BLANKS))


def interaction(frame: Frame) -> range:
    """Where a question may stand: around a numbered or trust selection, or the end of a screen without ❯."""
    prompt = frame.fact(prompt_row)
    if prompt < 0:
        return range(max(0, frame.end - 18), frame.end)
    row = frame.trimmed[prompt]
    if _is_numbered_selection(row):
        box = frame.fact(composer)
        if box.start + 1 < prompt < box.stop:  # a later row of a draft
            return range(0)
        opened = frame.fact(menu)
        return range(max(0, prompt - 10, opened.start if opened else 0), frame.end)
    if row[:1] == "❯" and row[1:].strip(BLANKS).lower() in _TRUST:
        return range(max(0, prompt - 18), frame.end)
    return range(0)


def dialog(frame: Frame) -> range:
    """A dialog that Claude put up: a selection under the lowest ─ rule, with no composer and no menu of the user's."""
    cursor = frame.heads.rfind("❯")
    if cursor < 0 or frame.fact(composer) or frame.fact(shell_composer):
        return range(0)
    top = -1
    for number in range(cursor - 1, -1, -1):
        if frame.kinds[number] == Kind.RULE and frame.heads[number] in "─━▔":
            if frame.heads[number] == "▔":
                return range(0)
            top = number
            break
    if top < 0:
        return range(max(0, cursor - 12), frame.end)
    # A menu that the user opened with a slash command stands right under the echo of that command.
    if any(frame.trimmed[above][:3] in ("❯ /", "> /") for above in frame.above(top, 1)):
        return range(0)
    return range(top, frame.end)


def question(frame: Frame) -> range:
    """What a dialog asks: from under the rule that opens it, with its first choice, to the end."""
    cursor = frame.fact(prompt_row)
    if cursor < 0:
        return range(max(0, frame.end - 18), frame.end)
    numbered = choice_number(inner(frame.trimmed[cursor])) is not None
    rule = _border_above(frame, cursor)
    while rule >= 0:
        choices = [choice_number(inner(row)) for row in frame.trimmed[rule + 1 : cursor + 1]]
        if not numbered or 1 in choices:
            return range(rule + 1, frame.end)
        rule = _border_above(frame, rule)
    return range(max(0, cursor - 10), frame.end)


def _live_end(frame: Frame) -> int:
    """Return the row under the live area: the composer's or menu's upper rule, else the prompt, else the end."""
    opened = frame.fact(menu)
    if opened:
        return opened.start
    prompt = frame.fact(prompt_row)
    if prompt < 0:
        box = frame.fact(boxed_composer)
        return box.start if box else frame.end
    border = _border_above(frame, prompt)
    return border if border >= 0 else prompt


def _is_live(frame: Frame, row: int, text: str, width: int) -> bool:
    """Tell whether a row without a glyph of the live block is in it: a newer spinner, a task list, or at the right."""
    indent = frame.indents[row]
    if text[0] == "*":
        return indent <= 2 and (_STAR.match(text) is not None or (not indent and _STAR_WAITS.match(text) is not None))
    if _TASKS.match(text):
        return True
    return indent * 4 >= width > 0 and indent + len(text) >= width - 4


def live_status(frame: Frame) -> dict[str, int]:
    """Return the rows of the live status block that prove work, by what they are (§2.1.1).

    The block is walked from the bottom up; a finished turn's row ends it, and a spinner makes the rest needless.
    """
    found: dict[str, int] = {}
    end = frame.fact(_live_end)
    width = len(frame.rows[end].rstrip()) if end < frame.end and frame.kinds[end] in "=-" else 0
    edge = frame.indents[end] if end < frame.end else 255
    held = False  # paragraphs were met that are live only if the head of a queued message stands above them
    shell = True  # nothing of a turn was met yet, so an output row may be that of the user's own command
    for row, text in rows_upwards(frame, end, _STARTS):
        head = text[0]
        if head not in _CHROME and not _is_live(frame, row, text, width):
            if head in _STARTS:
                break
            held = True
            continue
        if held and (head != "❯" or frame.indents[row] > edge):
            break
        held = False
        if head in _SPINNER:
            if "…" in text:
                if is_spinner_row(text) or head == "*":
                    found["spinner"] = row
                    break
            elif " for " in text and _FINISHED.fullmatch(text):
                break
            lower = text.lower()
            if "etry" in lower and _RETRYING.search(lower):
                found.setdefault("retry", row)
            elif "waiting for" in lower and ("background agent" in lower or _WAITING.search(lower)):
                found.setdefault("wait", row)
        elif head == "●":
            shell = False
            if "…" in text and text[1:2] != "\ufe0f" and _has_elapsed(text):
                found.setdefault("elapsed", row)
        elif shell and head == "⎿":
            shell = False
            if text[1:].lstrip(BLANKS).startswith("Running…"):
                found["shell"] = row
    return found


def _status(name: str, doc: str) -> Region:
    def region(frame: Frame) -> range:
        row = frame.fact(live_status).get(name, -1)
        return range(row, row + 1) if row >= 0 else range(0)

    region.__doc__ = doc
    return region


spinner_row: Final = _status("spinner", "The live row led by an animated glyph, with … and a letter.")
elapsed_row: Final = _status("elapsed", "The live row led by ●, with … and an elapsed time in parentheses.")
wait_row: Final = _status("wait", "The live row that waits for background agents or workflows.")
retry_row: Final = _status("retry", "The live row that says when the request is retried.")


def user_shell(frame: Frame) -> range:
    """The command that the user runs with ! and the live row of its output, which says Running…."""
    row = frame.fact(live_status).get("shell", -1)
    above = frame.above(row, 1) if row >= 0 else []
    return range(above[0], row + 1) if above and frame.heads[above[0]] == "!" else range(0)


def task_view(frame: Frame) -> range:
    """The view of one background task: everything under the lowest ─ rule, with no composer there."""
    if frame.fact(composer) or frame.fact(shell_composer):
        return range(0)
    top = _border_above(frame, frame.end)
    return range(top, frame.end) if top >= 0 else range(0)


def below_prompt(frame: Frame) -> range:
    """The rows below the prompt."""
    prompt = frame.fact(prompt_row)
    return range(prompt + 1, frame.end) if prompt >= 0 else range(0)


def footer(frame: Frame) -> range:
    """The rows under the composer."""
    box = frame.fact(composer) or frame.fact(shell_composer) or frame.fact(boxed_composer)
    return range(box.stop, frame.end) if box else range(0)


def history(frame: Frame) -> range:
    """The history picker: the rows from its filter box on."""
    row = frame.last_with(Glyph.LENS)
    return range(row, frame.end) if row >= 0 else range(0)


def scroll_control(frame: Frame) -> range:
    """The last row above a recognised composer."""
    box = frame.fact(composer)
    above = frame.above(box.start, 1) if box else []
    return range(above[0], above[0] + 1) if above else range(0)


# -- what they say -----------------------------------------------------------------------------------------------------


def scrolled(frame: Frame, span: range) -> bool:
    """It holds the scroll control"""
    return _SCROLL.search(frame.trimmed[span.start]) is not None


def old_viewer(frame: Frame, span: range) -> bool:
    """It holds ⌕ Search… or ctrl+r to toggle"""
    return "⌕ Search…" in frame.joined(span) or "ctrl+r to toggle" in frame.lowered(span)


def transcript(frame: Frame, span: range) -> bool:
    """A row starts with the transcript viewer's hint, and no composer is there"""
    if frame.fact(composer):
        return False
    return any(_TRANSCRIPT.match(row) for row in frame.trimmed[span.start : span.stop])


def filters_history(frame: Frame, span: range) -> bool:
    """It filters the history: the older hints in the last five rows, or the newer ones under the box"""
    if not frame.trimmed[span.start].strip("│ ").lower().startswith("⌕ filter history"):
        return False
    last = frame.last(5)
    if span.start >= last.start and says("↑/↓ to nav")(frame, last) and says("ctrl+s to scope")(frame, last):
        return says("enter to use")(frame, last) and says("esc to cancel")(frame, last)
    under = frame.kinds.find(Kind.BOTTOM, span.start) + 1
    hints = frame.said(range(under, span.stop)) if under else ""
    return hints.startswith("↑/↓tonavigate") and "entertouse" in hints and "esctocancel" in hints


def _option(row: str) -> str:
    """Return a row without its box and without the cursor that selects it."""
    row = inner(row)
    return row[1:].lstrip(BLANKS) if row[:1] == "❯" else row


def _is_answer(row: str) -> bool:
    """Tell whether a lowered, trimmed row is a yes/no option."""
    row = _option(row)
    return row in ("yes", "no") or row.startswith(("1. yes", "2. no", "yes, and ", "no, and tell claude"))


def _asks(frame: Frame, span: range, lower: str) -> bool:
    """Tell whether the confirmation vocabulary stands there; without any ❯ the answer must be an option row."""
    if not asks_to_confirm(lower):
        return False
    if frame.fact(prompt_row) >= 0:
        return True
    return any(_is_answer(row) for row in lower.split("\n"))


def asks(frame: Frame, span: range) -> bool:
    """It asks for a permission, an answer or trust (§2.1.2)"""
    lower = frame.lowered(span)
    if any(word in lower for word in _BLOCKERS) or _asks(frame, span, lower):
        return True
    if "trust this folder" in lower:
        said = frame.said(span)
        if all(word.replace(" ", "") in said for word in _TRUST_WORDS):
            return True
    if frame.fact(prompt_row) < 0:
        return False
    rows = lower.split("\n")
    return any(map(_is_numbered_selection, rows)) and any(map(_is_answer, rows))


def offers_refusal(frame: Frame, span: range) -> bool:
    """A numbered cursor row, and an option that refuses"""
    rows = frame.lowered(span).split("\n")
    return any(map(_is_numbered_selection, rows)) and any(_REFUSAL.match(_option(row)) for row in rows)


def confirms(frame: Frame, span: range) -> bool:
    """Its last rows say how to confirm and cancel, or how to select, navigate and cancel"""
    said = frame.said(frame.last(3))
    if "esctocancel" not in said and "esctoskip" not in said:
        return False
    if "entertoconfirm" in said or ("entertoselect" in said and "tonavigate" in said):
        return True
    return "tonavigate" in said and "requestsyourinput" in frame.said(span)


def signs_in(frame: Frame, span: range) -> bool:
    """It asks to sign in or to go through the first start"""
    said = frame.said(span)
    return (
        "selectloginmethod:" in said
        or "pastecodehereifprompted" in said
        or said.endswith(("pressentertocontinue", "pressentertocontinue…"))
        or ("let'sgetstarted." in said and "1." in said)
    )


def _has_elapsed(text: str) -> bool:
    body = text[1:].strip(BLANKS)
    if body[-1:] != ")":  # the paragraph of an answer that quotes a status goes on
        return False
    opening = body.rfind("(")
    while opening > 0:
        if _ELAPSED.match(body, opening + 1):
            last = opening - 1
            while last >= 0 and body[last] in BLANKS:
                last -= 1
            if body[last] == "…":
                return True
        opening = body.rfind("(", 0, opening)
    return False


def counts_agents(frame: Frame, span: range) -> bool:
    """It counts finished agents"""
    return "done" in frame.lowered(span) and "agentsdone" in frame.said(span)


def runs_shells(frame: Frame, span: range) -> bool:
    """It counts running shells beside a hint to manage them or the mode"""
    rows = [row for row in frame.lowered(span).split("\n") if row]
    line = " ".join(rows)
    if not _SHELLS.search(line) and not any(map(_SHELLS.search, rows)):
        return False
    return any(mark in line for mark in ("↓ to manage", "enter to view tasks", "⏵⏵", "⏸", "← for agents"))


def interruptible(frame: Frame, span: range) -> bool:
    """One of its parts is exactly esc to interrupt"""
    if "interrupt" not in frame.said(span):
        return False
    rows = [row for row in frame.trimmed[span.start : span.stop] if row]
    return any(map(_INTERRUPT.search, rows)) or _INTERRUPT.search(" ".join(rows)) is not None


def is_running_task(frame: Frame, span: range) -> bool:
    """Its status is running, and it can be stopped"""
    said = frame.said(span)
    return "status:running" in said and "xtostop" in said


def one_row(frame: Frame, span: range) -> bool:
    """It holds one row and the prompt is there"""
    return len(span) == 3 and frame.fact(prompt_row) == span.start + 1


def composer_text(frame: Frame) -> str | None:
    """Return what is typed in a recognised composer, or None when its boundaries are unknown (§2.1.1)."""
    box = frame.fact(composer)
    if not box:
        return None
    rows = frame.trimmed[box.start + 1 : box.stop - 1]
    return "\n".join([rows[0][1:], *rows[1:]]).strip(BLANKS + "\n")


SCREEN: Final = AgentScreen(
    agent=Agent.CLAUDE,
    tail=0,
    question=question,
    rules=(
        Rule("claude.viewer", RawState.UNKNOWN, scroll_control, scrolled, needs=Glyph.DOWN),
        Rule("claude.viewer", RawState.UNKNOWN, last_rows(3), old_viewer, hints=("⌕search…", "ctrl+rtotoggle")),
        Rule("claude.viewer", RawState.UNKNOWN, last_rows(3), transcript, hints=("showingdetailedtranscript",)),
        Rule("claude.viewer", RawState.UNKNOWN, history, filters_history, needs=Glyph.LENS),
        Rule("claude.blockedPrompt", RawState.BLOCKED, interaction, asks),
        Rule("claude.blockedPrompt", RawState.BLOCKED, dialog, offers_refusal, needs=Glyph.CHEVRON),
        Rule("claude.dialog", RawState.BLOCKED, dialog, confirms, hints=("esctocancel", "esctoskip")),
        Rule("claude.signIn", RawState.BLOCKED, dialog, signs_in, needs=Glyph.CHEVRON),
        Rule("claude.spinner", RawState.WORKING, spinner_row, holds, needs=Glyph.ELLIPSIS, style=Style.SYMBOL_CYCLE),
        Rule("claude.elapsedStatus", RawState.WORKING, elapsed_row, holds, needs=Glyph.ELLIPSIS, style=Style.BULLET),
        Rule("claude.backgroundWork", RawState.WORKING, wait_row, holds, style=Style.SYMBOL_CYCLE),
        Rule("claude.backgroundWork", RawState.WORKING, below_prompt, counts_agents, needs=Glyph.CHEVRON),
        Rule("claude.retrying", RawState.WORKING, retry_row, holds, style=Style.SYMBOL_CYCLE),
        Rule("claude.userShell", RawState.WORKING, user_shell, holds, needs=Glyph.HOOK | Glyph.ELLIPSIS),
        Rule("claude.interruptFooter", RawState.WORKING, footer, interruptible, hints=("interrupt",)),
        Rule("claude.backgroundWork", RawState.WORKING, footer, runs_shells, hints=_SHELL_HINTS),
        Rule("claude.backgroundWork", RawState.WORKING, task_view, is_running_task, hints=("xtostop",)),
        Rule("claude.idleComposer", RawState.IDLE, composer, one_row, needs=Glyph.CHEVRON),
        Rule("claude.draftComposer", RawState.IDLE, composer, holds, needs=Glyph.CHEVRON),
        Rule("claude.shellComposer", RawState.IDLE, shell_composer, holds),
        Rule("claude.boxedComposer", RawState.IDLE, boxed_composer, holds, needs=Glyph.BOX),
        Rule("claude.menu", RawState.IDLE, menu, holds, needs=Glyph.EDGE),
    ),
)
