"""Changes to a screen that must not change what is read: pure functions of a screen and a source of chance.

Each returns the changed screen, or None where it does not apply; a comment says why where a kind of screen is left out.
"""

import re
from collections.abc import Callable
from dataclasses import replace
from random import Random

from tests.screens.anatomy import FAMILIES, Screen, live
from tests.screens.material import DRAFTS, TIMES, WORDS, transcript
from tests.screens.resize import resized

__all__ = ["CHANGES", "Change"]

Change = Callable[[Screen, Random], Screen | None]

_SECONDS = re.compile(r"(?<![\w.])[0-9]+(?:\.[0-9]+)?s(?![\w.])")
_TOKENS = re.compile(r"(?<=[↓↑⇣] )[0-9.]+k?(?= tokens)|(?<=⇣)[0-9.]+k?|(?<= · )[0-9.]+(?= [KMG]?B )")


def pad_bottom(screen: Screen, random: Random) -> Screen | None:
    """A taller pane: blank rows under everything."""
    if screen.drawn and screen.family == "claude" and not any("❯" in row for row in screen.rows):
        return None  # without a prompt the last 18 physical rows count (detection.md §2.1.1)
    rows = (*screen.rows, *[""] * random.choice((1, 5, 30)))
    return replace(screen, rows=rows)


def pad_top(screen: Screen, random: Random) -> Screen | None:
    """A taller pane: blank rows above everything."""
    return replace(screen, rows=(*[""] * random.choice((1, 5, 30)), *screen.rows))


def pad_middle(screen: Screen, random: Random) -> Screen | None:
    """A taller pane: blank rows between the transcript and the live area."""
    at = live(screen)
    if at < 1 or screen.rows[at - 1].strip() or screen.reason.endswith("titleWorking"):
        return None
    return replace(screen, rows=(*screen.rows[:at], *[""] * random.choice((1, 4, 20)), *screen.rows[at:]))


def cut_top(screen: Screen, random: Random) -> Screen | None:
    """A lower pane: the oldest rows are gone."""
    at = live(screen)
    if at < 1:
        return None
    return replace(screen, rows=screen.rows[random.choice((random.randint(1, at), at)) :])


def other_transcript(screen: Screen, random: Random) -> Screen | None:
    """Other prose above the live area."""
    return _replaced(screen, random, quoted=False)


def quoting_transcript(screen: Screen, random: Random) -> Screen | None:
    """Prose above the live area that quotes the chrome of every state."""
    return _replaced(screen, random, quoted=True)


def _replaced(screen: Screen, random: Random, quoted: bool) -> Screen | None:
    at = live(screen)
    if at < 0:
        return None
    return replace(screen, rows=(*transcript(screen, random, quoted), *screen.rows[at:]))


def scrollbar(screen: Screen, random: Random) -> Screen | None:
    """Prose with a scrollbar at its right, in the agents that draw one."""
    if screen.family not in ("qwen", "copilot", "grok", "amp", "ampold", "cline") or not screen.columns:
        return None
    at = live(screen)
    if at < 0:
        return None
    glyph = {"copilot": "┃"}.get(screen.family, "█")
    rows = [row.ljust(screen.columns - 1)[: screen.columns - 1] + glyph for row in transcript(screen, random, True)]
    return replace(screen, rows=(*rows, *screen.rows[at:]))


def times(screen: Screen, random: Random) -> Screen | None:
    """Other elapsed times in the live area."""
    at = live(screen)
    if at < 0 or screen.state != "working" or screen.family in ("omp", "pi", "piold"):
        return None
    time = random.choice(TIMES)
    return _in_live(screen, at, lambda row: _SECONDS.sub(time, row))


def tokens(screen: Screen, random: Random) -> Screen | None:
    """Other counts of tokens and bytes in the live area."""
    at = live(screen)
    if at < 0 or screen.state != "working":
        return None
    count = random.choice(("9", "12", "47.7k", "288.5k", "1"))
    return _in_live(screen, at, lambda row: _TOKENS.sub(count.rstrip("k") if "B esc" in row else count, row))


