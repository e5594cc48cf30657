"""Commands without a service: classifying saved screens, replaying and drawing recordings."""

import io
import json
import sys
from importlib.resources import files

import pytest
from prowl_cli.main import main

from tests.cli.conftest import validate
from tests.cli.test_real_service import DIALOG

IDLE = ["> ", ""]
DEMO = files("prowl_svc.demo")


@pytest.fixture(autouse=True)
def _no_service(monkeypatch, tmp_path):
    """Let every attempt to reach or start a service fail."""
    monkeypatch.setenv("PROWL_SOCKET", str(tmp_path / "none"))
    monkeypatch.setattr("prowl_cli.connect.ensure_running", None)


@pytest.fixture
def run(capsys):
    """Run a command; with --json give back the checked envelope."""

    def call(*argv):
        status = main(list(argv))
        out, err = capsys.readouterr()
        if "--json" not in argv or status == 64:
            return status, out, err
        envelope = json.loads(out)
        validate(envelope)
        assert (0 if envelope["ok"] else 1) == status
        return envelope.get("data") or envelope["error"]

    return call


def test_a_saved_screen_is_classified(run, tmp_path):
    """Plain text of a screen is classified for the agent that is named."""
    path = tmp_path / "screen.txt"
    path.write_text("\n".join(DIALOG["screen"]) + "\n")

    data = run("detect", "--agent", "claude", str(path), "--json")

    (case,) = data["cases"]
    assert ("claude", "blocked", DIALOG["expect"]["rule"]) == (case["agent"], case["state"], case["reason"])
    assert data == run("--json", "detect", "--agent", "claude", str(path))
    assert f"{path}: claude blocked by {case['reason']}\n" == run("detect", "--agent", "claude", str(path))[1]


def test_colours_of_a_saved_screen_do_not_matter(run, monkeypatch):
    """Escape sequences of a coloured capture on standard input are dropped."""
    coloured = "\n".join(f"\x1b[1;31m{row}\x1b[0m" for row in DIALOG["screen"])
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(coloured.encode())))

    assert ["blocked"] == [case["state"] for case in run("detect", "--agent", "claude", "-", "--json")["cases"]]


def test_cases_are_compared_with_their_right_answers(run, tmp_path):
    """JSON cases name agent, rows and the right answer; a wrong one is marked."""
    path = tmp_path / "cases.json"
    wrong = DIALOG | {"id": "wrong-one", "expect": {"state": "idle"}}
    other = DIALOG | {"id": "other-rule", "expect": {"state": "blocked", "rule": "claude.other"}}
    open_ = {key: value for key, value in DIALOG.items() if key != "expect"}
    path.write_text(json.dumps([DIALOG, wrong, other, open_]))

    data = run("detect", str(path), "--json")
    _, text, _ = run("detect", str(path))

    assert (4, 1, 2) == (data["count"], data["right"], data["wrong"])
    assert [True, False, False, None] == [case.get("right") for case in data["cases"]]
    assert "wrong-one: claude blocked by" in text
    assert "WRONG: should be idle" in text
    assert text.endswith("1 right, 2 wrong\n")


def test_an_explanation_tells_the_rules_that_were_tried(run, tmp_path):
    """With --explain each case says which rules were tried, and which one held."""
    path = tmp_path / "case.json"
    path.write_text(json.dumps(DIALOG))

    (case,) = run("detect", str(path), "--explain", "--json")["cases"]

    matched = [rule["rule"] for rule in case["explanation"]["rules"] if rule["matched"]]
    assert [DIALOG["expect"]["rule"]] == matched
    assert "MATCHED" in run("detect", str(path), "--explain")[1]


