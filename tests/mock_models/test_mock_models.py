"""The mock model server: every dialect, driven by the newest user message."""

import asyncio
import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from tests.mock_models.script import Message, Request, Step, current_steps, parse
from tests.mock_models.server import MockServer, Phase
from tests.mock_models.tools import Call, tool_call

PROJECT = Path("/home/u/project")
BASH = {"type": "object", "properties": {"command": {"type": "string"}}, "required": ["command"]}


@pytest.fixture
async def mock() -> AsyncIterator[MockServer]:
    async with MockServer(PROJECT) as server:
        yield server


async def post(mock: MockServer, path: str, body: dict[str, Any], method: str = "POST") -> tuple[int, bytes]:
    reader, writer = await asyncio.open_connection("127.0.0.1", mock.port)
    raw = json.dumps(body).encode()
    writer.write(f"{method} {path} HTTP/1.1\r\ncontent-length: {len(raw)}\r\n\r\n".encode() + raw)
    head = (await reader.readuntil(b"\r\n\r\n")).decode()
    if "chunked" in head:
        data = b""
        while size := int(await reader.readline(), 16):
            data += await reader.readexactly(size)
            await reader.readline()
    else:
        length = int(head.lower().partition("content-length: ")[2].split("\r\n")[0])
        data = await reader.readexactly(length)
    writer.close()
    return int(head.split()[1]), data


def events(data: bytes) -> list[dict[str, Any]]:
    lines = [line[6:] for line in data.decode().splitlines() if line.startswith("data: ")]
    return [json.loads(line) for line in lines if line != "[DONE]"]


def asking(text: str, tools: dict[str, Any] | None = None) -> Request:
    return Request("mock", True, [Message("user", text)], {"Bash": BASH} if tools is None else tools)


def test_parts_and_joined_steps_are_told_apart() -> None:
    """A bar separates answers, a double plus joins steps of one answer."""
    expected = [(Step("slow", "2"), Step("bash", "a && b")), (Step("text", "x y"),)]
    assert expected == parse("please [[slow 2 ++ bash a && b | text x y]]")


def test_each_answer_moves_the_script_on() -> None:
    """The n-th answer after the directive carries out its n-th part, later ones end the turn."""
    messages = [Message("user", "[[bash ls | read f]]"), Message("assistant"), Message("tool")]
    assert (Step("read", "f"),) == current_steps(Request("m", True, messages, {"Bash": BASH}))
    messages += [Message("assistant"), Message("tool")]
    assert current_steps(Request("m", True, messages, {"Bash": BASH}))[0].verb == "text"


def test_a_later_plain_message_ends_an_older_directive() -> None:
    """A directive does not reach past a message that the person wrote afterwards."""
    messages = [Message("user", "[[hang 9]]"), Message("assistant"), Message("user", "thanks")]
    assert current_steps(Request("m", True, messages, {"Bash": BASH}))[0].verb == "text"


def test_text_that_a_cli_injects_does_not_end_a_directive() -> None:
    """A reminder that the CLI adds as a user message leaves the directive in force."""
    messages = [Message("user", "[[hang 9]]"), Message("user", "<system-reminder>be brief</system-reminder>")]
    assert (Step("hang", "9"),) == current_steps(Request("m", True, messages, {"Bash": BASH}))


def test_a_prompt_without_a_directive_follows_the_server_s_script() -> None:
    """Where the prompt says nothing to the mock, the script given to it does, one part an answer."""
    script = parse("[[say a b | text c]]")
    messages = [Message("user", "Make the tests pass")]
    assert (Step("say", "a b"),) == current_steps(Request("m", True, messages, {"Bash": BASH}), script)
    messages += [Message("assistant"), Message("tool")]
    assert (Step("text", "c"),) == current_steps(Request("m", True, messages, {"Bash": BASH}), script)


