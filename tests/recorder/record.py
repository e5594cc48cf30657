"""Runs one agent through the scenarios on a terminal of one size and writes what it showed."""

import asyncio
from collections.abc import Callable
from pathlib import Path

from tests.live.agents import recipe
from tests.live.install import Installed, cache_folder, install
from tests.live.packages import package
from tests.live.sandbox import sandbox
from tests.live.session import Session
from tests.live.tmux import TmuxServer
from tests.mock_models.server import MockServer
from tests.recorder.captures import ROOT, Capture, Folder, cleaned
from tests.recorder.scenario import Recording, play

__all__ = ["SIZES", "record"]

SIZES = ((120, 40), (80, 24), (40, 30))


async def record(
    agent: str,
    version: str | None = None,
    sizes: tuple[tuple[int, int], ...] = SIZES,
    root: Path = ROOT,
    say: Callable[[str], None] = print,
) -> Folder:
    """Record one version of an agent in every size; raises InstallFailed or NotSeen when it does not start."""
    installed = await asyncio.to_thread(install, package(agent, version))
    folder = Folder(root / agent / installed.package.version)
    for columns, rows in sizes:
        taken = await _session(installed, columns, rows, say)
        folder.replace(columns, rows, taken)
        say(f"{agent} {folder.version} {columns}x{rows}: {len(taken)} captures")
    return folder


async def _session(
    installed: Installed, columns: int, rows: int, say: Callable[[str], None]
) -> list[tuple[Capture, list[str]]]:
    how = recipe(installed.package.agent)
    taken: list[tuple[Capture, list[str]]] = []
    async with MockServer() as mock, TmuxServer() as tmux:
        with sandbox(mock.url) as place:
            mock.project = place.project
            how.configure(place)
            environment = {**place.environment(installed.path), **how.environment(place)}
            pane = await tmux.open([installed.command, *how.arguments], environment, place.project, columns, rows)
            secrets = (str(cache_folder()),)

            async def take(name: str, state: str, phases: tuple[str, ...], note: str) -> None:
                before = mock.phase
                screen = [cleaned(row, place.home, secrets) for row in await pane.rows()]
                title = cleaned(await pane.title(), place.home, secrets)
                if before not in phases or mock.phase not in phases:
                    say(f"{name}: dropped, the model was {before} and then {mock.phase}")
                    return
                if any(screen == other for _, other in taken if _.title == title):
                    return
                full = f"{name}-{columns}x{rows}"
                alternate = await pane.alternate()
                taken.append((Capture(full, columns, rows, title, alternate, state, mock.phase, note), screen))

            await play(Recording(Session(pane, mock, how), take), say)
    return taken
