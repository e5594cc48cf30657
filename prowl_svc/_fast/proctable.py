"""One pass over the Linux process table: compiled where possible, else interpreted (``PROWL_PURE=1`` forces it)."""

import os
from typing import TYPE_CHECKING

from prowl_svc._fast._proctable_py import Row

if TYPE_CHECKING or os.environ.get("PROWL_PURE") != "1":
    try:
        from prowl_svc._fast._proctable import Scan, parse_stat, read_stat, scan

        COMPILED = True
    except ImportError:
        from prowl_svc._fast._proctable_py import Scan, parse_stat, read_stat, scan  # type: ignore[assignment]

        COMPILED = False
else:
    from prowl_svc._fast._proctable_py import Scan, parse_stat, read_stat, scan

    COMPILED = False

__all__ = ["COMPILED", "Row", "Scan", "parse_stat", "read_stat", "scan"]
