"""Codex logs: only what is appended, only while it continues."""

import json
import os
from pathlib import Path

import pytest

from prowl_svc.evidence.codex_cursor import MAX_APPENDED, MAX_LINE
from prowl_svc.evidence.codex_logs import CodexLogs, LogState, read_logs, session_log
from prowl_svc.evidence.open_files import OpenFiles
from prowl_svc.evidence.throttle import Warnings
from tests.evidence.fakes import AGENT, PROVIDERS, FakeHost, cases, shown

ROOT = "01a00000-0000-7000-8000-00000000000a"
CHILD = "01a00000-0000-7000-8000-0000000000c1"
NEVER, ALWAYS = float("inf"), 0.0


class Home:
    """A config root with session logs, and a provider that sees them open."""

    def __init__(self, tmp_path: Path, since: float = ALWAYS) -> None:
        self.folder = tmp_path / ".codex" / "sessions" / "2026" / "09" / "12"
        self.folder.mkdir(parents=True)
        self.host = FakeHost()
        self.lines: list[str] = []
        self.provider = CodexLogs(
            self.host,
            AGENT,
            str(tmp_path / ".codex"),
            own_root=False,
            since=since,
            started=since,
            warnings=Warnings(self.lines.append),
        )
        self.paths: list[str] = []

    def add(self, source: str | bytes, number: int | None = None) -> Path:
        number = len(self.paths) if number is None else number
        path = self.folder / f"rollout-2026-09-12T09-00-{number:02}-01a00000-0000-7000-8000-{number:012x}.jsonl"
        path.write_bytes(source if isinstance(source, bytes) else (PROVIDERS / source).read_bytes())
        if str(path) not in self.paths:
            self.paths.append(str(path))
        self.host.files = OpenFiles(tuple(self.paths))
        return path

    async def sample(self, now: float = 0.0) -> list:
        return shown(await self.provider.sample(now))


@pytest.fixture
def home(tmp_path: Path) -> Home:
    return Home(tmp_path)


def event(kind: str, **payload: object) -> bytes:
    return json.dumps({"type": "event_msg", "payload": {"type": kind, **payload}}).encode() + b"\n"


def header(identity: str = ROOT, source: object = "cli") -> bytes:
    return json.dumps({"type": "session_meta", "payload": {"id": identity, "source": source}}).encode() + b"\n"


@pytest.mark.parametrize("case", [pytest.param(case, id=case["id"]) for case in cases("codex.sample")])
async def test_sample(case, tmp_path):
    """One sample of the recorded logs gives the events, or the failure, written beside them."""
    home = Home(tmp_path, ALWAYS if case["created_after_provider_start"] else NEVER)
    for name in case["files"]:
        home.add(name)

    assert case["expected_events"] == await home.sample()
    category, _, detail = (case["expected_failure"] or "").partition(":")
    assert bool(category) == bool(home.lines)
    if category:
        assert home.lines[0].startswith(f"{category} pid=4242 ")
        assert f"detail={detail}" in home.lines[0]


async def test_history_then_live(tmp_path):
    """A file older than the provider is history; what is appended is live."""
    home = Home(tmp_path, NEVER)
    path = home.add("codex/main-open.jsonl")
    await home.sample()
    with path.open("ab") as file:
        file.write(event("task_complete", turn_id="t1"))

    assert [["inventory", [ROOT]], ["turnEnded", ROOT, "t1"]] == await home.sample()
    assert [["inventory", [ROOT]]] == await home.sample()


async def test_half_written_line_at_attachment(tmp_path):
    """Attaching in the middle of a line neither misreads nor loses it."""
    home = Home(tmp_path, NEVER)
    line = event("task_started", turn_id="t9")
    path = home.add(header() + line[:20])
    await home.sample()
    with path.open("ab") as file:
        file.write(line[20:])

    assert [["inventory", [ROOT]], ["turnStarted", ROOT, "t9"]] == await home.sample()


async def test_partial_last_line_is_continued(home):
    """A line is decoded once, when its end is there."""
    path = home.add("codex/partial-last-line.jsonl")
    await home.sample()
    with path.open("ab") as file:
        file.write(b"}}\n")

    assert [["inventory", [ROOT]], ["turnStarted", ROOT, "t1"]] == await home.sample()
    assert [["inventory", [ROOT]]] == await home.sample()


