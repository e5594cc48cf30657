"""What decides whether a task may be typed into a pane now (signals.md §4.9, detection.md §2.2.5)."""

from collections.abc import Callable

from prowl_svc.model.agents import Agent
from prowl_svc.model.state import RawState
from prowl_svc.panes.hosted import HostedPane
from prowl_svc.screens import claude, codex
from prowl_svc.screens.classify import classify, screen_of
from prowl_svc.screens.frame import Frame
from prowl_svc.signals.delivery import Composer, InputArea
from prowl_svc.terminal.screen import Screen
from prowl_svc.watch.watcher import Watcher

__all__ = ["input_area", "leaves_draft"]

_PASTE_MODE = 2004
_SUBMITS = frozenset(b"\r\x03\x15")
"""Enter, Ctrl-C and Ctrl-U: after these nothing that was typed waits in the input area."""

_COMPOSERS: dict[Agent, tuple[str, Callable[[Frame], str | None]]] = {
    Agent.CLAUDE: ("❯", claude.composer_text),
    Agent.CODEX: ("›", codex.composer_text),
}


def leaves_draft(data: bytes, before: bool) -> bool:
    """Tell whether typed bytes leave something unsubmitted; sequences of keys and the mouse leave it as it was."""
    if data.startswith(b"\x1b"):
        return before
    for position in range(len(data) - 1, -1, -1):
        if data[position] in _SUBMITS:
            return position < len(data) - 1
    return before or bool(data)


def input_area(watcher: Watcher, pane: HostedPane) -> InputArea:
    """Look at a pane's input area as it is now."""
    screen = pane.screen
    composer, text = _composer(watcher.presence.agent, screen)
    return InputArea(
        composer=composer,
        text=text,
        unsubmitted=watcher.unsubmitted,
        bracketed_paste=screen.mode(_PASTE_MODE),
        launch_alive=watcher.facts().generation is not None,
    )


def _composer(agent: Agent | None, screen: Screen) -> tuple[Composer, str]:
    reader = _COMPOSERS.get(agent) if agent is not None else None
    definition = screen_of(agent) if agent is not None else None
    if agent is None or reader is None or definition is None:
        return Composer.UNCLASSIFIED, ""
    glyph, read = reader
    rows = screen.active_rows()
    if classify(agent, rows, screen.title).state is RawState.BLOCKED:
        return Composer.UNRECOGNISED, ""
    typed = read(Frame(rows, definition.tail))
    prompt = next((row for row in range(len(rows) - 1, -1, -1) if rows[row].lstrip().startswith(glyph)), -1)
    if typed is None or prompt < 0:
        return Composer.UNRECOGNISED, ""
    text = "\n".join(rows[prompt:])
    # A hint or a suggestion is drawn dim: it is not what a person typed.
    if typed and not screen.empty_or_dim(prompt, rows[prompt].index(glyph) + 1):
        return Composer.DRAFT, text
    return Composer.EMPTY, text
