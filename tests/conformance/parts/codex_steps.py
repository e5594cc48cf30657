"""The one Codex case whose samples are told in words: what each phrase does to the logs of a process."""

import asyncio
import json
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tests.conformance.cases import CaseError, part

_MIB = 1 << 20


def run(case: dict[str, Any], folder: Path) -> str | None:
    """Run the steps as separate samples of one provider."""
    with tempfile.TemporaryDirectory() as home:
        world = _World(Path(home), folder)
        for number, step in enumerate(case["steps"], 1):
            phrase = step.get("do") if isinstance(step, dict) else None
            act = _PHRASES.get(phrase) if isinstance(phrase, str) else None
            if act is None:
                raise CaseError(f"step {number} says {phrase!r}, which is not known")
            act(world)
            seen = world.sample()
            if seen != step["expect"]:
                return f"{case['id']}: step {number} gives {seen}, not {step['expect']}"
            category = step.get("category")
            if category is not None and world.said and not world.said[0].startswith(category):
                return f"{case['id']}: step {number} says {world.said[0]}, not {category}"
            warned = step.get("warning_emitted")
            if warned is not None and bool(world.said) != bool(warned):
                return f"{case['id']}: step {number} said {world.said}"
    return None


class _World:
    """A process with session logs that it holds open, and its provider."""

    def __init__(self, home: Path, data: Path) -> None:
        logs = part("tests.evidence.test_codex_logs").Home(home)
        self.data = data
        self.folder: Path = logs.folder
        self.host = logs.host
        self.said: list[str] = logs.lines
        self.now = 0.0
        self.current: Path = self.folder
        self._sample = logs.sample
        self._files = part("prowl_svc.evidence.open_files").OpenFiles
        self._count = 0

    def sample(self) -> list[Any]:
        self.said.clear()
        shown: list[Any] = asyncio.run(self._sample(self.now))
        return shown

    def open(self, *paths: Path, complete: bool = True) -> None:
        self.host.files = self._files(tuple(map(str, paths)), complete=complete)

    def new(self, content: bytes) -> Path:
        """Write a log under a new name."""
        self._count += 1
        name = f"rollout-2026-09-12T09-00-00-01a00000-0000-7000-8000-{self._count:012x}.jsonl"
        self.current = self.folder / name
        self.current.write_bytes(content)
        return self.current

    def header(self) -> bytes:
        identity = f"01b00000-0000-7000-8000-{self._count + 1:012x}"
        return _line("session_meta", {"id": identity, "source": "cli"})

    def grown(self, content: bytes) -> None:
        """Open a new log, sample it, and append to it."""
        self.open(self.new(self.header()))
        self.sample()
        with self.current.open("ab") as file:
            file.write(content)


def _line(kind: str, payload: dict[str, Any]) -> bytes:
    return json.dumps({"type": kind, "payload": payload}).encode() + b"\n"


def _truncate(world: _World) -> None:
    path = world.new((world.data / "codex" / "main-complete.jsonl").read_bytes())
    world.open(path)
    world.sample()
    path.write_bytes(b"".join(path.read_bytes().splitlines(keepends=True)[:2]))


def _replace(world: _World) -> None:
    other = world.current.with_suffix(".new")
    other.write_bytes(world.current.read_bytes())
    other.rename(world.current)


def _followups(world: _World) -> None:
    call = {"type": "function_call", "namespace": "collaboration", "name": "followup_task"}
    world.grown(b"".join(_line("response_item", {**call, "call_id": f"c{number}"}) for number in range(129)))


def _thirty_seconds_on(world: _World) -> None:
    world.now += 30.0


def _another_process(world: _World) -> None:
    world.host.lives = [False]


_PHRASES: dict[str, Callable[[_World], None]] = {
    "inventory incomplete": lambda world: world.open(complete=False),
    "inventory incomplete again within 30 s": lambda world: None,
    "inventory incomplete at +30 s": _thirty_seconds_on,
    "complete, no paths": lambda world: world.open(),
    "main-complete.jsonl then truncate the file to its first two lines": _truncate,
    "same path sampled again": lambda world: None,
    "replace file by a new inode, same name": _replace,
    "33 session files open": lambda world: world.open(*[world.new(world.header()) for _ in range(33)]),
    "first line longer than 1 MiB": lambda world: world.open(world.new(b"x" * (_MIB + 1))),
    "more than 8 MiB appended (all files together) since last sample": lambda world: world.grown(
        _line("event_msg", {"type": "token_count", "text": "x" * (9 * _MIB)})
    ),
    "unterminated line longer than 1 MiB": lambda world: world.grown(b'{"type": "' + b"x" * _MIB),
    "process start time differs before or after the sample": _another_process,
    "129 followup_task calls without a matching interacted": _followups,
}
