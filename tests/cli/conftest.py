"""The command run in this process against a scripted service; every JSON line is checked against the schema."""

import json
from importlib.resources import files
from pathlib import Path

import jsonschema
import pytest
from prowl_cli.main import main

from tests.client.service import Service, serving

SCHEMA = json.loads(files("prowl_cli.schemas").joinpath("envelopes.json").read_text("utf-8"))
VALIDATOR = jsonschema.Draft202012Validator(SCHEMA)


def validate(envelope):
    """Fail unless an envelope is one of its own command, as the shipped schema says."""
    version = envelope["schema_version"]
    rule = {"$ref": f"#/$defs/{version}", "$defs": SCHEMA["$defs"]}
    jsonschema.Draft202012Validator(rule).validate(envelope)


class Cli:
    """Runs the command and keeps what it printed."""

    def __init__(self, capsys: pytest.CaptureFixture[str], socket: Path, service: Service) -> None:
        self.capsys = capsys
        self.socket = socket
        self.service = service

    def run(self, *argv: str) -> tuple[int, str, str]:
        """Return exit status, standard output and standard error."""
        status = main(list(argv))
        out, err = self.capsys.readouterr()
        return status, out, err

    def json(self, *argv: str) -> list:
        """Run with ``--json`` and return the validated envelopes, one a line; status and ``ok`` must agree."""
        cut = argv.index("--") if "--" in argv else len(argv)
        status, out, err = self.run(*argv[:cut], "--json", *argv[cut:])
        envelopes = [json.loads(line) for line in out.splitlines()]
        for envelope in envelopes:
            validate(envelope)
        assert "" == err
        assert (0 if envelopes[-1]["ok"] else 1) == status
        return envelopes

    def data(self, *argv: str) -> dict:
        """Run with ``--json`` and return the data of the one success."""
        (envelope,) = self.json(*argv)
        assert envelope["ok"], envelope
        return envelope["data"]

    def error(self, *argv: str) -> dict:
        """Run with ``--json`` and return the one error."""
        (envelope,) = self.json(*argv)
        assert not envelope["ok"], envelope
        return envelope["error"]


@pytest.fixture
def cli(capsys, tmp_path, monkeypatch):
    """The command, talking to a scripted service."""
    socket = tmp_path / "s"
    monkeypatch.setenv("PROWL_SOCKET", str(socket))
    monkeypatch.delenv("PROWL_DISPATCH_ID", raising=False)
    with serving(socket) as service:
        yield Cli(capsys, socket, service)
