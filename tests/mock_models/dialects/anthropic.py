"""Anthropic Messages."""

from collections.abc import AsyncIterator
from typing import Any

from tests.mock_models.script import Message, Request
from tests.mock_models.turn import Call, Piece, Text, Thought
from tests.mock_models.wire import Exchange

__all__ = ["answer", "read"]


def read(body: dict[str, Any]) -> Request:
    """Return what the body asks; a user message that only carries tool results is of role ``tool``."""
    messages = []
    for item in body.get("messages", []):
        content = item.get("content") or ""
        parts = [{"type": "text", "text": content}] if isinstance(content, str) else content
        text = "\n".join(part.get("text", "") for part in parts if part.get("type") == "text")
        results = any(part.get("type") == "tool_result" for part in parts)
        messages.append(Message("tool" if results and "[[" not in text else item.get("role", ""), text))
    tools = {tool["name"]: tool.get("input_schema") or {} for tool in body.get("tools") or [] if "name" in tool}
    wants_json = bool(body.get("output_config") or body.get("output_format"))
    return Request(body.get("model", ""), bool(body.get("stream")), messages, tools, wants_json)


async def answer(request: Request, pieces: AsyncIterator[Piece], out: Exchange, ident: str) -> None:
    """Speak the pieces as one message, streamed when asked for."""
    await (_streamed if request.stream else _whole)(request, pieces, out, ident)


def _message(request: Request, ident: str) -> dict[str, Any]:
    usage = {
        "input_tokens": 100,
        "output_tokens": 1,
        "cache_creation_input_tokens": 0,
        "cache_read_input_tokens": 0,
    }
    return {
        "id": f"msg_{ident}",
        "type": "message",
        "role": "assistant",
        "model": request.model,
        "content": [],
        "stop_reason": None,
        "stop_sequence": None,
        "usage": usage,
    }


async def _whole(request: Request, pieces: AsyncIterator[Piece], out: Exchange, ident: str) -> None:
    content: list[dict[str, Any]] = []
    async for piece in pieces:
        match piece:
            case Text(text):
                content.append({"type": "text", "text": text})
            case Call(name, arguments):
                content.append({"type": "tool_use", "id": f"toolu_{ident}", "name": name, "input": arguments})
    stop = "tool_use" if content and content[-1]["type"] == "tool_use" else "end_turn"
    await out.send_json({**_message(request, ident), "content": content, "stop_reason": stop})


async def _streamed(request: Request, pieces: AsyncIterator[Piece], out: Exchange, ident: str) -> None:
    async def say(value: dict[str, Any]) -> None:
        await out.event(value, value["type"])

    async def close(kind: type[Piece], index: int) -> None:
        if kind is Thought:
            delta = {"type": "signature_delta", "signature": "c2ln"}
            await say({"type": "content_block_delta", "index": index, "delta": delta})
        await say({"type": "content_block_stop", "index": index})

    await out.start_events()
    await say({"type": "message_start", "message": _message(request, ident)})
    kind: type[Piece] | None = None
    index, count, stop = -1, 0, "end_turn"
    async for piece in pieces:
        if type(piece) is not kind or isinstance(piece, Call):
            if kind is not None:
                await close(kind, index)
            kind, index = type(piece), index + 1
            await say({"type": "content_block_start", "index": index, "content_block": _block(piece, ident, index)})
        if isinstance(piece, Call):
            stop = "tool_use"
        await say({"type": "content_block_delta", "index": index, "delta": _delta(piece)})
        count += 1
    if kind is not None:
        await close(kind, index)
    ended = {"stop_reason": stop, "stop_sequence": None}
    await say({"type": "message_delta", "delta": ended, "usage": {"output_tokens": count * 2}})
    await say({"type": "message_stop"})
    await out.end_events()


def _block(piece: Piece, ident: str, index: int) -> dict[str, Any]:
    match piece:
        case Text():
            return {"type": "text", "text": ""}
        case Thought():
            return {"type": "thinking", "thinking": "", "signature": ""}
        case Call(name, _):
            return {"type": "tool_use", "id": f"toolu_{ident}{index}", "name": name, "input": {}}


def _delta(piece: Piece) -> dict[str, Any]:
    match piece:
        case Text(text):
            return {"type": "text_delta", "text": text}
        case Thought(text):
            return {"type": "thinking_delta", "thinking": text}
        case Call():
            return {"type": "input_json_delta", "partial_json": piece.as_json()}
