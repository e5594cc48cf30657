"""Which agent a foreground job is: candidates, scores, ties and the launch process (detection.md §1.3-§1.6)."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from itertools import islice
from typing import Final, TypeAlias

from prowl_svc.model.agents import Agent
from prowl_svc.model.process import Candidate, Identification, Job, Process
from prowl_svc.probe.names import (
    NAMES,
    agent_named,
    executable_agent,
    is_interpreter,
    is_versioned_grok,
    is_wrapper,
    normalise,
    package_agent,
    serves_programs,
)

__all__ = ["SCORES", "Refusal", "ResolveExe", "Verdict", "identify", "judge", "launch_process"]

SCORES: Final[Mapping[str, int]] = {"argv0": 80, "name": 70, "token": 40, "executable": 35, "package": 30}
"""Score of a candidate by its source. The last two are weaker than every name that was typed."""

ResolveExe: TypeAlias = Callable[[int], str | None]
"""Resolves the executable of a pid; None when it cannot be read."""

_MAX_TOKENS: Final = 4096
_MAIN_THREAD: Final = "mainthread"


@dataclass(frozen=True, slots=True)
class Refusal:
    """A name that looked like an agent and was not taken, with the reason why, for explanations."""

    name: str
    source: str
    process: Process
    reason: str


@dataclass(frozen=True, slots=True)
class Verdict:
    """Everything that was weighed in a job: candidates best first (ties in the order met), and what was refused."""

    candidates: tuple[Candidate, ...]
    refused: tuple[Refusal, ...]


def identify(
    job: Job | None, resolve_exe: ResolveExe = lambda pid: None, aliases: Mapping[str, Agent] | None = None
) -> Identification | None:
    """Return the agent of a foreground job, or None.

    Pure but for ``resolve_exe``, which is asked only where text alone cannot tell. ``aliases`` are further normalised
    executable names.
    """
    if job is None:
        return None
    candidates = judge(job, resolve_exe, aliases).candidates
    if not candidates:
        return None
    best = candidates[0]
    own_icon = best.matched_name == "agent"  # a shared name has no icon of its own
    return Identification(
        agent=best.agent,
        matched_name=best.matched_name,
        score=best.score,
        process=best.process,
        launch=launch_process(job, best.process),
        icon=best.agent.display_name if own_icon else best.matched_name,
        candidates=candidates,
    )


def judge(job: Job, resolve_exe: ResolveExe = lambda pid: None, aliases: Mapping[str, Agent] | None = None) -> Verdict:
    """Weigh every process of a job; ``identify`` takes the first candidate."""
    taken: list[Candidate] = []
    refused: list[Refusal] = []
    for process in job.processes:
        for found in _Weigher(process, resolve_exe, aliases or {}).names():
            if isinstance(found, Refusal):
                refused.append(found)
            else:
                taken.append(found)
    taken.sort(key=lambda candidate: -candidate.score)  # stable, so the first met wins a tie
    return Verdict(tuple(taken), tuple(refused))


def launch_process(job: Job, detected: Process) -> Process:
    """Return the topmost member of the job above the detected process (detection.md §1.6)."""
    members = {process.pid: process for process in job.processes}
    top = detected
    for _ in job.processes:
        parent = members.get(top.ppid)
        if parent is None or parent.pid == top.pid:
            break
        top = parent
    return top


class _Weigher:
    """Reads one process: its names in the order of the page, each resolved to a candidate or a refusal."""

    def __init__(self, process: Process, resolve_exe: ResolveExe, aliases: Mapping[str, Agent]) -> None:
        self.process = process
        self.aliases = aliases
        self._resolve = resolve_exe
        self.argv = tuple(part for part in process.argv or () if part)
        if len(self.argv) == 1 and _is_title(self.argv[0]):
            self.argv = tuple(self.argv[0].split())  # a title setter left one long string (§5 trap 11)
        self.argv0 = normalise(self.argv[0]) if self.argv else None
        self.name = normalise(process.name)
        self.tokens = tuple(islice(_split(self.argv), _MAX_TOKENS))

    def executable(self) -> str | None:
        return self.process.exe or self._resolve(self.process.pid)

    def wrapped(self) -> bool:
        """Tell whether the process is a runtime whose tokens count (§1.3)."""
        primary = self.argv0 or self.name or self.process.name.lower()
        if is_wrapper(primary):
            return True
        if self.name != _MAIN_THREAD or not self.tokens:
            return False
        executable = normalise(self.executable() or "")
        return executable is not None and is_interpreter(executable)

    def names(self) -> Iterator[Candidate | Refusal]:
        found = False
        for source, name in (("argv0", self.argv0), ("name", self.name)):
            if name is not None and (answer := self._resolved(source, name, self.argv[1:])) is not None:
                found = True
                yield answer
        if self.wrapped():
            yield from self._token_names()
        elif not found and (path := self.executable()) is not None and (known := executable_agent(path)) is not None:
            yield self._guarded("executable", known[0], known[1], self.argv[1:])

    def _token_names(self) -> Iterator[Candidate | Refusal]:
        for index, token in enumerate(self.tokens):
            name = normalise(token)
            if name is None:
                continue
            answer = self._resolved("token", name, self.tokens[index + 1 :])
            if answer is not None:
                yield answer
            elif (agent := package_agent(token)) is not None:
                yield self._guarded("package", agent.value, agent, self.tokens[index + 1 :])

    def _resolved(self, source: str, name: str, rest: tuple[str, ...]) -> Candidate | Refusal | None:
        agent = self._shared_name(source) if name == "agent" else agent_named(name, self.aliases)
        if agent is None:
            if name != "agent":
                return None
            return Refusal(name, source, self.process, "the shared name agent, without a product's path")
        if source == "token" and name == "grok":
            return Refusal(name, source, self.process, "a bare grok in a command line is a model name")
        return self._guarded(source, name, agent, rest)

    def _guarded(self, source: str, name: str, agent: Agent, rest: tuple[str, ...]) -> Candidate | Refusal:
        if serves_programs(agent, rest):
            return Refusal(name, source, self.process, "serves other programs, not a person")
        return Candidate(agent, name, source, SCORES[source], self.process)

    def _shared_name(self, source: str) -> Agent | None:
        """Decide the name ``agent``: Cursor by the whole command line, else Grok by where the executable is (§1.5)."""
        line = " ".join(self.argv).lower()
        if "cursor-agent" in line or "cursor.app" in line:
            return Agent.CURSOR
        locations = [*self.argv[:1], *self.tokens[:1]]
        if any(_in_grok_home(location) for location in locations):
            return Agent.GROK
        executable = self.executable() if source != "token" else None
        return Agent.GROK if executable is not None and _in_grok_home(executable) else None


def _split(argv: tuple[str, ...]) -> Iterator[str]:
    for element in argv:
        yield from element.split()


def _is_title(element: str) -> bool:
    """Tell whether a lone argument is a title with words of its own, and not a name with a space (``Kimi Code``)."""
    return " " in element and ("/" in element or normalise(element) not in NAMES)


def _in_grok_home(path: str) -> bool:
    name = normalise(path)
    return "/.grok/" in path.lower() or (name is not None and is_versioned_grok(name))
