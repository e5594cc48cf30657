"""Configuration: defaults, a TOML file and ``PROWL_*`` variables, each value with where it came from."""

import hashlib
import os
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any

from prowl_svc.model.agents import Agent

__all__ = ["Config", "ConfigError", "Setting", "load", "runtime_directory"]

SUN_PATH_LIMIT = 104  # the smallest sun_path of the supported systems, with its terminator


class ConfigError(Exception):
    """The configuration cannot be used; the message names the file or variable, the key, and what is allowed."""


@dataclass(frozen=True, slots=True)
class Setting:
    """One effective value as text, and its origin: ``default``, ``file PATH`` or ``environment NAME``."""

    name: str
    value: str
    origin: str


@dataclass(frozen=True, slots=True)
class Config:
    """The effective configuration; durations are in seconds, sizes in the unit that the name says.

    ``detection`` turns all detection off when false, ``detection_disabled`` single agents. ``report_status`` lets
    ``prowl run`` and ``prowl attach`` report outward.
    """

    socket: Path
    state_directory: Path
    detection: bool = True
    detection_disabled: frozenset[Agent] = frozenset()
    scrollback_rows: int = 1000
    close_grace: float = 3.0
    stop_grace: float = 5.0
    viewer_timeout: float = 15.0
    report_status: bool = True
    log_level: str = "info"
    log_format: str = "text"
    settings: tuple[Setting, ...] = field(default=(), compare=False)


def _boolean(text: str) -> bool:
    words = {"1": True, "true": True, "on": True, "yes": True, "0": False, "false": False, "off": False, "no": False}
    if text.strip().lower() not in words:
        raise ValueError("use true or false")
    return words[text.strip().lower()]


def _agents(text: str) -> frozenset[Agent]:
    names = [name.strip() for name in text.replace(",", " ").split()]
    try:
        return frozenset(Agent.from_name(name) for name in names)
    except ValueError:
        known = ", ".join(agent.value for agent in Agent)
        raise ValueError(f"use names out of: {known}") from None


def _bounded(low: float, high: float, kind: type[int] | type[float]) -> Any:
    def parse(text: str) -> int | float:
        try:
            number = kind(text)
        except ValueError:
            raise ValueError(f"use a number from {low} to {high}") from None
        if not low <= number <= high:
            raise ValueError(f"use a number from {low} to {high}")
        return number

    return parse


def _one_of(*words: str) -> Any:
    def parse(text: str) -> str:
        if text.strip().lower() not in words:
            raise ValueError("use one of: " + ", ".join(words))
        return text.strip().lower()

    return parse


def _path(text: str) -> Path:
    path = Path(text).expanduser()
    if not text or not path.is_absolute():
        raise ValueError("use an absolute path")
    return path


# Field, name in the file, variable, parser; the socket must be where clients look, so no file may name it. The dotted
# names are what `prowl config` shows.
_TABLE: tuple[tuple[str, str, str, Any], ...] = (
    ("socket", "socket", "PROWL_SOCKET", _path),
    ("state_directory", "state_directory", "PROWL_STATE_DIRECTORY", _path),
    ("detection", "detection.enabled", "PROWL_DETECTION", _boolean),
    ("detection_disabled", "detection.disabled_agents", "PROWL_DETECTION_DISABLED_AGENTS", _agents),
    ("scrollback_rows", "panes.scrollback_rows", "PROWL_SCROLLBACK_ROWS", _bounded(0, 100_000, int)),
    ("close_grace", "panes.close_grace", "PROWL_CLOSE_GRACE", _bounded(0, 60, float)),
    ("stop_grace", "server.stop_grace", "PROWL_STOP_GRACE", _bounded(0, 60, float)),
    ("viewer_timeout", "panes.viewer_timeout", "PROWL_VIEWER_TIMEOUT", _bounded(1, 3600, float)),
    ("report_status", "report_status", "PROWL_REPORT_STATUS", _boolean),
    ("log_level", "log.level", "PROWL_LOG_LEVEL", _one_of("debug", "info", "warning", "error")),
    ("log_format", "log.format", "PROWL_LOG_FORMAT", _one_of("text", "json")),
)


