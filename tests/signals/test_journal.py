"""The journal of dispatches: what survives, what is set aside, who may write."""

import asyncio
import os
import signal
import sqlite3
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from prowl_svc.model.errors import Code, ProwlError
from prowl_svc.signals.dispatch import (
    DispatchBinding,
    DispatchEntry,
    DispatchOutcome,
    DispatchRecord,
    DispatchState,
    GoneReason,
)
from prowl_svc.signals.dispatches import Dispatches
from prowl_svc.signals.journal import FILE_NAME, Journal, JournalBusy, decode, encode

PENDING = DispatchEntry(DispatchRecord("d1", 1), DispatchBinding("pane", "e1", b"\0target"))
DONE = DispatchEntry(
    DispatchRecord(
        "d2",
        2,
        DispatchState.COMPLETED,
        outcome=DispatchOutcome.FAILED,
        summary="no “luck”",
        completed_at=3,
    )
)


@contextmanager
def journal(folder: Path) -> Iterator[Journal]:
    opened = Journal(folder, lambda: "now")
    try:
        yield opened
    finally:
        opened.close()


def dispatches(keeper: Journal | None) -> Dispatches:
    loop = asyncio.get_running_loop()
    return Dispatches(clock=loop.time, now_ns=lambda: 7, schedule=loop.call_later, keeper=keeper)


text = st.text(st.characters(codec="utf-8"), max_size=20)


@given(
    st.builds(
        DispatchEntry,
        st.builds(
            DispatchRecord,
            text,
            st.integers(0, 2**62),
            st.sampled_from(DispatchState),
            outcome=st.none() | st.sampled_from(DispatchOutcome),
            summary=st.none() | text,
            gone_reason=st.none() | st.sampled_from(GoneReason),
        ),
        st.none() | st.builds(DispatchBinding, text, text, st.binary(max_size=20)),
    )
)
def test_entries_survive_encoding(entry: DispatchEntry) -> None:
    """Every entry reads back as it was."""
    assert entry == decode(encode(entry))


@pytest.mark.parametrize(
    "body",
    ["", "[]", "{}", "null", '{"record":{},"binding":null}', encode(DONE).replace("failed", "won"), encode(DONE) + " "],
)
def test_anything_else_is_refused(body: str) -> None:
    """What was not written by the encoder is not read."""
    with pytest.raises(ValueError, match=r"(?i)dispatch|expecting"):
        decode(body)


async def test_records_survive_a_restart(tmp_path: Path) -> None:
    """Entries come back in order of issuance, with their last state."""
    with journal(tmp_path) as first:
        first.put(PENDING)
        first.put(DONE)
        gone = DispatchEntry(DispatchRecord("d3", 9))
        first.put(gone)
        first.forget("d3")
        first.put(PENDING)
        await first.saved()
    with journal(tmp_path) as second:
        assert second.load() == [PENDING, DONE]
        assert second.broken is None


async def test_pending_record_whose_pane_did_not_survive_is_gone(tmp_path: Path) -> None:
    """After a restart a pending record is kept for a pane that is back, and lost otherwise."""
    with journal(tmp_path) as keeper:
        store = dispatches(keeper)
        kept, lost, unbound = (store.issue().id for _ in range(3))
        store.bind(kept, DispatchBinding("back", "e1"))
        store.bind(lost, DispatchBinding("away", "e1"))
        await store.saved()
    with journal(tmp_path) as keeper:
        store = dispatches(keeper)
        store.restore(keeper.load(), {"back"})
        await store.saved()
        states = {entry.record.id: entry.record.gone_reason for entry in store.entries()}
        assert {kept: None, lost: GoneReason.SURFACE_CLOSED, unbound: GoneReason.SURFACE_CLOSED} == states
        assert kept == store.complete("back", DispatchOutcome.SUCCEEDED, "done").record.id
        await store.saved()
    with journal(tmp_path) as keeper:
        states = {entry.record.id: entry.record.state for entry in keeper.load()}
        assert {kept: DispatchState.COMPLETED, lost: DispatchState.GONE, unbound: DispatchState.GONE} == states


def test_changes_before_the_loop_are_written_by_the_close(tmp_path: Path) -> None:
    """A change that is made without a running loop is not lost."""
    with journal(tmp_path) as keeper:
        keeper.put(DONE)
    with journal(tmp_path) as keeper:
        assert keeper.load() == [DONE]


KILLED = """
import asyncio, sys
from pathlib import Path
from prowl_svc.signals.dispatch import DispatchBinding, DispatchOutcome
from prowl_svc.signals.dispatches import Dispatches
from prowl_svc.signals.journal import Journal

async def main():
    loop = asyncio.get_running_loop()
    keeper = Journal(Path(sys.argv[1]), lambda: "now")
    store = Dispatches(clock=loop.time, now_ns=lambda: 7, schedule=loop.call_later, keeper=keeper, capacity=10**6)
    while True:
        issued = store.issue()
        store.bind(issued.id, DispatchBinding("pane", "e1"))
        store.complete("pane", DispatchOutcome.SUCCEEDED, "done")
        await store.saved()
        print(issued.id, flush=True)

asyncio.run(main())
"""


