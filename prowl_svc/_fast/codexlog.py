"""Codex log scanning: the compiled implementation when it is built, else the interpreted one.

The compiled one may keep a line more, when names in it are written with escapes. ``PROWL_PURE=1`` forces the
interpreted one. ``COMPILED`` tells which is in use.
"""

import os

from prowl_svc._fast import _codexlog_py as _implementation

__all__ = ["COMPILED", "lifecycle"]

COMPILED = False
lifecycle = _implementation.lifecycle

if os.environ.get("PROWL_PURE") != "1":
    try:
        from prowl_svc._fast import _codexlog
    except ImportError:
        pass
    else:
        COMPILED = True
        lifecycle = _codexlog.lifecycle
