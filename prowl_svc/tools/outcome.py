"""What the commands of this package return and raise; the CLI prints it (data in JSON, text for people)."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from prowl_svc.terminal.cast import Cast, CastError, read_cast

__all__ = ["Outcome", "ToolError", "load_cast"]


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


def load_cast(path: Path) -> Cast:
    """Read a recording; raises ToolError with the reason when it cannot be."""
    try:
        return read_cast(path)
    except (CastError, OSError) as error:
        why = error.strerror if isinstance(error, OSError) else str(error)
        raise ToolError("INVALID_ARGUMENT", f"{path} is not a recording that can be read: {why}") from None
