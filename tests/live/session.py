"""One agent at work: a pane, the mock that answers it, and the few moves that scenarios are made of."""

import asyncio
import re
from collections.abc import Awaitable, Callable

from tests.live.agents import Dialog, Recipe
from tests.live.pane import Pane
from tests.mock_models.server import MockServer, Phase

__all__ = ["NotSeen", "Session", "matches"]

_TICK = 0.15
_FRAME = " │┃║|"  # what boxes put around text


def matches(pattern: str, screen: str) -> bool:
    """Tell whether a screen shows a pattern, also where a narrow terminal wrapped it over rows."""
    if re.search(pattern, screen, re.MULTILINE):
        return True
    flat = " ".join(row.strip(_FRAME) for row in screen.split("\n"))
    return re.search(pattern, re.sub(r" +", " ", flat)) is not None


class NotSeen(AssertionError):
    """Something did not come in time; the message ends with the screen, which holds only mock text."""


class Session:
    """Drives one agent in one pane."""

    def __init__(self, pane: Pane, mock: MockServer, recipe: Recipe) -> None:
        self.pane = pane
        self.mock = mock
        self.recipe = recipe

    async def screen(self) -> str:
        """Return the screen as text."""
        return "\n".join(await self.pane.rows())

    async def until(self, pattern: str, seconds: float = 20.0) -> str:
        """Wait until the screen matches; returns it, raises NotSeen."""
        loop = asyncio.get_running_loop()
        end = loop.time() + seconds
        while True:
            screen = await self.screen()
            if matches(pattern, screen):
                return screen
            if loop.time() > end:
                raise NotSeen(f"{self.recipe.agent}: /{pattern}/ not seen in {seconds:.0f} s:\n{screen}")
            await asyncio.sleep(_TICK)

    async def settle(self, quiet: float = 0.6, seconds: float = 6.0) -> None:
        """Wait until the screen has not changed for ``quiet`` seconds, or ``seconds`` have passed."""
        loop = asyncio.get_running_loop()
        end = loop.time() + seconds
        last, since = "", loop.time()
        while loop.time() < end:
            screen = await self.screen()
            if screen != last:
                last, since = screen, loop.time()
            elif loop.time() - since >= quiet:
                return
            await asyncio.sleep(_TICK)

    async def start(self, seen: Callable[[str], Awaitable[None]] | None = None) -> None:
        """Answer the start-up dialogs until the composer is there; ``seen`` is told each dialog's name first."""
        answered: set[str] = set()
        loop = asyncio.get_running_loop()
        end = loop.time() + self.recipe.boot
        while True:
            screen = await self.screen()
            dialog = self._dialog(screen, answered)
            if dialog is not None:
                answered.add(dialog.name)
                await self.settle()
                if seen is not None:
                    await seen(dialog.name)
                await self.press(*dialog.keys)
                await self.settle()
            elif matches(self.recipe.ready, screen):
                await self.settle(1.2, 4.0)
                screen = await self.screen()
                if matches(self.recipe.ready, screen) and not self._dialog(screen, answered):
                    return
            elif loop.time() > end:
                raise NotSeen(f"{self.recipe.agent}: no composer in {self.recipe.boot:.0f} s:\n{screen}")
            await asyncio.sleep(_TICK)

    def _dialog(self, screen: str, answered: set[str]) -> Dialog | None:
        open_ones = (one for one in self.recipe.dialogs if matches(one.pattern, screen))
        return next((one for one in open_ones if one.name not in answered), None)

    async def press(self, *keys: str) -> None:
        """Press keys one after the other, slowly enough for every CLI.

        A key of the form ``/PATTERN/`` is the group that the pattern finds on the screen: an option's own digit.
        """
        for given in keys:
            key = given
            if len(given) > 1 and given.startswith("/"):
                found = re.search(given.strip("/"), await self.screen())
                key = found[1] if found else "enter"
            await self.pane.press(key)
            await asyncio.sleep(0.3)

    async def draft(self, text: str) -> None:
        """Type into the composer and wait until it shows."""
        await self.pane.type(text)
        await self.settle(0.4, 2.0)

    async def clear(self) -> None:
        """Empty the composer."""
        await self.press("ctrl-u")

    async def say(self, text: str) -> None:
        """Send a prompt."""
        await self.draft(text)
        await self.pane.press("enter")

    async def working(self, verb: str, seconds: float = 60.0) -> None:
        """Wait until the mock carries out a step of this verb; raises NotSeen."""

        def carrying_out(server: MockServer) -> bool:
            return any(step.verb == verb for step in server.answering())

        if not await self.mock.wait(carrying_out, seconds):
            raise NotSeen(f"{self.recipe.agent}: the model was not asked to {verb}:\n{await self.screen()}")

    async def quiet(self, seconds: float = 30.0) -> None:
        """Wait until the model is not being asked anything and the screen rests; raises NotSeen."""
        if not await self.mock.wait(lambda server: server.phase != Phase.ANSWERING, seconds):
            raise NotSeen(f"{self.recipe.agent}: the model is still answering")
        await self.settle(1.0, 25.0)  # some agents go on for seconds after the model's last word

    async def asked(self) -> None:
        """Wait until the agent asks for permission."""
        await self.until(self.recipe.asking)
        await self.settle(0.6, 4.0)

    async def approve(self) -> None:
        """Grant what the agent asks for and wait until its prompt is gone, or five seconds."""
        await self.press(*self.recipe.approve)
        for _ in range(round(5 / _TICK)):
            if not matches(self.recipe.asking, await self.screen()):
                return
            await asyncio.sleep(_TICK)
