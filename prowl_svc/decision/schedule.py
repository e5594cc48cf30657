"""When a pane is scanned next: cold, warm, active, pushed; pure arithmetic (detection.md §4.5).

The driver keeps one ``Schedule`` per pane, sleeps until ``deadline(schedule)``, asks ``poll`` what is due, and reports
what happened by ``wake``, ``output``, ``looked``, ``scanned``, ``glanced`` and ``withdrawn``. All times are monotonic
seconds.
"""

from dataclasses import dataclass, replace
from enum import StrEnum

__all__ = [
    "ACTIVE_INTERVAL",
    "COALESCE",
    "LOOK_INTERVAL",
    "WARM_INTERVAL",
    "WARM_WINDOW",
    "Due",
    "Mode",
    "Schedule",
    "deadline",
    "glanced",
    "looked",
    "output",
    "poll",
    "scanned",
    "wake",
    "withdrawn",
]

ACTIVE_INTERVAL = 0.3
WARM_INTERVAL = 2.0
WARM_WINDOW = 30.0
LOOK_INTERVAL = 0.3
COALESCE = 0.03
"""Seconds between two scans that output caused, so that a repainting program does not scan with every chunk."""


class Mode(StrEnum):
    """How a pane is watched."""

    COLD = "cold"
    WARM = "warm"
    ACTIVE = "active"
    PUSHED = "pushed"


class Due(StrEnum):
    """What to do now: nothing, look at the foreground group only, or scan the pane."""

    NOTHING = "nothing"
    LOOK = "look"
    SCAN = "scan"


@dataclass(frozen=True, slots=True)
class Schedule:
    """One pane's schedule; ``Schedule()`` is a cold pane.

    ``scan_at`` and ``look_at`` are the next deadlines or None, ``warm_until`` ends the warm window.
    """

    mode: Mode = Mode.COLD
    warm_until: float = 0.0
    scan_at: float | None = None
    look_at: float | None = None
    last_scan: float = float("-inf")
    last_look: float = float("-inf")


def deadline(schedule: Schedule) -> float | None:
    """Return when ``poll`` must be asked next, or None when only an event can make anything due."""
    times = [at for at in (schedule.scan_at, schedule.look_at) if at is not None]
    return min(times) if times else None


def wake(schedule: Schedule, now: float) -> Schedule:
    """Input, pasted or sent text, or an initial command: a cold pane is scanned at once and stays warm for 30 s."""
    match schedule.mode:
        case Mode.COLD:
            return replace(schedule, mode=Mode.WARM, warm_until=now + WARM_WINDOW, scan_at=now, look_at=None)
        case Mode.WARM:
            return replace(schedule, warm_until=now + WARM_WINDOW)
        case _:
            return schedule


def output(schedule: Schedule, now: float) -> Schedule:
    """Visible output: a scan at once, coalesced; on a cold pane at most one look at the group in 300 ms."""
    if schedule.mode is Mode.COLD:
        look_at = max(now, schedule.last_look + LOOK_INTERVAL)
        return schedule if schedule.look_at is not None else replace(schedule, look_at=look_at)
    soon = max(now, schedule.last_scan + COALESCE)
    if schedule.scan_at is not None and schedule.scan_at <= soon:
        return schedule
    return replace(schedule, scan_at=soon)


def poll(schedule: Schedule, now: float) -> tuple[Schedule, Due]:
    """Return the schedule at ``now`` and what is due; a warm window that has ended makes the pane cold.

    The answer stays due until ``scanned`` or ``looked`` says that it was done; a scan that was due within the window is
    made, however late.
    """
    scan_at, until = schedule.scan_at, schedule.warm_until
    if schedule.mode is Mode.WARM and until <= now and (scan_at is None or scan_at >= until):
        return Schedule(last_scan=schedule.last_scan, last_look=schedule.last_look), Due.NOTHING
    if scan_at is not None and scan_at <= now:
        return schedule, Due.SCAN
    if schedule.look_at is not None and schedule.look_at <= now:
        return schedule, Due.LOOK
    return schedule, Due.NOTHING


def looked(schedule: Schedule, now: float, changed: bool) -> Schedule:
    """Report a look at the foreground group; a changed group wakes the pane."""
    after = replace(schedule, look_at=None, last_look=now)
    return wake(after, now) if changed else after


def scanned(schedule: Schedule, now: float, present: bool, pushed: bool = False) -> Schedule:
    """Report a scan that was done at ``now``.

    ``present``: an agent is there, held ones included. ``pushed``: a verified OSC 7501 producer decides and the probe
    found its process; pass False on a miss, so that the misses of a dead program are counted at the active cadence.
    """
    after = replace(schedule, last_scan=now, look_at=None)
    if present:
        mode, at = (Mode.PUSHED, None) if pushed else (Mode.ACTIVE, now + ACTIVE_INTERVAL)
        return replace(after, mode=mode, scan_at=at)
    if schedule.mode in (Mode.ACTIVE, Mode.PUSHED):
        after = replace(after, mode=Mode.WARM, warm_until=now + WARM_WINDOW)
    if after.mode is Mode.COLD or after.warm_until <= now:
        return Schedule(last_scan=now, last_look=after.last_look)
    return replace(after, scan_at=min(now + WARM_INTERVAL, after.warm_until))


def glanced(schedule: Schedule, now: float) -> Schedule:
    """Report that a glance at ``now`` stood for a scan of an active pane; output is scanned as soon as before."""
    # Spelt out, since a hundred panes at rest come here three hundred times a second and ``replace`` is slow.
    return Schedule(
        schedule.mode,
        schedule.warm_until,
        now + ACTIVE_INTERVAL,
        schedule.look_at,
        schedule.last_scan,
        schedule.last_look,
    )


def withdrawn(schedule: Schedule, now: float) -> Schedule:
    """Program evidence went: a pushed pane is scanned at once and goes back to the active cadence."""
    if schedule.mode is not Mode.PUSHED:
        return schedule
    return replace(schedule, mode=Mode.ACTIVE, scan_at=now)
