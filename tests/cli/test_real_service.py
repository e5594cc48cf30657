"""The command against the real service: starting it, panes, agents, attachment."""

import json
import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import jsonschema
import pytest
from prowl_client import address

from tests.cli.conftest import validate
from tests.cli.process import Prowl, stop, until
from tests.cli.terminal import Terminal

PLAYER = """
import os, sys, termios, tty
tty.setraw(0)
os.write(1, b"\\x1b[2J\\x1b[H")
for row in sys.argv[1:]:
    os.write(1, row.encode() + b"\\r\\n")
while (data := os.read(0, 100)) and b"q" not in data:
    os.write(1, b"\\x1b[1;1H[" + data.hex().encode() + b"]")
"""
CORPUS = Path(__file__).parents[1] / "corpus" / "screens" / "claude.json"
DIALOG = next(case for case in json.loads(CORPUS.read_text("utf-8")) if case["expect"]["state"] == "blocked")


@pytest.fixture(scope="module")
def prowl(tmp_path_factory):
    """The command and the one service that its first use starts."""
    folder = tmp_path_factory.mktemp("prowl")
    yield Prowl(folder)
    stop(folder)


@pytest.fixture
def script(tmp_path):
    """A program that draws what it is given and echoes what it reads, in hexadecimal."""
    path = tmp_path / "player.py"
    path.write_text(PLAYER)
    return str(path)


def test_the_first_command_starts_the_service_and_the_next_ones_use_it(prowl):
    """A command that needs the service starts it in a session of its own; there is one, whoever asks."""
    before = address.diagnose(Path(prowl.environment["PROWL_SOCKET"]))
    racers = [
        subprocess.Popen(
            [sys.executable, "-m", "prowl_cli.main", "list", "--json"], env=prowl.environment, stdout=subprocess.PIPE
        )
        for _ in range(3)
    ]
    answers = [json.loads(racer.communicate(timeout=60)[0]) for racer in racers]

    pid = int((prowl.folder / "run" / "s.lock").read_text())
    assert ("absent", [True] * 3) == (before, [answer["ok"] for answer in answers])
    assert os.getsid(pid) == pid
    assert 0o700 == (prowl.folder / "run").stat().st_mode & 0o777


def test_a_service_that_cannot_start_says_why_at_once(tmp_path):
    """The reason that the service gave is in the command's error."""
    prowl = Prowl(tmp_path)
    prowl.environment["PROWL_CLOSE_GRACE"] = "soon"

    done = prowl.run("list")

    assert 1 == done.returncode
    assert "PROWL_CLOSE_GRACE" in done.stderr


def test_a_service_that_cannot_keep_a_log_is_not_started(tmp_path):
    """A state folder that cannot be made is an error like any other, in the form that was asked for."""
    prowl = Prowl(tmp_path)
    (tmp_path / "state").write_text("in the way")

    done = prowl.run("list", "--json")

    assert (1, "") == (done.returncode, done.stderr)
    error = json.loads(done.stdout)["error"]
    assert "APP_NOT_RUNNING" == error["code"]
    assert str(tmp_path / "state") in error["message"]


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="needs a device that is always full")
def test_output_that_cannot_be_written_is_told_in_one_line(prowl):
    """A full disk below standard output ends the command with 1; a closed standard output is no error."""
    for shell, status, lines in (('exec "$@" >/dev/full', 1, 1), ('exec "$@" >&-', 0, 0)):
        done = subprocess.run(
            ["sh", "-c", shell, "sh", sys.executable, "-m", "prowl_cli.main", "list"],
            env=prowl.environment,
            stderr=subprocess.PIPE,
            text=True,
            timeout=60,
            check=False,
        )
        assert (status, lines) == (done.returncode, len(done.stderr.splitlines())), done.stderr


