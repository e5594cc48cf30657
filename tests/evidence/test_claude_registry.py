"""Claude's registry: believed when it is whole, of this process, and not older than before."""

import json
import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from prowl_svc.evidence.claude_registry import (
    MAX_SIZE,
    ClaudeRegistry,
    RegistryProcess,
    UndecodedError,
    UnsupportedError,
    validate,
)
from prowl_svc.evidence.throttle import Warnings
from prowl_svc.model.state import RawState
from tests.evidence.fakes import AGENT, MANIFEST, PROVIDERS, FakeHost, cases, shown

FIXTURE = MANIFEST["process_for_claude_fixtures"]
MAC = RegistryProcess(FIXTURE["pid"], "darwin", FIXTURE["started_at_epoch"])
LINUX = RegistryProcess(
    FIXTURE["pid"], FIXTURE["linux_pid_domain"], FIXTURE["started_at_epoch"], int(FIXTURE["linux_starttime_ticks"])
)
IDLE = json.loads((PROVIDERS / "claude" / "mac-idle.json").read_text())


class Root:
    """A config root with one process's record."""

    def __init__(self, tmp_path: Path, process: RegistryProcess = MAC) -> None:
        self.path = tmp_path / "sessions" / "4242.json"
        self.path.parent.mkdir()
        self.host = FakeHost()
        self.lines: list[str] = []
        self.wall = 0.0
        self.provider = ClaudeRegistry(
            self.host, AGENT, process, str(tmp_path), wall=lambda: self.wall, warnings=Warnings(self.lines.append)
        )

    def write(self, raw: bytes | None = None, **changes: object) -> None:
        self.path.write_bytes(json.dumps({**IDLE, **changes}).encode() if raw is None else raw)

    async def sample(self, now: float = 0.0) -> list:
        return shown(await self.provider.sample(now))


@pytest.fixture
def root(tmp_path: Path) -> Root:
    return Root(tmp_path)


@pytest.mark.parametrize("case", [pytest.param(case, id=case["id"]) for case in cases("claude.sample")])
async def test_sample(case, tmp_path):
    """One sample of a recorded registry file gives the fact, or the failure, written beside it."""
    root = Root(tmp_path, LINUX if case["profile"] == "our-linux" else MAC)
    if case.get("last_updated_at") is not None:
        before = {"updatedAt": case["last_updated_at"], "statusUpdatedAt": IDLE["statusUpdatedAt"]}
        root.write(**before)
        await root.sample()
    root.write(b" " * (MAX_SIZE + 1) if case["file"] is None else (PROVIDERS / case["file"]).read_bytes())

    assert [case["expected"]] == await root.sample()
    assert ([case["expected_failure"]] if case.get("expected_failure") else []) == root.lines


@pytest.mark.parametrize(
    ("change", "error"),
    [
        pytest.param({key: None}, UndecodedError, id=f"{key}-mistyped")
        for key in (
            "pid",
            "sessionId",
            "cwd",
            "kind",
            "pidDomain",
            "procStart",
            "status",
            "updatedAt",
            "statusUpdatedAt",
        )
    ]
    + [
        pytest.param({"pid": 4243}, UnsupportedError, id="another-pid"),
        pytest.param({"pid": True}, UndecodedError, id="pid-bool"),
        pytest.param({"sessionId": "x"}, UnsupportedError, id="session-no-uuid"),
        pytest.param({"kind": "daemon-worker"}, UnsupportedError, id="kind"),
        pytest.param({"pidDomain": "linux::pid:[1]"}, UnsupportedError, id="domain"),
        pytest.param({"procStart": "yesterday"}, UnsupportedError, id="start-text"),
        pytest.param({"procStart": "578153231"}, UnsupportedError, id="start-of-another-platform"),
        pytest.param({"status": "parked"}, UnsupportedError, id="status"),
    ],
)
def test_validation(change, error):
    """A missing or mistyped key is not decoded; a value of another process or kind is not supported."""
    with pytest.raises(error):
        validate(json.dumps({**IDLE, **change}).encode(), MAC)


def test_times_that_are_not_finite():
    """An infinite time is decoded and refused; NaN is no JSON."""
    text = json.dumps(IDLE)
    with pytest.raises(UnsupportedError):
        validate(text.replace(str(IDLE["updatedAt"]), "1e999").encode(), MAC)
    with pytest.raises(UnsupportedError):
        validate(text.replace(str(IDLE["updatedAt"]), "1" + "0" * 400).encode(), MAC)
    with pytest.raises(UndecodedError):
        validate(text.replace(str(IDLE["updatedAt"]), "NaN").encode(), MAC)


