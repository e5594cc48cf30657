"""Configuration: defaults, file, variables, and what is said of a bad one."""

from pathlib import Path

import pytest

from prowl_svc.config import ConfigError, load
from prowl_svc.model.agents import Agent


def test_each_value_says_where_it_came_from(tmp_path: Path) -> None:
    """A variable wins over the file, the file over the default."""
    file = tmp_path / "c.toml"
    file.write_text('[detection]\nenabled = false\ndisabled_agents = ["cursor", "qodercli"]\n[log]\nlevel = "debug"\n')
    config = load({"PROWL_CONFIG": str(file), "PROWL_LOG_LEVEL": "error"}, tmp_path)
    origins = {setting.name: setting.origin for setting in config.settings}
    assert (config.detection, config.log_level) == (False, "error")
    assert config.detection_disabled == {Agent.CURSOR, Agent.QODER}
    assert origins["detection.enabled"] == f"file {file}"
    assert origins["log.level"] == "environment PROWL_LOG_LEVEL"
    assert origins["log.format"] == "default"


def test_a_missing_default_file_is_no_error(tmp_path: Path) -> None:
    """Without any configuration the socket is in the runtime folder."""
    config = load({"XDG_RUNTIME_DIR": "/run/user/7"}, tmp_path)
    assert config.socket == Path("/run/user/7/prowl/prowl.sock")
    assert config.state_directory == tmp_path / ".local/state/prowl"


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("detection = ", "is not TOML"),
        ("[detection]\nenable = true\n", "unknown key 'detection.enable'"),
        ("[detection]\nenabled = 3.5\n", "use true or false"),
        ("[detection]\ndisabled_agents = ['nobody']\n", "use names out of"),
        ("[panes]\nclose_grace = 1e9\n", "use a number from 0 to 60"),
        ("[panes]\nscrollback_rows = [1]\n", "use a text, a number"),
        ("state_directory = 'relative'\n", "use an absolute path"),
        ("socket = '/tmp/mine/prowl.sock'\n", "set PROWL_SOCKET instead"),
    ],
)
def test_a_bad_file_names_the_key_and_what_is_allowed(tmp_path: Path, text: str, words: str) -> None:
    """The message names the file; nothing is used in part."""
    file = tmp_path / "c.toml"
    file.write_text(text)
    with pytest.raises(ConfigError) as failure:
        load({"PROWL_CONFIG": str(file)}, tmp_path)
    assert words in str(failure.value)


def test_a_socket_must_be_short_enough_and_has_a_state_of_its_own(tmp_path: Path) -> None:
    """Two instances at two sockets never meet in one folder, unless that is asked for."""
    with pytest.raises(ConfigError) as failure:
        load({"PROWL_SOCKET": "/" + "x" * 120}, tmp_path)
    assert "too long for a Unix socket" in str(failure.value)
    plain = load({}, tmp_path)
    one, two = (load({"PROWL_SOCKET": f"/tmp/{name}/prowl.sock"}, tmp_path) for name in "ab")
    assert len({plain.state_directory, one.state_directory, two.state_directory}) == 3
    assert plain.state_directory == one.state_directory.parent == two.state_directory.parent
    asked = load({"PROWL_SOCKET": "/tmp/a/prowl.sock", "PROWL_STATE_DIRECTORY": "/tmp/s"}, tmp_path)
    assert asked.state_directory == Path("/tmp/s")


@pytest.mark.parametrize("content", [None, b"\xff\xfe"])
def test_an_unreadable_named_file_is_an_error(tmp_path: Path, content: bytes | None) -> None:
    """A file that PROWL_CONFIG names must be there and be text."""
    file = tmp_path / "c.toml"
    if content is not None:
        file.write_bytes(content)
    with pytest.raises(ConfigError) as failure:
        load({"PROWL_CONFIG": str(file)}, tmp_path)
    assert str(file) in str(failure.value)


def test_a_bad_variable_is_named(tmp_path: Path) -> None:
    """The variable and its value are in the message."""
    with pytest.raises(ConfigError) as failure:
        load({"PROWL_DETECTION": "perhaps"}, tmp_path)
    assert "PROWL_DETECTION: detection.enabled: use true or false, not 'perhaps'" in str(failure.value)
