"""OpenAI chat completions."""

import time
from collections.abc import AsyncIterator
from typing import Any

from tests.mock_models.script import Message, Request
from tests.mock_models.turn import Call, Piece, Text, Thought
from tests.mock_models.wire import Exchange

__all__ = ["answer", "read"]

_USAGE = {"prompt_tokens": 100, "completion_tokens": 20, "total_tokens": 120}


def read(body: dict[str, Any]) -> Request:
    """Return what the body asks."""
    messages = []
    for item in body.get("messages", []):
        content = item.get("content") or ""
        parts = [{"text": content}] if isinstance(content, str) else content
        text = "\n".join(part.get("text") or "" for part in parts if isinstance(part, dict))
        messages.append(Message(item.get("role", ""), text))
    functions = [tool.get("function") or {} for tool in body.get("tools") or []]
    tools = {item["name"]: item.get("parameters") or {} for item in functions if "name" in item}
    return Request(body.get("model", ""), bool(body.get("stream")), messages, tools, bool(body.get("response_format")))


async def answer(request: Request, pieces: AsyncIterator[Piece], out: Exchange, ident: str) -> None:
    """Speak the pieces as one completion, streamed when asked for."""
    base = {"id": f"chatcmpl-{ident}", "created": int(time.time()), "model": request.model}
    if request.stream:
        await _streamed({**base, "object": "chat.completion.chunk"}, pieces, out, ident)
        return
    text, calls = "", []
    async for piece in pieces:
        match piece:
            case Text(part):
                text += part
            case Call():
                calls.append(_call(piece, ident))
    message = {"role": "assistant", "content": text, **({"tool_calls": calls} if calls else {})}
    choice = {"index": 0, "message": message, "finish_reason": "tool_calls" if calls else "stop"}
    await out.send_json({**base, "object": "chat.completion", "choices": [choice], "usage": _USAGE})


async def _streamed(base: dict[str, Any], pieces: AsyncIterator[Piece], out: Exchange, ident: str) -> None:
    async def say(delta: dict[str, Any], finish: str | None = None, **more: Any) -> None:
        await out.event({**base, "choices": [{"index": 0, "delta": delta, "finish_reason": finish}], **more})

    await out.start_events()
    await say({"role": "assistant", "content": ""})
    finish = "stop"
    async for piece in pieces:
        match piece:
            case Text(text):
                await say({"content": text})
            case Thought(text):
                await say({"reasoning_content": text})
            case Call():
                finish = "tool_calls"
                await say({"tool_calls": [{"index": 0, **_call(piece, ident)}]})
    await say({}, finish, usage=_USAGE)
    await out.event("[DONE]")
    await out.end_events()


def _call(piece: Call, ident: str) -> dict[str, Any]:
    function = {"name": piece.name, "arguments": piece.as_json()}
    return {"id": f"call_{ident[:16]}", "type": "function", "function": function}
