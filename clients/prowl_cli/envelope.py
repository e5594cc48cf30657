"""What a command returns, and the JSON envelope around it (signals.md §7.1)."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

__all__ = [
    "DETAILED",
    "EXIT_ERROR",
    "EXIT_OK",
    "EXIT_USAGE",
    "CliError",
    "Reply",
    "dumps",
    "failure",
    "success",
    "version",
]

EXIT_OK = 0
EXIT_ERROR = 1
EXIT_USAGE = 64

DETAILED = frozenset({"agents.wait", "agents.dispatch"})
"""Commands whose errors carry the service's details."""


@dataclass(frozen=True, slots=True)
class Reply:
    """The answer of a command: ``data`` for programs, ``text`` and ``warnings`` for people, the exit status."""

    data: Mapping[str, Any]
    text: str = ""
    warnings: tuple[str, ...] = field(default=())
    status: int = EXIT_OK


class CliError(Exception):
    """A failure found on the client's side; it looks like one of the service's."""

    def __init__(self, code: str, message: str, details: Mapping[str, Any] | None = None) -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.details = details


def version(command: str) -> str:
    """Return the schema version of a command's envelope, such as ``prowl.cli.agents.wait.v1``."""
    return f"prowl.cli.{command}.v1"


def success(command: str, data: Mapping[str, Any]) -> dict[str, Any]:
    """Return the envelope of a success."""
    return {"ok": True, "command": command, "schema_version": version(command), "data": data}


def failure(command: str, code: str, message: str, details: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """Return the envelope of an error; ``details`` is left out when there is none."""
    error: dict[str, Any] = {"code": code, "message": message}
    if details is not None:
        error["details"] = details
    return {"ok": False, "command": command, "schema_version": version(command), "error": error}


def dumps(envelope: Mapping[str, Any]) -> str:
    """Return an envelope as one line of JSON."""
    return json.dumps(envelope, ensure_ascii=False, separators=(",", ":"))