@pytest.mark.parametrize("agent", ["claude", "codex"])
def test_a_recording_is_replayed_to_its_changes_of_state(run, agent):
    """Each change of state of a real session comes with its time, rule and revision, in order."""
    changes = run("detect", "--cast", str(DEMO / f"{agent}.cast"), "--json")["changes"]

    assert list(range(1, len(changes) + 1)) == [change["revision"] for change in changes]
    assert sorted(change["at"] for change in changes) == [change["at"] for change in changes]
    states = [change["status"] for change in changes]
    working = states.index("working")
    blocked = states.index("blocked", working)
    assert "done" in states[blocked:]
    marked = {change["marker"] for change in changes if "marker" in change}
    assert "blocked: permission" in marked


def test_a_replay_can_explain_each_change(run):
    """With --explain each change says which rules were tried."""
    changes = run("detect", "--cast", str(DEMO / "claude.cast"), "--explain", "--json")["changes"]

    assert all("rules" in change["explanation"] for change in changes)


def test_a_recording_is_drawn_at_a_moment(run):
    """The screen at a moment is the one of the output before it; without a moment it is the last."""
    cast = str(DEMO / "claude.cast")
    start = run("render", "--cast", cast, "--at", "0", "--json")
    end = run("render", "--cast", cast, "--json")

    assert ("", 0.0) == (start["text"].strip(), start["at"])
    assert (100, 30) == (end["columns"], end["rows"])
    assert end["text"].strip()
    assert end["text"] + "\n" == run("render", "--cast", cast)[1]


@pytest.mark.parametrize(
    "content",
    [
        "",
        "[]",
        '{"version": 2}',
        '{"version": 9, "width": 80, "height": 24}',
        '{"version": 2, "width": "a", "height": 24}',
        '{"version": 2, "width": 80, "height": 24}\nnonsense\n[1, "o", "x"]',
        '{"version": 2, "width": 80, "height": 24}\n[1, 2, 3]\n[1, "o", "x"]',
        "\x00\x01",
    ],
)
def test_what_is_no_recording_is_refused_in_words(run, tmp_path, content):
    """A broken recording is an error with a code, never a traceback."""
    path = tmp_path / "claude.cast"
    path.write_text(content)

    assert "INVALID_ARGUMENT" == run("detect", "--cast", str(path), "--json")["code"]
    assert "INVALID_ARGUMENT" == run("render", "--cast", str(path), "--json")["code"]


@pytest.mark.parametrize(
    "content", ["[1]", '[{"agent": "claude"}]', '[{"agent": "claude", "screen": [1]}]', '[{"screen": ["x"]}]', "plain"]
)
def test_what_is_no_case_is_refused_in_words(run, tmp_path, content):
    """A case without screen or agent, and plain text without --agent, are errors with a code."""
    path = tmp_path / "x.json"
    path.write_text(content)

    assert "INVALID_ARGUMENT" == run("detect", str(path), "--json")["code"]


@pytest.mark.parametrize("name", ["nobody", ""])
def test_an_unknown_agent_is_wrong_usage(run, name):
    """A name that is no agent's is refused before anything is read, with --json too; the known ones are listed."""
    status, out, err = run("detect", "--agent", name, "none", "--json")
    assert (64, "") == (status, out)
    assert f"{name!r} is no agent; use one of: amp, claude, " in err


def test_an_unknown_agent_in_a_file_and_a_missing_file_are_refused_in_words(run, tmp_path):
    """The error names what is allowed, or what cannot be read."""
    path = tmp_path / "x.json"
    path.write_text('[{"agent": "nobody", "screen": ["x"]}]')
    assert "claude" in run("detect", str(path), "--json")["message"]
    assert "INVALID_ARGUMENT" == run("detect", "--agent", "claude", str(tmp_path / "none"), "--json")["code"]
    assert "INVALID_ARGUMENT" == run("detect", "--cast", str(tmp_path / "claude.cast"), "--json")["code"]


@pytest.mark.parametrize(
    "argv", [["detect"], ["detect", "x", "--cast", "y"], ["render"], ["render", "--cast", "x", "--at", "-1"]]
)
def test_wrong_usage_is_64(run, argv):
    """Offline commands tell wrong usage as all others do."""
    assert 64 == run(*argv)[0]
