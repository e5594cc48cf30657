"""The last result: whole and proved, or not at all."""

import json
from pathlib import Path

import pytest

from prowl_svc.evidence import transcripts
from prowl_svc.evidence.transcripts import Result, ResultState, read_result
from prowl_svc.model.agents import Agent
from prowl_svc.model.errors import Code
from prowl_svc.model.observation import SessionConfidence, SessionRef
from prowl_svc.model.state import DisplayState

SESSION = "4677382d-a535-4513-8ec8-22be05b61bb0"


def session(path: Path | None, confidence: SessionConfidence = SessionConfidence.EXACT) -> SessionRef:
    return SessionRef(SESSION, None if path is None else str(path), confidence, "open_file")


def read(tmp_path: Path, agent: Agent, records: list, limit: int = 1000, tail: str = "") -> Result:
    path = tmp_path / "transcript.jsonl"
    path.write_text("".join(json.dumps(record) + "\n" for record in records) + tail)
    return read_result(agent, DisplayState.IDLE, session(path), limit)


def whole(expected: str) -> Result:
    """The result that a text or a state without one stands for; a state is a text, too."""
    return Result(expected) if isinstance(expected, ResultState) else Result(ResultState.COMPLETE, expected)


# --- who is asked


@pytest.mark.parametrize("status", [DisplayState.WORKING, DisplayState.BLOCKED])
def test_pending(status, tmp_path):
    """A working or blocked agent has no result yet, and its transcript is not read."""
    result = read_result(Agent.CODEX, status, session(tmp_path), 10)

    assert (Result(ResultState.PENDING), Code.RESULT_NOT_FOUND) == (result, result.error[0])


@pytest.mark.parametrize(
    "ref", [None, session(None), session(Path("/x"), SessionConfidence.MEDIUM)], ids=["none", "no-file", "guess"]
)
def test_unavailable(ref):
    """Without a session known for sure, or its file, nothing is read."""
    result = read_result(Agent.CLAUDE, DisplayState.DONE, ref, 10)

    assert (ResultState.UNAVAILABLE, Code.SESSION_UNRESOLVED) == (result.state, result.error[0])


def test_missing_file(tmp_path):
    """A transcript that is not there holds no result."""
    assert ResultState.MISSING is read_result(Agent.CODEX, DisplayState.IDLE, session(tmp_path / "no"), 10).state


# --- Codex


def event(kind: str, **payload: object) -> dict:
    return {"type": "event_msg", "payload": {"type": kind, **payload}}


DONE = {"turn_id": "t", "completed_at": 1796106346, "last_agent_message": "All done.\n"}


@pytest.mark.parametrize(
    ("records", "expected"),
    [
        ([], ResultState.MISSING),
        ([event("user_message", message="x")], ResultState.MISSING),
        ([event("task_started", turn_id="t"), event("task_complete", **DONE), event("token_count")], "All done.\n"),
        ([event("task_complete", **DONE), event("task_started", turn_id="u")], ResultState.INCOMPLETE),
        ([event("task_complete", **DONE), event("turn_aborted", turn_id="u")], ResultState.INCOMPLETE),
        ([event("turn_aborted", turn_id="u"), event("task_complete", **DONE)], "All done.\n"),
        ([event("task_complete", **{**DONE, "turn_id": ""})], ResultState.INCOMPLETE),
        ([event("task_complete", **{**DONE, "completed_at": "now"})], ResultState.INCOMPLETE),
        ([event("task_complete", **{**DONE, "completed_at": True})], ResultState.INCOMPLETE),
        ([event("task_complete", **{**DONE, "last_agent_message": None})], ResultState.INCOMPLETE),
        ([event("task_complete", **{**DONE, "error": {"message": "x"}})], ResultState.INCOMPLETE),
        (["not a record"], ResultState.INCOMPLETE),
        ([event("task_complete", **{**DONE, "last_agent_message": "half \ud83d"})], ResultState.INCOMPLETE),
        ([event("task_complete", **{**DONE, "last_agent_message": "missing"})], "missing"),
    ],
)
def test_codex(records, expected, tmp_path):
    """Only the latest end of a turn counts, and only when it completed."""
    result = read(tmp_path, Agent.CODEX, records)

    assert whole(expected) == result
    assert (result.text is None) == (result.error is not None)


# --- Claude


def entry(uuid: str, parent: str | None, kind: str = "attachment", **more: object) -> dict:
    return {"type": kind, "uuid": uuid, "parentUuid": parent, "sessionId": SESSION, "isSidechain": False, **more}


def said(
    uuid: str, parent: str | None, *blocks: dict | str, stop: str | None = "end_turn", identity: str = "m"
) -> dict:
    content = [{"type": "text", "text": block} if isinstance(block, str) else block for block in blocks]
    return entry(uuid, parent, "assistant", message={"id": identity, "stop_reason": stop, "content": content})


def asked(uuid: str, parent: str | None, content: object = "do it") -> dict:
    return entry(uuid, parent, "user", message={"role": "user", "content": content})


