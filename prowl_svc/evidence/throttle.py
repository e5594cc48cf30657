"""Warnings of file providers: one per category in 30 s, one line of recovery, no content (providers.md §2.5)."""

from collections.abc import Callable

__all__ = ["INTERVAL", "Warnings"]

INTERVAL = 30.0


class Warnings:
    """The warnings of one provider; ``sink`` takes each line's words, and whoever logs adds the log category.

    A new warning of a category is allowed exactly 30 s after the last one that was emitted. The first success after
    any failure, a throttled one included, is reported once.
    """

    def __init__(self, sink: Callable[[str], None]) -> None:
        self._sink = sink
        self._last: dict[str, float] = {}
        self._failing = False

    def failed(self, category: str, now: float, details: str = "") -> None:
        """Report a failure of a category at ``now`` (monotonic seconds)."""
        self._failing = True
        last = self._last.get(category)
        if last is None or now - last >= INTERVAL:
            self._last[category] = now
            self._sink(f"{category} {details}".rstrip())

    def succeeded(self, details: str = "") -> None:
        """Report a success."""
        if self._failing:
            self._failing = False
            self._sink(f"recovered {details}".rstrip())