def test_day_may_be_padded():
    """The start time of a one-digit day is padded with a space."""
    process = RegistryProcess(4242, "darwin", 1788278475.4)
    raw = json.dumps({**IDLE, "procStart": "Tue Sep  1 16:01:15 2026"}).encode()

    assert RawState.IDLE is validate(raw, process).fact.state


def test_waiting_is_blocked_whatever_opened_it():
    """The reason of waiting is not read."""
    raw = json.dumps({**IDLE, "status": "waiting", "waitingFor": "dialog open"}).encode()

    assert RawState.BLOCKED is validate(raw, MAC).fact.state


async def test_missing_file_suspends_and_recovers_once(root):
    """No file suspends with a throttled warning; the first good read reports recovery."""
    for now in (0.0, 10.0, 30.0):
        assert ["suspended"] == await root.sample(now)
    root.write()
    await root.sample(31.0)
    await root.sample(32.0)

    assert ["snapshotUnavailable", "snapshotUnavailable", "recovered"] == root.lines


async def test_rewind_suspends_until_it_catches_up(root):
    """A record older than the last accepted one is not believed; an equal one is."""
    root.write(updatedAt=IDLE["updatedAt"] + 5)
    await root.sample()
    root.write()
    assert ["suspended"] == await root.sample()
    root.write(updatedAt=IDLE["updatedAt"] + 5, status="busy")
    assert "working" == (await root.sample())[0][2]


async def test_suspension_remembers_and_revocation_forgets(root):
    """A partial file keeps the last accepted time, an unsupported one forgets it."""
    root.write(updatedAt=IDLE["updatedAt"] + 5)
    await root.sample()
    root.write(b'{"pid": 42')
    assert ["suspended"] == await root.sample()
    root.write()
    assert ["suspended"] == await root.sample()
    root.write(kind="bg")
    assert ["unavailable"] == await root.sample()
    root.write()
    assert "idle" == (await root.sample())[0][2]


@pytest.mark.parametrize("lives", [[False], [True, False]])
async def test_another_process(root, lives):
    """A generation that changed before or after the read revokes."""
    root.write()
    root.host.lives = lives

    assert ["unavailable"] == await root.sample()
    assert ["processChanged"] == root.lines


async def test_unchanged_file_is_not_read_again(root):
    """A settled file is only looked at, and any later write is read."""
    root.write()
    root.wall = os.stat(root.path).st_mtime + 10
    first = await root.sample()
    inode = root.path.stat()
    root.write(status="busy")
    os.utime(root.path, ns=(inode.st_atime_ns, inode.st_mtime_ns))
    assert first == await root.sample()
    os.utime(root.path, ns=(inode.st_atime_ns, inode.st_mtime_ns + 1))
    assert "working" == (await root.sample())[0][2]


async def test_fresh_file_is_read_again(root):
    """A file written just now is read again, since the next write may carry the same time."""
    root.write()
    root.wall = os.stat(root.path).st_mtime
    await root.sample()
    status = root.path.stat()
    root.write(status="busy")
    os.utime(root.path, ns=(status.st_atime_ns, status.st_mtime_ns))

    assert "working" == (await root.sample())[0][2]


async def test_hundred_megabytes(root):
    """A huge file is refused after the first 64 KiB."""
    with root.path.open("wb") as file:
        file.truncate(100 << 20)

    assert ["unavailable"] == await root.sample()
    assert ["unsupportedSnapshot"] == root.lines


@given(st.binary(max_size=200) | st.recursive(st.none() | st.text(max_size=3), lambda v: st.dictionaries(
    st.sampled_from(sorted(IDLE)), v, max_size=9)).map(lambda v: json.dumps(v).encode()))  # fmt: skip
def test_any_bytes_are_safe(raw):
    """No content does anything but raise one of the two refusals."""
    with pytest.raises((UndecodedError, UnsupportedError)):
        validate(raw, MAC)


async def test_unchanged_is_told_without_reading(root):
    """A record that was read, or is missing as before, is unchanged; a rewritten, new or refused one is not."""
    assert not root.provider.unchanged(0.0)
    await root.sample()
    assert root.provider.unchanged(0.0)
    root.wall = 1e12
    root.write()
    assert not root.provider.unchanged(0.0)
    await root.sample()
    assert root.provider.unchanged(0.0)
    root.write(status="busy")
    os.utime(root.path, ns=(1, 1))
    assert not root.provider.unchanged(0.0)
    root.write(b"{")
    await root.sample()
    assert not root.provider.unchanged(0.0)
    root.path.unlink()
    assert not root.provider.unchanged(0.0)


async def test_a_record_of_just_now_is_not_taken_for_unchanged(root):
    """Two writes may carry the same file time, so a fresh record is read again."""
    root.write()
    root.wall = root.path.stat().st_mtime + 0.5
    await root.sample()
    assert not root.provider.unchanged(0.0)
