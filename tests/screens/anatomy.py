"""Where the live area of a recorded screen begins, by agent: read off what is drawn, without the agents' rules.

Only what the agent itself draws is looked at (boxes, rules, the rows of a dialog), so that a transformation that
replaces the transcript is independent of the rules that it tests.
"""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache

__all__ = ["FAMILIES", "Family", "Screen", "live"]

BRAILLE = "\u2800-\u28ff"


@dataclass(frozen=True)
class Screen:
    """One screen with the right answer; ``family`` names the program that drew it."""

    name: str
    family: str
    rows: tuple[str, ...]
    title: str
    state: str
    columns: int
    height: int
    #: what decided on the screen as it was recorded
    reason: str = ""
    drawn: bool = False


@dataclass(frozen=True)
class Family:
    """How one program draws: where its live area begins, what leads its answers, and where its composer is."""

    live: Callable[[Screen], int]
    first: str
    rest: str
    user: str
    #: a row of the composer that holds the draft: what leads it, up to the first typed scalar
    prompt: str
    #: what leads further rows of a draft
    more: str
    #: titles of a working and of an idle agent, where they say so
    working: tuple[str, ...] = ()
    idle: tuple[str, ...] = ()
    #: the frames of the spinner
    frames: str = "⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏"


def last(rows: Sequence[str], pattern: str, stop: int | None = None) -> int:
    """Return the last row above ``stop`` in which the pattern is found, or -1."""
    for row in range((len(rows) if stop is None else stop) - 1, -1, -1):
        if re.search(pattern, rows[row]):
            return row
    return -1


def _status(rows: Sequence[str], pattern: str, box: int, reach: int = 14) -> int:
    """Return the last matching row in the ``reach`` rows over the composer, else the composer."""
    found = last(rows, pattern, box)
    return found if found >= 0 and box - found <= reach else box


def _claude(screen: Screen) -> int:
    rows = screen.rows
    if screen.state == "blocked":
        cursor = last(rows, r"^ ?❯")
        return last(rows, r"^[─▔]{20,}", cursor)
    prompt = last(rows, r"^[❯!]")
    if prompt < 1 or not re.match(r"^[─-]{3,}", rows[prompt - 1]):
        return -1
    if screen.state == "working":
        return _status(rows, r"^[·✢✳✶✻✽✦*●] .*(?:…|\.\.\.|etry|etried|Waiting for)", prompt - 1, 40)
    return prompt - 1


def _codex(screen: Screen) -> int:
    rows = screen.rows
    if screen.state == "blocked":
        return last(
            rows,
            r"^ *(?:Would you like|Question [0-9]|Do you (?:trust|want)|Folder access|Hooks$|Hooks need review"
            r"|Implement this|Update|✨|> You are in|Welcome to Codex)",
        )
    prompt = last(rows, r"^›( |$)")
    if prompt < 0:
        return -1
    if screen.state == "working" and screen.reason.endswith("titleWorking"):
        return last(rows, r"^› ", prompt)
    if screen.state == "working":
        return _status(rows, r"^[•◦] (?!Messages).*\(", prompt)
    return prompt


def _gemini(screen: Screen) -> int:
    rows = screen.rows
    if screen.state == "blocked":
        return last(rows, r"^╭")
    bottom = last(rows, r"^▀{10,}")
    top = last(rows, r"^▄{10,}", bottom)
    rule = last(rows, r"^─{10,}", top)
    if rule < 0 or top - rule > 4:
        return -1
    if screen.state == "working":
        return _status(rows, f"^ *[{BRAILLE}]", rule)
    return rule - 1


def _qwen(screen: Screen) -> int:
    rows = screen.rows
    if screen.state == "blocked":
        box = last(rows, r"^ *[╭┌]")
        return box if box >= 0 else last(rows, r"^  [?⊷] ")
    bottom = last(rows, r"^─{10,}")
    top = last(rows, r"^─{10,}", bottom)
    return _status(rows, f"^ *[{BRAILLE}]", top) if screen.state == "working" else top


def _copilot(screen: Screen) -> int:
    rows = screen.rows
    if screen.state == "blocked":
        box = last(rows, r"^╭")
        return box if box >= 0 else last(rows, r"^─{10,}", last(rows, r"^─{10,}"))
    top = last(rows, r"^─{10,}", last(rows, r"^─{10,}"))
    return last(rows, r"^ *[~/]", top)


def _droid(screen: Screen) -> int:
    rows = screen.rows
    if screen.state == "blocked":
        return last(rows, r" to approve · |^ +Ask User$|^ +Trust |^ *╭")
    mode = last(rows, r"^╭") - 1
    if screen.state != "working":
        return mode
    return _status(rows, f"^ ?[{BRAILLE}]", mode)


def _grok(screen: Screen) -> int:
    rows = screen.rows
    if screen.state == "blocked":
        return last(rows, r"^ *◆ .*\[stop\]")
    box = last(rows, r"^  ╭")
    return _status(rows, f"^    [{BRAILLE}○◎◉●]", box) if screen.state == "working" else box


def _kimicode(screen: Screen) -> int:
    rows = screen.rows
    if screen.state == "blocked":
        return last(rows, r"^ ─{10,}", last(rows, r"^ ─{10,}"))
    box = last(rows, r"^ [╭├]")
    return _status(rows, f"^  [{BRAILLE}🌑🌒🌓🌔🌕🌖🌗🌘]", box) if screen.state == "working" else box


