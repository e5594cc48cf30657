"""What ``prowl doctor`` and ``prowl config`` ask of this installation when no service runs."""

import os
from pathlib import Path

from prowl_svc.config import ConfigError, load
from prowl_svc.hotpaths import hot_paths

__all__ = ["checks", "settings"]


def checks() -> list[dict[str, str]]:
    """Return name, status (``ok``, ``warning``, ``fault``) and detail of each check; interpreted is no fault."""
    found = [
        {
            "name": f"hot path {path.name}",
            "status": "ok" if path.compiled else "warning",
            "detail": "compiled" if path.compiled else f"interpreted, slower: {path.reason}",
        }
        for path in hot_paths()
    ]
    try:
        load(os.environ, Path.home())
    except ConfigError as error:
        found.append({"name": "configuration", "status": "fault", "detail": str(error)})
    else:
        found.append({"name": "configuration", "status": "ok", "detail": "can be used"})
    return found


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
