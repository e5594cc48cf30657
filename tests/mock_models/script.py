"""Reads what a user message tells the mock to do: ``[[step | step]]``, one part for each answer of the model.

A part may join steps with ``++``: ``[[slow 5 ++ bash make | text Done.]]`` streams, calls a tool, then says so.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

__all__ = ["Message", "Request", "Step", "current_steps", "parse"]

_DIRECTIVE = re.compile(r"\[\[(.*?)\]\]", re.DOTALL)
# Text that a CLI puts into user messages by itself: it neither drives the mock nor ends what the user asked for.
_INJECTED = re.compile(r"<([a-z_-]+)[^>]*>.*?</\1>", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Step:
    """One verb with its argument, for example ``slow 8`` or ``bash ls -l``."""

    verb: str
    argument: str = ""

    def seconds(self, otherwise: float = 10.0) -> float:
        """Return the argument as a duration in seconds."""
        try:
            return float(self.argument)
        except ValueError:
            return otherwise

    def __str__(self) -> str:
        return f"{self.verb} {self.argument}".rstrip()


@dataclass(frozen=True, slots=True)
class Message:
    """One message of a conversation: the role is ``user``, ``assistant`` or ``tool``; other roles are ignored."""

    role: str
    text: str = ""


_DONE = (Step("text", "All done. The mock turn is complete."),)


@dataclass(slots=True)
class Request:
    """What a CLI asked of the model, whatever the dialect.

    ``tools`` maps tool names to their JSON schemas, None for a free-form tool. ``wants_json`` tells that the answer
    must be JSON, ``beside`` that the client says this is no part of the conversation. ``extra`` holds what one dialect
    alone needs to answer.
    """

    model: str
    stream: bool
    messages: Sequence[Message]
    tools: dict[str, dict[str, Any] | None]
    wants_json: bool = False
    beside: bool = False
    extra: dict[str, Any] = field(default_factory=dict)

    @property
    def side(self) -> bool:
        """Whether this is a request beside the conversation (a title, a summary, a routing question)."""
        return self.beside or not self.tools or self.titles is not None

    @property
    def titles(self) -> str | None:
        """The tool that takes a title, when it is the only one."""
        only = next(iter(self.tools)) if len(self.tools) == 1 else ""
        return only if only.endswith("title") else None


def parse(text: str) -> list[tuple[Step, ...]]:
    """Return the answers that the last directive in a text asks for, none when it has no directive."""
    found = _DIRECTIVE.findall(text)
    return [tuple(map(_step, part.split(" ++ "))) for part in found[-1].split(" | ")] if found else []


def _step(text: str) -> Step:
    verb, _, argument = text.strip().partition(" ")
    return Step(verb, argument.strip())


def current_steps(request: Request, otherwise: Sequence[tuple[Step, ...]] = ()) -> tuple[Step, ...]:
    """Return the steps of the answer to give now: the n-th of the newest directive after n answers of the model.

    ``otherwise`` is the script of a message that has no directive.
    """
    if request.titles:
        return (Step("title"),)
    if request.side:
        return (Step("json" if request.wants_json else "text", "Mock title"),)
    answers = 0
    for message in reversed(request.messages):
        if message.role == "assistant":
            answers += 1
        elif message.role == "user":
            own = _INJECTED.sub("", message.text).strip()
            plain = bool(own) and own[0] not in "<["
            script = parse(message.text) or (otherwise if plain else ())
            if script:
                return script[answers] if answers < len(script) else _DONE
            if plain:
                break
    return _DONE
