"""Reading of floods: compiled where possible, else interpreted (``PROWL_PURE=1`` forces it)."""

import os
from typing import TYPE_CHECKING

if TYPE_CHECKING or os.environ.get("PROWL_PURE") != "1":
    try:
        from prowl_svc._fast._reads import read_many

        COMPILED = True
    except ImportError:
        from prowl_svc._fast._reads_py import read_many

        COMPILED = False
else:
    from prowl_svc._fast._reads_py import read_many

    COMPILED = False

__all__ = ["COMPILED", "read_many"]
