"""Commands about panes: what they send, what they print, and their envelopes."""

import io
import os
import sys

import grpc
import pytest
from prowl.v1 import panes_pb2

from tests.cli import samples
from tests.client.service import Refusal


def test_list_prints_every_pane_with_its_handles(cli):
    """An item has worktree, tab and pane with their handles, the agent, and the busy bit; unknown is null."""
    cli.service.answer(
        "ListPanes",
        panes_pb2.ListPanesResponse(
            panes=[samples.row(agent="claude", viewed=True), panes_pb2.PaneRow(target=samples.target("p2", cwd=None))],
            caller=panes_pb2.CallerPane(pane_id=samples.PANE, worktree_id="/home/u/app"),
        ),
    )

    data = cli.data("list")

    first, second = data["items"]
    assert 2 == data["count"]
    assert ("t1", "p1", "claude", True) == (
        first["tab"]["handle"],
        first["pane"]["handle"],
        first["pane"]["agent"],
        first["pane"]["visible"],
    )
    assert {"status": "running"} == first["task"]
    assert ({"status": None}, None, None) == (second["task"], second["pane"]["agent"], second["pane"]["cwd"])
    assert {"pane": {"id": samples.PANE}, "worktree": {"id": "/home/u/app"}} == data["caller"]


def test_list_for_people_is_an_aligned_table(cli):
    """Every column of the table begins at the same place in all lines."""
    cli.service.answer(
        "ListPanes",
        panes_pb2.ListPanesResponse(
            panes=[samples.row(agent="claude"), panes_pb2.PaneRow(target=samples.target("p10", title="表 x"))]
        ),
    )

    _, out, _ = cli.run("list")

    head, *lines = out.splitlines()
    at = head.index("WORKTREE")
    assert ["main", "main"] == [line[at : at + 4] for line in lines]
    assert "\x1b" not in out


def test_titles_cannot_play_tricks_on_the_terminal(cli):
    """Control, direction-changing and invisible characters of a title are not printed."""
    hostile = "a\x1b]0;x\x07\x9b31m\u202eevil\u2066\u200b\u2028\ufeffb\nc"
    cli.service.answer(
        "ListPanes", panes_pb2.ListPanesResponse(panes=[panes_pb2.PaneRow(target=samples.target(title=hostile))])
    )

    _, out, _ = cli.run("list")

    assert 2 == len(out.splitlines())
    assert out.replace("\n", "").isprintable()
    assert "a]0;x31mevilb c" in out


def test_create_starts_the_command_in_the_current_folder(cli, monkeypatch, tmp_path):
    """Arguments after -- are the command as they are; folder and environment are the caller's."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MINE", "1")
    monkeypatch.setenv("TMUX_PANE", "%1")
    cli.service.answer("CreatePane", panes_pb2.CreatePaneResponse(target=samples.target(), resource="tab"))

    data = cli.data("create", "--env", "A=b=c", "--size", "100x30", "--title", "t", "--", "claude", "--json", "-x")

    request = cli.service.last()
    assert ["claude", "--json", "-x"] == list(request.argv)
    assert (str(tmp_path), "t", 100, 30) == (request.cwd, request.title, request.size.columns, request.size.rows)
    assert ("b=c", "1", False) == (request.env["A"], request.env["MINE"], "TMUX_PANE" in request.env)
    assert not {"TERM", "PROWL_SOCKET"} & set(request.env)
    assert "tab" == data["resource"]


def test_create_pane_goes_beside_others(cli):
    """A pane is created in the named group."""
    cli.service.answer("CreatePane", panes_pb2.CreatePaneResponse(target=samples.target(), resource="pane"))

    assert "pane" == cli.data("create", "pane", "--group", "p1", "--", "bash")["resource"]
    assert "p1" == cli.service.last().group


def test_run_detached_creates_without_attaching(cli):
    """With --detach, or JSON output, run leaves the program in its pane."""
    cli.service.answer("CreatePane", panes_pb2.CreatePaneResponse(target=samples.target(), resource="tab"))

    status, out, _ = cli.run("run", "--detach", "claude", "--resume")

    assert (0, ["claude", "--resume"]) == (status, list(cli.service.last().argv))
    assert "prowl attach p1" in out
    assert "tab" == cli.data("run", "--", "codex")["resource"]


def test_attaching_without_a_terminal_is_refused(cli):
    """Attach and run say what to use instead when there is no terminal."""
    for argv in (["attach", "p1"], ["run", "--", "claude"]):
        status, _, err = cli.run(*argv)

        assert 1 == status
        assert "--detach" in err


def test_read_prints_the_text_or_everything_about_it(cli):
    """Text for people, and mode, source and counts for programs; stability only when it was asked for."""
    answer = panes_pb2.ReadPaneResponse(target=samples.target(), source="screen", line_count=2, text="one\ntwo")
    cli.service.answer("ReadPane", answer)

    assert (0, "one\ntwo\n", "") == cli.run("read", "p1")
    answer.text = "one\n\ntwo\n\n\n"
    assert (0, "one\n\ntwo\n", "") == cli.run("read", "p1")
    assert answer.text == cli.data("read", "p1")["text"]
    assert (0, answer.text + "\n", "") == cli.run("read", "p1", "--source", "detection")
    data = cli.data("read", "p1", "--last", "2", "--source", "detection")

    assert ("last", 2, "screen", 2) == (data["mode"], data["last"], data["source"], data["line_count"])
    assert "stabilized" not in data
    request = cli.service.last()
    assert ("p1", 2, panes_pb2.READ_SOURCE_DETECTION) == (request.pane, request.last, request.source)


def test_read_can_wait_for_a_stable_screen(cli):
    """The stability options travel, and the result says how it went."""
    cli.service.answer(
        "ReadPane",
        panes_pb2.ReadPaneResponse(
            target=samples.target(), source="detection", text="", stabilized=False, waited_ms=10_000, samples=50
        ),
    )

    data = cli.data("read", "p1", "--wait-stable", "--stable-interval", "100", "--wait-timeout", "20")

    assert (False, 10_000, 50) == (data["stabilized"], data["waited_ms"], data["samples"])
    stable = cli.service.last().stable
    assert (100, 0, 20) == (stable.interval_ms, stable.period_ms, stable.timeout_seconds)


def test_send_types_an_argument_and_waits_for_the_command(cli):
    """Text is followed by Enter and by the wait for the command's end, whose exit code is told."""
    cli.service.answer(
        "SendText",
        panes_pb2.SendTextResponse(
            target=samples.target(),
            characters=4,
            bytes=4,
            trailing_enter_sent=True,
            wait=panes_pb2.CommandWait(exit_code=2, duration_ms=9),
            capture=panes_pb2.CommandCapture(text="out", line_count=1),
        ),
    )

    data = cli.data("send", "p1", "make", "--capture", "--timeout", "5")

    request = cli.service.last()
    assert ("make", True, True, True, 5) == (
        request.text,
        request.enter,
        request.wait,
        request.capture,
        request.timeout_seconds,
    )
    assert {"exit_code": 2, "duration_ms": 9} == data["wait"]
    assert {"text": "out", "line_count": 1, "source": "screen_diff", "truncated": False} == data["capture"]
    assert "argv" == data["input"]["source"]


