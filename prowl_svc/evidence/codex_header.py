"""The first line of a Codex session log: whose session it is, and how sessions descend (providers.md §2.2)."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

__all__ = ["JSON_ERROR", "ContinuityError", "Header", "LineageError", "parse_header", "roots_of"]

JSON_ERROR = "ioOrJSON(code=3840)"
"""The diagnostic detail of text that is not JSON."""

_MAIN_SOURCES = ("cli", "exec", "vscode", "mcp")


class ContinuityError(Exception):
    """What was read does not continue what was known; the argument is the diagnostic detail (§2.5)."""


class LineageError(Exception):
    """A session's place in the tree is not understood for now."""


@dataclass(frozen=True, slots=True)
class Header:
    """One session's identity.

    ``main`` and ``parent`` are both unset when the source is not understood. ``forked`` tells that the file begins with
    copied history. ``end`` is the offset just after the line.
    """

    id: str
    main: bool
    parent: str | None
    forked: bool
    end: int


def parse_header(line: bytes) -> Header:
    """Read a header line, newline included; raises ContinuityError when it is none."""
    try:
        record: Any = json.loads(line)
    except (ValueError, RecursionError):
        raise ContinuityError(JSON_ERROR) from None
    payload = record.get("payload") if isinstance(record, dict) else None
    if not isinstance(payload, dict) or record.get("type") != "session_meta":
        raise ContinuityError("incomplete")
    identity = payload.get("id")
    if not isinstance(identity, str) or not identity:
        raise ContinuityError("incomplete")
    source = payload.get("source")
    return Header(
        id=identity,
        main=isinstance(source, str) and source in _MAIN_SOURCES,
        parent=_parent(source),
        forked=isinstance(payload.get("forked_from_id"), str),
        end=len(line),
    )


def _parent(source: object) -> str | None:
    for key in ("subagent", "thread_spawn", "parent_thread_id"):
        source = source.get(key) if isinstance(source, dict) else None
    return source if isinstance(source, str) and source else None


def roots_of(headers: Mapping[str, Header]) -> dict[str, tuple[str, int]]:
    """Return for each path its root session and its depth below it (0 for a main session).

    Raises LineageError when a source is not understood or a parent is not there, ContinuityError on a cycle.
    """
    by_id = {header.id: header for header in headers.values()}
    found: dict[str, tuple[str, int]] = {}
    for path, start in headers.items():
        header, depth = start, 0
        while not header.main:
            above = by_id.get(header.parent) if header.parent is not None else None
            if above is None:
                raise LineageError
            header, depth = above, depth + 1
            if depth > len(by_id):
                raise ContinuityError("incomplete")
        found[path] = (header.id, depth)
    return found
