"""Commands that other distributions add by entry points."""

import sys
from types import ModuleType, SimpleNamespace

import pytest
from prowl_cli.main import main

DIST = """Metadata-Version: 2.1
Name: prowl-extra
Version: 1
"""


class Extra:
    """A command as another distribution writes it."""

    summary = "Do something more."
    examples = "examples:\n  prowl extra --times 2"

    def configure(self, parser):
        parser.add_argument("--times", type=int, default=1)

    def run(self, args):
        if args.times < 0:
            error = RuntimeError("too few")
            error.code, error.message = "EXTRA_FAILED", "Too few."
            raise error
        return SimpleNamespace(data={"times": args.times}, text="extra " * args.times, warnings=(), status=0)


@pytest.fixture
def _installed(tmp_path, monkeypatch):
    """Install a distribution that adds ``prowl extra``."""
    info = tmp_path / "prowl_extra-1.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(DIST)
    (info / "entry_points.txt").write_text("[prowl.commands]\nextra = prowl_extra:COMMAND\n")
    module = ModuleType("prowl_extra")
    module.COMMAND = Extra()
    monkeypatch.setitem(sys.modules, "prowl_extra", module)
    monkeypatch.syspath_prepend(str(tmp_path))


@pytest.mark.usefixtures("_installed")
def test_an_added_command_runs_like_any_other(capsys):
    """It gets the parser, the envelope, and the error form of all commands."""
    assert 0 == main(["extra", "--times", "2"])
    assert "extra extra \n" == capsys.readouterr().out
    assert 0 == main(["extra", "--json"])
    assert '"schema_version":"prowl.cli.extra.v1","data":{"times":1}' in capsys.readouterr().out
    assert 1 == main(["extra", "--times", "-1"])
    assert "prowl: Too few. [EXTRA_FAILED]\n" == capsys.readouterr().err
    assert 64 == main(["extra", "--times", "x"])


def test_a_command_that_nobody_adds_is_wrong_usage(capsys):
    """Without the distribution the name is unknown."""
    assert 64 == main(["extra"])
    assert "invalid choice" in capsys.readouterr().err


def test_a_client_without_the_service_says_what_is_missing(capsys, monkeypatch):
    """Where only the client is installed, commands that need the service's code name it."""
    monkeypatch.setitem(sys.modules, "prowl_svc.tools.detect", None)

    assert 1 == main(["detect", "x"])
    assert "NOT_IMPLEMENTED" in capsys.readouterr().err
