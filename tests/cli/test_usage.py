"""Wrong usage, help, and what needs no service."""

import argparse
import json
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import jsonschema
import pytest
from prowl.v1 import common_pb2, panes_pb2, profiles_pb2, server_pb2
from prowl_cli.main import _parse, build_parser, main

from tests.cli import samples
from tests.cli.conftest import validate

LONG = "x" * 257


@pytest.mark.parametrize(
    ("argv", "where", "said"),
    [
        (["agnets"], "prowl", "; did you mean agents?"),
        (["agents", "wiat", "p1"], "prowl agents", "; did you mean wait?"),
        (["nonsense"], "prowl", "'render')"),
        (["read", "p1", "--lines", "5"], "prowl read", " unrecognized arguments: --lines 5"),
        (["agents", "wait", "p1", "--for", "idle"], "prowl agents wait", " unrecognized arguments: --for idle"),
    ],
)
def test_a_slip_is_answered_by_the_command_it_was_made_in(capsys, argv, where, said):
    """A name that is nearly a command's suggests it; an unknown option shows the usage of its own command."""
    assert 64 == main(argv)
    usage, message = capsys.readouterr().err.strip().rsplit("\n", 1)
    assert usage.startswith(f"usage: {where} [")
    assert message.startswith(f"{where}: ")
    assert message.endswith(said)


@pytest.mark.parametrize(
    "argv",
    [
        [],
        ["nonsense"],
        ["read"],
        ["read", "p1", "--last", "0"],
        ["read", "p1", "--stable-interval", "49", "--wait-stable"],
        ["read", "p1", "--stable-interval", "100"],
        ["read", "p1", "--wait-stable", "--wait-timeout", "301"],
        ["send", "p1", "x", "--timeout", "301"],
        ["send", "p1", "x", "--capture", "--no-wait"],
        ["key", "p1", "enter", "--repeat", "101"],
        ["create", "pane", "--", "bash"],
        ["create", "tab", "--group", "p1"],
        ["create", "--prompt", "-"],
        ["create", "--size", "0x10"],
        ["create", "--size", "80"],
        ["create", "--env", "NOVALUE"],
        ["agents", "wait"],
        ["agents", "wait", "p1"],
        ["agents", "wait", "--until", "idle"],
        ["agents", "wait", "p1", "--until", "done"],
        ["agents", "wait", "p1", "--until", "idle", "--timeout", "601"],
        ["agents", "wait", "p1", "--until", "idle", "--timeout", "0"],
        ["agents", "wait", "p1", "--until", "idle", "--include-screen", "201"],
        ["agents", "wait", "--dispatch", "d", "p1"],
        ["agents", "wait", "--dispatch", "d", "--until", "idle"],
        ["agents", "wait", "--dispatch", "d", "--min-confidence", "exact"],
        ["agents", "wait", "--dispatch", LONG],
        ["agents", "wait", "--dispatch", ""],
        ["agents", "signal", "finished"],
        ["agents", "signal", "turn-ended", "--progress", "5"],
        ["agents", "signal", "progress", "--progress", "101"],
        ["agents", "signal", "turn-ended", "--session", LONG],
        ["agents", "signal", "turn-ended", "--detail", "a\nb"],
        ["agents", "signal", "turn-ended", "--detail", "x" * 32_769],
        ["agents", "signal", "turn-ended", "--origin", "\x9b"],
        ["agents", "dispatch", "p1"],
        ["agents", "dispatch", "p1", "--prompt", "text"],
        ["agents", "dispatch-complete", "--outcome", "maybe", "--summary", "x"],
        ["agents", "dispatch-complete", "--outcome", "failed", "--summary", "a\nb"],
        ["agents", "dispatch-abandon", "--dispatch", "d"],
        ["agents", "read", "p1", "--max-bytes", "4194305"],
        ["agents", "read", "p1", "--result-only", "--json"],
        ["attach", "p1", "--detach-key", "f1"],
        ["profiles"],
        ["completion", "csh"],
        ["--json", "completion", "bash"],
        ["--socket", "x"],
        ["--socket"],
        ["send", "p1", "\udcff"],
        ["create", "--", "\udcff"],
    ],
)
def test_wrong_usage_is_plain_text_and_64(cli, argv):
    """Arguments are checked before anything is sent; the message is plain text, with --json too (signals.md §3.8)."""
    status, out, err = cli.run(*argv, *(["--json"] if argv[:1] == ["read"] else []))

    assert (64, "") == (status, out)
    assert "usage: prowl" in err
    assert [] == cli.service.requests


