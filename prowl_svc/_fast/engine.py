"""The compiled terminal engine when it is built; there is no interpreted twin, pyte stands in for it.

``PROWL_PURE=1`` hides it. ``COMPILED`` tells whether ``Engine`` can be used; without it, making one raises ImportError.
"""

import os
from typing import TYPE_CHECKING

__all__ = ["COMPILED", "Engine", "EventKind", "Query"]

COMPILED = False


class EventKind:
    """What a record of :meth:`Engine.feed_records` tells of: its first item."""

    BELL = 1
    MODE = 2
    RESET = 3
    OSC = 4
    DCS = 5
    APC = 6
    QUERY = 7
    TITLE = 8


class Query:
    """The query that a ``QUERY`` record tells of: its third item."""

    DEVICE = 1
    VERSION = 2
    STATUS = 3
    CURSOR = 4
    CURSOR_EXTENDED = 5
    KEYBOARD = 6
    MODE = 7
    ANSI_MODE = 8
    SIZE = 9
    KEY_FORMAT = 10


if TYPE_CHECKING:
    from prowl_svc._fast._engine import Engine
else:
    try:
        if os.environ.get("PROWL_PURE") == "1":
            raise ImportError("the compiled engine is hidden by PROWL_PURE=1")
        from prowl_svc._fast._engine import Engine

        COMPILED = True
    except ImportError as _error:
        _reason = str(_error)

        class Engine:
            """Stands in where the engine is not built."""

            def __init__(self, *_: object, **__: object) -> None:
                raise ImportError(f"the terminal engine is not compiled: {_reason}")
