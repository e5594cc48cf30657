"""What changed screens are made of: recorded and drawn screens, prose, quoted chrome, drafts."""

from dataclasses import replace
from functools import cache
from random import Random

from prowl_svc.model.agents import Agent
from prowl_svc.screens.classify import classify
from tests.recorder.captures import folders
from tests.screens import corpus
from tests.screens.anatomy import FAMILIES, Screen, live

__all__ = ["DRAFTS", "PROSE", "TIMES", "WORDS", "agent_of", "screens", "transcript"]

PROSE = (
    "Renamed the helper so that both importers share it.",
    "The tide table covers the northern harbours as well, and the two pumps of the old quay are listed beside them.",
    "1. Open the lock",
    "2. No change for readers",
    "- a list item with a dash",
    "两个港口的潮汐表已经补齐。",
    "時計の誤差は一時間あたり四ミリ秒未満です。",
    "def main() -> None:",
    "Worked on the parser, waiting for review.",
    "",
)
QUOTES = (
    "esc to interrupt",
    "Do you want to proceed?",
    "❯ 1. Yes",
    "› 1. Yes, proceed (y)",
    "  2. No",
    "Allow execution of: 'touch'?",
    "△ Permission required",
    "✻ Pollinating… (3s · ↓ 12 tokens)",
    "• Working (3s • esc to interrupt)",
    "⠹ Thinking... (esc to cancel, 3s)",
    "⠋ Working...",
    "── ⠧ Working ─────",
    "◎ Working · 1.2 KB esc interrupt",
    "Press enter to confirm or esc to cancel",
    "Enter to select · ↑/↓ to navigate · Esc to cancel",
    "Waiting for user confirmation...",
    "Yes, proceed",
    "No, reject",
    "Allow once",
    "Always allow this command",
    "Reject",
    "⬡ indexing",
    "Let Cline use this tool?",
    "Cline needs permission",
    "Enter select · Esc cancel",
    "⌕ Search… ctrl+r to toggle",
    "Showing detailed transcript · ctrl+o to toggle",
    "Jump to bottom (click) ↓",
    "✻ Waiting for 1 background agent to finish",
    "3 tool calls in flight",
    "🌓 moon",
    "requesting approval",
    "Is this what you want? (y/n)",
    "Copilot needs information.",
    "↑/↓ select · enter accept · ctrl+d decline · esc cancel",
    "⎿  Running… (1s)",
    "· 1 shell · ↓ to manage",
    "Run this command? (y) (enter)",
    "Confirm with a number key or press Enter",
    "esc to stop",
    "Awaiting your input ? enter",
    "Would you like to run the following command?",
    "If yes, I will push the branch.",
)
WORDS = (
    "Pollinating",
    "Razzle-dazzling",
    "Fixing the (odd) parser",
    "Überlegen",
    "正在思考",
    "Running tests: 3/8",
    "C++ing",
)
DRAFTS = (
    ("next thing",),
    ("y",),
    ("/",),
    ("esc to interrupt",),
    ("1. Yes",),
    ("Do you want to proceed? yes",),
    ("✻ Pollinating… (3s)",),
    ("⠹ Thinking... (esc to cancel, 3s)",),
    ("• Working (3s • esc to interrupt)",),
    ("请把名册按值班时间重新排一下",),
    ("a question?", "and a second row", "and a third"),
    ("do you want tea", "❯ 1. Yes", "2. No"),
    ("Allow execution", "⠋ Working...", "enter to select · esc to cancel"),
    ("重新", "排一下"),
)
TIMES = ("0s", "9s", "59s", "1m 3s", "12m 5s", "1h 3m 2s")


def agent_of(screen: Screen) -> Agent:
    """Return the agent that drew the screen."""
    return Agent.from_name(corpus.VARIANTS.get(screen.family, screen.family))


