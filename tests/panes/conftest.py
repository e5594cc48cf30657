"""Real panes for tests: programs on terminals of their own, closed at the end of the test."""

import asyncio
import os
from collections.abc import AsyncIterator, Callable, Sequence
from pathlib import Path

import pytest

from prowl_svc.model.terminal import SideEvent
from prowl_svc.panes.hosted import HostedPane
from prowl_svc.panes.reader import ReadScheduler
from prowl_svc.panes.spawn import child_environment, spawn
from prowl_svc.terminal.factory import COMPILED, new_screen
from prowl_svc.terminal.pyte_screen import PyteScreen
from prowl_svc.terminal.screen import Screen

LIMIT = 20.0


class Lab:
    """Starts programs in panes and waits for what they show."""

    def __init__(self, folder: Path, make: Callable[..., Screen]) -> None:
        self.folder = folder
        self.make = make
        self.events: dict[str, list[SideEvent]] = {}
        self.scheduler = ReadScheduler(asyncio.get_running_loop())
        self.panes: list[HostedPane] = []
        self._changed = asyncio.Event()

    def start(self, *argv: str, columns: int = 80, rows: int = 24, **env: str) -> HostedPane:
        """Start a program in a new pane."""
        number = len(self.panes)
        base = {"PATH": os.environ["PATH"], "HOME": str(self.folder), "LANG": "C.UTF-8", "PS1": "$ "}
        child = spawn(
            argv,
            cwd=str(self.folder),
            env=child_environment(base, env, f"pane-{number}"),
            columns=columns,
            rows=rows,
        )
        pane = HostedPane(f"pane-{number}", child, self.make(columns, rows), self.scheduler)
        pane.on_output = lambda events, revision: self.happened(pane, events)
        pane.on_exit = lambda status: self.happened(pane, ())
        self.panes.append(pane)
        return pane

    def python(self, code: str, *args: str, **options: int) -> HostedPane:
        """Start a Python program in a new pane."""
        return self.start("python3", "-I", "-S", "-u", "-c", code, *args, **options)  # type: ignore[arg-type]

    def happened(self, pane: HostedPane, events: Sequence[SideEvent]) -> None:
        """Something changed: let the waiting test look again."""
        self.events.setdefault(pane.id, []).extend(events)
        self._changed.set()

    async def until(self, condition: Callable[[], object]) -> None:
        """Wait until the condition holds, looking after every output and end."""
        async with asyncio.timeout(LIMIT):
            while not condition():
                self._changed.clear()
                await self._changed.wait()

    async def shows(self, pane: HostedPane, text: str) -> None:
        """Wait until the pane's screen shows the text."""
        await self.until(lambda: text in pane.screen.text())


@pytest.fixture(params=["pyte", "compiled"])
async def lab(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Lab]:
    if request.param == "compiled" and not COMPILED:
        pytest.skip("the compiled engine is not built")
    lab = Lab(tmp_path, new_screen if request.param == "compiled" else PyteScreen)
    yield lab
    for pane in lab.panes:
        await pane.close(0)