def _in_live(screen: Screen, at: int, change: Callable[[str], str]) -> Screen | None:
    rows = (*screen.rows[:at], *map(change, screen.rows[at:]))
    return replace(screen, rows=rows) if rows != screen.rows else None


def frames(screen: Screen, random: Random) -> Screen | None:
    """Another frame of the spinner."""
    at = live(screen)
    if at < 0 or screen.state != "working":
        return None
    row = screen.rows[at].strip()
    family = FAMILIES[screen.family]
    glyph = row[:1]
    set_ = [frame for frame in family.frames if ("\u2800" <= frame <= "\u28ff") == ("\u2800" <= glyph <= "\u28ff")]
    if screen.family in ("copilot", "amp", "ampold"):
        glyphs, set_ = ("●○◎◉", list("●○◎◉")) if screen.family == "copilot" else ("∼≈≋", list(" ∼≈≋"))
        for number in range(at, len(screen.rows)):
            text = screen.rows[number]
            if text.strip()[:1] and text.strip()[:1] in glyphs:
                new = text.replace(text.strip()[0], random.choice(set_), 1)
                return replace(screen, rows=(*screen.rows[:number], new, *screen.rows[number + 1 :]))
        return None
    if glyph == "─":  # the spinner is in the composer's border
        row = screen.rows[at]
        new = re.sub("[\u2800-\u28ff]", random.choice(family.frames), row, count=1)
    elif glyph in set_:
        new = screen.rows[at].replace(glyph, random.choice(set_), 1)
    else:
        return None
    return replace(screen, rows=(*screen.rows[:at], new, *screen.rows[at + 1 :]))


def verbs(screen: Screen, random: Random) -> Screen | None:
    """Another word for what is being done, where the agent or the model chooses it."""
    at = live(screen)
    if at < 0 or screen.state != "working":
        return None
    word = random.choice(WORDS)
    row = screen.rows[at]
    patterns = {
        "claude": r"(?<=^[·✢✳✶✻✽*●] )[^…(]+(?=…)",
        "codex": r"(?<=^[•◦] )(?:Working|[A-Z][^(]*?)(?= \()",
        "gemini": r"(?<=^ [\u2800-\u28ff] ).*?(?= \(esc)",
        "qwen": r"(?<=^  [\u2800-\u28ff] ).*?(?= \()",
        "grok": r"(?<=^    [\u2800-\u28ff] )[^…]+(?=…)",
        "omp": r"(?<=⎋ )\S+(?=  |$)",
        "cline": r"(?<=^ [\u2800-\u28ff] ).*?(?=  |$)",
    }
    if screen.family not in patterns or (screen.family == "claude" and re.search("etry|Waiting", row)):
        return None
    new = re.sub(patterns[screen.family], lambda _: word, row, count=1)
    return replace(screen, rows=(*screen.rows[:at], new, *screen.rows[at + 1 :])) if new != row else None


def names(screen: Screen, random: Random) -> Screen | None:
    """Other names of folders, branches and models."""
    pairs = {
        "~/project": random.choice(("~/src/a-very-long-folder-name", "/srv/gauges", "~", "~/作業")),
        "mock-model": random.choice(("nova-4-codex-max", "gpt-6.2-sol", "claude opus 5")),
        "Opus 5.5": "Sonnet 6 (1M context)",
        "Mock Model": "Nova 4",
        "main": random.choice(("fix/roster-2", "trunk")),
        "Mock title": random.choice(("Tide table", "潮汐表", "esc to interrupt")),
    }

    def change(row: str) -> str:
        for old, new in pairs.items():
            row = row.replace(old, new)
        return row

    return _in_live(screen, max(0, live(screen)), change)


