"""Whether one process is still there, asked before every read of a pane's evidence and so at the price of one call."""

import os
import signal

from prowl_svc.model.process import Generation
from prowl_svc.probe.table import ProcessTable

__all__ = ["Liveness"]


class Liveness:
    """Tells of one process at a time whether it is in the table; where there are pidfds, by one of them."""

    def __init__(self, table: ProcessTable) -> None:
        self._table = table
        self._generation: Generation | None = None
        self._pidfd: int | None = None

    def alive(self, generation: Generation) -> bool:
        """Tell whether exactly this process is there; one that ended but was not waited for is."""
        if generation != self._generation:
            self._hold(generation)
        if self._pidfd is None:
            return self._listed(generation)
        try:
            signal.pidfd_send_signal(self._pidfd, 0)
        except ProcessLookupError:
            return False
        except OSError:  # it is another user's by now, or asking is not allowed here
            return self._listed(generation)
        return True

    def close(self) -> None:
        """Let go of the process; closing twice is harmless."""
        self._generation = None
        if self._pidfd is not None:
            os.close(self._pidfd)
            self._pidfd = None

    def _hold(self, generation: Generation) -> None:
        self.close()
        if not hasattr(os, "pidfd_open"):
            return
        try:
            self._pidfd = os.pidfd_open(generation.pid)
        except OSError:  # it is gone, or there are no descriptors left
            return
        if self._listed(generation):
            self._generation = generation
        else:  # the pid is another process's
            self.close()

    def _listed(self, generation: Generation) -> bool:
        now = self._table.process(generation.pid)
        return now is not None and now.generation == generation
