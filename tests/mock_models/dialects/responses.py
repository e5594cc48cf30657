"""OpenAI responses."""

import time
from collections.abc import AsyncIterator
from typing import Any

from tests.mock_models.script import Message, Request
from tests.mock_models.turn import Call, Piece, Text, Thought
from tests.mock_models.wire import Exchange

__all__ = ["answer", "read"]

_CALLS = ("function_call", "custom_tool_call", "local_shell_call")
_USAGE = {
    "input_tokens": 100,
    "input_tokens_details": {"cached_tokens": 0},
    "output_tokens": 20,
    "output_tokens_details": {"reasoning_tokens": 0},
    "total_tokens": 120,
}


def read(body: dict[str, Any]) -> Request:
    """Return what the body asks.

    An answer of the model counts once for each tool call; ``extra["namespaces"]`` says which tools sit in a namespace.
    """
    given = body.get("input") or []
    items = [{"role": "user", "content": given}] if isinstance(given, str) else given
    messages, offered = [], list(body.get("tools") or [])
    for item in items:
        kind = item.get("type", "message")
        if kind == "message" and item.get("role") != "assistant":
            content = item.get("content") or ""
            parts = [{"text": content}] if isinstance(content, str) else content
            text = "\n".join(part.get("text") or "" for part in parts)
            messages.append(Message(item.get("role", ""), text))
        elif kind in _CALLS:
            messages.append(Message("assistant"))
        elif kind == "additional_tools":
            offered += item.get("tools") or []
    tools: dict[str, dict[str, Any] | None] = {}
    namespaces: dict[str, str] = {}
    for tool in offered:
        for one in tool.get("tools", []) if tool.get("type") == "namespace" else [tool]:
            name = one.get("name") or one.get("type")
            tools[name] = None if one.get("type") in ("custom", "local_shell") else one.get("parameters") or {}
            if one is not tool:
                namespaces[name] = tool["name"]
    wants_json = (body.get("text") or {}).get("format", {}).get("type", "text") != "text"
    extra = {"namespaces": namespaces}
    return Request(body.get("model", ""), bool(body.get("stream")), messages, tools, wants_json, extra=extra)


async def answer(request: Request, pieces: AsyncIterator[Piece], out: Exchange, ident: str) -> None:
    """Speak the pieces as one response, streamed when asked for."""
    speaker = _Speaker(request, out, ident)
    if request.stream:
        await out.start_events()
        await speaker.say("response.created", response=speaker.response)
        await speaker.say("response.in_progress", response=speaker.response)
    async for piece in pieces:
        await speaker.take(piece)
    await speaker.close()
    done = {**speaker.response, "status": "completed", "output": speaker.output, "usage": _USAGE}
    if not request.stream:
        await out.send_json(done)
        return
    await speaker.say("response.completed", response=done)
    await out.end_events()


class _Speaker:
    """Groups pieces of one kind into output items and announces them."""

    def __init__(self, request: Request, out: Exchange, ident: str) -> None:
        self.output: list[dict[str, Any]] = []
        self.response: dict[str, Any] = {
            "id": f"resp_{ident}",
            "object": "response",
            "created_at": int(time.time()),
            "status": "in_progress",
            "model": request.model,
            "output": [],
        }
        self._stream = request.stream
        self._namespaces: dict[str, str] = request.extra.get("namespaces", {})
        self._out = out
        self._ident = ident
        self._kind: type[Piece] | None = None
        self._text = ""
        self._sequence = 0

    async def say(self, kind: str, **fields: Any) -> None:
        if self._stream:
            await self._out.event({"type": kind, "sequence_number": self._sequence, **fields}, kind)
            self._sequence += 1

    async def take(self, piece: Piece) -> None:
        if isinstance(piece, Call):
            await self.close()
            item = self._call(piece)
            await self.say("response.output_item.added", output_index=len(self.output), item=item)
            await self._finish(item)
            return
        if type(piece) is not self._kind:
            await self.close()
            await self._open(type(piece))
        text = piece.text
        if isinstance(piece, Thought) and not self._text:
            text = "**Considering the mock**\n\n" + text
        self._text += text
        where: dict[str, Any] = {"item_id": self._item_id(), "output_index": len(self.output), "delta": text}
        if isinstance(piece, Text):
            await self.say("response.output_text.delta", content_index=0, logprobs=[], **where)
        else:
            await self.say("response.reasoning_summary_text.delta", summary_index=0, **where)

    async def _open(self, kind: type[Piece]) -> None:
        self._kind, self._text = kind, ""
        where: dict[str, Any] = {"item_id": self._item_id(), "output_index": len(self.output)}
        await self.say("response.output_item.added", output_index=len(self.output), item=self._item("in_progress"))
        if kind is Text:
            part = {"type": "output_text", "text": "", "annotations": []}
            await self.say("response.content_part.added", content_index=0, part=part, **where)
        else:
            part = {"type": "summary_text", "text": ""}
            await self.say("response.reasoning_summary_part.added", summary_index=0, part=part, **where)

    async def close(self) -> None:
        """End the open item, if any."""
        if self._kind is None:
            return
        where: dict[str, Any] = {"item_id": self._item_id(), "output_index": len(self.output)}
        item = self._item("completed")
        if self._kind is Text:
            await self.say("response.output_text.done", content_index=0, text=self._text, logprobs=[], **where)
            await self.say("response.content_part.done", content_index=0, part=item["content"][0], **where)
        else:
            await self.say("response.reasoning_summary_text.done", summary_index=0, text=self._text, **where)
            await self.say("response.reasoning_summary_part.done", summary_index=0, part=item["summary"][0], **where)
        self._kind = None
        await self._finish(item)

    async def _finish(self, item: dict[str, Any]) -> None:
        await self.say("response.output_item.done", output_index=len(self.output), item=item)
        self.output.append(item)

    def _item_id(self) -> str:
        return f"{'msg' if self._kind is Text else 'rs'}_{self._ident}{len(self.output)}"

    def _item(self, status: str) -> dict[str, Any]:
        if self._kind is Text:
            part = {"type": "output_text", "text": self._text, "annotations": []}
            content = [part] if status == "completed" else []
            return {
                "id": self._item_id(),
                "type": "message",
                "role": "assistant",
                "status": status,
                "content": content,
            }
        summary = [{"type": "summary_text", "text": self._text}] if status == "completed" else []
        return {"id": self._item_id(), "type": "reasoning", "summary": summary, "encrypted_content": "enc"}

    def _call(self, piece: Call) -> dict[str, Any]:
        place = f"{self._ident[:16]}{len(self.output)}"
        item: dict[str, Any] = {"call_id": f"call_{place}", "name": piece.name, "status": "completed"}
        if isinstance(piece.arguments, str):
            item |= {"id": f"ctc_{place}", "type": "custom_tool_call", "input": piece.arguments}
        else:
            item |= {"id": f"fc_{place}", "type": "function_call", "arguments": piece.as_json()}
        if piece.name in self._namespaces:
            item["namespace"] = self._namespaces[piece.name]
        return item
