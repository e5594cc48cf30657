"""The screen that every terminal engine offers; pyte and the compiled engine both take this form."""

from collections.abc import Sequence
from typing import Protocol

from prowl_svc.model.terminal import CursorPosition, SideEvent

__all__ = ["Screen"]


class Screen(Protocol):
    """One terminal's grid, fed with bytes in any split.

    Nothing that is fed raises or grows memory without bound. Rows are text as drawn: a wide character is one item, a
    blank cell is a space, trailing blanks are cut.
    """

    @property
    def columns(self) -> int:
        """Width in cells."""
        ...

    @property
    def rows(self) -> int:
        """Height in cells."""
        ...

    @property
    def revision(self) -> int:
        """Moves only when visible text changes."""
        ...

    @property
    def title(self) -> str:
        """The last OSC 0/2 title, stripped of controls, at most 1,024 characters."""
        ...

    @property
    def cursor(self) -> CursorPosition:
        """Where the cursor is."""
        ...

    @property
    def alternate(self) -> bool:
        """Whether the alternate screen is in use."""
        ...

    @property
    def synchronizing(self) -> bool:
        """Whether a synchronized update (DECSET 2026) is open, so that the visible frame is not complete."""
        ...

    def mode(self, number: int) -> bool:
        """Tell whether DEC private mode ``number`` is set."""
        ...

    @property
    def kitty_flags(self) -> int:
        """The kitty keyboard flags in force on the screen in use, 0 to 31 (for the key encoder)."""
        ...

    def feed(self, data: bytes) -> list[SideEvent]:
        """Take bytes; return the side-channel events that completed in them, in stream order."""
        ...

    def take_answers(self) -> bytes:
        """Return and clear the bytes to write back to the program, in order of the queries (terminal.md §1.4)."""
        ...

    def resize(self, columns: int, rows: int) -> None:
        """Change the size, content kept as terminals do; sizes are clamped to 1..1000."""
        ...

    def active_rows(self) -> list[str]:
        """Return the rows of the active screen, exactly ``rows`` items, trailing blanks cut."""
        ...

    def text(self) -> str:
        """Return the active rows joined by newlines."""
        ...

    def scrollback_rows(self, limit: int | None = None) -> Sequence[str]:
        """Return the newest ``limit`` rows (all if None) that scrolled off the primary screen, oldest first."""
        ...

    def flush(self) -> None:
        """End an open synchronized update, so that what arrived so far is visible (the caller's time-box)."""
        ...

    def empty_or_dim(self, row: int, column: int) -> bool:
        """Tell whether every cell of ``row`` from ``column`` on is blank or drawn dim (detection.md §2.2.5)."""
        ...
