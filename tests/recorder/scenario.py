"""The fixed script that every agent goes through, and the label of each screen on the way."""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from tests.live.session import NotSeen, Session
from tests.mock_models.server import Phase

__all__ = ["PARTS", "Recording", "play"]

_BUSY = (Phase.ANSWERING,)
_WAITING = (Phase.TOOL,)
_RETRYING = (Phase.FAILED, Phase.ANSWERING)
_RESTING = (Phase.QUIET, Phase.TOOL, Phase.FAILED)


@dataclass(frozen=True, slots=True)
class Recording:
    """One agent being recorded: ``take`` stores a screen under a name, a state and a note.

    It is given the phases of the mock that the label is true in, and drops a screen that came too early or too late.
    """

    session: Session
    take: Callable[[str, str, tuple[str, ...], str], Awaitable[None]]

    async def frames(self, name: str, count: int, phases: tuple[str, ...], note: str) -> None:
        """Take several screens of work, a second apart, so that animations are seen in different frames."""
        await asyncio.sleep(0.8)  # what is true of the model is on the screen a little later
        for number in range(1, count + 1):
            await self.take(f"{name}-{number}", "working", phases, note)
            await asyncio.sleep(1.1)

    async def rest(self, name: str, note: str) -> None:
        """Wait for the end of a turn and take it."""
        await self.session.quiet()
        await asyncio.sleep(0.8)
        await self.take(name, "idle", _RESTING, note)


async def start(recording: Recording) -> None:
    """From the launch to an empty composer."""

    async def seen(name: str) -> None:
        await recording.take(f"start-{name}", "blocked", _RESTING, f"start-up dialog: {name}")

    await recording.session.start(seen)
    await recording.take("start", "idle", _RESTING, "fresh start, empty composer")


async def composer(recording: Recording) -> None:
    """A draft and the command menu."""
    session = recording.session
    await session.draft("Write a sonnet about the sea")
    await recording.take("draft", "idle", _RESTING, "draft in the composer, not sent")
    await session.clear()
    await session.draft("/")
    await asyncio.sleep(0.5)
    await recording.take("menu", "idle", _RESTING, "command menu opened by the user")
    await session.press("escape")
    await session.clear()
    await session.press("backspace")


async def silent(recording: Recording) -> None:
    """A request without a first token."""
    await recording.session.say("Wait for it [[hang 5]]")
    await recording.session.working("hang")
    await recording.frames("working-silent", 3, _BUSY, "request open, no token yet")
    await recording.rest("done", "turn complete")


async def streaming(recording: Recording) -> None:
    """Text that streams, with a draft typed meanwhile."""
    session = recording.session
    await session.say("Tell me [[slow 8]]")
    await session.working("slow")
    await recording.frames("working-stream", 3, _BUSY, "text streams")
    await session.draft("next thing")
    await recording.take("working-draft", "working", _BUSY, "text streams while a draft is typed")
    await session.clear()
    await recording.rest("done-stream", "turn complete")


async def thinking(recording: Recording) -> None:
    """Reasoning that streams."""
    await recording.session.say("Think [[think 5]]")
    await recording.session.working("think")
    await recording.frames("working-think", 2, _BUSY, "reasoning streams")
    await recording.rest("done-think", "turn complete")


async def command(recording: Recording) -> None:
    """A command that needs permission where the agent asks for it, and then runs for a while."""
    session = recording.session
    if session.recipe.ask_step:
        await session.say(f"Do [[{session.recipe.ask_step}]]")
        await session.asked()
        await recording.take("permission-command", "blocked", _WAITING, "permission for a command")
        await session.press(*session.recipe.deny)
        await recording.rest("denied", "permission denied")
        await session.clear()
    await session.say(f"Run [[{session.recipe.tool_step}]]")
    if session.recipe.ask_step:
        await session.asked()
        await session.approve()
    else:
        await session.mock.wait(lambda mock: mock.phase == Phase.TOOL, 10)
    await recording.frames("working-tool", 2, _WAITING, "an allowed command runs")
    await session.mock.wait(lambda mock: mock.phase == Phase.QUIET, 15)
    await recording.rest("done-tool", "command ran, turn complete")


