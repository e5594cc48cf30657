"""Codex's screens: the older interface (detection.md §2.2) and what 0.158 to 0.171 show."""

import re
from bisect import bisect_left, bisect_right
from typing import Final

from prowl_svc._fast.rows import lower as lowered
from prowl_svc._fast.rows_glyphs import BLANKS, Glyph
from prowl_svc.model.agents import Agent
from prowl_svc.model.state import RawState, Style
from prowl_svc.screens.frame import Frame
from prowl_svc.screens.regions import is_numbered, last_rows, run_above, screen
from prowl_svc.screens.rules import AgentScreen, Rule, TitleRules, holds, says

__all__ = ["SCREEN", "composer_text"]

_DOTS: Final = re.compile(r"[\u2800-\u28ff\s]*")
_NO_DOTS: Final = dict.fromkeys(range(0x2800, 0x2900), " ")
_SPACE: Final = frozenset(BLANKS)
_DIGITS: Final = frozenset("0123456789")
_FOOTER_HEADS: Final = _DIGITS | {"•", "◦"}
_HINTS: Final = frozenset(
    (
        "Ask Codex to do anything",
        "Run /review on my current changes",
        "Find and fix a bug in @filename",
        "Explain this codebase",
        "Implement {feature}",
        "Improve documentation in @filename",
        "Write tests for @filename",
        "Summarize recent commits",
    )
)
_WORKING: Final = re.compile(r"[•◦] Working \((?:.*?esc to interrupt|[0-9hms ]+)\)(?: · .*)?")
_WAITING: Final = re.compile(r"[•◦] Waiting for background terminals? \(.*?esc to interrupt\)(?: · .*)?")
#: A reasoning header or a retry instead of "Working"; a narrow pane cuts its end off.
_LABELLED: Final = re.compile(
    r"[•◦] (?![a-z]|Working \(|Waiting for background terminal).*"
    r"\((?:[0-9]+[hms] ?)+(?:•? esc to interrupt\)(?: · .*)?|(?:• ?[a-z ]*)?…)"
)
_HINT: Final = re.compile(r" for shortcuts| for agents| to view|tab to queue| again to ")
_TERMINALS: Final = re.compile(r"[0-9]+ background terminals? running(?: · .*)?")
_CLOSING: Final = re.compile(
    r"[─ ]*Worked for (?:<1s|[0-9]+[dhms])(?: [0-9]+[hms])*(?: [•·─].*)?|done [0-9]{1,2}:[0-9]{2}(?: [AP]M)?"
)
#: First scalars of rows that end a turn.
_ENDS: Final = frozenset("■─Wd")
#: What heads the messages that wait, between the status and the composer.
_QUEUE: Final = re.compile(r"• (?:Messages? to be submitted|Queued )")
_QUESTION: Final = re.compile(r"Question [0-9]+/[0-9]+ \(")
_OPENING: Final = re.compile(
    r"Do you (?:trust|want) |Would you like |Question [0-9]+/[0-9]+ \(|Implement this plan\?|Approaching rate limits"
    r"|(?:Hooks need review|Hooks|Folder access)$|(?:✨ )?Update available!|Welcome to Codex"
)
_SPINNING: Final = re.compile(r"[\u2801-\u28ff]( |$)")
_ACTION: Final = re.compile(r"(?:\[ . \] )?Action Required(?: \||$)")
_REFUSAL: Final = ("2. no", "3. no")
_SIGN_IN: Final = ("1. sign in with chatgpt", "2. sign in with device code", "3. provide your own api key")
_SIGN_IN_NEWER: Final = ("1. sign in with", "2. sign in with", "3. sign in another way", "1. use an", "2. use")
_WELCOME: Final = "welcome to codex, openai's command-line coding agent"
_FOOTERS: Final = (
    "press enter to confirm or esc to cancel",
    "enter to submit answer",
    "allow command?",
    "[y/n]",
    "yes (y)",
)

# -- where things are --------------------------------------------------------------------------------------------------


