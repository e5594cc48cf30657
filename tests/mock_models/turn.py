"""Carries out one step as a paced stream of pieces, whatever the dialect they are then spoken in."""

import json
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from tests.mock_models.script import Request, Step
from tests.mock_models.tools import TOOL_VERBS, Call, tool_call

__all__ = ["Call", "Piece", "Text", "Thought", "perform"]

_WORDS = (
    *("The", "quick", "mock", "model", "streams", "plain", "words", "so", "that", "a", "terminal", "interface"),
    *("has", "something", "to", "show", "while", "the", "turn", "is", "open", "and", "a", "person", "can", "look"),
    *("at", "the", "live", "status", "row", "below", "this", "text."),
)
_PACE = 0.25  # seconds between two streamed words
_JSON = {
    "title": "Mock title",
    "isNewTopic": False,
    "next_speaker": "user",
    "reasoning": "mock",
    "model_choice": "pro",
    "complexity_reasoning": "mock",
    "complexity_score": 50,
}


@dataclass(frozen=True, slots=True)
class Text:
    """A part of the answer's text."""

    text: str


@dataclass(frozen=True, slots=True)
class Thought:
    """A part of the model's reasoning."""

    text: str


Piece = Text | Thought | Call
Pause = Callable[[float], Awaitable[None]]


async def _words(seconds: float, pause: Pause) -> AsyncIterator[str]:
    for index in range(max(1, round(seconds / _PACE))):
        yield _WORDS[index % len(_WORDS)] + " "
        await pause(min(_PACE, seconds))


async def _spoken(text: str, pause: Pause) -> AsyncIterator[str]:
    for word in text.split():
        yield word + " "
        await pause(_PACE)


async def perform(steps: Sequence[Step], request: Request, project: Path, pause: Pause) -> AsyncIterator[Piece]:
    """Yield the pieces of one answer; ``pause`` waits a number of seconds or raises when nobody listens."""
    for step in steps:
        async for piece in _one(step, len(steps) == 1, request, project, pause):
            yield piece


async def _one(step: Step, alone: bool, request: Request, project: Path, pause: Pause) -> AsyncIterator[Piece]:
    match step.verb:
        case "text":
            yield Text(step.argument or "Yes.")
        case "json":
            yield Text(json.dumps(_JSON))
        case "slow":
            async for word in _words(step.seconds(), pause):
                yield Text(word)
        case "say":
            async for word in _spoken(step.argument, pause):
                yield Text(word)
        case "think":
            async for word in _words(step.seconds(), pause):
                yield Thought(word)
            if alone:
                yield Text("I thought about it. Done.")
        case "hang":
            await pause(step.seconds())
            yield Text("Late answer.")
        case verb if verb in TOOL_VERBS:
            call = tool_call(step, request, project)
            if call is None:
                yield Text(f"(mock: no tool for {step}; there are {', '.join(request.tools)})")
            else:
                if alone:
                    yield Text(f"I will use the {call.name} tool. ")
                yield call
        case _:
            yield Text(f"(mock: unknown step {step})")