def over(uuid: str, parent: str | None) -> dict:
    return entry(uuid, parent, "system", subtype="turn_duration", durationMs=5)


THINKING = {"type": "thinking", "thinking": "hm"}
TOOL = {"type": "tool_use", "id": "x", "name": "Read", "input": {}}
HEAD = [{"type": "mode", "sessionId": SESSION}, asked("u1", None)]


@pytest.mark.parametrize(
    ("records", "expected"),
    [
        pytest.param([], ResultState.MISSING, id="empty"),
        pytest.param([HEAD[0]], ResultState.MISSING, id="no-turn"),
        pytest.param([*HEAD, said("a1", "u1", "first"), over("d1", "a1")], "first", id="complete"),
        pytest.param([*HEAD, said("a1", "u1", "one", " two"), entry("x", "a1"), over("d", "x")], "one two", id="chain"),
        pytest.param(
            [*HEAD, said("a1", "u1", THINKING), said("a2", "a1", "one "), said("a3", "a2", "two"), over("d", "a3")],
            "one two",
            id="blocks-in-records",
        ),
        pytest.param(
            [*HEAD, said("a0", "u1", "before ", identity="l"), said("a1", "a0", "now"), over("d", "a1")],
            "now",
            id="only-the-final-message",
        ),
        pytest.param([*HEAD, said("a1", "u1", "x", stop="stop_sequence"), over("d", "a1")], "x", id="stop-sequence"),
        pytest.param(
            [*HEAD, said("a1", "u1", "x", stop="max_tokens"), over("d", "a1")], ResultState.INCOMPLETE, id="cut"
        ),
        pytest.param([*HEAD, entry("x", None), over("d", "x")], ResultState.INCOMPLETE, id="chain-ends"),
        pytest.param([*HEAD, said("a1", "u1", "x", TOOL), over("d", "a1")], ResultState.INCOMPLETE, id="tool"),
        pytest.param([*HEAD, said("a1", "u1", THINKING), over("d", "a1")], ResultState.INCOMPLETE, id="no-words"),
        pytest.param([*HEAD, said("a1", "u1", "x")], ResultState.INCOMPLETE, id="not-over"),
        pytest.param([*HEAD, over("d", "u1")], ResultState.INCOMPLETE, id="no-answer"),
        pytest.param([*HEAD, said("a1", "u1", "x"), over("d", "gone")], ResultState.INCOMPLETE, id="broken-chain"),
        pytest.param(
            [*HEAD, said("a1", "u1", "x"), over("d", "a1"), asked("u2", "d")], ResultState.INCOMPLETE, id="newer-prompt"
        ),
        pytest.param(
            [*HEAD, said("a1", "u1", "x"), over("d", "a1"), asked("u2", "d", "<command-name>/model</command-name>")],
            "x",
            id="command-after",
        ),
        pytest.param(
            [*HEAD, said("a1", "u1", "x"), over("d", "a1"), {**said("s", None, "sub"), "isSidechain": True}],
            "x",
            id="sidechain",
        ),
        pytest.param(
            [*HEAD, said("a1", "u1", "x"), over("d", "a1"), {**over("e", "a1"), "sessionId": "other"}],
            "x",
            id="another-session",
        ),
        pytest.param(
            [*HEAD, said("a1", "u1", "x"), entry("c0", "a1"),
             *(entry(f"c{n}", f"c{n - 1}") for n in range(1, 70)), over("d", "c69")],
            ResultState.INCOMPLETE,
            id="chain-too-long",
        ),
    ],
)  # fmt: skip
def test_claude(records, expected, tmp_path):
    """Only words that end a turn, tied to its end by the chain of records, are a result."""
    result = read(tmp_path, Agent.CLAUDE, records)

    assert whole(expected) == result


# --- limits


def test_too_large(tmp_path):
    """A result longer than allowed, in bytes, is not cut but refused."""
    records = [event("task_complete", **{**DONE, "last_agent_message": "ééé"})]

    assert "ééé" == read(tmp_path, Agent.CODEX, records, 6).text
    assert Result(ResultState.TOO_LARGE) == read(tmp_path, Agent.CODEX, records, 5)


def test_record_being_written(tmp_path):
    """While the last record is not whole, nothing is proved."""
    records = [event("task_complete", **DONE)]

    assert ResultState.INCOMPLETE is read(tmp_path, Agent.CODEX, records, tail='{"type":').state


def test_window(tmp_path, monkeypatch):
    """Only the end of a huge transcript is read; what it does not prove is incomplete."""
    monkeypatch.setattr(transcripts, "_WINDOW", 400)
    filler = [event("token_count", text="x" * 300)] * 3

    assert "All done.\n" == read(tmp_path, Agent.CODEX, [*filler, event("task_complete", **DONE)]).text
    assert ResultState.INCOMPLETE is read(tmp_path, Agent.CODEX, [event("task_complete", **DONE), *filler]).state