def _is_prompt(row: str) -> bool:
    """Tell whether a trimmed row is ``›`` alone or followed by blank space (§2.2.1)."""
    return row[:1] == "›" and (len(row) == 1 or row[1] in _SPACE)


def _clear(frame: Frame, row: int) -> str:
    """Return a trimmed row with the starfield's braille taken out."""
    text = frame.trimmed[row]
    return text.translate(_NO_DOTS).strip(BLANKS) if frame.masks[row] & Glyph.BRAILLE else text


def content(frame: Frame) -> list[int]:
    """Return the rows that hold more than blank space and starfield."""
    if not frame.glyphs & Glyph.BRAILLE:
        return frame.nonblank
    masks, rows = frame.masks, frame.trimmed
    return [n for n in frame.nonblank if not (masks[n] & Glyph.BRAILLE and _DOTS.fullmatch(rows[n]))]


def _under(frame: Frame, row: int) -> list[int]:
    """Return the content rows under ``row``."""
    rows = frame.fact(content)
    return rows[bisect_right(rows, row) :]


def prompt_row(frame: Frame) -> int:
    """Return the last prompt row as drawn, or -1."""
    row = frame.heads.rfind("›")
    while row >= 0 and not _is_prompt(frame.trimmed[row]):
        row = frame.heads.rfind("›", 0, row)
    return row


def composer_row(frame: Frame) -> int:
    """Return the last prompt row with the starfield taken out, or -1."""
    if not frame.glyphs & Glyph.BRAILLE:
        return frame.fact(prompt_row)
    for row in reversed(frame.fact(content)):
        if frame.masks[row] & Glyph.ANGLE and _is_prompt(_clear(frame, row)):
            return row
    return -1


def choice_row(frame: Frame) -> range:
    """The last prompt row, which selects a numbered choice."""
    row = frame.fact(prompt_row)
    if row < 0:
        return range(0)
    text = _choice_text(frame.trimmed[row])
    return range(row, row + 1) if text[:1] in _DIGITS and is_numbered(text) else range(0)


def _choice_text(row: str) -> str:
    return row[1:].strip(BLANKS)


def _rows(frame: Frame, start: int, stop: int) -> str:
    return lowered(frame.joined(range(max(0, start), min(stop, frame.end))))


def no_prompt(frame: Frame) -> range:
    """All of a screen without a prompt row."""
    return range(0) if frame.fact(prompt_row) >= 0 else range(frame.end)


def dialog(frame: Frame) -> range:
    """The selected choice with its question above: from the row that opens the question to the end."""
    chosen = frame.fact(choice_row)
    if not chosen:
        return range(0)
    for row in range(chosen.start, -1, -1):
        text = lowered(frame.trimmed[row])
        if text.startswith(("do you trust ", "do you want ", "would you like ")) or text in (
            "hooks need review",
            "folder access",
        ):
            return range(row, frame.end)
        if frame.heads[row] in _ENDS and _closes(frame, row):
            return range(row + 1, frame.end)
    return range(max(0, chosen.start - 6), frame.end)


def question(frame: Frame) -> range:
    """What a dialog asks: from the row that opens it, or from the welcome, to the end."""
    for row in range(frame.end - 1, -1, -1):
        if _OPENING.match(frame.trimmed[row]):
            return range(row, frame.end)
    return frame.fact(dialog)


def pointer_row(frame: Frame) -> range:
    """The last row led by › or >."""
    row = max(frame.heads.rfind("›"), frame.heads.rfind(">"))
    return range(row, row + 1) if row >= 0 else range(0)


def queue_row(frame: Frame) -> int:
    """Return the row that heads the messages which wait directly over the composer, or the composer's, or -1."""
    composer = frame.fact(composer_row)
    for row in range(composer - 1, -1, -1):
        if frame.heads[row] == "•" and _QUEUE.match(frame.trimmed[row]):
            return row
        if frame.trimmed[row] and not frame.indents[row]:
            break
    return composer