@pytest.mark.parametrize(
    ("step", "tools", "expected"),
    [
        (Step("bash", "ls"), {"Bash": BASH}, Call("Bash", {"command": "ls"})),
        (
            Step("bash", "ls"),
            {"shell": {"properties": {"command": {"type": "array", "items": {"type": "string"}}}}},
            Call("shell", {"command": ["bash", "-lc", "ls"]}),
        ),
        (
            Step("bash", "ls"),
            {"run_commands": {"properties": {"commands": {"type": "array", "items": {"type": "string"}}}}},
            Call("run_commands", {"commands": ["ls"]}),
        ),
        (
            Step("bash", "ESC ls"),
            {"exec_command": {"properties": {"cmd": {}, "sandbox_permissions": {}}}},
            Call("exec_command", {"cmd": "ls", "sandbox_permissions": "require_escalated"}),
        ),
        (
            Step("write", "a.txt"),
            {"Write": {"properties": {"file_path": {"type": "string"}}, "required": ["file_path"]}},
            Call("Write", {"file_path": "/home/u/project/a.txt"}),
        ),
        (
            Step("edit", "a.txt"),
            {"apply_patch": None},
            Call("apply_patch", "*** Begin Patch\n*** Update File: a.txt\n@@\n-hello\n+goodbye\n*** End Patch\n"),
        ),
        (Step("raw", 'any {"x": 1}'), {}, Call("any", {"x": 1})),
    ],
)
def test_a_step_becomes_a_call_of_the_tool_that_is_offered(step: Step, tools: Any, expected: Call) -> None:
    """Whatever the tool is called and however it takes its arguments, the call has the step's argument in place."""
    assert expected == tool_call(step, asking("", tools), PROJECT)


def test_a_question_has_options_whatever_the_schema() -> None:
    """A question tool gets a question and at least two options, nested as its schema wants them."""
    option = {"type": "object", "properties": {"label": {"type": "string"}}, "required": ["label"]}
    one = {
        "type": "object",
        "properties": {"question": {"type": "string"}, "options": {"type": "array", "items": option}},
        "required": ["question", "options"],
    }
    schema = {"properties": {"questions": {"type": "array", "items": one}}, "required": ["questions"]}
    call = tool_call(Step("ask"), asking("", {"AskUserQuestion": schema}), PROJECT)
    assert call is not None
    assert isinstance(call.arguments, dict)
    question = call.arguments["questions"][0]
    assert question["question"].endswith("?")
    assert [{"label": "Red"}, {"label": "Blue"}] == question["options"]


async def test_anthropic_streams_text_then_a_tool_call(mock: MockServer) -> None:
    """A joined answer of text and tool ends for the tool's sake and is well-formed."""
    body = {
        "model": "m",
        "stream": True,
        "tools": [{"name": "Bash", "input_schema": BASH}],
        "messages": [{"role": "user", "content": "[[slow 0.01 ++ bash ls]]"}],
    }
    status, data = await post(mock, "/v1/messages?beta=true", body)
    kinds = [event["type"] for event in events(data)]
    assert status == 200
    assert "message_start" == kinds[0]
    assert "message_stop" == kinds[-1]
    assert kinds.count("content_block_start") == kinds.count("content_block_stop") == 2
    assert "tool_use" == events(data)[-2]["delta"]["stop_reason"]
    assert Phase.TOOL == mock.phase


async def test_responses_streams_reasoning_and_completes(mock: MockServer) -> None:
    """Reasoning and text are two output items and the response is completed with both."""
    body = {
        "stream": True,
        "tools": [{"type": "function", "name": "shell", "parameters": BASH}],
        "input": [{"role": "user", "content": [{"type": "input_text", "text": "[[think 0.01]]"}]}],
    }
    _, data = await post(mock, "/v1/responses", body)
    last = events(data)[-1]
    assert "response.completed" == last["type"]
    assert ["reasoning", "message"] == [item["type"] for item in last["response"]["output"]]
    assert list(range(len(events(data)))) == [event["sequence_number"] for event in events(data)]


async def test_chat_streams_a_tool_call(mock: MockServer) -> None:
    """A tool call comes in one delta and the choice finishes for it."""
    function = {"name": "bash", "parameters": BASH}
    body = {
        "stream": True,
        "tools": [{"type": "function", "function": function}],
        "messages": [{"role": "system", "content": "s"}, {"role": "user", "content": "[[bash ls]]"}],
    }
    _, data = await post(mock, "/v1/chat/completions", body)
    choices = [event["choices"][0] for event in events(data)]
    calls = [call for choice in choices for call in choice["delta"].get("tool_calls", [])]
    assert ['{"command": "ls"}'] == [call["function"]["arguments"] for call in calls]
    assert "tool_calls" == choices[-1]["finish_reason"]


