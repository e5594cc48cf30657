"""One pane's coordinator: observations in order, bound to one process, decided by the machine (providers.md §1.5).

Everything that waits or reads the world is given to it: ``acquire`` makes a file provider for a binding, ``program``
reads the pane's OSC 7501 evidence for it, ``clock`` is monotonic. One event loop owns it.
"""

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Protocol

from prowl_svc.decision.machine import MachineState, step
from prowl_svc.model.agents import Agent
from prowl_svc.model.facts import (
    Fact,
    Interaction,
    ProgramFact,
    ProgramSummary,
    ProviderFact,
    ScreenFact,
    Suspended,
    Tick,
)
from prowl_svc.model.process import Generation
from prowl_svc.model.state import Decision, Detection, RawState

__all__ = ["Binding", "Coordinator", "Observation", "Provider"]

_WITH_FILES = frozenset({Agent.CODEX, Agent.CLAUDE})


@dataclass(frozen=True, slots=True)
class Binding:
    """What evidence belongs to: the agent, its process, and the config root of the launch (None: the default)."""

    agent: Agent
    generation: Generation | None = None
    config_root: str | None = None


@dataclass(frozen=True, slots=True)
class Observation:
    """One look at a pane: its capture time (monotonic, taken before anything was awaited), agent and screen.

    ``binding.generation`` is None in a probe gap. ``content`` identifies the whole active text; it is used only when
    the screen is Blocked.
    """

    captured: float
    binding: Binding
    detection: Detection
    content: str | None = None


class Provider(Protocol):
    """A file provider bound to one process; ``sample`` reads what is new and never raises for bad input."""

    @property
    def noted(self) -> str | None:
        """The session that the last sample proved to be this very process's, or None (providers.md §8.1)."""
        ...

    @property
    def daemon(self) -> Generation | None:
        """The shared daemon that runs that session for the process, or None (providers.md §2.7)."""
        ...

    async def sample(self, now: float) -> Sequence[ProviderFact]:
        """Return the facts since the last sample, in order."""
        ...

    def unchanged(self, now: float) -> bool:
        """Tell, by a cheap look, that a sample would only repeat the last one; False when in doubt."""
        ...

    def close(self) -> None:
        """Let go of what is held; the process it is bound to is not the pane's any more."""
        ...


class Coordinator:
    """Serialises the observations of one pane and holds its machine."""

    def __init__(
        self,
        acquire: Callable[[Binding], Provider | None],
        program: Callable[[Binding], ProgramSummary | None],
        clock: Callable[[], float],
    ) -> None:
        self._acquire = acquire
        self._program = program
        self._clock = clock
        self._turn = asyncio.Lock()  # fair: observations wait in the order they came
        self._binding: Binding | None = None
        self._provider: Provider | None = None
        self._machine = MachineState()
        self._accepted = float("-inf")
        self._revision = 0
        self._interactions = 0

    @property
    def decision(self) -> Decision:
        """The live decision; reads take it and not the last emitted row."""
        return self._machine.decision

    @property
    def machine(self) -> MachineState:
        """The machine's state, for explanations."""
        return self._machine

    @property
    def binding(self) -> Binding | None:
        """What the evidence is bound to now."""
        return self._binding

    @property
    def pushed(self) -> bool:
        """Whether OSC 7501 evidence decides now."""
        return self._machine.program is not None

    @property
    def noted(self) -> str | None:
        """The session that the file provider proved, for session attribution."""
        return self._provider.noted if self._provider is not None else None

    @property
    def daemon(self) -> Generation | None:
        """The shared daemon that runs the noted session, or None."""
        return self._provider.daemon if self._provider is not None else None

    async def observe(self, observation: Observation) -> Decision | None:
        """Take an observation and return the decision after it; None when the pane was invalidated meanwhile.

        An observation captured before the last accepted one, or before program evidence was withdrawn, changes nothing.
        """
        revision = self._revision
        async with self._turn:
            if revision != self._revision:
                return None
            if observation.captured < self._accepted:
                return self.decision
            self._bind(observation.binding)
            self.program_changed()
            if observation.captured < self._accepted:
                return self.decision
            self._accepted = observation.captured
            content = observation.content if observation.detection.state is RawState.BLOCKED else None
            self._step(ScreenFact(observation.detection, content))
            if self._provider is not None:
                interactions = self._interactions
                facts = await self._sample(self._provider)
                if revision != self._revision:
                    return None
                for fact in facts:
                    self._step(fact)
                if interactions != self._interactions:
                    # The key came after the capture: what this sample fenced may be what the key was an answer to.
                    self._step(Interaction())
            self._step(Tick())
            return self.decision

    def quiet(self) -> bool:
        """Tell that an observation of the same process and screen as the last one would change nothing.

        For panes at rest: the provider has nothing new, and time alone, such as the end of a quiet log's selection,
        does not change the decision either.
        """
        machine, now = self._machine, self._clock()
        if machine.held or self._turn.locked():
            return False
        if self._provider is not None:
            if not self._provider.unchanged(now):
                return False
        elif self._binding is not None and self._binding.agent in _WITH_FILES and self._binding.generation is not None:
            return False  # there was none to be had yet
        return not machine.roots or step(machine, Tick(), now).decision == machine.decision

    def interact(self) -> Decision:
        """A key press, paste or sent text reached the pane."""
        self._interactions += 1
        self._step(Interaction())
        return self.decision

    def program_changed(self) -> Decision:
        """Read the program evidence again: its records changed, or what they belong to."""
        if self._binding is None:
            return self.decision
        summary = self._program(self._binding)
        if summary is None and self._machine.program is not None:
            self._accepted = max(self._accepted, self._clock())
        if summary != self._machine.program:
            self._step(ProgramFact(summary))
        return self.decision

    def invalidate(self) -> None:
        """The pane closed or its agent was released: forget all, and discard observations that are under way."""
        self._revision += 1
        self._reset(None)

    def _bind(self, new: Binding) -> None:
        old = self._binding
        if old is None or old.agent is not new.agent:
            self._reset(new)
        elif new.agent not in _WITH_FILES:
            self._binding = replace(new, generation=new.generation or old.generation)
        elif (old.generation and new.generation and old.generation != new.generation) or (
            old.config_root != new.config_root
        ):
            self._reset(replace(new, generation=new.generation or old.generation))
        elif old.generation is None and new.generation is not None:
            self._binding = new
        if self._provider is None and self._binding is not None and self._binding.generation is not None:
            self._provider = self._acquire(self._binding) if new.agent in _WITH_FILES else None

    def _reset(self, binding: Binding | None) -> None:
        self._binding = binding
        if self._provider is not None:
            self._provider.close()
        self._provider = None
        self._machine = MachineState()

    async def _sample(self, provider: Provider) -> Sequence[ProviderFact]:
        try:
            return await provider.sample(self._clock())
        except Exception:
            # A provider that fails in a way it did not foresee must not take the screen's evidence with it.
            return (Suspended(),)

    def _step(self, fact: Fact) -> None:
        self._machine = step(self._machine, fact, self._clock())
