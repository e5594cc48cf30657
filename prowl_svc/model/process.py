"""Processes, foreground jobs and what the probe finds in them (detection.md §1)."""

from dataclasses import dataclass

from prowl_svc.model.agents import Agent

__all__ = ["Candidate", "Generation", "Identification", "Job", "Process"]


@dataclass(frozen=True, slots=True)
class Generation:
    """One life of a process: its pid and raw start time (Linux: clock ticks since boot; macOS: microseconds)."""

    pid: int
    start: int


@dataclass(frozen=True, slots=True)
class Process:
    """One process as the kernel shows it.

    ``name`` is the short kernel name, ``argv`` has empty elements dropped and is None when unreadable, ``exe`` is the
    resolved executable or None when it was not or could not be read, ``start`` is the raw start time.
    """

    pid: int
    ppid: int
    pgrp: int
    name: str
    argv: tuple[str, ...] | None = None
    start: int = 0
    exe: str | None = None
    sid: int = 0
    tpgid: int = -1

    @property
    def generation(self) -> Generation:
        """The process's generation."""
        return Generation(self.pid, self.start)


@dataclass(frozen=True, slots=True)
class Job:
    """The members of one foreground process group, newest first (detection.md §1.1)."""

    pgrp: int
    processes: tuple[Process, ...]


@dataclass(frozen=True, slots=True)
class Candidate:
    """A name that resolved to an agent: where it came from (``argv0``, ``name``, ``token``) and its score."""

    agent: Agent
    matched_name: str
    source: str
    score: int
    process: Process


@dataclass(frozen=True, slots=True)
class Identification:
    """The winning candidate of a job, its launch process, and the runners-up for explanations."""

    agent: Agent
    matched_name: str
    score: int
    process: Process
    launch: Process
    icon: str
    candidates: tuple[Candidate, ...] = ()