def footers(frame: Frame) -> dict[int, str]:
    """Return the rows of the footer window that start as a footer does: the last four, and three above the composer."""
    rows = frame.fact(content)
    queue = frame.fact(queue_row if "↳" in frame.heads else composer_row)
    above = bisect_left(rows, queue) if queue >= 0 else 0
    last = max(len(rows) - 4, above)
    heads = frame.heads
    dotted = frame.glyphs & Glyph.BRAILLE
    found: dict[int, str] = {}
    for row in rows[max(0, above - 3) : above] + rows[last:]:
        if heads[row] in _ENDS and row < queue and _closes(frame, row):
            found.clear()  # what stands over the end of a turn is history
        elif heads[row] in _FOOTER_HEADS or dotted:
            text = _clear(frame, row)
            if text[:1] in _FOOTER_HEADS and ("(" in text or " running" in text):
                found[row] = text
    return found


def footer_window(frame: Frame) -> range:
    """The rows of the footer window that start as a footer does."""
    found = frame.fact(footers)
    return range(min(found), max(found) + 1) if found else range(0)


def status_row(frame: Frame) -> range:
    """The status row of the newer interface: over the composer, set off by blank rows, with its indented details."""
    stop = frame.fact(queue_row if "↳" in frame.heads else composer_row)
    if stop < 2 or frame.trimmed[stop - 1]:
        return range(0)
    heads, indents, filled = frame.heads, frame.indents, frame.nonblank
    place = bisect_left(filled, stop)
    for row in filled[max(0, place - 6) : place][::-1]:
        if heads[row] in "•◦":
            return range(row, row + 1) if "(" in frame.trimmed[row] else range(0)
        if not indents[row] or (heads[row] in _ENDS and _closes(frame, row)):
            break
    return range(0)


def _closes(frame: Frame, row: int) -> bool:
    """Tell whether a row ends a turn: by the time it took, or as interrupted."""
    head = frame.heads[row]
    return head == "■" or (head in _ENDS and _CLOSING.fullmatch(frame.trimmed[row]) is not None)


def _is_status(row: str) -> bool:
    """Tell whether a row is the status line under the composer."""
    return (" · " in row or row.endswith(" ·")) and ("/" in row or "Context " in row or "context left" in row)


def composer(frame: Frame) -> range:
    """The composer: a prompt row, its draft, the status line, wrapped or not, and at most one hint row under it."""
    row = frame.fact(composer_row)
    if row < 0:
        return range(0)
    under = _under(frame, row)
    for place, number in enumerate(under):
        if _is_status(_clear(frame, number)):
            rest = under[place + 1 :]
            # A narrow pane wraps the status line, and then the hint row below it says where it ends.
            hint = bool(rest) and len(rest) <= 3 and _is_hint(frame, rest[-1])
            if not rest or (hint and not any(_is_hint(frame, one) for one in rest[:-1])):
                return range(row, frame.end)
            break
        if frame.indents[number] == 2 and number > row + 1 and not frame.trimmed[number - 1]:
            break
    return range(0)


def _is_hint(frame: Frame, row: int) -> bool:
    text = _clear(frame, row)
    if "esc to interrupt" in text or "[Image #" in text:
        return False
    return _HINT.search(text) is not None


def shell_composer(frame: Frame) -> range:
    """The composer in shell mode: a row led by ! over a status line, and a row that names the mode."""
    row = frame.heads.rfind("!")
    if row < 0 or frame.fact(composer_row) > row:
        return range(0)
    below = frame.below(row)
    if len(below) == 2 and _is_status(frame.trimmed[below[0]]) and "Shell mode" in frame.trimmed[below[1]]:
        return range(row, frame.end)
    return range(0)


def above_composer(frame: Frame) -> range:
    """The nearest row above the composer."""
    found = frame.above(frame.fact(composer_row), 1)
    return range(found[0], found[0] + 1) if found else range(0)


def under_composer(frame: Frame) -> range:
    """The rows under the composer."""
    row = frame.fact(composer_row)
    return range(row + 1, frame.end) if row >= 0 else range(0)


# -- what they say -----------------------------------------------------------------------------------------------------


