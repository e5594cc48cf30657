"""What a driver needs of a terminal that shows an agent, wherever that terminal is."""

from typing import Protocol

__all__ = ["Pane"]


class Pane(Protocol):
    """A running program on a terminal: its screen, its title and its keyboard.

    Key tokens are those of the service: ``enter``, ``escape``, ``up``, ``ctrl-c``, ``page-up``, a single character.
    """

    async def rows(self) -> list[str]:
        """Return the rows of the active screen, trailing blanks cut."""
        ...

    async def title(self) -> str:
        """Return the title that the program set."""
        ...

    async def type(self, text: str) -> None:
        """Type text."""
        ...

    async def press(self, key: str) -> None:
        """Press one key."""
        ...
