"""Keeps what was found in a process group for three quarters of a second (detection.md §1.8)."""

from collections.abc import Callable
from typing import Final, Generic, TypeVar

__all__ = ["LIFETIME", "PURGE_ABOVE", "GroupCache"]

LIFETIME: Final = 0.75
"""Seconds; an entry of exactly this age is expired."""

PURGE_ABOVE: Final = 64
"""With more entries than this, and twice as many as the last time left, an insert drops the expired ones."""

T = TypeVar("T")


class GroupCache(Generic[T]):
    """A value per process group, also "nothing found". Times are seconds of the passed-in monotonic clock."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._entries: dict[int, tuple[float, T | None]] = {}
        self._purge_above = PURGE_ABOVE

    def __len__(self) -> int:
        return len(self._entries)

    def get(self, pgrp: int) -> tuple[T | None] | None:
        """Return the kept value in a tuple of one, or None when there is none that is fresh."""
        entry = self._entries.get(pgrp)
        return (entry[1],) if entry is not None and self._fresh(entry[0]) else None

    def last(self, pgrp: int) -> T | None:
        """Return the value that was found last, however old, or None."""
        entry = self._entries.get(pgrp)
        return entry[1] if entry is not None else None

    def put(self, pgrp: int, value: T | None, read_at: float | None = None) -> None:
        """Keep a value that was read at ``read_at`` (now if None)."""
        self._entries[pgrp] = (self._clock() if read_at is None else read_at, value)
        if len(self._entries) > self._purge_above:
            self._entries = {key: entry for key, entry in self._entries.items() if self._fresh(entry[0])}
            self._purge_above = max(PURGE_ABOVE, 2 * len(self._entries))  # many live groups are not sifted every time

    def _fresh(self, read_at: float) -> bool:
        return self._clock() - read_at < LIFETIME