def _window(frame: Frame, row: int) -> tuple[str, str, str, str]:
    """Return the lowered choice, six rows before, both sides, and six rows after (§2.2.1)."""
    choice = lowered(_choice_text(frame.trimmed[row]))
    before = _rows(frame, row - 6, row)
    after = _rows(frame, row + 1, row + 7)
    return choice, before, f"{before}\n{choice}\n{after}", after


def trusts_directory(frame: Frame, span: range) -> bool:
    """Its choices and the rows around ask to trust the directory"""
    choice, before, around, after = _window(frame, span.start)
    if choice in ("1. yes, continue", "2. no, quit"):
        question = "do you trust the contents of this directory?"
        asked = question in before
        if not asked and question not in _rows(frame, span.start - 12, span.start):
            # A narrow pane wraps it, over more rows than the window has.
            asked = question.replace(" ", "") in frame.said(range(max(0, span.start - 12), span.start))
        if not asked:
            # The real question is a paragraph that a blank row sets off, however many rows it takes.
            choices = run_above(frame, span.stop)
            asked = choices.start > 0 and frame.said(run_above(frame, choices.start - 1)).startswith(
                question.replace(" ", "")
            )
        return (
            asked
            and "1. yes, continue" in around
            and "2. no, quit" in around
            and ("press enter to continue" in after or not _rows(frame, span.stop + 1, frame.end).strip())
        )
    if choice in ("1. trust and continue", "2. back to agent command center"):
        asked = "trust this folder?" in before or (
            lowered(frame.trimmed[frame.fact(dialog).start]) == "folder access"
            and "trustthisfolder?" in frame.said(frame.fact(dialog))
        )
        return (
            asked
            and "1. trust and continue" in around
            and "2. back to agent command center" in around
            and "enter continue · esc back" in after
        )
    return False


def reviews_hooks(frame: Frame, span: range) -> bool:
    """Its choices and the rows around ask to review hooks"""
    choice, before, around, after = _window(frame, span.start)
    if not choice.startswith(("1. review hooks", "2. trust all", "3. continue without trusting")):
        return False
    if choice not in (
        "1. review hooks",
        "2. trust all and continue",
        "3. continue without trusting (hooks won't run)",
    ) and not "3. continue without trusting (hooks won't run)".startswith(choice):
        return False
    options = ("1. review hooks", "2. trust all and continue", "3. continue without trusting")
    asked = "hooks need review" in before or lowered(frame.trimmed[frame.fact(dialog).start]) == "hooks need review"
    if not asked or not all(option in around for option in options):
        return False
    return "press enter to confirm or esc to go back" in after or "enter confirm · esc skip" in after


def signs_in(frame: Frame, span: range) -> bool:
    """It points at a way to sign in, and the welcome and the other ways are there"""
    choice = lowered(_choice_text(frame.trimmed[span.start]))
    end = frame.nonblank[-1] + 1
    if choice.startswith(_SIGN_IN) and span.start >= end - 18:
        window = _rows(frame, end - 18, end)
        older = (_WELCOME, *_SIGN_IN[1:], "press enter to continue")
        if all(part in window for part in older):
            return True
    if not choice.startswith(_SIGN_IN_NEWER):
        return False
    said = frame.said(range(frame.end))
    return _WELCOME.replace(" ", "") in said and "signinanotherway" in said and "pressentertocontinue" in said


def finishes_sign_in(frame: Frame, span: range) -> bool:
    """It welcomes and waits for the browser, a code or a key"""
    said = frame.said(span)
    return _WELCOME.replace(" ", "") in said and any(
        part in said for part in ("finishsigninginviayourbrowser", "one-timecode:", "pasteortypeyourapikey")
    )


def offers_update(frame: Frame, span: range) -> bool:
    """It offers an update: install now, skip, or skip until the next version"""
    said = frame.said(range(max(0, span.start - 12), frame.end))
    return "updateavailable!" in said and ".updatenow" in said and ".skip" in said


def starts_up(frame: Frame, span: range) -> bool:
    """It is a question of the start: another model, the directory of a resumed session, limits, or the plan"""
    said = frame.said(range(max(0, span.start - 12), frame.end))
    return (
        (".trynewmodel" in said and ".useexistingmodel" in said)
        or ("approachingratelimits" in said and ".keepcurrentmodel" in said)
        or ("workingdirectoryto" in said and ".usesessiondirectory" in said)
        or ("implementthisplan?" in said and ".yes,implementthisplan" in said)
    )