def runtime_directory(environ: Mapping[str, str]) -> Path:
    """Return the folder of the socket: ``$XDG_RUNTIME_DIR/prowl``, else a private folder below ``/tmp``."""
    base = environ.get("XDG_RUNTIME_DIR", "")
    return Path(base) / "prowl" if base.startswith("/") else Path(f"/tmp/prowl-{os.getuid()}")


def load(environ: Mapping[str, str], home: Path) -> Config:
    """Read the configuration file (``$PROWL_CONFIG``, else ``$XDG_CONFIG_HOME/prowl/config.toml``) and the variables.

    Variables win over the file. Raises ConfigError for an unreadable file, an unknown key or a bad value; a missing
    file at the default place is no error.
    """
    explicit = environ.get("PROWL_CONFIG")
    base = environ.get("XDG_CONFIG_HOME", "")
    path = (
        Path(explicit) if explicit else (Path(base) if base.startswith("/") else home / ".config") / "prowl/config.toml"
    )
    written = _flatten(path, _read(path, required=bool(explicit)))
    unknown = sorted(set(written) - {name for _, name, _, _ in _TABLE})
    if unknown:
        known = ", ".join(name for _, name, _, _ in _TABLE)
        raise ConfigError(f"{path}: unknown key {unknown[0]!r}; known keys are: {known}")
    if "socket" in written:
        raise ConfigError(
            f"{path}: socket: set PROWL_SOCKET instead, which clients read too; they do not read this file"
        )
    state_home = environ.get("XDG_STATE_HOME", "")
    state = (Path(state_home) if state_home.startswith("/") else home / ".local/state") / "prowl"
    default = runtime_directory(environ) / "prowl.sock"
    values: dict[str, Any] = {"socket": default, "state_directory": state}
    origins: dict[str, str] = {}
    for key, name, variable, parse in _TABLE:
        if environ.get(variable):
            values[key], origins[key] = _parse(parse, environ[variable], variable, name), f"environment {variable}"
        elif name in written:
            values[key], origins[key] = _parse(parse, written[name], str(path), name), f"file {path}"
    if "state_directory" not in origins and values["socket"] != default:
        # Only one instance can write a state directory, and one at another socket is another instance.
        values["state_directory"] = state / hashlib.sha256(os.fsencode(values["socket"])).hexdigest()[:12]
    config = Config(**values)
    if len(os.fsencode(config.socket)) + len(".lock") >= SUN_PATH_LIMIT:
        raise ConfigError(f"socket: {config.socket} is too long for a Unix socket; set PROWL_SOCKET to a shorter path")
    settings = tuple(
        Setting(name, _show(getattr(config, key)), origins.get(key, "default")) for key, name, _, _ in _TABLE
    )
    return Config(
        **{f.name: getattr(config, f.name) for f in fields(Config) if f.name != "settings"}, settings=settings
    )


def _read(path: Path, *, required: bool) -> dict[str, Any]:
    try:
        return tomllib.loads(path.read_text("utf-8"))
    except FileNotFoundError:
        if required:
            raise ConfigError(f"{path}: the file that PROWL_CONFIG names does not exist") from None
        return {}
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(f"{path}: cannot be read: {error}") from None
    except tomllib.TOMLDecodeError as error:
        raise ConfigError(f"{path}: is not TOML: {error}") from None


def _flatten(path: Path, tree: dict[str, Any], prefix: str = "") -> dict[str, str]:
    flat: dict[str, str] = {}
    for key, value in tree.items():
        name = prefix + key
        if isinstance(value, dict):
            flat |= _flatten(path, value, name + ".")
        elif isinstance(value, list) and all(isinstance(item, str) for item in value):
            flat[name] = ",".join(value)
        elif isinstance(value, (str, bool, int, float)):
            flat[name] = str(value).lower() if isinstance(value, bool) else str(value)
        else:
            raise ConfigError(f"{path}: {name}: use a text, a number, true or false, or a list of texts")
    return flat


def _parse(parse: Any, text: str, where: str, name: str) -> Any:
    try:
        return parse(text)
    except ValueError as error:
        raise ConfigError(f"{where}: {name}: {error}, not {text[:80]!r}") from None


def _show(value: Any) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    return ",".join(sorted(value)) if isinstance(value, frozenset) else str(value)
