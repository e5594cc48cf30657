"""Keeps dispatches on disk: SQLite, write-ahead log, one writer, ordered writes off the loop (signals.md §4.2)."""

import asyncio
import base64
import json
import logging
import os
import sqlite3
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict
from pathlib import Path
from typing import Any

from prowl_svc.model.errors import Code, ProwlError
from prowl_svc.signals.dispatch import (
    DispatchBinding,
    DispatchEntry,
    DispatchOutcome,
    DispatchRecord,
    DispatchState,
    GoneReason,
)

__all__ = ["FILE_NAME", "Journal", "JournalBusy", "broken_files", "decode", "encode"]

log = logging.getLogger("prowl.dispatch")

FILE_NAME = "dispatches.db"
_VERSION = 1
_SIDE_FILES = ("", "-wal", "-shm")
_BROKEN = f"{FILE_NAME}.broken-"


class JournalBusy(Exception):
    """Another process writes the journal."""


def encode(entry: DispatchEntry) -> str:
    """Return the durable part of an entry as JSON; candidates and evidence belong to a run of the service."""
    binding = entry.binding
    held = None
    if binding is not None:
        target = base64.b64encode(binding.target).decode("ascii")
        held = {"surface": binding.surface, "epoch": binding.epoch, "target": target}
    return json.dumps({"record": asdict(entry.record), "binding": held}, ensure_ascii=False, separators=(",", ":"))


def decode(text: str) -> DispatchEntry:
    """Read an entry back. Raises ValueError on anything that ``encode`` would not have written."""
    try:
        body = json.loads(text)
        record, held = dict(body["record"]), body["binding"]
        record["state"] = DispatchState(record["state"])
        record["outcome"] = None if record["outcome"] is None else DispatchOutcome(record["outcome"])
        record["gone_reason"] = None if record["gone_reason"] is None else GoneReason(record["gone_reason"])
        binding = None
        if held is not None:
            binding = DispatchBinding(held["surface"], held["epoch"], base64.b64decode(held["target"], validate=True))
        entry = DispatchEntry(DispatchRecord(**record), binding)
    except (KeyError, TypeError, AttributeError) as error:
        raise ValueError(f"not a dispatch: {type(error).__name__}") from None
    if encode(entry) != text:
        raise ValueError("not a dispatch as it was written")
    return entry


def broken_files(folder: Path) -> list[Path]:
    """Return the broken journals that were set aside in a folder, sorted. Raises OSError when it cannot be read."""
    try:
        names = os.listdir(folder)
    except FileNotFoundError:
        return []
    return sorted(folder / name for name in names if name.startswith(_BROKEN) and not name.endswith(_SIDE_FILES[1:]))


