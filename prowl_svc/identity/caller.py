"""Who calls, as the kernel tells it, and which pane that is (signals.md §2.4)."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from prowl_svc.model.process import Generation

__all__ = ["ANONYMOUS_PID", "Attribution", "Caller", "attribute", "attribute_thread"]

ANONYMOUS_PID = 0


@dataclass(frozen=True, slots=True)
class Caller:
    """The process that opened a connection, frozen when it was accepted.

    ``ancestry`` holds the caller's generation first, then its parents', at most 32 of them. It is empty when the
    caller could not be told for sure; such a caller belongs to no pane. ``uid`` is always the kernel's.
    """

    pid: int
    uid: int
    ancestry: tuple[Generation, ...] = ()

    @property
    def generation(self) -> Generation | None:
        """The caller's own pid and start time, or None without identity."""
        return self.ancestry[0] if self.ancestry else None

    def anonymous(self) -> "Caller":
        """The same connection once its connector can no longer vouch for it."""
        return Caller(ANONYMOUS_PID, self.uid)


@dataclass(frozen=True, slots=True)
class Attribution:
    """The pane that a caller runs in, and the generations from the caller up to the pane's root."""

    surface: str
    ancestry: tuple[Generation, ...]


def attribute(caller: Caller, roots: Mapping[Generation, str]) -> Attribution | None:
    """Return the pane whose root process is the nearest in the caller's ancestry; ``roots`` are those of live panes."""
    for index, generation in enumerate(caller.ancestry):
        surface = roots.get(generation)
        if surface is not None:
            return Attribution(surface, caller.ancestry[: index + 1])
    return None


def attribute_thread(
    caller: Caller,
    daemons: Mapping[Generation, Mapping[str, tuple[str, Generation]]],
    environment: Callable[[Generation], Mapping[str, str] | None],
    variable: str = "CODEX_THREAD_ID",
) -> Attribution | None:
    """Return the pane that owns the thread a shared daemon's child works for (signals.md §2.4, providers.md §2.7).

    ``daemons`` maps each verified daemon to its threads, and a thread to the one live pane that owns it with that
    pane's launch process; a thread that several panes claim must be left out. ``environment`` reads the variables of
    exactly that generation, None when it is gone. The launch process closes the ancestry, since the daemon proved it.
    """
    own = caller.generation
    for index, generation in enumerate(caller.ancestry):
        threads = daemons.get(generation)
        if threads is None:
            continue
        variables = environment(own) if own is not None and index > 0 else None
        owner = threads.get(variables.get(variable, "")) if variables is not None else None
        return None if owner is None else Attribution(owner[0], (*caller.ancestry[: index + 1], owner[1]))
    return None
