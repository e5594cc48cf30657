"""Flows of relayed connections: compiled where there is epoll, else interpreted (``PROWL_PURE=1`` forces it)."""

import os
from typing import TYPE_CHECKING

if TYPE_CHECKING or os.environ.get("PROWL_PURE") != "1":
    try:
        from prowl_svc._fast._flows import Flows

        COMPILED = True
    except ImportError:
        from prowl_svc._fast._flows_py import Flows  # type: ignore[assignment]

        COMPILED = False
else:
    from prowl_svc._fast._flows_py import Flows

    COMPILED = False

__all__ = ["COMPILED", "Flows"]
