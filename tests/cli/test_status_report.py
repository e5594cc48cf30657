"""What an attachment writes to the terminal around it of its agent's state: bytes and states in, bytes out."""

import base64

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from prowl_cli.status_report import CLEAR, QUERY, StatusReport, encode, wanted

from prowl_svc.evidence.program_report import parse_report
from prowl_svc.terminal.scanner import Scanner, String, Text

YES, DA1 = b"\x1b]7501;?\x1b\\", b"\x1b[?62;22c"
WORKING, IDLE = encode("working", "Claude Code"), encode("idle", "Claude Code")


def supported():
    """A report whose terminal has said that it takes reports, and which told it that the agent works."""
    report = StatusReport()
    assert QUERY == report.shows(WORKING)
    assert WORKING == report.answered(YES)
    report.answered(DA1)
    return report


def parsed(record):
    """What a terminal reads in a report."""
    (token,) = Scanner().feed(record)
    return parse_report(token.body.removeprefix(b"7501;"))


@pytest.mark.parametrize("state", ["idle", "working", "done", "blocked"])
def test_a_report_says_state_and_name_and_never_that_it_is_the_agent(state):
    """A receiver reads the state, the agent's name as the title, and our own name as the program's."""
    report = parsed(encode(state, "Claude Code"))

    assert (state, "", "prowl", "Claude Code") == (report.state, report.id, report.app, report.title)
    assert (None, None) == (report.kind, report.msg)


@pytest.mark.parametrize("state", ["", "none", "unspecified", "7", "error"])
def test_a_state_that_is_none_clears(state):
    """No agent, and a state of a newer service, leave no record."""
    assert CLEAR == encode(state, "Claude Code")


@given(st.text())
def test_any_name_makes_a_report_that_is_taken(name):
    """Whatever an agent is called, the report keeps to the protocol's limits."""
    assert "idle" == parsed(encode("idle", name)).state


def test_an_endless_name_is_cut():
    """Two hundred characters are more than a title may have."""
    assert "é" * 96 == parsed(encode("idle", "é" * 200)).title


def test_nothing_is_asked_before_there_is_something_to_tell():
    """A terminal that shows a plain program gets no question."""
    report = StatusReport()

    assert (b"text", b"", b"") == (report.passing(b"text"), report.shows(CLEAR), report.ends())


def test_a_terminal_that_answers_gets_every_change_once():
    """The newest state follows the answer, then each change, and at the end nothing is left."""
    report = StatusReport()
    assert QUERY == report.shows(WORKING)
    assert b"" == report.shows(IDLE)
    assert report.waiting

    assert IDLE == report.answered(YES)
    assert report.waiting
    assert b"" == report.answered(DA1)

    assert not report.waiting
    assert (b"", WORKING, CLEAR, IDLE) == tuple(report.shows(one) for one in (IDLE, WORKING, CLEAR, IDLE))
    assert (CLEAR, b"") == (report.ends(), report.ends())


def test_a_terminal_that_answers_da1_first_gets_nothing():
    """Such a terminal is not believed when it answers later."""
    report = StatusReport()
    report.shows(WORKING)

    assert b"" == report.answered(DA1) + report.answered(YES) + report.shows(IDLE) + report.ends()
    assert not report.waiting


def test_reports_of_the_program_inside_do_not_pass():
    """They are for the service; what is around them passes."""
    inner = b"a\x1b]7501;state=working:app=claude-code\x07b\x1b]7501;state=clear\x1b\\c"

    assert b"abc" == StatusReport().passing(inner)
    assert b"abc" == supported().passing(inner)


@pytest.mark.parametrize("drop", [b"\x1b]133;A\x07", b"\x1b]133;A;redraw=0\x1b\\", b"\x1bc"])
def test_what_makes_the_terminal_forget_is_followed_by_the_record(drop):
    """A prompt mark or a reset of the program passes, and the record stands again behind it."""
    report = supported()

    assert b"a" + drop + b"b" + WORKING == report.passing(b"a" + drop + b"b")
    assert b"\x1b]133;C\x07" == report.passing(b"\x1b]133;C\x07")