@cache
def screens() -> tuple[Screen, ...]:
    """Return every recorded and drawn screen that is read rightly."""
    found = []
    for name in corpus.files():
        for case in corpus.load(name):
            family = name.removeprefix("captures/").removesuffix(".json").removesuffix("-v21197")
            if not name.startswith("captures/"):
                family = case.agent.short
            height = max(case.height, len(case.rows))
            found.append(
                Screen(
                    f"{name}:{case.id}",
                    family,
                    case.rows,
                    case.title,
                    case.state,
                    case.columns,
                    height,
                    drawn=not name.startswith("captures/"),
                )
            )
    for folder in folders():
        family = Agent(folder.agent).short
        family = {("kimi", "2"): "kimicode", ("pi", "0"): "piold", ("amp", "0"): "ampold"}.get(
            (family, folder.version[:1]), family
        )
        for capture in folder.captures():
            found.append(
                Screen(
                    f"{folder.agent}/{folder.version}:{capture.name}",
                    family,
                    tuple(folder.screen(capture)),
                    capture.title,
                    capture.state,
                    capture.columns,
                    capture.rows,
                )
            )
    right = []
    for screen in found:
        seen = classify(agent_of(screen), screen.rows, screen.title)
        if seen.state.value == screen.state:
            right.append(replace(screen, reason=seen.reason))
    return tuple(right)


def is_braille(text: str) -> bool:
    """Tell whether a braille scalar leads a text."""
    return "\u2800" <= text[:1] <= "\u28ff"


def _counts_anywhere(family: str, text: str) -> bool:
    """Tell whether such a row is work wherever it stands in the tail (detection.md §2.3 and §2.4)."""
    if family in ("pi", "piold"):
        return any(mark in text for mark in ("Working...", "Async agents ·", "subagents (", "async subagent"))
    return family in ("omp", "cline") and (
        "\u2800" <= text[0] <= "\u28ff" or text.endswith("⟦esc⟧") or "Enter select" in text
    )


@cache
def own_chrome(family: str) -> tuple[str, ...]:
    """Return the texts that the agent draws in the live areas of working and blocked screens."""
    found = set()
    for screen in screens():
        at = live(screen) if screen.family == family and screen.state in ("working", "blocked") else -1
        for row in screen.rows[at:] if at >= 0 else ():
            text = row.strip(" │█┃▆▄\u00a0")
            if text.strip("─━═▔▀▄╭╮╰╯╹ ") and len(text) > 4 and not _counts_anywhere(family, text):
                found.add(text)
    return tuple(sorted(found))


def _lines(screen: Screen, random: Random, quoted: bool) -> list[str]:
    lines = []
    for _ in range(random.randint(1, 9)):
        pick = random.choice(PROSE)
        if quoted and random.random() < 0.6:
            own = own_chrome(screen.family)
            pick = random.choice(own if own and random.random() < 0.5 else QUOTES)
        if pick == "⠋ Working..." and screen.family in ("pi", "piold"):
            continue  # counts anywhere in Pi's tail (detection.md §2.3)
        if screen.family == "omp" and "v17" in screen.name and (is_braille(pick) or "Esc cancel" in pick):
            continue  # as in the older interface of Oh My Pi (§2.4)
        if pick in QUOTES and random.random() < 0.4:
            pick = f"It says “{pick}” there."
        lines.append(pick)
    return [random.choice(PROSE[:2]), *lines, random.choice(PROSE[:2])]


def transcript(screen: Screen, random: Random, quoted: bool) -> list[str]:
    """Return rows of a transcript: messages of the user's and answers, the last row plain prose."""
    family = FAMILIES[screen.family]
    rows: list[str] = []
    width = max(20, screen.columns - 4) if screen.columns else 76
    for _ in range(random.randint(1, 4)):
        rows += ["", f"{family.user}{random.choice(PROSE[:2])}"[:width], ""]
        lead = family.first
        for line in _lines(screen, random, quoted):
            rows.append((lead + line)[:width].rstrip() if line else "")
            lead = family.rest
    if screen.family == "claude" and random.random() < 0.5:
        rows += ["", f"✻ Baked for {random.choice(TIMES)}"]
    if screen.family == "codex" and screen.state == "idle":  # only a turn that has not ended lacks its last row
        rows += [
            "",
            random.choice(("  Worked for 8s • 04:23", "■ Conversation interrupted - use /feedback", "  done 6:53 AM")),
        ]
    return [*rows, ""]
