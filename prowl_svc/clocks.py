"""The clocks of this machine, read nowhere else: passed into everything that decides."""

import os
import sys
import time
from dataclasses import dataclass

__all__ = ["Clocks"]


@dataclass(frozen=True, slots=True)
class Clocks:
    """Reads the system's clocks; tests pass another object with the same methods.

    Raw process start times are clock ticks since boot on Linux and microseconds since the epoch elsewhere.
    """

    units_per_second: int = os.sysconf("SC_CLK_TCK") if sys.platform == "linux" else 1_000_000

    def monotonic(self) -> float:
        """Seconds that never go back."""
        return time.monotonic()

    def wall_ns(self) -> int:
        """Wall-clock nanoseconds since the epoch."""
        return time.time_ns()

    def process_seconds(self) -> float:
        """Seconds on the clock of process start times."""
        return time.clock_gettime(time.CLOCK_BOOTTIME) if sys.platform == "linux" else time.time()

    def process_clock(self) -> int:
        """The present moment in raw start-time units."""
        return int(self.process_seconds() * self.units_per_second)

    def started_seconds(self, start: int) -> float:
        """A raw start time on the clock of ``process_seconds``."""
        return start / self.units_per_second

    def started_wall(self, start: int) -> float:
        """A raw start time as wall-clock seconds since the epoch."""
        return time.time() - self.process_seconds() + start / self.units_per_second
