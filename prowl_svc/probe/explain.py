"""Says in words why a foreground job is the agent it is."""

from collections.abc import Mapping
from dataclasses import dataclass

from prowl_svc.model.agents import Agent
from prowl_svc.model.process import Candidate, Identification, Job
from prowl_svc.probe.score import Refusal, ResolveExe, identify, judge

__all__ = ["Explanation", "explain"]


@dataclass(frozen=True, slots=True)
class Explanation:
    """A probe's answer with its reasons; ``runner_up`` is the best candidate for another process or another agent."""

    job: Job | None
    found: Identification | None
    runner_up: Candidate | None
    refused: tuple[Refusal, ...]

    def lines(self) -> list[str]:
        """Return the explanation for people, one fact a line. Arguments are never shown, they may hold prompts."""
        if self.job is None:
            return ["no foreground job"]
        lines = [f"foreground group {self.job.pgrp}, {len(self.job.processes)} process(es)"]
        if self.found is None:
            lines.append("no process has a name that is an agent's")
        else:
            best = self.found
            source = best.candidates[0].source
            lines.append(
                f"{best.agent.display_name}: pid {best.process.pid} ({best.process.name}) "
                f"by {source} {best.matched_name!r}, score {best.score}"
            )
            lines.append(f"launch process {best.launch.pid} ({best.launch.name})")
        if self.runner_up is not None:
            other = self.runner_up
            lines.append(
                f"runner-up {other.agent.display_name}: pid {other.process.pid} ({other.process.name}) "
                f"by {other.source} {other.matched_name!r}, score {other.score}"
            )
        lines += [
            f"refused {no.name!r} of pid {no.process.pid} ({no.process.name}) by {no.source}: {no.reason}"
            for no in self.refused
        ]
        return lines


def explain(
    job: Job | None, resolve_exe: ResolveExe = lambda pid: None, aliases: Mapping[str, Agent] | None = None
) -> Explanation:
    """Identify a job and keep what was weighed on the way."""
    if job is None:
        return Explanation(None, None, None, ())
    verdict = judge(job, resolve_exe, aliases)
    best = verdict.candidates[0] if verdict.candidates else None
    runner_up = next(
        (other for other in verdict.candidates if best and (other.process, other.agent) != (best.process, best.agent)),
        None,
    )
    return Explanation(job, identify(job, resolve_exe, aliases), runner_up, verdict.refused)
