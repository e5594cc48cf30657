"""One agent in a pane of the real service, walked from point to point: what was true, and what the service said."""

import asyncio
import sys
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from tests.live.agents import Recipe, recipe
from tests.live.install import RegistryUnreachable, install
from tests.live.packages import package
from tests.live.sandbox import sandbox
from tests.live.service import Service, ServicePane
from tests.live.session import Session
from tests.mock_models.server import MockServer

__all__ = ["RELAY", "RESTING", "Walk", "walking"]

RELAY = (sys.executable, str(Path(__file__).with_name("relay.py")))
"""A command that runs another on a terminal of its own; see there for its modes."""

RESTING = ("idle", "done")


@dataclass
class Walk:
    """One agent's way through the points: what was true and what the service said.

    ``launch`` starts the same agent with further arguments in another pane.
    """

    session: Session
    pane: ServicePane
    service: Service
    launch: Callable[..., Awaitable[ServicePane]]
    expected: dict[str, str] = field(default_factory=dict)
    actual: dict[str, str] = field(default_factory=dict)

    @property
    def recipe(self) -> Recipe:
        """How this agent is run."""
        return self.session.recipe

    async def point(self, name: str, *states: str, seconds: float = 12.0) -> None:
        """Note what the service says once it says one of ``states``, or at the end of ``seconds``."""
        said = await self.pane.until(*states, seconds=seconds)
        self.expected[name] = states[0]
        self.actual[name] = states[0] if said in states else f"{said} by {self.reason}"

    async def steady(self, name: str, state: str, until: Awaitable[object]) -> None:
        """Note whether the service said nothing but ``state`` until something else ended."""
        first = len(self.pane.statuses) - 1
        await until
        self.expected[name] = state
        self.actual[name] = ", ".join(dict.fromkeys(self.pane.statuses[first:]))

    @property
    def reason(self) -> str:
        """The id of what decided the status that is shown now."""
        return self.pane.entry.detection_reason if self.pane.entry else "nothing"


@asynccontextmanager
async def walking(
    agent: str,
    extra: Mapping[str, str] | None = None,
    *,
    version: str | None = None,
    arguments: Sequence[str] = (),
    through: Sequence[str] = (),
) -> AsyncIterator[Walk]:
    """Put an agent into a pane of a private service, with ``extra`` variables and arguments.

    It is the current version unless another is named. ``through`` is the command that runs it. Everything is ended and
    removed afterwards. A registry out of reach skips the test, visibly.
    """
    how = recipe(agent)
    try:
        installed = await asyncio.to_thread(install, package(agent, version))
    except RegistryUnreachable as error:
        pytest.skip(f"{agent} cannot be installed, the package registry is out of reach: {error}"[:200])
    async with MockServer() as mock, Service() as service:
        with sandbox(mock.url) as place:
            mock.project = place.project
            how.configure(place)
            environment = {**place.environment(installed.path), **how.environment(place), **(extra or {})}
            panes: list[ServicePane] = []

            async def launch(*arguments: str) -> ServicePane:
                argv = [*through, installed.command, *how.arguments, *arguments]
                panes.append(await service.open(argv, environment, place.project, 120, 40))
                return panes[-1]

            try:
                pane = await launch(*arguments)
                yield Walk(Session(pane, mock, how), pane, service, launch)
            finally:
                for pane in panes:
                    await pane.close()