def draft(screen: Screen, random: Random) -> Screen | None:
    """A draft in the composer: one row or several, CJK, words of the interface."""
    at = live(screen)
    if at < 0 or screen.state not in ("working", "idle") or "raft" in screen.name or "menu" in screen.name:
        return None
    if screen.reason in ("claude.interruptFooter", "codex.shellComposer", "claude.shellComposer"):
        return None  # the hint that tells goes while there is a draft
    found = _composer_row(screen, at)
    if found is None:
        return None
    number, lead = found
    family = FAMILIES[screen.family]
    lines = random.choice(DRAFTS)
    if lines == ("1. Yes",) and screen.family == "claude":
        return None  # a typed number reads as a selected choice (detection.md §2.1.2)
    old = screen.rows[number]
    rows = []
    for line in lines:
        row = lead + line
        if old.rstrip().endswith("│"):
            wide = sum(scalar > "\u2e80" for scalar in line)
            row = row.ljust(len(old.rstrip()) - 1 - wide) + "│"
        rows.append(row)
        lead = family.more
    return replace(screen, rows=(*screen.rows[:number], *rows, *screen.rows[number + 1 :]))


def _composer_row(screen: Screen, at: int) -> tuple[int, str] | None:
    """Return the composer's first row and what leads its text."""
    prompt = FAMILIES[screen.family].prompt
    if screen.family in ("pi", "piold"):
        rules = [row for row in range(at, len(screen.rows)) if screen.rows[row].startswith("──")]
        return (rules[-2] + 1, "") if len(rules) > 1 and rules[-1] - rules[-2] == 2 else None
    for number in range(len(screen.rows) - 1, at - 1, -1):
        row = screen.rows[number]
        if row.replace("\u00a0", " ").startswith(prompt) or row.rstrip() == prompt.rstrip():
            if screen.family == "opencode":
                top = number
                while top > at and screen.rows[top - 1].lstrip().startswith("┃"):
                    top -= 1
                return top + 1, prompt
            if screen.family.startswith("amp"):
                top = number
                while top > at and screen.rows[top - 1].startswith("│"):
                    top -= 1
                return top, prompt
            return number, prompt
    return None


def status_line(screen: Screen, random: Random) -> Screen | None:
    """Claude's status line as the user likes it, between the composer and the mode."""
    at = live(screen)
    if screen.family != "claude" or at < 0 or screen.state not in ("working", "idle"):
        return None
    bottom = max((row for row in range(at, len(screen.rows)) if screen.rows[row].startswith("──")), default=-1)
    if bottom < 0 or not screen.rows[bottom - 1].strip() or "menu" in screen.name:
        return None
    lines = random.choice(
        (
            ["  Model: Opus 5.5  (+1629,-354)", "  Ctx: 127.2k  Block: 3hr 10m"],
            ["  ~/project on  main [!] via v22", "  ▓▓▓▓░░ 41% │ $1.20 │ 3m 2s…"],
            ["  ➜ esc · 2 shells of sand"],
            ["  ctx 12% · ✻ opus… (12s)"],
        )
    )
    return replace(screen, rows=(*screen.rows[: bottom + 1], *lines, *screen.rows[bottom + 1 :]))