async def file(recording: Recording) -> None:
    """A file to be written, where that needs permission."""
    session = recording.session
    if session.recipe.ask_write is None:
        return
    await session.say("Write [[write new.txt]]")
    await session.until(session.recipe.ask_write)
    await session.settle()
    await recording.take("permission-file", "blocked", _WAITING, "permission to write a file")
    await session.press(*session.recipe.deny)
    await session.quiet()
    await session.clear()


async def question(recording: Recording) -> None:
    """A question of the model."""
    session = recording.session
    if session.recipe.question is None or not session.mock.offers("ask"):
        return
    await session.say("Ask [[ask]]")
    await session.until(session.recipe.question)
    await session.settle()
    await recording.take("question", "blocked", _WAITING, "the model asks the user")
    await session.press(*session.recipe.dismiss)
    await asyncio.sleep(0.5)
    await recording.rest("question-dismissed", "question dismissed")
    await session.clear()


async def interrupt(recording: Recording) -> None:
    """A turn that the user stops."""
    session = recording.session
    await session.say("Go on [[slow 40]]")
    await session.working("slow")
    await asyncio.sleep(2)
    await session.press(*session.recipe.interrupt)
    await session.mock.wait(lambda mock: mock.phase != Phase.ANSWERING, 5)
    await recording.rest("interrupted", "the user stopped the turn")
    await session.clear()


async def queue(recording: Recording) -> None:
    """A second message sent while the first is answered."""
    session = recording.session
    await session.say("Stream [[slow 7]]")
    await session.working("slow")
    await session.say("and then this [[slow 2]]")
    await asyncio.sleep(0.5)
    await recording.take("working-queued", "working", _BUSY, "a message is queued")
    await session.quiet()
    await asyncio.sleep(1.5)
    await recording.rest("done-queued", "both turns complete")


async def agents(recording: Recording) -> None:
    """A sub-agent, where there is a tool for one."""
    session = recording.session
    if not session.mock.offers("agent"):
        return
    await session.say("Delegate [[agent 5]]")
    if session.recipe.ask_agent:
        await session.until(session.recipe.ask_agent)
        await session.approve()
    await session.working("slow")
    await recording.frames("working-agent", 2, _BUSY, "a sub-agent works")
    await session.quiet()
    await asyncio.sleep(1.5)
    await recording.rest("done-agent", "sub-agent finished, turn complete")


async def failing(recording: Recording) -> None:
    """An overloaded model, and one that refuses."""
    session = recording.session
    await session.say("Fail [[err 503]]")
    await session.mock.wait(lambda mock: mock.phase == Phase.FAILED, 10)
    await asyncio.sleep(0.7)
    await recording.take("working-retry", "working", _RETRYING, "HTTP 503, the client tries again")
    await session.press(*session.recipe.interrupt)
    await session.settle(2.5, 20)
    await recording.take("retry-stopped", "idle", _RESTING, "the user stopped the retries")
    await session.clear()
    await session.say("Refuse [[err 400]]")
    await session.mock.wait(lambda mock: mock.served[-1] == "err 400", 10)
    await session.settle(2.0, 10)
    await recording.take("failed", session.recipe.refused, _RESTING, "HTTP 400 ended the turn")
    await session.press("escape")
    await session.clear()


async def viewer(recording: Recording) -> None:
    """A view that covers the live area."""
    session = recording.session
    if session.recipe.viewer is None:
        return
    opening, closing = session.recipe.viewer
    await session.press(*opening)
    await session.settle()
    await recording.take("viewer", "unknown", _RESTING, "a view opened by the user covers the live area")
    await session.press(*closing)
    await session.settle()
    await recording.take("viewer-closed", "idle", _RESTING, "back from the view")


PARTS = (
    *(start, composer, silent, streaming, thinking, command, file, question),
    *(interrupt, queue, agents, viewer, failing),
)


async def play(recording: Recording, say: Callable[[str], None]) -> None:
    """Go through all parts; one that does not come to its point is told and left, unless it is the start."""
    for part in PARTS:
        if part.__name__ in recording.session.recipe.skip:
            continue
        try:
            await part(recording)
        except NotSeen as error:
            if part is start:
                raise
            say(f"{part.__name__}: {error}")
            await recording.session.press(*recording.session.recipe.interrupt)
            await recording.session.settle()
            await recording.session.clear()