@pytest.mark.parametrize("begun", [b"\x1b", b"\x1b[3", b"\x1b]0;ti", b"\x1b]0;ti\x1b", b"\x1bPq#0", "漢".encode()[:2]])
def test_a_record_waits_for_the_end_of_a_sequence(begun):
    """The start of a sequence or a character is held back, so that a record never falls into it."""
    report = supported()

    assert b"x" == report.passing(b"x" + begun)
    assert IDLE == report.shows(IDLE)


def test_a_record_waits_for_the_end_of_a_long_string():
    """An image passes piece by piece, and a new state follows behind it."""
    report = supported()
    image = b"\x1b_Ga=T;" + b"A" * 40_000
    assert image == report.passing(image)
    assert b"" == report.shows(IDLE)
    assert b"AA" == report.passing(b"AA\x1b")

    assert b"\x1b\\text" + IDLE == report.passing(b"\\text")


def test_an_end_within_a_long_string_still_clears():
    """The string is ended first."""
    report = supported()
    report.passing(b"\x1b_Ga=T;" + b"A" * 40_000)

    assert b"\x1b\\" + CLEAR == report.ends()


PIECES = [
    b"text",
    "é漢🐱".encode(),
    b"\x1b[1;31m",
    b"\x1b7",
    b"\x1b(B",
    b"\x1b]0;title\x07",
    b"\x1b]0;title\x1b\\",
    b"\x1b]0;cut\x1b[H",
    b"\x1bPq#0\x1b\\",
    b"\x1b_Ga=T;" + b"A" * 20_000 + b"\x1b\\",
    b"\r\n",
    b"\x1b]7501;state=idle\x1b\\",
    b"\x1b]133;A\x07",
    b"\x1bc",
]


def meant(stream):
    """What a stream means to a terminal, but for status reports: its tokens without their places, text joined."""
    out = []
    for token in Scanner().feed(stream):
        if isinstance(token, String) and token.body.startswith(b"7501;"):
            continue
        value = tuple(token._replace(**{name: 0 for name in ("start", "end") if name in token._fields}))
        if isinstance(token, Text) and out and out[-1][0] is Text:
            out[-1] = (Text, out[-1][1] + token.text)
        else:
            out.append((type(token), token.text if isinstance(token, Text) else value))
    return out


@settings(max_examples=40)
@given(st.lists(st.sampled_from(PIECES), max_size=8), st.data())
def test_records_change_nothing_that_is_shown(pieces, draw):
    """However output and state changes interleave, the terminal reads the program's output and the last state."""
    data = b"".join(pieces) + b"."
    report, shown, at = supported(), b"", 0
    record = WORKING
    while at < len(data):
        step = draw.draw(st.one_of(st.integers(1, 9), st.just(8000)))
        shown += report.passing(data[at : at + step])
        at += step
        if draw.draw(st.booleans()):
            record = draw.draw(st.sampled_from([WORKING, IDLE, CLEAR]))
            shown += report.shows(record)

    assert meant(data) == meant(shown)
    terminal = WORKING
    for token in Scanner().feed(WORKING + shown):
        if isinstance(token, String) and token.body.startswith(b"7501;"):
            terminal = b"\x1b]" + token.body + b"\x1b\\"
    assert record == terminal


@given(st.lists(st.binary(max_size=30), max_size=8))
def test_any_output_passes(chunks):
    """Whatever a program writes, nothing raises and nothing is added but records."""
    report = StatusReport()

    assert sum(map(len, chunks)) >= sum(len(report.passing(chunk)) for chunk in chunks)


@pytest.mark.parametrize(
    ("option", "environ", "expected"),
    [
        (None, {}, None),
        (False, {}, False),
        (False, {"PROWL_REPORT_STATUS": "1"}, False),
        (None, {"PROWL_REPORT_STATUS": "off"}, False),
        (None, {"PROWL_REPORT_STATUS": "Yes"}, True),
        (None, {"PROWL_REPORT_STATUS": "maybe"}, None),
        (None, {"TERM": "linux"}, False),
        (None, {"TERM": "dumb", "PROWL_REPORT_STATUS": "1"}, False),
    ],
)
def test_who_decides_whether_to_report(option, environ, expected):
    """The option, then the variable, then the service; never where unknown sequences would be printed."""
    assert expected is wanted(option, {"TERM": "xterm-256color"} | environ)


def test_a_title_is_standard_base64():
    """The title of a report is the name in base64."""
    assert base64.b64encode(b"Claude Code") in WORKING
