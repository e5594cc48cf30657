"""OSC 7501: what a program reports is kept, bounded, and counted as evidence only behind the fence."""

import json
import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from prowl_svc.evidence.program_report import parse_report
from prowl_svc.evidence.program_status import (
    CAPACITY,
    RecordStore,
    aggregate,
    effective_app,
    plain_text,
    reply_for_query,
    summarize,
)
from prowl_svc.model.agents import Agent
from prowl_svc.model.process import Generation
from prowl_svc.model.state import RawState
from prowl_svc.model.terminal import ProgramStatus, PromptMark, Reset, SideEvent, StatusQuery
from prowl_svc.terminal.osc import decode_osc

CASES = json.loads((Path(__file__).parents[1] / "corpus" / "osc7501-cases.json").read_text())["cases"]
SEQUENCES = re.compile(rb"\x1b[P_^X].*?(?:\x1b\\|\Z)|\x1b\]([^\x07\x18\x1a\x1b]*)(\x07|\x1b\\)|(\x1bc)", re.DOTALL)


def events(stream: bytes) -> list[SideEvent]:
    found: list[SideEvent | None] = []
    for match in SEQUENCES.finditer(stream):
        if match[3]:
            found.append(Reset(match.end(), True))
        elif match[2]:
            found.append(decode_osc(match[1], match[2], match.end()))
    return [event for event in found if event is not None]


def report(body: str) -> ProgramStatus:
    return ProgramStatus(0, body.encode())


def fed(*bodies: str, now: float = 10.0) -> RecordStore:
    store = RecordStore()
    for body in bodies:
        store.apply(report(body), now)
    return store


@pytest.mark.parametrize("case", [pytest.param(case, id=case["id"]) for case in CASES])
def test_conformance(case):
    """Each conformance case leaves the records, replies and aggregate written beside it."""
    store, replies = RecordStore(), []
    for step in case["steps"]:
        for event in events(step.get("out", "").encode("latin-1")):
            store.apply(event, 0.0)
            if isinstance(event, StatusQuery):
                replies.append(reply_for_query(event).decode())
        if step.get("event") == "process_exit":
            store.exited()
    records = []
    for path, stored in store.reports.items():
        shown = {name: getattr(stored, name) for name in ("id", "state", "app", "kind", "progress", "title", "msg")}
        shown["effective_app"] = effective_app(store.reports, path)
        records.append({key: value for key, value in shown.items() if value is not None})

    assert case["expect"]["records"] == records
    assert case["expect"]["replies"] == replies
    if "aggregate" in case["expect"]:
        assert case["expect"]["aggregate"] == aggregate(store.records)


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("state=idle:abcdefghijklmnop=1", "idle"),
        ("state=idle:abcdefghijklmnopq=1", None),
        ("state=idle:id", None),
        ("state=idle:id=", None),
        (" state = idle ", "idle"),
        ("state=idle:id=a:id=@:id=b", None),
        ("state=idle:title=QQ==:title=a", None),
        ("state=idle:msg=QR==", None),
        ("state=idle:msg=a@b", "idle"),
        ("state=idle:state=bogus", None),
        ("state=bogus:state=idle", "idle"),
        ("state=clear:title=!", "clear"),
        ("state=clear:title=a", None),
        ("state=idle:app=" + "a" * 33 + "@", None),
    ],
)
def test_two_level_errors(body, expected):
    """Pairs are forgiven, reports are not, and every limit holds for every occurrence."""
    parsed = parse_report(body.encode())

    assert expected == (parsed and parsed.state)


@pytest.mark.parametrize(
    ("bodies", "expected"),
    [
        (["state=working:app=pi"], ("working", "osc.working", False)),
        (["state=blocked:app=pi"], ("blocked", "osc.blocked.unspecified", False)),
        (["state=blocked:app=pi:kind=auth"], ("blocked", "osc.blocked.auth", False)),
        (["state=idle:app=pi"], ("idle", "osc.idle", False)),
        (["state=done:app=pi"], ("idle", "osc.done", True)),
        (["state=error:app=pi"], ("idle", "osc.error", True)),
        (["state=done:app=pi", "state=working:id=c"], ("working", "osc.childWorking", False)),
        (["state=working:app=pi", "state=working:id=c"], ("working", "osc.working", False)),
        (["state=working:app=pi", "state=blocked:id=c:kind=question"], ("blocked", "osc.childBlocked.question", False)),
        (["state=working:app=pi", "state=blocked:id=c"], ("blocked", "osc.childBlocked.unspecified", False)),
        (["state=idle:app=pi", "state=blocked:id=a:kind=auth", "state=blocked:id=b:kind=question"],
         ("blocked", "osc.childBlocked.question", False)),
        (["state=idle:app=pi", "state=working:id=c:app=cargo"], ("idle", "osc.idle", False)),
        (["state=idle:app=pi", "state=done:id=c", "state=error:id=d"], ("idle", "osc.idle", False)),
    ],
)  # fmt: skip
def test_mapping(bodies, expected):
    """Eligible records map to one state and reason."""
    summary = summarize(fed(*bodies), Agent.PI, 5.0)

    assert summary is not None
    assert expected == (summary.state.value, summary.reason, summary.completed)


