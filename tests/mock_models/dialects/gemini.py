"""Google generateContent and streamGenerateContent."""

from collections.abc import AsyncIterator
from typing import Any

from tests.mock_models.script import Message, Request
from tests.mock_models.turn import Call, Piece, Text, Thought
from tests.mock_models.wire import Exchange

__all__ = ["answer", "read"]

_USAGE = {"promptTokenCount": 100, "candidatesTokenCount": 20, "totalTokenCount": 120}


def read(body: dict[str, Any]) -> Request:
    """Return what the body asks; whether it streams is said by the path, which the server adds."""
    messages = []
    for item in body.get("contents", []):
        parts = item.get("parts", [])
        text = "\n".join(part.get("text", "") for part in parts)
        results = any("functionResponse" in part for part in parts)
        role = "assistant" if item.get("role") == "model" else "tool" if results and "[[" not in text else "user"
        messages.append(Message(role, text))
    declared = [item for tool in body.get("tools") or [] for item in tool.get("functionDeclarations", [])]
    tools = {item["name"]: item.get("parametersJsonSchema") or item.get("parameters") or {} for item in declared}
    wanted = body.get("generationConfig") or {}
    wants_json = wanted.get("responseMimeType") == "application/json" or "responseJsonSchema" in wanted
    return Request("mock", False, messages, tools, wants_json)


async def answer(request: Request, pieces: AsyncIterator[Piece], out: Exchange, ident: str) -> None:
    """Speak the pieces as one candidate, streamed when the path asked for it."""

    def candidate(parts: list[dict[str, Any]], finish: str | None = None) -> dict[str, Any]:
        one = {"content": {"role": "model", "parts": parts}, "index": 0}
        if finish:
            one["finishReason"] = finish
        return {"candidates": [one], "usageMetadata": _USAGE, "modelVersion": "mock", "responseId": ident}

    if not request.stream:
        await out.send_json(candidate([_part(piece, ident) async for piece in pieces], "STOP"))
        return
    await out.start_events()
    first = True
    async for piece in pieces:
        if first and isinstance(piece, Thought):
            piece = Thought("**Considering the mock** " + piece.text)  # noqa: PLW2901 (the CLI wants a headline)
        first = False
        await out.event(candidate([_part(piece, ident)]))
    await out.event(candidate([{"text": ""}], "STOP"))
    await out.end_events()


def _part(piece: Piece, ident: str) -> dict[str, Any]:
    match piece:
        case Text(text):
            return {"text": text}
        case Thought(text):
            return {"text": text, "thought": True}
        case Call(name, arguments):
            call = {"name": name, "args": arguments, "id": f"fc-{ident[:12]}"}
            return {"functionCall": call, "thoughtSignature": "c2ln"}