def asks_questions(frame: Frame, span: range) -> bool:
    """A row counts questions, and the last rows say how to submit the answer"""
    said = frame.said(frame.last(4))
    if "tosubmit" not in said or "esctointerrupt" not in said:
        return False
    return any(_QUESTION.match(row) for row in frame.trimmed)


def confirms(frame: Frame, span: range) -> bool:
    """The last rows under the choice say how to answer, on one row or over two"""
    last = frame.last(3)
    below = range(max(span.stop, last.start), frame.end)
    lower = frame.lowered(below)
    if any(footer in lower for footer in _FOOTERS):
        return True
    said = frame.said(below)
    if "pressentertoconfirmoresctocancel" in said or "entertosubmitanswer" in said:
        return True
    # A narrow pane cuts the row off, and a long command may have left no question in the tail.
    hint = lower.rstrip("\n").rpartition("\n")[2]
    return len(hint) > 30 and _FOOTERS[0].startswith(hint)


def confirms_by_choices(frame: Frame, span: range) -> bool:
    """It asks, and offers a yes and a no"""
    lower = frame.lowered(span)
    if "do you want" not in lower and "would you like" not in lower:
        return False
    options = [_choice_text(row) if row[:1] == "›" else row for row in lower.split("\n")]
    return any(row == "yes" or row.startswith(("1. yes", "2. yes")) for row in options) and any(
        row == "no" or row.startswith(_REFUSAL) for row in options
    )


def hooks_wait(frame: Frame, span: range) -> bool:
    """It says that hooks need review before they can run, and how to trust them"""
    said = frame.said(span)
    return "reviewbefore" in said and "canrun" in said and "ttotrustall" in said


def scrolled(frame: Frame, span: range) -> bool:
    """It ends with the way back to the bottom"""
    return frame.trimmed[span.start].endswith("↓ Back to bottom · esc")


def browses(frame: Frame, span: range) -> bool:
    """It says that the transcript is browsed"""
    said = frame.said(span)
    return "enter/esclatest" in said or "browsingtranscript·" in said or "browsing·↑↓" in said


def _has_footer(frame: Frame, pattern: re.Pattern[str]) -> bool:
    """Tell whether a row of the footer window matches; the window has a gap that its span does not show."""
    return any(map(pattern.fullmatch, frame.fact(footers).values()))


def works(frame: Frame, span: range) -> bool:
    """A row: • Working (… esc to interrupt)"""
    return _has_footer(frame, _WORKING)


def waits_for_terminal(frame: Frame, span: range) -> bool:
    """A row: • Waiting for background terminal (… esc to interrupt)"""
    return _has_footer(frame, _WAITING)


def runs_terminals(frame: Frame, span: range) -> bool:
    """A row counts the background terminals that run"""
    return _has_footer(frame, _TERMINALS)


def labelled(frame: Frame, span: range) -> bool:
    """It is a label with an elapsed time and esc to interrupt, whole or cut off at the right"""
    return _LABELLED.fullmatch(frame.trimmed[span.start]) is not None


def is_empty(frame: Frame, span: range) -> bool:
    """Nothing is typed: blank, or exactly one of the hints; only a status line and one hint row below"""
    row = span.start
    status = _clear(frame, _under(frame, row)[0])
    if not _is_status(status) or "esc to interrupt" in status or "[Image #" in status:
        return False
    typed = _choice_text(_clear(frame, row))
    if typed:
        return typed in _HINTS
    return not frame.trimmed[row][1:].strip(BLANKS)


def composer_text(frame: Frame) -> str | None:
    """Return what is typed, "" for an empty composer or a hint, or None when the composer is not recognised."""
    box = frame.fact(composer)
    if not box:
        return None
    if is_empty(frame, box):
        return ""
    rows = [_clear(frame, number) for number in frame.fact(content) if number >= box.start]
    drafted = [_choice_text(rows[0]) or _choice_text(frame.trimmed[box.start])]  # a draft may be braille only
    for text in rows[1:]:
        if _is_status(text):
            break
        drafted.append(text)
    return "\n".join(drafted).strip()


