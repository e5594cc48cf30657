"""Reading rows of a pane, at once or when they have settled (signals.md §7.6)."""

import asyncio
import math

from prowl.v1 import panes_pb2

from prowl_svc.model.errors import Code, ProwlError
from prowl_svc.panes.hosted import HostedPane

__all__ = ["last_fitting", "read_pane"]

_MAX_LINES = 100_000
_MAX_BYTES = 3 << 20
"""Bytes of rows in one response; with what describes the pane they stay below the limit of responses."""


async def read_pane(pane: HostedPane, request: panes_pb2.ReadPaneRequest) -> panes_pb2.ReadPaneResponse:
    """Return the response without its target; raises INVALID_ARGUMENT for numbers out of range."""
    if request.last > _MAX_LINES:
        raise ProwlError(Code.INVALID_ARGUMENT, f"last may be {_MAX_LINES} at most.")
    response = panes_pb2.ReadPaneResponse()
    if request.HasField("stable"):
        await _settle(pane, request.stable, response)
    if not pane.running:
        raise ProwlError(Code.READ_FAILED, "The pane ended before its screen could be read.")
    if request.source == panes_pb2.READ_SOURCE_DETECTION:
        rows, source, truncated = pane.screen.active_rows(), "detection", False
        if request.last:
            rows = rows[-request.last :]
    else:
        rows, source, truncated = _viewport(pane, request.last)
    fitting = last_fitting(rows)
    response.source = source
    response.truncated = truncated or len(fitting) < len(rows)
    response.line_count = len(fitting)
    response.text = "\n".join(fitting)
    response.screen_revision = pane.screen.revision
    return response


def last_fitting(rows: list[str]) -> list[str]:
    """Return as many of the last rows as one response can hold."""
    room = _MAX_BYTES
    if 4 * sum(map(len, rows)) + len(rows) <= room:
        return rows
    first = len(rows)
    while first and (room := room - len(rows[first - 1].encode("utf-8", "replace")) - 1) >= 0:
        first -= 1
    return rows[first:]


def _viewport(pane: HostedPane, last: int) -> tuple[list[str], str, bool]:
    rows = pane.screen.active_rows()
    if not last:
        return rows, "screen", False
    while rows and not rows[-1]:
        rows.pop()
    if len(rows) >= last:
        return rows[-last:], "screen", False
    older = list(pane.screen.scrollback_rows(last - len(rows)))
    return older + rows, "scrollback" if older else "screen", False


async def _settle(pane: HostedPane, wanted: panes_pb2.StableWait, response: panes_pb2.ReadPaneResponse) -> None:
    interval = _within("stable interval", wanted.interval_ms or 200, 50, 5000)
    period = _within("stable period", wanted.period_ms or 800, 100, 60_000)
    timeout = _within("wait timeout", wanted.timeout_seconds or 10, 1, 300) * 1000
    needed, limit = math.ceil(period / interval), math.ceil(timeout / interval)
    streak = sleeps = 0
    last = pane.screen.revision
    while streak < needed and sleeps < limit and pane.running:
        await asyncio.sleep(interval / 1000)
        sleeps += 1
        streak = streak + 1 if pane.screen.revision == last else 0
        last = pane.screen.revision
    response.stabilized = streak >= needed
    response.waited_ms = sleeps * interval
    response.samples = sleeps + 1


def _within(name: str, value: int, low: int, high: int) -> int:
    if not low <= value <= high:
        raise ProwlError(Code.INVALID_ARGUMENT, f"The {name} must be from {low} to {high}.")
    return value