def example_lines():
    """Yield the commands that README, the guide to clients, and every help text show."""
    folders = Path(__file__).parents[2]
    texts = [(folders / name).read_text("utf-8") for name in ("README.md", "clients/README.md", "deploy/README.md")]
    pending = [build_parser()]
    while pending:
        parser = pending.pop()
        texts.append(parser.epilog or "")
        for action in parser._actions:
            if isinstance(action, argparse._SubParsersAction):
                pending += action.choices.values()
    for line in "\n".join(texts).splitlines():
        found = re.match(r"(?:\s*|[$] )(?:.* \| )?(prowl [a-z].*)", line)
        if found and "<" not in found[1].replace(" < ", ""):
            words = shlex.split(re.split(" {2,}", found[1])[0], comments=True)
            end = next((place for place, word in enumerate(words) if word in ("|", "<", ">", "&&", ";")), len(words))
            yield words[1:end]


def test_every_example_that_is_shown_can_be_typed():
    """What help and the README tell people to type is not refused as wrong usage."""
    examples = list(example_lines())
    assert 40 < len(examples)
    assert [words for words in examples if not _parse(words).command] == []


@pytest.mark.parametrize("argv", [["send", "p1", "--no-wait", "x y"], ["send", "--no-wait", "p1", "--", "x y"]])
def test_text_may_stand_after_options(cli, argv):
    """Options may stand between the pane and the text."""
    cli.service.answer("SendText", panes_pb2.SendTextResponse(target=samples.target(), characters=3, bytes=3))
    cli.run(*argv)
    assert ("p1", "x y") == (cli.service.last().pane, cli.service.last().text)


def test_common_options_hold_for_the_command_below(cli, tmp_path):
    """What is given before the name of an inner command is not forgotten."""
    status, out, err = cli.run("agents", "--json", "--socket", str(tmp_path / "none"), "wait", "p1", "--until", "idle")
    envelope = json.loads(out)
    validate(envelope)
    assert (1, "", "agents.wait", "APP_NOT_RUNNING") == (status, err, envelope["command"], envelope["error"]["code"])


@pytest.mark.parametrize("command", [("list",), ("agents", "wait", "p1", "--until", "idle"), ("create", "--", "sh")])
@pytest.mark.parametrize("socket", [("--socket={}",), ("--socket", "{}")])
def test_common_options_may_stand_before_the_command(cli, tmp_path, command, socket):
    """They mean there what they mean behind its name."""
    options = [part.format(tmp_path / "none") for part in socket]
    status, out, err = cli.run(*options, "--json", "--no-start", *command)
    envelope = json.loads(out)
    validate(envelope)
    assert (1, "", "APP_NOT_RUNNING") == (status, err, envelope["error"]["code"])
    assert str(tmp_path / "none") in envelope["error"]["message"]


@pytest.mark.parametrize("argv", [["--help"], ["agents", "--help"], ["agents", "wait", "--help"], ["read", "--help"]])
def test_help_has_examples(capsys, argv):
    """Every help text shows how the command is used."""
    assert 0 == main(argv)
    assert "examples:" in capsys.readouterr().out


def test_help_does_not_load_grpc():
    """Help and wrong usage are fast, since grpc is imported only by what calls the service."""
    code = "import sys; from prowl_cli.main import main; main(['--help']); sys.exit('grpc' in sys.modules)"

    subprocess.run([sys.executable, "-c", code], env=environment(), stdout=subprocess.DEVNULL, check=True)