class Journal:
    """The durable store; a ``Keeper`` of dispatches. Opened before the loop runs, used on the loop.

    ``stamp`` names a broken file that is set aside. ``broken`` is its path, and ``unreadable`` the number of rows
    that were dropped. Raises JournalBusy when another process has the file, OSError when the folder is unusable.
    """

    def __init__(self, folder: Path, stamp: Callable[[], str]) -> None:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        self._path = folder / FILE_NAME
        self.broken: Path | None = None
        self.unreadable = 0
        try:
            self._database = self._open()
        except sqlite3.OperationalError as error:
            if "locked" in str(error):
                raise JournalBusy(f"{self._path} is in use by another process") from None
            raise OSError(f"{self._path}: {error}") from None  # a full disk or the like; the journal itself is well
        except sqlite3.DatabaseError as error:
            self.broken = self._set_aside(stamp())
            log.warning("the dispatch journal was broken (%s); it is kept as %s", error, self.broken)
            self._database = self._open()
        self._changes: dict[str, str | None] = {}
        self._closed = False
        self._writing: asyncio.Future[None] | None = None
        self._writer = ThreadPoolExecutor(max_workers=1, thread_name_prefix="journal")

    def load(self) -> list[DispatchEntry]:
        """Return the kept entries in order of issuance; rows that cannot be read are dropped and counted."""
        entries, bad = [], []
        for row, text in self._database.execute("SELECT row, body FROM dispatch ORDER BY row"):
            try:
                entries.append(decode(text))
            except (ValueError, TypeError):
                bad.append((row,))
        if bad:
            log.warning("%d dispatches in the journal were unreadable and are dropped", len(bad))
            with self._database:
                self._database.executemany("DELETE FROM dispatch WHERE row = ?", bad)
        self.unreadable = len(bad)
        return entries

    def put(self, entry: DispatchEntry) -> None:
        """Write the entry soon."""
        self._change(entry.record.id, encode(entry))

    def forget(self, dispatch_id: str) -> None:
        """Delete the entry soon."""
        self._change(dispatch_id, None)

    async def saved(self) -> None:
        """Wait until everything so far is on disk. Raises DISPATCH_FAILED when it cannot be written; it is kept."""
        while self._changes or self._writing is not None:
            writing = self._writing or self._start(asyncio.get_running_loop())
            try:
                # One waiter that gives up must not take the write away from the others.
                await asyncio.shield(writing)
            except (OSError, sqlite3.Error):
                raise ProwlError(Code.DISPATCH_FAILED, "The dispatch could not be saved; try again.") from None

    def close(self) -> None:
        """Write what is left and let the file go; nothing may be changed any more."""
        self._closed = True
        self._writer.shutdown(wait=True)
        try:
            if self._changes:
                self._write(self._changes)
        except (OSError, sqlite3.Error) as error:
            log.error("the dispatch journal cannot be written: %s", error)
        self._database.close()

    def _open(self) -> sqlite3.Connection:
        os.close(os.open(self._path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600))
        database = sqlite3.connect(self._path, timeout=0.0, check_same_thread=False)
        try:
            # The lock that comes with the first access is held for good: one writer.
            database.execute("PRAGMA locking_mode = EXCLUSIVE")
            database.execute("PRAGMA journal_mode = WAL")
            database.execute("PRAGMA synchronous = FULL")
            with database:
                database.execute("BEGIN IMMEDIATE")
                (version,) = database.execute("PRAGMA user_version").fetchone()
                if version == 0:
                    database.execute(
                        "CREATE TABLE dispatch (row INTEGER PRIMARY KEY AUTOINCREMENT, id TEXT UNIQUE, body TEXT)"
                    )
                    database.execute(f"PRAGMA user_version = {_VERSION}")
                elif version != _VERSION:
                    raise sqlite3.DatabaseError(f"version {version} is unknown")
            (state,) = database.execute("PRAGMA integrity_check(1)").fetchone()
            if state != "ok":
                raise sqlite3.DatabaseError("the integrity check failed")
            database.execute("SELECT row, id, body FROM dispatch LIMIT 1")
        except BaseException:
            database.close()
            raise
        return database

    def _set_aside(self, stamp: str) -> Path:
        aside = self._path.with_name(f"{_BROKEN}{stamp}")
        for suffix in _SIDE_FILES:
            source = Path(f"{self._path}{suffix}")
            if source.exists():
                source.replace(f"{aside}{suffix}")
        return aside

    def _change(self, dispatch_id: str, body: str | None) -> None:
        self._changes[dispatch_id] = body
        if self._writing is None:
            try:
                loop = asyncio.get_running_loop()
            except RuntimeError:  # before the loop runs; written with the next change or wait
                return
            self._start(loop)

    def _start(self, loop: asyncio.AbstractEventLoop) -> "asyncio.Future[None]":
        changes, self._changes = self._changes, {}
        self._writing = loop.run_in_executor(self._writer, self._write, changes)
        self._writing.add_done_callback(lambda done: self._wrote(done, changes))
        return self._writing

    def _wrote(self, done: "asyncio.Future[None]", changes: dict[str, str | None]) -> None:
        self._writing = None
        error = None if done.cancelled() else done.exception()
        if error is not None:
            log.error("the dispatch journal cannot be written: %s", error)
        if error is not None or done.cancelled():
            # Newer changes win over those that failed; they are tried again with the next change or wait.
            self._changes = {**changes, **self._changes}
        elif self._changes and not self._closed:
            self._start(done.get_loop())

    def _write(self, changes: dict[str, str | None]) -> None:
        with self._database as database:
            for dispatch_id, body in changes.items():
                self._apply(database, dispatch_id, body)

    @staticmethod
    def _apply(database: Any, dispatch_id: str, body: str | None) -> None:
        if body is None:
            database.execute("DELETE FROM dispatch WHERE id = ?", (dispatch_id,))
        else:
            database.execute(
                "INSERT INTO dispatch (id, body) VALUES (?, ?) ON CONFLICT (id) DO UPDATE SET body = excluded.body",
                (dispatch_id, body),
            )
