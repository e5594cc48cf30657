"""The compiled terminal engine; there is no interpreted twin, so importing this fails where it is not built.

``PROWL_PURE=1`` hides it. pyte stands in for it (``prowl_svc.terminal.factory`` chooses).
"""

import os

if os.environ.get("PROWL_PURE") == "1":
    raise ImportError("PROWL_PURE=1 hides the compiled terminal engine")

from prowl_svc._fast._engine import Engine

__all__ = ["Engine", "EventKind", "Query"]


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