def turn_is_open(frame: Frame) -> bool:
    """Below the last message of the user's, no row closes the turn."""
    composer = frame.fact(composer_row)
    if composer < 0:
        return False
    user = frame.heads.rfind("›", 0, composer)
    while user >= 0 and not _is_prompt(frame.trimmed[user]):
        user = frame.heads.rfind("›", 0, user)
    heads = frame.heads
    for row in range(user + 1, composer):
        if heads[row] in _ENDS and _closes(frame, row):
            return False
    if user >= 0:
        return True
    # The message has scrolled off: only the newer interface always closes a turn, and a fresh start has none.
    below = _under(frame, composer)
    if not 2 <= len(below) <= 6 or not _is_hint(frame, below[-1]):
        return False
    if any(">_ OpenAI Codex" in row for row in frame.trimmed[:composer]):
        return False
    # Not so a start whose logo fills the tail.
    return "•" in frame.heads[:composer] or (frame.start > 0 and frame.fact(content)[0] < composer)


SCREEN: Final = AgentScreen(
    agent=Agent.CODEX,
    tail=24,
    question=question,
    rules=(
        Rule("codex.viewer", RawState.UNKNOWN, above_composer, scrolled, needs=Glyph.DOWN),
        Rule("codex.viewer", RawState.UNKNOWN, under_composer, browses, hints=("esclatest", "browsing")),
        Rule("codex.viewer", RawState.UNKNOWN, last_rows(3), says("↑/↓ to scroll"), hints=("qtoquit",)),
        Rule("codex.directoryTrust", RawState.BLOCKED, choice_row, trusts_directory, needs=Glyph.ANGLE),
        Rule("codex.hookReview", RawState.BLOCKED, choice_row, reviews_hooks, needs=Glyph.ANGLE),
        Rule("codex.hookReview", RawState.BLOCKED, last_rows(12), hooks_wait, hints=("ttotrustall",)),
        Rule("codex.signIn", RawState.BLOCKED, pointer_row, signs_in, hints=("entertocontinue",)),
        Rule("codex.signIn", RawState.BLOCKED, no_prompt, finishes_sign_in),
        Rule("codex.update", RawState.BLOCKED, choice_row, offers_update, needs=Glyph.ANGLE),
        Rule("codex.startQuestion", RawState.BLOCKED, choice_row, starts_up, needs=Glyph.ANGLE),
        Rule("codex.confirmationFooter", RawState.BLOCKED, choice_row, confirms, needs=Glyph.ANGLE),
        Rule("codex.confirmationChoices", RawState.BLOCKED, dialog, confirms_by_choices, needs=Glyph.ANGLE),
        Rule("codex.question", RawState.BLOCKED, screen, asks_questions, hints=("tosubmit",)),
        Rule("codex.workingFooter", RawState.WORKING, footer_window, works, style=Style.BULLET),
        Rule("codex.backgroundTerminalFooter", RawState.WORKING, footer_window, waits_for_terminal, style=Style.BULLET),
        Rule("codex.statusFooter", RawState.WORKING, status_row, labelled, style=Style.BULLET),
        Rule("codex.backgroundTerminals", RawState.WORKING, footer_window, runs_terminals),
        Rule("codex.emptyComposer", RawState.IDLE, composer, is_empty, needs=Glyph.ANGLE),
        Rule("codex.draftComposer", RawState.IDLE, composer, holds, needs=Glyph.ANGLE),
        Rule("codex.shellComposer", RawState.IDLE, shell_composer, holds, hints=("shellmode",)),
        Rule("codex.menu", RawState.IDLE, last_rows(2), says("enter select · esc back"), hints=("enterselect",)),
    ),
    title=TitleRules(
        working=lambda title: _SPINNING.match(title) is not None,
        blocked=lambda title: _ACTION.match(title) is not None,
        silent=turn_is_open,
        style=Style.BRAILLE,
    ),
)
