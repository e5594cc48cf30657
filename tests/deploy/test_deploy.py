"""The files for running the service for real name what there is."""

import configparser
import plistlib
import re
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
DEPLOY = ROOT / "deploy"


def commands() -> set[str]:
    return set(tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["scripts"])


def test_the_systemd_unit_starts_a_command_of_ours() -> None:
    """The unit runs an installed command, in the runtime folder where clients look for the socket."""
    unit = configparser.ConfigParser(interpolation=None, strict=False)
    unit.optionxform = str  # type: ignore[assignment, method-assign]
    unit.read(DEPLOY / "systemd/prowl.service")
    assert Path(unit["Service"]["ExecStart"].split()[0]).name in commands()
    assert "prowl" == unit["Service"]["RuntimeDirectory"]
    assert "0700" == unit["Service"]["RuntimeDirectoryMode"]


def test_the_launch_agent_starts_a_command_of_ours() -> None:
    """The property list is one, and runs an installed command."""
    agent = plistlib.loads((DEPLOY / "launchd/prowl.plist").read_bytes())
    assert agent["ProgramArguments"][-1].split()[-1] in commands()


def test_the_container_runs_a_command_of_ours() -> None:
    """The image's command and its health check are installed commands."""
    text = (DEPLOY / "container/Containerfile").read_text()
    named = re.findall(r'CMD \["([^"]+)"', text)
    assert 2 == len(named)
    assert set(named) <= commands()


def test_the_page_names_every_file() -> None:
    """Each file of the folder stands in its page."""
    page = (DEPLOY / "README.md").read_text()
    files = [path.relative_to(DEPLOY).as_posix() for path in DEPLOY.rglob("*") if path.is_file()]
    assert [] == [name for name in files if name != "README.md" and name not in page]
