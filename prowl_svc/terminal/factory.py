"""The one place that chooses the terminal engine."""

import importlib
import os
from collections.abc import Callable

from prowl_svc.terminal.pyte_screen import PyteScreen
from prowl_svc.terminal.screen import Screen

__all__ = ["COMPILED", "new_screen"]


def _choose() -> Callable[..., Screen] | None:
    """Return the compiled engine's screen class, or None when it is not built or ``PROWL_PURE=1`` forbids it."""
    if os.environ.get("PROWL_PURE") == "1":
        return None
    try:
        engine = importlib.import_module("prowl_svc.terminal.engine_screen")
    except ImportError:
        return None
    screen: Callable[..., Screen] = engine.EngineScreen
    return screen


_ENGINE = _choose()
COMPILED = _ENGINE is not None
"""Whether panes get the compiled engine."""


def new_screen(columns: int, rows: int, *, scrollback: int = 1000, answer_status_query: bool = False) -> Screen:
    """Make a screen on the best engine that is there; ``scrollback`` is in rows."""
    make = _ENGINE or PyteScreen
    return make(columns, rows, scrollback=scrollback, answer_status_query=answer_status_query)