async def test_incomplete_inventory_is_throttled_and_recovers_once(home):
    """An incomplete listing suspends, warns at 0 and 30 s, and reports one recovery."""
    home.host.files = OpenFiles((), complete=False)
    for now in (0.0, 29.9, 30.0):
        assert ["suspended"] == await home.sample(now)
    assert ["incompleteInventory"] * 2 == [line.split()[0] for line in home.lines]
    home.host.files = OpenFiles(())

    assert [["inventory", []]] == await home.sample(31.0)
    assert [["inventory", []]] == await home.sample(32.0)
    assert ["recovered"] == [line.split()[0] for line in home.lines[2:]]


async def test_truncation_then_baseline(home):
    """A rewound file loses continuity with no cursor left, and is then history."""
    path = home.add("codex/main-complete.jsonl")
    await home.sample()
    data = path.read_bytes().split(b"\n")
    path.write_bytes(b"\n".join(data[:2]) + b"\n")

    assert ["unavailable"] == await home.sample()
    assert "continuityLost pid=4242 status=unavailable cursors=0 detail=incomplete" == home.lines[0]
    assert [["inventory", [ROOT]]] == await home.sample()
    assert home.lines[1].startswith("recovered ")


async def test_replaced_file(home):
    """Another file under the same name loses continuity."""
    path = home.add("codex/main-open.jsonl")
    await home.sample()
    other = path.with_suffix(".new")
    other.write_bytes(path.read_bytes() + event("task_started", turn_id="t2"))
    other.rename(path)

    assert ["unavailable"] == await home.sample()
    assert [["inventory", [ROOT]]] == await home.sample()


async def test_vanished_file(home):
    """A log that cannot be read loses continuity with the error's number and no path."""
    path = home.add("codex/main-open.jsonl")
    await home.sample()
    path.unlink()

    assert ["unavailable"] == await home.sample()
    assert home.lines[0].endswith("detail=ioOrJSON(code=2)")


@pytest.mark.parametrize(
    "content",
    [
        pytest.param(b"x" * (MAX_LINE + 1), id="first-line"),
        pytest.param(header() + event("token_count", text="y" * (9 << 20)), id="appended"),
        pytest.param(header() + b'{"type": "' + b"x" * MAX_LINE, id="unterminated"),
        pytest.param(
            header()
            + b"".join(
                json.dumps(
                    {
                        "type": "response_item",
                        "payload": {
                            "type": "function_call",
                            "namespace": "collaboration",
                            "name": "followup_task",
                            "call_id": f"c{number}",
                        },
                    }
                ).encode()
                + b"\n"
                for number in range(129)
            ),
            id="followups",
        ),
    ],
)
async def test_limits(home, content):
    """What exceeds a limit loses continuity and keeps nothing in memory."""
    home.add(content)

    assert ["unavailable"] == await home.sample()
    assert LogState(rebaseline=True) == home.provider.state


async def test_hundred_megabytes_of_history(tmp_path):
    """A huge old log is attached at its end without being read."""
    home = Home(tmp_path, NEVER)
    path = home.add(header())
    with path.open("r+b") as file:
        file.seek(100 << 20)
        file.write(b"\n" + event("task_started", turn_id="old"))

    assert [["inventory", [ROOT]]] == await home.sample()
    with path.open("ab") as file:
        file.write(event("task_started", turn_id="new"))
    assert [["inventory", [ROOT]], ["turnStarted", ROOT, "new"]] == await home.sample()


