"""What ``prowl doctor`` and ``prowl config`` ask of this installation when no service runs."""

import os
from pathlib import Path

from prowl_svc.config import ConfigError, load
from prowl_svc.hotpaths import hot_paths
from prowl_svc.signals.journal import broken_files

__all__ = ["checks", "settings"]


def checks(socket: str | None = None) -> list[dict[str, str]]:
    """Return name, status (``ok``, ``warning``, ``fault``) and detail of each check; interpreted is no fault.

    ``socket`` is that of the service in question when it is not the environment's.
    """
    found = [
        {
            "name": f"hot path {path.name}",
            "status": "ok" if path.compiled else "warning",
            "detail": "compiled" if path.compiled else f"interpreted, slower: {path.reason}",
        }
        for path in hot_paths()
    ]
    try:
        config = load(os.environ | ({"PROWL_SOCKET": socket} if socket else {}), Path.home())
    except ConfigError as error:
        return [*found, {"name": "configuration", "status": "fault", "detail": str(error)}]
    return [
        *found,
        {"name": "configuration", "status": "ok", "detail": "can be used"},
        _receipts(config.state_directory),
    ]


def _receipts(folder: Path) -> dict[str, str]:
    """Tell whether dispatches of this service were lost with a journal that it found broken."""
    try:
        broken = broken_files(folder)
    except OSError as error:
        return {"name": "receipts", "status": "fault", "detail": f"{folder} cannot be read: {error.strerror}"}
    if not broken:
        return {"name": "receipts", "status": "ok", "detail": f"kept in {folder}"}
    detail = f"the journal was broken and set aside, its receipts are lost: {', '.join(map(str, broken))}"
    return {"name": "receipts", "status": "warning", "detail": f"{detail}; delete what you do not need"}


def settings() -> list[dict[str, str]]:
    """Return name, value and origin of every setting that a service would start with.

    Raises ConfigProblem when it would refuse them.
    """
    try:
        config = load(os.environ, Path.home())
    except ConfigError as error:
        raise ConfigProblem(str(error)) from None
    return [{"name": item.name, "value": item.value, "origin": item.origin} for item in config.settings]


class ConfigProblem(Exception):
    """The configuration cannot be used; ``code`` and ``message`` are what a client prints."""

    def __init__(self, message: str) -> None:
        super().__init__(message)
        self.code = "INVALID_ARGUMENT"
        self.message = message
