"""Whether an agent is in a pane, kept through probe misses (detection.md §1.6, §1.7)."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Final

from prowl_svc.model.agents import Agent
from prowl_svc.model.process import Identification, Process

__all__ = ["MISSES_TO_RELEASE", "Presence", "step"]

MISSES_TO_RELEASE: Final = 6
"""The consecutive miss that releases an agent."""


@dataclass(frozen=True, slots=True)
class Presence:
    """What a pane holds between probes; the default is an empty pane.

    ``process`` is the detected process and ``launch`` the launch process, both kept through misses. ``arguments`` are
    the argv of the detected process, kept until another pid is detected. ``identified`` tells whether the latest probe
    was a hit.
    """

    agent: Agent | None = None
    misses: int = 0
    icon: str | None = None
    process: Process | None = None
    launch: Process | None = None
    arguments: tuple[str, ...] | None = None
    identified: bool = False


def step(
    before: Presence,
    found: Identification | None,
    ancestors: Callable[[int], Iterable[Process]] = lambda pid: (),
    *,
    command_finished: bool = False,
) -> Presence:
    """Return the presence after one probe.

    ``command_finished`` tells that the shell reported the end of a command (OSC 133 D) since the last probe and that
    this probe was not answered from the cache: then one miss releases. ``ancestors`` yields a pid and its ancestors as
    they are now; it is asked only when the root of the job changed.
    """
    if found is not None:
        same = before.process is not None and before.process.pid == found.process.pid
        return Presence(
            agent=found.agent,
            icon=found.icon,
            process=found.process,
            launch=_launch(before.launch, found, ancestors),
            arguments=found.process.argv or (before.arguments if same else None),
            identified=True,
        )
    misses = before.misses + 1
    if before.agent is None or command_finished or misses >= MISSES_TO_RELEASE:
        return Presence()
    return Presence(
        agent=before.agent,
        misses=misses,
        icon=before.icon,
        process=before.process,
        launch=before.launch,
        arguments=before.arguments,
    )


def _launch(previous: Process | None, found: Identification, ancestors: Callable[[int], Iterable[Process]]) -> Process:
    """Keep the previous launch process while it lives above the detected one: an engine child changes nothing."""
    root = found.launch
    if previous is None or previous.generation == root.generation:
        return root
    if any(ancestor.generation == previous.generation for ancestor in ancestors(found.process.pid)):
        return previous
    return root