def test_send_reads_standard_input_without_its_last_newline(cli, monkeypatch):
    """Without an argument the text comes from standard input."""
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO("über\nzwei\n".encode())))
    cli.service.answer("SendText", panes_pb2.SendTextResponse(target=samples.target(), characters=9, bytes=10))

    data = cli.data("send", "p1", "--no-enter")

    assert "über\nzwei" == cli.service.last().text
    assert (False, False) == (cli.service.last().enter, cli.service.last().wait)
    assert ("stdin", None) == (data["input"]["source"], data["wait"])


@pytest.mark.parametrize(("given", "code"), [(b"", "EMPTY_INPUT"), (b"\xff", "INVALID_ARGUMENT")])
def test_send_refuses_standard_input_that_cannot_be_typed(cli, monkeypatch, given, code):
    """Nothing and bytes that are not UTF-8 are refused before anything is sent."""
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(given)))

    assert code == cli.error("send", "p1")["code"]
    assert [] == cli.service.requests


def test_key_tells_what_was_asked_and_what_was_pressed(cli):
    """The token in its normal form comes back beside the one that was asked for."""
    cli.service.answer("SendKey", panes_pb2.SendKeyResponse(target=samples.target(), key="ctrl-c", repeat=2))

    data = cli.data("key", "p1", "C-c", "--repeat", "2")

    assert ({"token": "C-c", "repeat": 2}, {"normalized": "ctrl-c"}) == (data["requested"], data["key"])
    assert {"attempted": 2, "delivered": 2} == data["delivery"]


def test_close_and_focus_name_their_target(cli):
    """Close tells what it closed, focus what it focused."""
    cli.service.answer("ClosePane", panes_pb2.ClosePaneResponse(resource="tab", targets=[samples.target()]))
    cli.service.answer("FocusPane", panes_pb2.FocusPaneResponse(target=samples.target()))

    assert "tab" == cli.data("close", "t1", "--force")["resource"]
    assert ("t1", True) == (cli.service.last().target, cli.service.last().force)
    assert samples.PANE == cli.data("focus", "p1")["target"]["pane"]["id"]


def test_a_refusal_is_one_envelope_or_one_line(cli):
    """The stable code and the message are printed in the form that was asked for, and the status is 1."""
    cli.service.answer("ReadPane", Refusal("TARGET_NOT_FOUND", "No pane p9.", grpc.StatusCode.NOT_FOUND))

    assert {"code": "TARGET_NOT_FOUND", "message": "No pane p9."} == cli.error("read", "p9")
    assert (1, "", "prowl: No pane p9. [TARGET_NOT_FOUND]\n") == cli.run("read", "p9")


def test_a_method_that_the_service_lacks_is_told(cli):
    """A service without a method answers with a code of its own."""
    assert "NOT_IMPLEMENTED" == cli.error("focus", "p1")["code"]


def test_a_reader_that_went_away_is_no_traceback(cli, monkeypatch):
    """Output into a closed pipe ends the command quietly."""
    cli.service.answer("ListPanes", panes_pb2.ListPanesResponse())
    reading, writing = os.pipe()
    os.close(reading)
    with open(writing, "w") as broken:
        monkeypatch.setattr(sys, "stdout", broken)
        from prowl_cli.main import main

        assert 1 == main(["list"])