def environment(**more):
    """Return this environment with the import path of a source tree."""
    return dict(os.environ, PYTHONPATH=os.pathsep.join(path for path in sys.path if path), **more)


def test_without_a_service_nothing_is_started_when_told_so(capsys, tmp_path):
    """--no-start makes an absent service an error envelope."""
    status = main(["list", "--json", "--no-start", "--socket", str(tmp_path / "none")])

    envelope = json.loads(capsys.readouterr().out)
    validate(envelope)
    assert (1, "APP_NOT_RUNNING") == (status, envelope["error"]["code"])


def test_a_socket_path_that_cannot_be_one_is_an_error_not_a_traceback(capsys):
    """An overlong socket path is told in the same envelope as every transport failure."""
    assert 1 == main(["list", "--json", "--no-start", "--socket", "/" + "x" * 200])
    assert "TRANSPORT_FAILED" == json.loads(capsys.readouterr().out)["error"]["code"]


def test_profiles_are_listed_with_their_availability(cli):
    """An availability that could not be found out is unknown."""
    profiles = [
        profiles_pb2.Profile(id="i", name="review", enabled=True, runtime="claude"),
        profiles_pb2.Profile(name="x", availability="AVAILABILITY_UNAVAILABLE", unavailable_reason="not installed"),
    ]
    cli.service.answer("ListProfiles", profiles_pb2.ListProfilesResponse(profiles=profiles))

    found = cli.data("profiles", "list")["profiles"]

    assert [{"status": "unknown"}, {"status": "unavailable", "reason": "not installed"}] == [
        item["availability"] for item in found
    ]


def test_config_shows_the_running_services_settings(cli):
    """A running service says what it was configured with, and from where."""
    setting = server_pb2.Setting(name="log.level", value="debug", origin="environment PROWL_LOG_LEVEL")
    cli.service.answer("GetInfo", server_pb2.GetInfoResponse(settings=[setting]))

    data = cli.data("config")

    assert "service" == data["source"]
    assert [{"name": "log.level", "value": "debug", "origin": "environment PROWL_LOG_LEVEL"}] == data["settings"]


def test_config_shows_what_a_service_would_start_with(capsys, tmp_path, monkeypatch):
    """Without a service the files and variables are read."""
    monkeypatch.setenv("PROWL_SOCKET", str(tmp_path / "none"))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))

    assert 0 == main(["config", "--json"])
    data = json.loads(capsys.readouterr().out)["data"]
    assert "files" == data["source"]
    assert "environment PROWL_SOCKET" in {item["origin"] for item in data["settings"]}


def test_doctor_is_well_without_a_service(capsys, tmp_path, monkeypatch):
    """No running service is no fault, and neither is an interpreted hot path."""
    monkeypatch.setenv("PROWL_SOCKET", str(tmp_path / "none"))
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "none"))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))

    status = main(["doctor", "--json"])

    envelope = json.loads(capsys.readouterr().out)
    validate(envelope)
    assert (0, 0) == (status, envelope["data"]["faults"])
    assert "ok" == next(check["status"] for check in envelope["data"]["checks"] if check["name"] == "receipts")


def test_doctor_finds_a_broken_configuration(capsys, tmp_path, monkeypatch):
    """A setting that the service would refuse is a fault, and the status is 1 in both forms."""
    monkeypatch.setenv("PROWL_SOCKET", str(tmp_path / "none"))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    monkeypatch.setenv("PROWL_CLOSE_GRACE", "soon")

    assert 1 == main(["doctor"])
    assert "PROWL_CLOSE_GRACE" in capsys.readouterr().out
    assert 1 == main(["doctor", "--json"])
    envelope = json.loads(capsys.readouterr().out)
    validate(envelope)
    assert "UNHEALTHY" == envelope["error"]["code"]