@pytest.mark.parametrize(
    ("bodies", "agent", "started"),
    [
        pytest.param(["state=working:app=pi"], Agent.CODEX, 5.0, id="another-app"),
        pytest.param(["state=working"], Agent.PI, 5.0, id="no-app"),
        pytest.param(["state=working:app=pi"], Agent.PI, 10.1, id="before-the-process"),
        pytest.param(["state=working:app=pi"], Agent.PI, None, id="start-unknown"),
        pytest.param(["state=working:app=opencode"], Agent.OPENCODE, 5.0, id="not-verified"),
        pytest.param(["state=working:app=pi:id=c"], Agent.PI, 5.0, id="no-root"),
    ],
)
def test_fence(bodies, agent, started):
    """Records of another program, of none, or from before the process are no evidence."""
    assert summarize(fed(*bodies), agent, started) is None


def test_prompt_mark_and_repeat_in_stream_order():
    """A prompt drops working records and a repeat after it stands, so that no state of a turn is lost."""
    store = fed("state=working:app=claude-code")
    store.apply(PromptMark(0, "A"), 11.0)
    assert summarize(store, Agent.CLAUDE, 5.0) is None

    store.apply(report("state=working:app=claude-code"), 11.0)
    summary = summarize(store, Agent.CLAUDE, 5.0)
    assert summary is not None
    assert RawState.WORKING is summary.state


def test_owner_gone_after_command_end():
    """When the owner is gone, only what was there at the command's end goes."""
    store = fed("state=working:app=pi", "state=done:id=a:app=pi")
    store.apply(PromptMark(0, "D", 1), 11.0)
    store.apply(report("state=working:id=b:app=pi"), 12.0)

    assert store.owner_gone()
    assert ["a", "b"] == list(store.reports)


def test_repeat_after_command_end_survives():
    """A record repeated after the command's end belongs to the next owner."""
    store = fed("state=working:app=pi")
    store.apply(PromptMark(0, "D"), 11.0)
    store.apply(report("state=working:app=pi"), 12.0)

    assert not store.owner_gone()


def test_another_generation_drops_older_records():
    """A new process keeps only what arrived since it started; a probe gap and the first binding keep all."""
    store = fed("state=working:app=pi", "state=working:id=a:app=pi", now=10.0)
    assert not store.bind(Generation(1, 1), 9.0)
    assert not store.bind(None, None)
    assert not store.bind(Generation(1, 1), 9.0)
    store.apply(report("state=idle:app=pi"), 20.0)

    assert store.bind(Generation(2, 2), 15.0)
    assert [""] == list(store.reports)
    assert store.bind(Generation(3, 3), None)
    assert [] == list(store.reports)


def test_revision_moves_only_on_visible_change():
    """A repeat moves the order, not the revision."""
    store = fed("state=working:id=a", "state=working:id=b")
    before = store.revision

    assert not store.apply(report("state=working:id=a"), 11.0)
    assert (before, ["b", "a"]) == (store.revision, list(store.reports))
    assert store.apply(report("state=done:id=a"), 12.0)
    assert before + 1 == store.revision


def test_shown_text_has_no_direction_tricks():
    """Invisible and bidirectional characters are dropped, joiners stay."""
    assert "ab\u200dc" == plain_text("a\u202eb\u200d\u2066c\ufeff")


_paths = st.sampled_from(["", "a", "a/b", "a/b/c", "b", "c/d"]) | st.integers(0, 400).map(lambda n: f"n{n}")
_reports = st.builds(
    lambda state, path, app: report(
        f"state={state}" + (f":id={path}" if path else "") + (f":app={app}" if app else "")
    ),
    st.sampled_from(["idle", "working", "done", "blocked", "error", "clear"]),
    _paths,
    st.sampled_from(["", "pi", "codex"]),
)
_events = _reports | st.sampled_from([PromptMark(0, "A"), PromptMark(0, "D"), Reset(0, True), Reset(0, False)])


@given(st.lists(_events, max_size=60))
def test_store_is_deterministic_and_monotonic(stream):
    """The same stream gives the same records, and the revision never goes back."""
    store, last = RecordStore(), 0
    for event in stream:
        changed = store.apply(event, 1.0)
        assert store.revision >= last + changed
        last = store.revision
    again = RecordStore()
    for event in stream:
        again.apply(event, 1.0)

    assert store.records == again.records


@given(st.integers(0, 3 * CAPACITY), st.integers(0, 300))
def test_store_is_bounded(count, repeats):
    """No stream makes the store larger than its capacity, and the newest records are the ones kept."""
    store = RecordStore()
    for number in range(count):
        store.apply(report(f"state=working:id=n{number}"), 1.0)
    for number in range(repeats):
        store.apply(report(f"state=done:id=m{number}"), 1.0)

    assert min(count + repeats, CAPACITY) == len(store.records)
    if repeats:
        assert f"m{repeats - 1}" == store.records[-1].report.id


@given(st.binary(max_size=200) | st.text("state=idle:;/Q0 \t\x00é", max_size=80).map(str.encode))
def test_any_body_is_safe(body):
    """No body raises, and an ignored one changes nothing."""
    store = fed("state=working")
    before = store.records
    changed = store.apply(ProgramStatus(0, body), 2.0)

    assert changed or before[0].report == store.records[0].report
