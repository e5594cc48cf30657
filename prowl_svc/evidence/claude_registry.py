"""Claude's native registry: a small file per process, believed only when it is that process's own (providers.md §3)."""

import json
import math
import os
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, NoReturn

from prowl_svc.evidence.host import Host
from prowl_svc.evidence.regular import regular
from prowl_svc.evidence.throttle import Warnings
from prowl_svc.model.facts import NativeFact, ProviderFact, Suspended, Unavailable
from prowl_svc.model.process import Generation
from prowl_svc.model.state import RawState

__all__ = [
    "MAX_SIZE",
    "ClaudeRegistry",
    "RegistryProcess",
    "Snapshot",
    "UndecodedError",
    "UnsupportedError",
    "validate",
]

MAX_SIZE = 65_536
_RACY = 1.0
"""Seconds within which two writes may carry the same file time."""

_STATES = {
    "busy": RawState.WORKING,
    "shell": RawState.WORKING,
    "waiting": RawState.BLOCKED,
    "idle": RawState.IDLE,
}
_TEXTS = ("sessionId", "cwd", "kind", "pidDomain", "procStart", "status")
_UUID = re.compile(r"[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}")


class UndecodedError(Exception):
    """The record is missing, half written, or of an older build that lacks a key."""


class UnsupportedError(Exception):
    """The record is whole but not of this process, this host, or a kind that is understood."""


@dataclass(frozen=True, slots=True)
class RegistryProcess:
    """The process a record must be of (§3.3).

    ``domain`` is the host's own ``pidDomain``. ``started`` is the process's start in wall-clock seconds, ``ticks`` its
    raw start time where records carry that (Linux), else None and the text form of the time is compared.
    """

    pid: int
    domain: str
    started: float
    ticks: int | None = None


@dataclass(frozen=True, slots=True)
class Snapshot:
    """An accepted record: the fact, and when the record was last written (milliseconds)."""

    fact: NativeFact
    updated: float


def validate(raw: bytes, process: RegistryProcess) -> Snapshot:
    """Read a record; raises UndecodedError or UnsupportedError. There is no limit of age."""
    if len(raw) > MAX_SIZE:
        raise UnsupportedError
    record = _decode(raw)
    try:
        updated, status_updated = float(record["updatedAt"]), float(record["statusUpdatedAt"])
    except OverflowError:
        raise UnsupportedError from None
    state = _STATES.get(record["status"])
    if (
        record["pid"] != process.pid
        or record["kind"] != "interactive"
        or not _UUID.fullmatch(record["sessionId"])
        or not record["cwd"].startswith("/")
        or record["pidDomain"] != process.domain
        or not _same_start(record["procStart"], process)
        or not (math.isfinite(updated) and math.isfinite(status_updated))
        or updated < status_updated
        or status_updated < process.started * 1000
        or state is None
    ):
        raise UnsupportedError
    return Snapshot(NativeFact(record["sessionId"], state, status_updated), updated)


def _decode(raw: bytes) -> dict[str, Any]:
    try:
        record: Any = json.loads(raw, parse_constant=_refuse)
    except (ValueError, RecursionError):
        raise UndecodedError from None
    if not isinstance(record, dict) or type(record.get("pid")) is not int:
        raise UndecodedError
    if not all(isinstance(record.get(key), str) for key in _TEXTS):
        raise UndecodedError
    if not all(type(record.get(key)) in (int, float) for key in ("updatedAt", "statusUpdatedAt")):
        raise UndecodedError
    return record


def _refuse(_constant: str) -> NoReturn:
    raise ValueError


def _same_start(text: str, process: RegistryProcess) -> bool:
    if process.ticks is not None:
        return text == str(process.ticks)
    try:
        start = datetime.strptime(" ".join(text.split()), "%a %b %d %H:%M:%S %Y").replace(tzinfo=UTC)
    except ValueError:
        return False
    return start.timestamp() == math.floor(process.started)


class ClaudeRegistry:
    """The registry provider of one Claude process (a ``Provider`` of decision.coordinator).

    ``root`` is the config root. ``wall`` reads the wall clock in seconds, to tell whether an unchanged file time proves
    an unchanged file. Warnings carry the category only.
    """

    def __init__(
        self,
        host: Host,
        generation: Generation,
        process: RegistryProcess,
        root: str,
        *,
        wall: Callable[[], float],
        warnings: Warnings,
    ) -> None:
        self._host = host
        self._generation = generation
        self._process = process
        self._path = os.path.join(root, "sessions", f"{generation.pid}.json")
        self._wall = wall
        self._warnings = warnings
        self._last: Snapshot | None = None
        self._unchanged: tuple[int, int, int] | None = None
        self._missing = False

    @property
    def watched(self) -> Sequence[str]:
        """The files whose change is news."""
        return (self._path,)

    @property
    def daemon(self) -> Generation | None:
        """Claude's sessions run in the process itself."""
        return None

    @property
    def noted(self) -> str | None:
        """The session of the last accepted record."""
        return self._last.fact.session if self._last is not None else None

    async def sample(self, now: float) -> Sequence[ProviderFact]:
        """Return the snapshot, or that there is none to be believed."""
        if not self._host.alive(self._generation):
            return self._revoke("processChanged", now)
        signature = self._signature()
        self._missing = signature is None
        if signature is None:
            return self._suspend("snapshotUnavailable", now)
        if self._last is not None and self._unchanged == signature:
            return [self._last.fact]
        try:
            raw, signature = self._read()
        except OSError:
            return self._suspend("snapshotUnavailable", now)
        if not self._host.alive(self._generation):
            return self._revoke("processChanged", now)
        try:
            snapshot = validate(raw, self._process)
        except UndecodedError:
            return self._suspend("snapshotUnavailable", now)
        except UnsupportedError:
            return self._revoke("unsupportedSnapshot", now)
        if self._last is not None and snapshot.updated < self._last.updated:
            return self._suspend("olderSnapshot", now)
        self._last = snapshot
        self._unchanged = signature
        self._warnings.succeeded()
        return [snapshot.fact]

    def unchanged(self, now: float) -> bool:
        """Tell that the record is the one that was read, or is missing as it was; the process is not looked at."""
        signature = self._signature()
        return self._missing if signature is None else self._last is not None and signature == self._unchanged

    def close(self) -> None:
        """Nothing is held."""

    def _read(self) -> tuple[bytes, tuple[int, int, int] | None]:
        with open(self._path, "rb", buffering=0, opener=regular) as file:
            status = os.fstat(file.fileno())
            raw = os.read(file.fileno(), MAX_SIZE + 1)
        # Rewritten in place: a file time of just now does not tell the next write from the one that was read.
        settled = self._wall() - status.st_mtime > _RACY
        return raw, (status.st_ino, status.st_size, status.st_mtime_ns) if settled else None

    def _signature(self) -> tuple[int, int, int] | None:
        try:
            status = os.stat(self._path)
        except OSError:
            return None
        return status.st_ino, status.st_size, status.st_mtime_ns

    def _suspend(self, category: str, now: float) -> Sequence[ProviderFact]:
        self._unchanged = None
        self._warnings.failed(category, now)
        return [Suspended()]

    def _revoke(self, category: str, now: float) -> Sequence[ProviderFact]:
        self._last = None
        self._unchanged = None
        self._warnings.failed(category, now)
        return [Unavailable()]