def test_doctor_finds_a_file_in_the_sockets_place(capsys, tmp_path, monkeypatch):
    """Something that is no socket at the socket's path is a fault."""
    (tmp_path / "s").write_text("")
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))

    assert 1 == main(["doctor", "--socket", str(tmp_path / "s")])
    assert "is not the socket of a service" in capsys.readouterr().out


@pytest.mark.parametrize("option", [True, False])
def test_doctor_shows_a_journal_that_was_set_aside(capsys, tmp_path, monkeypatch, option):
    """Receipts that were lost with a broken journal are a warning, which names the file, of the socket in question."""
    from prowl_svc.config import load
    from prowl_svc.signals.journal import FILE_NAME, Journal

    socket = str(tmp_path / "none")
    monkeypatch.setenv("PROWL_SOCKET", socket)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    folder = load(os.environ, tmp_path).state_directory
    folder.mkdir(parents=True)
    (folder / FILE_NAME).write_bytes(b"SQLite format 3\0" + bytes(8000))
    Journal(folder, lambda: "7").close()
    (folder / f"{FILE_NAME}.broken-7-wal").write_bytes(b"")  # its side file is no other journal
    if option:
        monkeypatch.setenv("PROWL_SOCKET", str(tmp_path / "other"))

    assert 0 == main(["doctor", *(["--socket", socket] if option else [])])

    (row,) = [line for line in capsys.readouterr().out.splitlines() if "receipts" in line]
    assert row.startswith("warning")
    assert 1 == row.count(f"{folder / FILE_NAME}.broken-7")


def test_doctor_finds_a_state_directory_that_cannot_be_read(capsys, tmp_path, monkeypatch):
    """A service could keep no receipts there."""
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("PROWL_SOCKET", str(tmp_path / "none"))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    monkeypatch.setenv("PROWL_STATE_DIRECTORY", str(tmp_path / "file"))

    assert 1 == main(["doctor"])
    assert f"{tmp_path / 'file'} cannot be read" in capsys.readouterr().out


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion_knows_every_command(capsys, shell):
    """The script of each shell names all commands, those below agents too."""
    assert 0 == main(["completion", shell])
    script = capsys.readouterr().out
    assert all(name in script for name in ("observe", "dispatch-complete", "min-confidence", "detect"))


def test_bash_completes_words_of_the_command_before():
    """In bash, what follows `agents wait` are its options."""
    import shutil

    if shutil.which("bash") is None:
        pytest.skip("no bash")
    script = subprocess.run(
        [sys.executable, "-m", "prowl_cli.main", "completion", "bash"],
        env=environment(),
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    ).stdout
    ask = script + '\nCOMP_WORDS=(prowl agents wait --un); COMP_CWORD=3; _prowl; echo "${COMPREPLY[@]}"'

    done = subprocess.run(["bash", "--norc", "-c", ask], stdout=subprocess.PIPE, text=True, check=True)

    assert "--until" == done.stdout.strip()


def test_the_schema_command_prints_the_shipped_schema(capsys):
    """The schema is a valid 2020-12 schema that knows every command with JSON output."""
    assert 0 == main(["schema"])
    schema = json.loads(capsys.readouterr().out)
    jsonschema.Draft202012Validator.check_schema(schema)
    names = {f"prowl.cli.{name}.v1" for name in json_commands()}
    assert set() == names - set(schema["$defs"])


def json_commands():
    """Yield the envelope name of every command that has --json."""
    pending = [build_parser()]
    while pending:
        parser = pending.pop()
        for action in parser._actions:
            if hasattr(action, "_name_parser_map"):
                pending += action.choices.values()
        command = parser.get_default("command")
        if command and any("--json" in action.option_strings for action in parser._actions):
            yield command


def test_every_state_of_the_contract_has_a_word():
    """The words of the command cover every value of the contract's enums."""
    from prowl_cli import encode

    assert ["working", "blocked", "done", "idle"] == [encode.status(n) for n in common_pb2.AgentStatus.values() if n]
    assert "turn-ended" == encode.kind(encode.kind_value("turn-ended"))
