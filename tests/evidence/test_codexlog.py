"""Both log scanners check every line and keep the same ones."""

import json

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from prowl_svc._fast import _codexlog_py
from prowl_svc.evidence.codex_records import Decoder, Session
from prowl_svc.model.facts import TurnStarted

IMPLEMENTATIONS = [_codexlog_py.lifecycle]
try:
    from prowl_svc._fast import _codexlog
except ImportError:
    pass
else:
    IMPLEMENTATIONS.append(_codexlog.lifecycle)

KEPT = [
    b'{"type":"event_msg","payload":{"type":"task_started","turn_id":"t"}}',
    b'{"type":"event_msg","payload":{"type":"task_complete"}}',
    b'{"type":"event_msg","payload":{"type":"turn_aborted"}}',
    b'{"type":"event_msg","payload":{"type":"thread_settings_applied"}}',
    b' { "payload" : { "item" : {"type":"SubAgentActivity"} , "type" : "item_completed" } , "type" : "event_msg" } ',
    b'{"type":"response_item","payload":{"type":"function_call","name":"followup_task"}}',
    b'{"type":"x","type":"event_msg","payload":[],"payload":{"type":"task_started"}}',
]
IGNORED = [
    b'{"type":"event_msg","payload":{"type":"token_count"}}',
    b'{"type":"event_msg","payload":{"type":"item_completed","item":{"type":"AgentMessage"}}}',
    b'{"type":"event_msg","payload":{"type":"item_completed"}}',
    b'{"type":"response_item","payload":{"type":"function_call","name":"shell"}}',
    b'{"type":"turn_context","payload":{"type":"task_started"}}',
    b'{"type":"event_msg","payload":{"x":{"type":"task_started"}}}',
    b'{"type":"event_msg","payload":{"type":"task_started"},"payload":{}}',
]
NOT_JSON = [
    b"",
    b"{",
    b"{}}",
    b'{"a":01}',
    b'{"a":1,}',
    b"{'a':1}",
    b'{"a":NaN}',
    b'{"a":"\x01"}',
    b'{"a":"\\x"}',
    b"\xff",
    b'{"a":"\\u12"}',
    b"nul",
    b"[1,]",
    b"1.",
    b"-",
    b'{"a"}',
    b'{"a":1 "b":2}',
    b"[" * 5000,
]
NO_RECORD = [
    b"{}",
    b"[]",
    b"1",
    b'"x"',
    b"null",
    b'{"type":"a"}',
    b'{"type":1,"payload":{}}',
    b'{"type":"a","payload":[]}',
]


@pytest.fixture(params=IMPLEMENTATIONS, ids=["interpreted", "compiled"][: len(IMPLEMENTATIONS)])
def lifecycle(request):
    return request.param


@pytest.mark.parametrize("line", KEPT)
def test_kept(lifecycle, line):
    """A lifecycle line is kept as it is."""
    assert ([line], "") == lifecycle(line + b"\n")


@pytest.mark.parametrize("line", IGNORED)
def test_ignored(lifecycle, line):
    """Any other good record is passed over."""
    assert ([], "") == lifecycle(line + b"\n")


@pytest.mark.parametrize(
    ("line", "fault"), [*((line, "json") for line in NOT_JSON), *((line, "record") for line in NO_RECORD)]
)
def test_faults(lifecycle, line, fault):
    """A bad line among good ones is told by its kind."""
    assert fault == lifecycle(KEPT[0] + b"\n" + line + b"\n" + KEPT[0] + b"\n")[1]


def test_incomplete_line_is_left(lifecycle):
    """What has no newline yet is not looked at."""
    assert ([KEPT[0]], "") == lifecycle(KEPT[0] + b'\n{"type":')


def test_escaped_names_are_read():
    """A record whose names are written with escapes means the same."""
    line = b'{"\\u0074ype":"event_msg","payload":{"type":"task\\u005fstarted","turn_id":"t"}}\n'

    assert [TurnStarted("r", "t")] == Decoder(live=True).decode(line, Session("r", "r"))


_json = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=8),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(["type", "item", "x"]), inner, max_size=3)
    ),
    max_leaves=8,
)
_names = st.sampled_from(["event_msg", "response_item", "task_started", "item_completed", "SubAgentActivity", "x"])
_payloads = st.dictionaries(
    st.sampled_from(["type", "name", "item", "y"]), _names | _json | st.fixed_dictionaries({"type": _names}), max_size=4
)
_records = st.fixed_dictionaries({}, optional={"type": _names | _json, "payload": _payloads | _json, "z": _json})


@given(
    st.lists(_records.map(lambda r: json.dumps(r, ensure_ascii=False).encode()) | st.binary(max_size=30), max_size=5)
)
@example([b'{"type": "a", "payload": {}}\r'])
def test_twins(lines):
    """The compiled scanner keeps and refuses exactly what the interpreted one does."""
    data = b"\n".join(lines) + b"\n"
    if b"\\" not in data:
        results = [implementation(data) for implementation in IMPLEMENTATIONS]
        assert all(result == results[0] for result in results)


@given(st.binary(max_size=60) | st.text('{}[]":,\\u01e.-truefalsnl \n', max_size=60).map(str.encode))
def test_any_bytes_are_safe(data):
    """No bytes raise, and both agree on the fault."""
    faults = {implementation(data)[1] for implementation in IMPLEMENTATIONS}

    assert 1 == len(faults)