async def test_gemini_streams_and_answers_whole(mock: MockServer) -> None:
    """Both forms end with STOP; a request for JSON without tools gets JSON."""
    declared = [{"functionDeclarations": [{"name": "run_shell_command", "parametersJsonSchema": BASH}]}]
    body = {"tools": declared, "contents": [{"role": "user", "parts": [{"text": "[[bash ls]]"}]}]}
    _, data = await post(mock, "/v1beta/models/m:streamGenerateContent?alt=sse", body)
    parts = [part for event in events(data) for part in event["candidates"][0]["content"]["parts"]]
    assert [{"command": "ls"}] == [part["functionCall"]["args"] for part in parts if "functionCall" in part]
    asked = {"generationConfig": {"responseMimeType": "application/json"}, "contents": body["contents"]}
    _, data = await post(mock, "/v1beta/models/m:generateContent", asked)
    answer = json.loads(data)["candidates"][0]
    assert "STOP" == answer["finishReason"]
    assert "model_choice" in json.loads(answer["content"]["parts"][0]["text"])


async def test_an_error_step_is_an_http_error(mock: MockServer) -> None:
    """The step ``err`` answers with its status and the phase says so."""
    body = {"tools": [{"name": "Bash"}], "messages": [{"role": "user", "content": "[[err 529]]"}]}
    status, data = await post(mock, "/v1/messages", body)
    assert 529 == status
    assert "overloaded_error" == json.loads(data)["error"]["type"]
    assert Phase.FAILED == mock.phase


async def test_the_state_tells_what_is_in_flight_and_a_hang_up_ends_it(mock: MockServer) -> None:
    """A pending request is listed until its client hangs up, which ends it at once."""
    body = json.dumps({"tools": [{"name": "Bash"}], "messages": [{"role": "user", "content": "[[hang 60]]"}]}).encode()
    _, writer = await asyncio.open_connection("127.0.0.1", mock.port)
    writer.write(f"POST /v1/messages HTTP/1.1\r\ncontent-length: {len(body)}\r\n\r\n".encode() + body)
    assert await mock.wait(lambda server: server.phase == Phase.ANSWERING, 5)
    _, state = await post(mock, "/_state", {}, "GET")
    assert [["hang 60"]] == [entry["steps"] for entry in json.loads(state)["inflight"]]
    writer.close()
    assert await mock.wait(lambda server: server.phase == Phase.QUIET, 5)


async def test_a_request_without_tools_is_beside_the_conversation(mock: MockServer) -> None:
    """A title request gets a title and never counts as the conversation's work."""
    body = {"messages": [{"role": "user", "content": "[[hang 60]] give this a title"}]}
    _, data = await post(mock, "/v1/messages", body)
    assert [{"type": "text", "text": "Mock title"}] == json.loads(data)["content"]
    assert Phase.QUIET == mock.phase


async def test_a_chunked_request_body_is_read(mock: MockServer) -> None:
    """Clients that stream their request are understood, and the connection is kept."""
    raw = json.dumps({"messages": [{"role": "user", "content": "hi"}]}).encode()
    reader, writer = await asyncio.open_connection("127.0.0.1", mock.port)
    head = b"POST /v1/messages HTTP/1.1\r\ntransfer-encoding: chunked\r\n\r\n"
    for _ in range(2):
        writer.write(head + b"%x\r\n" % len(raw) + raw + b"\r\n0\r\n\r\n")
        assert b"200" in await reader.readuntil(b"\r\n\r\n")
        assert b"Mock title" in await reader.readuntil(b"}")
        await reader.readuntil(b"}}")
    writer.close()


async def test_unknown_paths_are_not_found_and_models_are_listed(mock: MockServer) -> None:
    """What no CLI needs is refused; the list of models is served."""
    assert 404 == (await post(mock, "/v1/nothing", {}))[0]
    status, data = await post(mock, "/v1/models", {}, "GET")
    assert 200 == status
    assert "mock-model" in [item["id"] for item in json.loads(data)["data"]]
