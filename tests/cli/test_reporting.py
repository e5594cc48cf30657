"""An attached terminal is told the state of the pane's agent, when it takes reports."""

import os
import re
import select
import sys
from pathlib import Path

import pytest
from prowl.v1 import panes_pb2
from prowl_cli.status_report import CLEAR, QUERY, encode

from tests.cli.process import Prowl, stop, until
from tests.cli.terminal import Terminal

AGENT = r"""
import os, termios, tty
tty.setcbreak(0)
attributes = termios.tcgetattr(0)
attributes[3] &= ~termios.ECHO
termios.tcsetattr(0, termios.TCSANOW, attributes)
os.write(1, b"ready\r\n")
said = b""
while data := os.read(0, 100):
    said += data
    while b"\n" in said:
        line, _, said = said.partition(b"\n")
        if line == b"q":
            raise SystemExit
        if line.startswith(b"state="):
            os.write(1, b"\x1b]7501;" + line + b":app=claude-code\x07")
        elif line == b"prompt":
            os.write(1, b"\x1b]133;A\x07")
        else:
            os.write(1, b"[" + line.hex().encode() + b"]")
"""
YES, DA1 = b"\x1b]7501;?\x1b\\", b"\x1b[?62;22c"
WORKING, IDLE, DONE, BLOCKED = (encode(state, "claude") for state in ("working", "idle", "done", "blocked"))


@pytest.fixture(scope="module")
def prowl(tmp_path_factory):
    """The command and the one service that its first use starts."""
    folder = tmp_path_factory.mktemp("prowl")
    yield Prowl(folder)
    stop(folder)


@pytest.fixture
def agent(tmp_path):
    """A command that runs under Claude's name, reports what it is told to, and shows anything else that it reads."""
    script = tmp_path / "agent.py"
    script.write_text(AGENT)
    link = tmp_path / "claude"
    link.symlink_to(Path(sys.executable).resolve())
    return (str(link), "-I", "-S", str(script))


@pytest.fixture
def attach(prowl, agent):
    """A way to run the agent in a pane and attach a terminal to it."""
    made = []

    def make(*options, environ=None, command=agent):
        terminal = Terminal(prowl, "run", *options, "--", *command, environ=environ)
        made.append(terminal)
        terminal.expect(rb"ready")
        return terminal

    yield make
    for one in made:
        one.close()
    with prowl.client() as client:
        for row in client.list_panes().panes:
            client.close_pane(panes_pb2.ClosePaneRequest(target=row.target.pane.id, force=True))


def told(terminal):
    """The reports that the terminal was written, in order."""
    return re.findall(rb"\x1b\]7501;[^\x1b\x07]*(?:\x1b\\|\x07)", terminal.seen.replace(QUERY, b""))


def test_a_terminal_that_takes_reports_follows_the_agent(attach):
    """Working, blocked, done when nobody looks, idle when somebody does; on leaving the record is cleared."""
    terminal = attach()
    terminal.type(b"state=working\n")
    terminal.expect(re.escape(QUERY))
    terminal.type(YES + DA1)
    terminal.expect(re.escape(WORKING))
    terminal.type(b"state=blocked:kind=permission\n")
    terminal.expect(re.escape(BLOCKED))
    terminal.type(b"\x1b[O")
    terminal.type(b"state=done\n")
    terminal.expect(re.escape(DONE))
    terminal.type(b"\x1b[I")
    terminal.expect(re.escape(DONE) + rb".*" + re.escape(IDLE))
    terminal.type(b"\x1c")

    assert (0, True) == terminal.end()
    terminal.drain()
    assert [WORKING, BLOCKED, DONE, IDLE, CLEAR] == told(terminal)[-5:]
    assert terminal.seen.rindex(CLEAR) < terminal.seen.rindex(b"\x1b[?1049l")
    assert b"claude-code" not in terminal.seen


def test_a_terminal_that_does_not_take_reports_gets_none(attach):
    """DA1 alone means no: neither ours nor the agent's own reports reach it."""
    terminal = attach()
    terminal.type(b"state=working\n")
    terminal.expect(re.escape(QUERY))
    terminal.type(DA1)
    terminal.type(b"state=idle\nend\n")
    terminal.expect(rb"\[656e64\]")
    terminal.type(b"\x1c")

    assert (0, True) == terminal.end()
    terminal.drain()
    assert [] == told(terminal)


def test_what_is_typed_around_the_answers_arrives_and_they_do_not(attach):
    """The answers come in pieces between keys; the program gets the keys, all and in order."""
    terminal = attach()
    terminal.type(b"state=working\n")
    terminal.expect(re.escape(QUERY))
    for piece in (b"ab", b"cd" + YES[:5], YES[5:] + b"ef" + DA1[:3], DA1[3:] + b"gh\n"):
        terminal.type(piece)
        terminal.pause()
    terminal.expect(re.escape(WORKING))

    terminal.expect(b"\\[" + b"abcdefgh".hex().encode() + b"\\]")


def test_a_prompt_mark_of_the_program_does_not_lose_the_record(attach):
    """The terminal drops records at a prompt mark, so ours is sent again behind it."""
    terminal = attach()
    terminal.type(b"state=blocked\n")
    terminal.expect(re.escape(QUERY))
    terminal.type(YES + DA1)
    terminal.expect(re.escape(BLOCKED))
    terminal.type(b"prompt\n")

    terminal.expect(re.escape(b"\x1b]133;A\x07") + rb"(?s:.*)" + re.escape(encode("idle", "claude")))


@pytest.mark.parametrize(("options", "environ"), [(["--no-report-status"], None), ([], {"PROWL_REPORT_STATUS": "0"})])
def test_told_not_to_report_it_does_not_even_ask(attach, prowl, options, environ):
    """By the option or the variable the terminal hears nothing, also not the agent's own reports."""
    terminal = attach(*options, environ=environ)
    terminal.type(b"state=working\n")
    until(lambda: prowl.data("list", "--json")["items"][0]["task"]["status"] == "running")
    terminal.type(b"end\n")
    terminal.expect(rb"\[656e64\]")

    assert b"\x1b]7501" not in terminal.seen


def test_a_service_that_is_configured_not_to_report_decides(agent, tmp_path):
    """Without option and variable the setting of the service counts."""
    folder = tmp_path / "config" / "prowl"
    folder.mkdir(parents=True)
    (folder / "config.toml").write_text("report_status = false\n")
    prowl = Prowl(tmp_path)
    terminal = Terminal(prowl, "run", "--", *agent)
    try:
        terminal.expect(rb"ready")
        terminal.type(b"state=working\n")
        until(lambda: prowl.data("list", "--json")["items"][0]["task"]["status"] == "running")
        terminal.type(b"end\n")
        terminal.expect(rb"\[656e64\]")
    finally:
        terminal.close()
        stop(tmp_path)

    assert b"\x1b]7501" not in terminal.seen


def test_an_answer_that_comes_after_the_end_is_not_left_to_the_shell(attach):
    """The program ends before the terminal answered: the answer is taken, what is typed behind it is the shell's."""
    terminal = attach()
    terminal.type(b"state=working\n")
    terminal.expect(re.escape(QUERY))
    terminal.type(b"q\n")
    terminal.expect(re.escape(b"\x1b[?25h\x1b[?1049l"))
    terminal.type(YES + DA1 + b"ls\n")

    assert (0, True) == terminal.end()
    assert select.select([terminal.slave], [], [], 0)[0]
    assert b"ls\n" == os.read(terminal.slave, 100)