def right_chrome(screen: Screen, random: Random) -> Screen | None:
    """Claude's right-aligned hint over the composer, there or not."""
    at = live(screen)
    if screen.family != "claude" or at < 1 or screen.state not in ("working", "idle") or not screen.columns:
        return None
    rows = list(screen.rows)
    box = (
        at
        if rows[at].startswith("──")
        else next((row for row in range(at, len(rows)) if rows[row].startswith("────")), -1)
    )
    if box < 1:
        return None
    hint = random.choice(("◐ medium · /effort", "◉ xhigh · /effort", "ctrl+y to paste deleted text", ""))
    if rows[box - 1].startswith(" " * (screen.columns // 3)):
        rows[box - 1] = hint.rjust(screen.columns - 1)
    elif hint:
        rows.insert(box, hint.rjust(screen.columns - 1))
    return replace(screen, rows=tuple(rows))


def other_width(screen: Screen, random: Random) -> Screen | None:
    """A wider or narrower pane: rules and boxes end elsewhere, long rows wrap."""
    if screen.drawn or not screen.columns:
        return None
    if (screen.family == "claude" and screen.state == "unknown") or screen.reason == "grok.signIn":
        return None  # what is placed over the transcript, or in the middle, is placed anew
    if "ascii" in screen.name:
        return None  # its boxes are not told from text
    return resized(screen, random.choice((50, 60, 72, 100, 132, 160)), live(screen))


def no_title(screen: Screen, random: Random) -> Screen | None:
    """The title is not known."""
    return None if "title" in screen.reason or not screen.title else replace(screen, title="")


def stale_working_title(screen: Screen, random: Random) -> Screen | None:
    """A working title left over on a screen of an idle agent, and one beside a dialog."""
    family = FAMILIES.get(screen.family)
    if not family or not family.working or screen.state not in ("idle", "blocked") or "title" in screen.reason:
        return None
    if screen.drawn or (screen.state == "idle" and re.search("menu|dialog", screen.name + screen.reason)):
        return None  # under a menu the agent may well work
    if screen.reason == "fallback.noRuleMatched":
        return None
    return replace(screen, title=random.choice(family.working))


def idle_title(screen: Screen, random: Random) -> Screen | None:
    """A title that says nothing, or that the agent is idle."""
    family = FAMILIES.get(screen.family)
    if not family or "title" in screen.reason:
        return None
    return replace(screen, title=random.choice(family.idle))


def options(screen: Screen, random: Random) -> Screen | None:
    """Another option of a dialog is pointed at."""
    at = live(screen)
    if at < 0 or screen.state != "blocked":
        return None
    pointer = re.compile(r"^([ │]*)([❯›▶→●]|▸●)( +\[?[0-9]+[.\]] )")
    plain = re.compile(r"^([ │]*)( ?)( +\[?[0-9]+[.\]] )")
    rows = list(screen.rows)
    chosen = [row for row in range(at, len(rows)) if pointer.match(rows[row])]
    others = [row for row in range(at, len(rows)) if row not in chosen and plain.match(rows[row])]
    if len(chosen) != 1 or not others:
        return None
    found = pointer.match(rows[chosen[0]])
    assert found is not None
    rest = rows[chosen[0]][found.end(2) :]
    rows[chosen[0]] = found[1] + " " * len(found[2]) + rest
    other = random.choice(others)
    place = found.end(1)
    if rows[other][place : place + len(found[2])].strip():
        return None
    rows[other] = rows[other][:place] + found[2] + rows[other][place + len(found[2]) :]
    return replace(screen, rows=tuple(rows))


def longer_question(screen: Screen, random: Random) -> Screen | None:
    """A dialog about a longer command: more rows at its head."""
    at = live(screen)
    if at < 0 or screen.state != "blocked":
        return None
    rows = screen.rows
    marks = [row for row in range(at, len(rows)) if re.search(r"touch made\.txt|rm -rf|sleep [0-9]", rows[row])]
    if not marks:
        return None
    mark = marks[-1]
    old = rows[mark]
    extra = []
    for number in range(random.choice((1, 3, 12))):
        row = re.sub(r"touch made\.txt|rm -rf \S+|sleep [0-9]+", f"echo {number}", old)
        if old.rstrip().endswith("│"):
            row = row.rstrip().removesuffix("│").ljust(len(old.rstrip()) - 1)[: len(old.rstrip()) - 1] + "│"
        extra.append(row)
    if re.search(r"[0-9]\. |\(|\[", old):
        return None
    return replace(screen, rows=(*rows[: mark + 1], *extra, *rows[mark + 1 :]))


def option_texts(screen: Screen, random: Random) -> Screen | None:
    """Other commands, paths and names in the texts of the options."""
    at = live(screen)
    if at < 0 or screen.state != "blocked":
        return None
    new = random.choice(("git push --force origin", "ls", "esc", "删除"))
    return _in_live(screen, at, lambda row: re.sub(r"touch made\.txt|rm -rf made|`touch`|touch \*", new, row))


CHANGES: tuple[Change, ...] = (
    pad_bottom,
    pad_top,
    pad_middle,
    cut_top,
    other_transcript,
    quoting_transcript,
    scrollbar,
    times,
    tokens,
    frames,
    verbs,
    names,
    draft,
    status_line,
    right_chrome,
    other_width,
    no_title,
    stale_working_title,
    idle_title,
    options,
    longer_question,
    option_texts,
)
