"""Bytes that repaint a screen on another terminal."""

from prowl_svc.terminal.screen import Screen

__all__ = ["redraw"]

_INPUT_MODES = (1, 9, 1000, 1002, 1003, 1004, 1005, 1006, 1015, 2004)
"""DEC private modes that decide what a terminal sends; the newcomer must send what the program expects."""


def redraw(screen: Screen) -> bytes:
    """Return what makes a terminal of the same size show the visible frame: text, cursor, title and input modes.

    Colours are not kept by screens; they come back when the program repaints.
    """
    parts = [f"\x1b[?1049{'h' if screen.alternate else 'l'}\x1b[r\x1b[m\x1b[?6l\x1b[?7h\x1b[H\x1b[2J"]
    for number, row in enumerate(screen.active_rows(), 1):
        if row:
            parts.append(f"\x1b[{number};1H{row}")
    parts += [f"\x1b[?{mode}{'h' if screen.mode(mode) else 'l'}" for mode in _INPUT_MODES]
    parts.append(f"\x1b[={screen.kitty_flags};1u")
    if screen.title:
        parts.append(f"\x1b]2;{screen.title}\x1b\\")
    cursor = screen.cursor
    parts.append(f"\x1b[{cursor.row + 1};{cursor.column + 1}H\x1b[?25{'h' if cursor.visible else 'l'}")
    return "".join(parts).encode("utf-8", "replace")
