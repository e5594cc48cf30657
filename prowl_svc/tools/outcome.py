"""What the commands of this package return and raise; the CLI prints it (data in JSON, text for people)."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

__all__ = ["Outcome", "ToolError"]


@dataclass(frozen=True, slots=True)
class Outcome:
    """The answer of a command: ``data`` for programs, ``text`` for people, the exit status."""

    data: Mapping[str, Any]
    text: str
    warnings: tuple[str, ...] = ()
    status: int = 0


class ToolError(Exception):
    """A failure with a stable code and a message that says what to do."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code = code
        self.message = message
