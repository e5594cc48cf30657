"""Row scanning: the compiled implementation when it is built, else the interpreted one (same results).

``PROWL_PURE=1`` forces the interpreted one. ``COMPILED`` tells which is in use.
"""

import os

from prowl_svc._fast import _rows_py as _implementation

__all__ = ["COMPILED", "logical", "lower", "scan", "squeeze", "squeeze_rows"]

COMPILED = False
scan = _implementation.scan
logical = _implementation.logical
lower = _implementation.lower
squeeze = _implementation.squeeze
squeeze_rows = _implementation.squeeze_rows

if os.environ.get("PROWL_PURE") != "1":
    try:
        from prowl_svc._fast import _rows
    except ImportError:
        pass
    else:
        COMPILED = True
        scan = _rows.scan
        logical = _rows.logical
        lower = _rows.lower
        squeeze = _rows.squeeze
        squeeze_rows = _rows.squeeze_rows
