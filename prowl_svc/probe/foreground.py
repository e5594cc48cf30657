"""The foreground process group of a pane's terminal (detection.md §1.1, terminal.md §2.7)."""

import os
from collections.abc import Callable

__all__ = ["foreground_group"]


def foreground_group(master: int | None, child: int | None, foreground_of: Callable[[int], int | None]) -> int | None:
    """Return the group in the foreground, or None when there is no job.

    ``master`` is the descriptor of a terminal that we host; it answers by itself until its session leader is gone.
    Else ``foreground_of`` (``ProcessTable.foreground``) is asked about ``child``, the pane's first process.
    """
    if master is not None and master >= 0:
        try:
            group = os.tcgetpgrp(master)
        except OSError:
            group = 0
        if group > 0:
            return group
    return foreground_of(child) if child is not None and child > 0 else None