def test_a_folder_that_was_deleted_is_told(prowl, tmp_path):
    """The current folder of the command may be gone."""
    (tmp_path / "gone").mkdir()
    shell = 'cd "$1"; rmdir "$1"; shift; exec "$@"'
    done = subprocess.run(
        ["sh", "-c", shell, "sh", tmp_path / "gone", sys.executable, "-m", "prowl_cli.main", "create", "--", "cat"],
        env=prowl.environment,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert (1, "prowl: The current folder was deleted; name another with --cwd. [CREATE_FAILED]\n") == (
        done.returncode,
        done.stderr,
    )


def test_a_pane_is_created_typed_into_read_and_closed(prowl, script):
    """The whole way of a pane through the command."""
    handle = prowl.pane(sys.executable, script, "first row", "second row")
    until(lambda: "second row" in prowl.text(handle))

    assert "screen" == prowl.data("read", "--json", handle)["source"]
    assert "second row" in prowl.data("read", "--json", handle, "--source", "detection")["text"]
    assert 2 == prowl.data("send", "--json", handle, "--no-enter", stdin="é\n")["input"]["bytes"]
    until(lambda: "[c3a9]" in prowl.text(handle))
    assert "ctrl-c" == prowl.data("key", "--json", handle, "ctrl-c")["key"]["normalized"]
    until(lambda: "[03" in prowl.text(handle))
    assert "pane" == prowl.data("close", "--json", handle)["resource"]
    gone = json.loads(prowl.run("read", "--json", handle).stdout)
    assert "TARGET_NOT_FOUND" == gone["error"]["code"]


def test_an_agent_is_listed_explained_and_observed(prowl, script, tmp_path):
    """A program under an agent's name that shows a dialog is a blocked agent, in every command that shows agents."""
    claude = tmp_path / "claude"
    claude.symlink_to(Path(sys.executable).resolve())
    size = f"{DIALOG['cols']}x{DIALOG['rows']}"
    handle = prowl.pane(str(claude), "-I", "-S", script, *DIALOG["screen"], size=size)
    until(lambda: prowl.row(handle).blocked)

    agents = prowl.data("agents", "--json")["agents"]
    assert [("claude", "blocked")] == [(row["type"], row["status"]) for row in agents]
    told = prowl.data("agents", "explain", "--json", handle)
    assert ("blocked", False) == (told["screen"]["state"], "text" in told["screen"])
    assert "blocked" in prowl.run("agents").stdout
    watching = subprocess.Popen(
        [sys.executable, "-m", "prowl_cli.main", "observe", handle, "--json"],
        env=prowl.environment,
        stdout=subprocess.PIPE,
        text=True,
    )
    first = json.loads(watching.stdout.readline())
    prowl.run("close", handle, "--force")
    rest = [json.loads(line) for line in watching.communicate(timeout=30)[0].splitlines()]
    for envelope in (first, *rest):
        validate(envelope)
    assert ("snapshot", "blocked") == (first["data"]["event"], first["data"]["agent"]["status"])
    assert "surface_closed" == rest[-1]["data"]["event"]
    assert 0 == watching.returncode


def test_settings_and_health_come_from_the_service(prowl):
    """Config and doctor ask the service that runs."""
    prowl.run("list")

    assert "service" == prowl.data("config", "--json")["source"]
    doctor = prowl.data("doctor", "--json")
    assert "pid" in next(check["detail"] for check in doctor["checks"] if check["name"] == "service")


@pytest.fixture
def terminal(prowl):
    """A way to put the command on a terminal."""
    made = []

    def make(*argv, **more):
        made.append(Terminal(prowl, *argv, **more))
        return made[-1]

    yield make
    for one in made:
        one.close()


def test_attach_shows_types_resizes_and_detaches(prowl, script, terminal):
    """An attached terminal gets a redraw, its keys arrive, its size becomes the pane's, and detaching restores it."""
    handle = prowl.pane(sys.executable, script, "hello pane")
    attached = terminal("attach", handle)

    attached.expect(rb"hello pane")
    assert b"\x1b[?1004h" in attached.seen
    attached.type(b"ab")
    attached.expect(rb"\[6162\]|\[62\]")
    until(lambda: len(prowl.text(handle).split("\n")) == 20)
    attached.resize((70, 15))
    until(lambda: len(prowl.text(handle).split("\n")) == 15)
    attached.type(b"\x1c")

    attached.expect(rb"\[" + handle.encode() + rb" detached\]")
    assert (0, True) == attached.end()
    assert b"\x1b[?1004l" in attached.seen
    assert handle in prowl.run("list").stdout


def test_focus_of_the_attached_terminal_counts_as_viewing(prowl, script, terminal):
    """While the terminal reports the focus the pane is viewed, and the reports are not typed into the program."""
    handle = prowl.pane(sys.executable, script, "hello pane")

    def viewed():
        return prowl.row(handle).viewed

    assert not viewed()
    attached = terminal("attach", handle)
    attached.expect(rb"hello pane")
    until(viewed)
    attached.type(b"\x1b[O")
    until(lambda: not viewed())
    attached.type(b"\x1b[I")
    until(viewed)
    attached.type(b"x")
    attached.expect(rb"\[78\]")
    assert b"1b5b" not in attached.seen
    attached.type(b"\x1c")
    attached.end()
    until(lambda: not viewed())


def test_run_ends_with_the_programs_status(prowl, terminal):
    """When the program ends, the attachment does, with its exit status."""
    shell = terminal("run", "--", "sh", "-c", "printf ready; read x; exit 7")
    shell.expect(rb"ready")
    shell.type(b"\r")

    shell.expect(rb"exited with status 7")
    assert (7, True) == shell.end()


def test_a_terminal_without_a_size_gets_a_usual_pane_and_whole_lines(terminal, prowl):
    """Some terminals, such as those of build machines, say that they have no columns and no rows."""
    running = terminal("run", "--", "sh", "-c", "stty size; read x", size=(0, 0))
    running.expect(rb"24 80")
    running.type(b"\r")
    running.end()
    prowl.pane("cat")
    shown = terminal("list", size=(0, 0))
    shown.expect(rb"PANE  TAB  AGENT")
    shown.end()


def test_a_pane_is_not_attached_to_itself(terminal, prowl):
    """It would show its own output again and again."""
    handle = prowl.pane("cat")
    pane = prowl.row(handle).target.pane.id
    itself = terminal("attach", handle, environ={"PROWL_PANE_ID": pane})
    itself.expect(rb"This terminal is that pane")
    assert (1, True) == itself.end()
    other = terminal("attach", handle, environ={"PROWL_PANE_ID": "another"})
    other.expect(rb"1049h")
    other.type(b"\x1c")
    assert (0, True) == other.end()


def test_run_tells_the_status_of_a_program_that_ended_at_once(terminal):
    """A program that ends before the terminal is attached gives its status all the same."""
    short = terminal("run", "--", "sh", "-c", "exit 5")

    short.expect(rb"exited with status 5")
    assert (5, True) == short.end()


def test_a_read_only_attachment_types_nothing(prowl, script, terminal):
    """Keys other than the detach key do nothing in a read-only attachment."""
    handle = prowl.pane(sys.executable, script, "hello pane")
    attached = terminal("attach", handle, "--read-only", "--detach-key", "ctrl-]")
    attached.expect(rb"hello pane")
    attached.type(b"abc")
    attached.type(b"\x1d")

    assert (0, True) == attached.end()
    assert "616263" not in prowl.text(handle)


def test_a_terminated_attachment_leaves_the_terminal_as_it_was(prowl, script, terminal):
    """SIGTERM detaches; the terminal is not left raw."""
    handle = prowl.pane(sys.executable, script, "hello pane")
    attached = terminal("attach", handle)
    attached.expect(rb"hello pane")

    attached.process.send_signal(signal.SIGTERM)

    assert attached.end()[1]


def test_what_the_terminal_showed_is_scrolled_away_and_what_follows_stands_below(prowl, script, terminal):
    """The pane's ordinary screen takes the place of the person's, of which nothing is lost, and keeps it at the end."""
    attached = terminal("attach", prowl.pane(sys.executable, script, "hello pane"), size=(90, 20))
    attached.expect(rb"hello pane")
    attached.type(b"\x1c")

    attached.expect(rb"\x1b\[\?1049l\x1b\[999;1H\r\n\[p\d+ detached\]\r\n\Z")
    assert 1 == len(re.findall(rb"\x1b\[\?1049l\x1b\[999;1H\n{20}\x1b\[H\x1b\[r\x1b\[m", attached.seen))


def test_a_full_screen_program_leaves_the_terminal_as_it_was(prowl, script, terminal):
    """A pane on its alternate screen is shown on that of the terminal, so nothing is scrolled."""
    attached = terminal("attach", prowl.pane(sys.executable, script, "\x1b[?1049hhello pane"))
    attached.expect(rb"hello pane")
    attached.type(b"\x1c")

    attached.expect(rb"\x1b\[\?1049l\[p\d+ detached\]\r\n\Z")
    assert b"\x1b[999;1H" not in attached.seen


def test_attaching_to_nothing_is_an_error_before_the_terminal_changes(prowl, terminal):
    """A pane that does not exist is told as every refusal is."""
    prowl.run("list")
    attached = terminal("attach", "p999")

    attached.expect(rb"TARGET_NOT_FOUND")
    assert (1, True) == attached.end()
    assert b"\x1b[?1049h" not in attached.seen


def test_a_live_roster_on_a_terminal_is_redrawn_in_place(prowl, terminal):
    """On a terminal the roster is drawn over itself until interrupted."""
    prowl.run("list")
    watching = terminal("agents", "--watch")
    watching.expect(rb"\x1b\[H\x1b\[2J")

    watching.process.send_signal(signal.SIGINT)

    assert (130, True) == watching.end()


def test_the_schema_check_can_fail():
    """An envelope with a member too many is not accepted, so the checks above mean something."""
    with pytest.raises(jsonschema.ValidationError):
        validate({"ok": True, "command": "focus", "schema_version": "prowl.cli.focus.v1", "data": {"target": {}}})
