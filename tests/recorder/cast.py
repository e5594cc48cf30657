"""Records a session as asciicast v2: what the agent wrote, byte by byte, with a marker at each change of what it does.

``python -m tests.recorder cast --agent A --out FILE`` plays one short job: work, a question to the user, work, done.
"""

import asyncio
import codecs
import json
import os
import signal
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from prowl_svc.panes.spawn import spawn
from prowl_svc.terminal.factory import new_screen
from prowl_svc.terminal.keys import encode_key
from tests.live.agents import recipe
from tests.live.install import install
from tests.live.packages import package
from tests.live.sandbox import sandbox
from tests.live.session import Session
from tests.mock_models.script import parse
from tests.mock_models.server import MockServer, Phase
from tests.recorder.captures import cleaned

__all__ = ["CastPane", "record_cast"]

_JOB = "Make the tests pass"
_SCRIPT = (
    "[[think 3 ++ say Let me run the tests first to see what fails. ++ bash {command}"
    " | say The suite runs to its end: 41 tests, all of them pass now. Nothing else was changed.]]"
)
_MAKEFILE = "test:\n\t@sleep 3; echo '41 passed in 2.61s'\n"


class CastPane:
    """A pane of our own whose output is kept with its times."""

    def __init__(self, argv: Sequence[str], environment: Mapping[str, str], cwd: Path, columns: int, rows: int) -> None:
        self._loop = asyncio.get_running_loop()
        self._screen = new_screen(columns, rows)
        self._child = spawn(argv, cwd=str(cwd), env=environment, columns=columns, rows=rows)
        self._began = self._loop.time()
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self.events: list[tuple[float, str, str]] = []
        self._loop.add_reader(self._child.master, self._read)

    def mark(self, label: str) -> None:
        """Note what begins now."""
        self._note("m", label)

    async def rows(self) -> list[str]:
        """Return the rows of the active screen."""
        return self._screen.active_rows()

    async def title(self) -> str:
        """Return the title that the program set."""
        return self._screen.title

    async def type(self, text: str) -> None:
        """Type text, one character at a time as a person does."""
        for character in text:
            os.write(self._child.master, character.encode())
            await asyncio.sleep(0.04)

    async def press(self, key: str) -> None:
        """Press one key."""
        os.write(self._child.master, encode_key(key, application_cursor=self._screen.mode(1)))

    def close(self) -> None:
        """Hang up and end the program."""
        self._loop.remove_reader(self._child.master)
        os.close(self._child.master)
        with suppress(ProcessLookupError):
            os.kill(self._child.pid, signal.SIGKILL)
        os.waitpid(self._child.pid, 0)

    def _read(self) -> None:
        try:
            data = os.read(self._child.master, 65536)
        except OSError:
            data = b""
        if not data:
            self._loop.remove_reader(self._child.master)
            return
        self._screen.feed(data)
        answers = self._screen.take_answers()
        if answers:
            os.write(self._child.master, answers)
        self._note("o", self._decoder.decode(data))

    def _note(self, kind: str, text: str) -> None:
        self.events.append((round(self._loop.time() - self._began, 3), kind, text))


async def record_cast(agent: str, version: str | None = None, size: tuple[int, int] = (100, 30)) -> str:
    """Record the short job from the start of the agent on; returns the asciicast."""
    installed = await asyncio.to_thread(install, package(agent, version))
    how = recipe(agent)
    columns, rows = size
    async with MockServer() as mock:
        with sandbox(mock.url) as place:
            mock.project = place.project
            command = how.tool_step.replace("sleep 6; touch made.txt", "make test").removeprefix("bash ")
            mock.script = parse(_SCRIPT.format(command=command))
            place.write("project/Makefile", _MAKEFILE)
            how.configure(place)
            environment = {**place.environment(installed.path), **how.environment(place)}
            pane = CastPane([installed.command, *how.arguments], environment, place.project, columns, rows)
            try:
                await _job(Session(pane, mock, how), pane)
            finally:
                pane.close()
            events = [(at, kind, cleaned(text, place.home)) for at, kind, text in pane.events]
    header: dict[str, Any] = {"version": 2, "width": columns, "height": rows, "env": {"TERM": "xterm-256color"}}
    header["title"] = f"{agent} {installed.package.version}"
    return "".join(json.dumps(item, ensure_ascii=False) + "\n" for item in (header, *events))


async def _job(session: Session, pane: CastPane) -> None:
    async def seen(name: str) -> None:
        pane.mark(f"blocked: {name}")

    await session.start(seen)
    pane.mark("idle")
    await asyncio.sleep(1)
    await session.draft(_JOB)
    await pane.press("enter")
    await session.working("think")
    pane.mark("working")
    if session.recipe.ask_step:
        await session.asked()
        pane.mark("blocked: permission")
        await asyncio.sleep(4)
        await session.approve()
        pane.mark("working")
    await session.mock.wait(lambda mock: mock.phase == Phase.QUIET, 60)
    await session.settle(1.0)
    pane.mark("done")
    await asyncio.sleep(2)
