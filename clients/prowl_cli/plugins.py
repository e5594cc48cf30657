"""Parts of the command that live outside it, found by name so that nothing of the service is imported here.

A distribution adds a command by an entry point of the group ``prowl.commands``: an object with ``summary``,
``examples``, ``configure(parser)`` and ``run(args)``, which returns an object with ``data``, ``text`` and ``status``.
``prowl.parts`` holds plain functions that commands ask when no service runs.
"""

from importlib import import_module
from typing import Any

from prowl_cli.envelope import CliError

__all__ = ["COMMANDS", "load_command", "load_part", "other_commands"]

COMMANDS = {
    "detect": "prowl_svc.tools.detect:COMMAND",
    "render": "prowl_svc.tools.render:COMMAND",
}
"""Commands that the service's own distribution brings, at hand in a source tree without metadata too."""

_PARTS = {
    "checks": "prowl_svc.tools.checks:checks",
    "settings": "prowl_svc.tools.checks:settings",
}


def load_command(name: str) -> Any:
    """Import the command called ``name``; raises CliError when it is not installed."""
    return _load("prowl.commands", name, COMMANDS)


def load_part(name: str) -> Any:
    """Import the function called ``name``; raises CliError when it is not installed."""
    return _load("prowl.parts", name, _PARTS)


def other_commands() -> list[str]:
    """Return the names of commands that other distributions add, sorted."""
    from importlib.metadata import entry_points

    return sorted({point.name for point in entry_points(group="prowl.commands")} - set(COMMANDS))


def _load(group: str, name: str, known: dict[str, str]) -> Any:
    value = known.get(name)
    if value is None:
        from importlib.metadata import entry_points

        found = [point for point in entry_points(group=group) if point.name == name]
        if not found:
            raise CliError("NOT_IMPLEMENTED", f"Nothing that is installed provides {name!r}.")
        value = found[0].value
    module, _, attribute = value.partition(":")
    try:
        return getattr(import_module(module), attribute)
    except ModuleNotFoundError as error:
        raise CliError(
            "NOT_IMPLEMENTED", f"{name!r} needs the service's code, which is not installed: {error.name}"
        ) from None