def test_receipts_survive_kill_9(tmp_path: Path) -> None:
    """Whatever was promised before the service was killed is there afterwards, and the file is sound."""
    process = subprocess.Popen([sys.executable, "-c", KILLED, str(tmp_path)], stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    promised = [process.stdout.readline().strip() for _ in range(20)]
    process.send_signal(signal.SIGKILL)
    promised += process.communicate()[0].split()
    with journal(tmp_path) as keeper:
        kept = {entry.record.id for entry in keeper.load() if entry.record.state is DispatchState.COMPLETED}
        assert keeper.broken is None
    assert set(promised) <= kept


@pytest.mark.parametrize("damage", ["text", "middle", "version"])
async def test_broken_file_is_set_aside_and_reported(tmp_path: Path, damage: str) -> None:
    """A file that fails the check at start is kept under another name, and the journal begins anew."""
    with journal(tmp_path) as keeper:
        for number in range(200):
            keeper.put(DispatchEntry(DispatchRecord(f"d{number}", number), DispatchBinding("p" * 100, "e")))
        await keeper.saved()
    path = tmp_path / FILE_NAME
    if damage == "text":
        path.write_text("not a database at all, but long enough to be read as one" * 20)
    elif damage == "middle":
        body = bytearray(path.read_bytes())
        body[4096:-4096] = os.urandom(len(body) - 8192)
        path.write_bytes(body)
    else:
        database = sqlite3.connect(path)
        database.execute("PRAGMA user_version = 99")
        database.close()
    damaged = path.read_bytes()
    with journal(tmp_path) as keeper:
        assert keeper.load() == []
        assert tmp_path / f"{FILE_NAME}.broken-now" == keeper.broken
        assert damaged == keeper.broken.read_bytes()
        keeper.put(DONE)
        await keeper.saved()
    with journal(tmp_path) as keeper:
        assert keeper.load() == [DONE]


async def test_unreadable_row_costs_only_itself(tmp_path: Path) -> None:
    """A row that is not a dispatch is dropped and counted, the others stay."""
    with journal(tmp_path) as keeper:
        keeper.put(DONE)
        await keeper.saved()
    database = sqlite3.connect(tmp_path / FILE_NAME)
    with database:
        database.execute("INSERT INTO dispatch (id, body) VALUES ('x', '{}'), ('y', NULL), ('z', 5)")
    database.close()
    with journal(tmp_path) as keeper:
        assert keeper.load() == [DONE]
        assert keeper.unreadable == 3
    with journal(tmp_path) as keeper:
        keeper.load()
        assert keeper.unreadable == 0


def test_one_writer(tmp_path: Path) -> None:
    """A second opener is told that the journal is in use, and the file is left alone."""
    with journal(tmp_path), pytest.raises(JournalBusy):
        Journal(tmp_path, lambda: "now")
    with journal(tmp_path) as keeper:
        assert keeper.broken is None


def test_a_journal_that_cannot_be_opened_now_is_not_taken_for_broken(tmp_path: Path) -> None:
    """What stands in the way is told, and the file stays where it is, with what it holds."""
    with journal(tmp_path) as keeper:
        keeper.put(DONE)
    (tmp_path / f"{FILE_NAME}-wal").mkdir()
    with pytest.raises(OSError, match=FILE_NAME):
        Journal(tmp_path, lambda: "now")
    (tmp_path / f"{FILE_NAME}-wal").rmdir()
    with journal(tmp_path) as keeper:
        assert (keeper.broken, keeper.load()) == (None, [DONE])


def test_journal_is_private(tmp_path: Path) -> None:
    """Folder and file are their owner's alone."""
    folder = tmp_path / "state"
    with journal(folder):
        assert folder.stat().st_mode & 0o777 == 0o700
        assert (folder / FILE_NAME).stat().st_mode & 0o777 == 0o600


class Failing(Journal):
    """A journal whose disk is full for a while, and whose writes wait for the gate."""

    full = True
    gate = threading.Event()

    def _write(self, changes: dict[str, str | None]) -> None:
        self.gate.wait(20)
        if self.full:
            raise sqlite3.OperationalError("database or disk is full")
        super()._write(changes)


async def test_failed_write_is_told_and_tried_again(tmp_path: Path) -> None:
    """A promise that cannot be kept fails with DISPATCH_FAILED, and a later try saves everything, newest state last."""
    keeper = Failing(tmp_path, lambda: "now")
    store = dispatches(keeper)
    issued = store.issue().id
    store.bind(issued, DispatchBinding("pane", "e1"))
    store.complete("pane", DispatchOutcome.SUCCEEDED, "done")
    keeper.gate.set()
    with pytest.raises(ProwlError) as error:
        await store.saved()
    assert Code.DISPATCH_FAILED is error.value.code
    keeper.full = False
    await store.saved()
    keeper.close()
    with journal(tmp_path) as again:
        assert [entry.record.state for entry in again.load()] == [DispatchState.COMPLETED]