def _kimi(screen: Screen) -> int:
    rows = screen.rows
    if screen.state == "blocked":
        return last(rows, r"^╭─")
    box = last(rows, r"── input ─")
    if screen.state == "working":
        return _status(rows, f"^[{BRAILLE}🌑🌒🌓🌔🌕🌖🌗🌘]|^Thinking |^Retrying", box)
    return box


def _opencode(screen: Screen) -> int:
    rows = screen.rows
    row = last(rows, r"^ *╹▀") - 1 if screen.state != "blocked" else last(rows, r"^ *┃")
    while row > 0 and re.match(r"^ *┃", rows[row - 1]):
        row -= 1
    return row - 1


def _pi(screen: Screen) -> int:
    rows = screen.rows
    bottom = last(rows, r"^─{10,}")
    top = last(rows, r"^─{2,}", bottom)
    if screen.state == "working":
        card = last(rows, r"^ async subagent ", top)
        return card if card >= 0 and top - card < 9 else _status(rows, f"^ ?[{BRAILLE}]", top)
    return top


def _omp(screen: Screen) -> int:
    rows = screen.rows
    if screen.state == "blocked":
        box = last(rows, r"^(?:╭─|\+-) ")
        return box if box >= 0 else last(rows, r"^─{10,}", last(rows, r"^─{10,}"))
    prompt = last(rows, r"^(?:╰─|\+-)")
    if prompt > 0 and rows[prompt].rstrip().endswith(("╯", "+")):
        prompt = last(rows, r"^(?:╭─|\+-)", prompt) + 1
    if screen.state == "working":
        return _status(rows, f"^ *(?:⎋|\U000f12b7|esc |[{BRAILLE}])", prompt - 1, 4)
    return prompt - 1


def _amp(screen: Screen) -> int:
    return last(screen.rows, r"^ *╭─")


def _cline(screen: Screen) -> int:
    rows = screen.rows
    if screen.state == "blocked":
        return last(rows, r"^ Cline (?:needs|is asking)")
    top = last(rows, r"^─{10,}", last(rows, r"^─{10,}"))
    if screen.state == "working":
        return last(rows, f"^ [{BRAILLE}]", top)
    return top


_CLAUDE_IDLE = ("✳ Claude Code", "✳ tidy the folder", "Claude Code", "u@box: ~/project")

FAMILIES = {
    "claude": Family(
        _claude,
        "● ",
        "  ",
        "❯ ",
        "❯ ",
        "  ",
        ("◐ Claude Code", "◑ tidy the folder", "⠂ tidy the folder"),
        _CLAUDE_IDLE,
        "·✢✳✶✻✽*",
    ),
    "codex": Family(
        _codex,
        "• ",
        "  ",
        "› ",
        "› ",
        "  ",
        ("⠙ project", "⠹ tidy | project"),
        ("project", "tidy | project", "u@box: ~"),
        "•◦",
    ),
    "gemini": Family(
        _gemini,
        "✦ ",
        "  ",
        " > ",
        " > ",
        "   ",
        ("✦  Working… (project)", "⏲  Working… (project)"),
        ("◇  Ready (project)", "project"),
    ),
    "qwen": Family(_qwen, "  ◆︎ ", "    ", "  > ", "> ", "  ", ("◐︎ Qwen - project",), ("Qwen - project", "u@box: ~")),
    "copilot": Family(
        _copilot, " ● ", "   ", " ❯ ", "❯ ", "  ", (), ("GitHub Copilot", "tidy - GitHub Copilot"), "●○◎◉"
    ),
    "droid": Family(_droid, "⛬  ", "   ", "   ", "│ > ", "│   ", (), ("⛬ Droid", "⛬ New Session"), "⠉⠙⠘⠸⠰⢰⢠⣠⣀⣄⡄⡆⠆⠇⠃⠋"),
    "grok": Family(
        _grok,
        "     ",
        "     ",
        "     ❯ ",
        "  │ ❯ ",
        "  │   ",
        ("⠙ - Responding - tidy - grok",),
        ("tidy - grok",),
    ),
    "kimicode": Family(
        _kimicode, " ● ", "   ", " ✨ ", " │ > ", " │   ", (), ("tidy the folder",), "⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏🌑🌒🌓🌔🌕🌖🌗🌘"
    ),
    "kimi": Family(_kimi, "• ", "  ", "✨ ", "✨ ", "", (), ("Kimi Code",), "⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏🌑🌒🌓🌔🌕🌖🌗🌘"),
    "opencode": Family(_opencode, "     ", "     ", "  ┃  ", "  ┃  ", "  ┃  ", (), ("OpenCode", "OC | tidy")),
    "pi": Family(_pi, " ", " ", " ", "", "", (), ("π - project",)),
    "piold": Family(_pi, " ", " ", " ", "", "", (), ("π - project",)),
    "omp": Family(_omp, " ", " ", " ", "╰─ ", "", ("π ⠙ tidy",), ("π > tidy", "u@box: ~")),
    "amp": Family(_amp, "  ", "  ", "  ┃ ", "│ ", "│ ", (), ("amp",)),
    "ampold": Family(_amp, "  ", "  ", "  ┃ ", "│ ", "│ ", (), ("amp",)),
    "cline": Family(_cline, " * ", "   ", " ❯ ", "❯ ", "  ", (), ("Cline", "> tidy")),
}


@lru_cache(4096)
def live(screen: Screen) -> int:
    """Return the first row of the live area, or -1 where it is not known."""
    if screen.state == "unknown" or screen.drawn or screen.family not in FAMILIES:
        return -1
    if screen.reason.endswith((".signIn", ".notice", ".retry")):  # nothing of a transcript stands over these
        return -1
    return FAMILIES[screen.family].live(screen)