async def test_growth_is_summed_over_files(home):
    """More than 8 MiB appended over all files together loses continuity."""
    first, second = (home.add(header(f"id-{number}"), number) for number in range(2))
    await home.sample()
    for path in (first, second):
        with path.open("ab") as file:
            file.write(event("token_count", text="x" * (MAX_APPENDED // 2)))

    assert ["unavailable"] == await home.sample()


async def test_too_many_sessions(home):
    """More than 32 open sessions are not followed."""
    for number in range(33):
        home.add(header(f"id-{number}"), number)

    assert ["unavailable"] == await home.sample()


@pytest.mark.parametrize("lives", [[False], [True, False]])
async def test_another_process(home, lives):
    """A generation that is not the one before or after the read gives nothing, without a category, cursors kept."""
    home.add("codex/main-open.jsonl")
    await home.sample()
    before = home.provider.state
    home.host.lives = lives

    assert ["unavailable"] == await home.sample()
    assert (before, []) == (home.provider.state, home.lines)


async def test_suspension_keeps_what_is_known(home):
    """An unknown session beside a known one suspends without losing its place, and reads no header again."""
    path = home.add("codex/main-open.jsonl")
    await home.sample()
    bad = home.add("codex/bad-source-null.jsonl")
    assert ["suspended"] == await home.sample()
    bad.write_bytes(b"")
    os.truncate(bad, 0)
    with path.open("ab") as file:
        file.write(event("task_complete", turn_id="t1"))
    assert ["suspended"] == await home.sample()
    home.host.files = OpenFiles((str(path),))

    assert [["inventory", [ROOT]], ["turnEnded", ROOT, "t1"]] == await home.sample()


async def test_closed_session_disappears_and_returns_as_history(home):
    """A log that is no longer open leaves the inventory; opened again it starts at its end."""
    path = home.add("codex/main-open.jsonl")
    await home.sample()
    home.host.files = OpenFiles(())
    assert [["inventory", []]] == await home.sample()
    with path.open("ab") as file:
        file.write(event("task_started", turn_id="elsewhere"))
    home.host.files = OpenFiles((str(path),))

    assert [["inventory", [ROOT]]] == await home.sample()


async def test_missing_parent_is_temporary(home):
    """A child whose parent is not open suspends until it is."""
    home.add("codex/child-fresh.jsonl", 5)
    assert ["suspended"] == await home.sample()
    home.add("codex/main-open.jsonl", 6)

    assert ["childStarted", ROOT, CHILD, "c1"] in await home.sample()


async def test_unchanged_is_told_without_a_sample(home):
    """The same number of descriptors and logs that did not grow stand for a sample."""
    path = home.add(header())
    await home.sample(10.0)
    assert not home.provider.unchanged(10.0)  # this system does not count
    home.host.counts[AGENT.pid] = 7
    await home.sample(20.0)
    assert home.provider.unchanged(21.9)
    home.host.counts[AGENT.pid] = 8
    assert not home.provider.unchanged(21.9)
    home.host.counts[AGENT.pid] = 7
    with path.open("ab") as file:
        file.write(event("task_started", turn_id="t1"))
    assert not home.provider.unchanged(21.9)
    assert [["inventory", [ROOT]], ["turnStarted", ROOT, "t1"]] == await home.sample(21.9)
    assert home.provider.unchanged(22.0)
    path.unlink()
    assert not home.provider.unchanged(22.0)


async def test_one_log_closed_and_another_opened_is_noticed(home):
    """The number of descriptors may stay the same, so every two seconds they are listed again."""
    home.host.counts[AGENT.pid] = 7
    first = home.add(header())
    await home.sample(20.0)
    assert home.provider.unchanged(22.0)
    home.paths.clear()
    home.add(header(CHILD), 1)
    assert first.exists()
    assert home.provider.unchanged(23.9)
    assert not home.provider.unchanged(24.0)
    await home.sample(24.0)
    assert home.provider.unchanged(26.0)
    home.host.files = OpenFiles((), complete=False)
    assert not home.provider.unchanged(28.0)


async def test_a_failure_is_never_unchanged(home):
    """What could not be read is read again at the next look."""
    home.host.counts[AGENT.pid] = 7
    home.add(b"not json\n")
    await home.sample(10.0)
    assert not home.provider.unchanged(10.0)


def test_unknown_birth_is_history(tmp_path):
    """Where the creation time is not known, a file counts as history."""
    path = tmp_path / "rollout.jsonl"
    path.write_bytes(header() + event("task_started", turn_id="t"))
    state, facts, failure = read_logs(LogState(), [str(path)], ALWAYS, birth=lambda _: None)

    assert ([["inventory", [ROOT]]], None) == (shown(facts), failure)
    assert path.stat().st_size == state.cursors[str(path)].offset


@pytest.mark.parametrize(
    ("path", "own_root", "expected"),
    [
        (f"/home/u/.codex/sessions/2026/09/12/rollout-x-{ROOT}.jsonl", False, True),
        (f"/home/u/.codex/sessions/2026/09/12/rollout-x-{ROOT}.jsonl.zst", False, False),
        ("/home/u/.codex/sessions/2026/09/12/rollout-x.jsonl", False, False),
        (f"/srv/other/sessions/rollout-{ROOT}.jsonl", False, False),
        (f"/srv/root/sessions/rollout-{ROOT}.jsonl", False, True),
        (f"/srv/root/sessions/rollout-{ROOT}.jsonl", True, True),
        (f"/home/u/.codex/sessions/rollout-{ROOT}.jsonl", True, False),
    ],
)
def test_session_log_paths(path, own_root, expected):
    """Only uncompressed logs with a session id, under the layout or the given root, are state logs."""
    assert expected == session_log(path, "/srv/root/sessions", own_root)
