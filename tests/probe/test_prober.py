"""The probe of all panes: one pass for many, a fresh look where it is needed, relays."""

import os

import pytest

from prowl_svc.model.agents import Agent
from prowl_svc.model.process import Job, Process
from prowl_svc.probe.foreground import foreground_group
from prowl_svc.probe.prober import Prober
from prowl_svc.probe.table import Snapshot
from tests.probe.jobs import process


class World:
    """A process table that is written by hand and counts its passes; also the clock."""

    def __init__(self) -> None:
        self.now = 50.0
        self.passes = 0
        self.jobs: dict[int, tuple[Process, ...]] = {}
        self.inner: dict[int, int] = {}

    def clock(self) -> float:
        return self.now

    def snapshot(self) -> Snapshot:
        self.passes += 1
        return Seen(dict(self.jobs), dict(self.inner))

    def process(self, pid: int) -> Process | None:
        return next((one for job in self.jobs.values() for one in job if one.pid == pid), None)

    def executable(self, pid: int) -> str | None:
        return None

    def foreground(self, pid: int) -> int | None:
        return pid + 1000


class Seen:
    def __init__(self, jobs: dict[int, tuple[Process, ...]], inner: dict[int, int]) -> None:
        self.jobs, self.inner = jobs, inner

    def job(self, pgrp: int) -> Job | None:
        return Job(pgrp, self.jobs[pgrp]) if pgrp in self.jobs else None

    def inner_job(self, job: Job) -> Job | None:
        return self.job(self.inner.get(job.pgrp, -1))


@pytest.fixture
def world() -> World:
    return World()


@pytest.fixture
def prober(world: World) -> Prober:
    return Prober(world, world.clock)


def agent(prober: Prober, pgrp: int | None, *, fresh: bool = False) -> Agent | None:
    found = prober.identify(pgrp, fresh=fresh)
    return found.agent if found else None


def test_one_pass_serves_all_panes(world: World, prober: Prober) -> None:
    """Panes that are probed in the same round share one pass over the process table."""
    world.jobs = {group: (process(group, ["claude" if group % 2 else "codex"]),) for group in range(10, 40)}
    assert {Agent.CLAUDE, Agent.CODEX} == {agent(prober, group) for group in world.jobs}
    assert 1 == world.passes


def test_cache_holds_three_quarters_of_a_second(world: World, prober: Prober) -> None:
    """A group's answer, also "nobody", is repeated until it is 0.75 s old."""
    world.jobs = {10: (process(10, ["vim"]),)}
    assert None is agent(prober, 10)
    world.jobs = {10: (process(10, ["claude"]),)}
    world.now += 0.7
    assert None is agent(prober, 10)
    world.now += 0.1
    assert Agent.CLAUDE is agent(prober, 10)
    assert 2 == world.passes


def test_the_same_job_is_judged_once(world: World, prober: Prober) -> None:
    """A job that is read again and is the same gives the very same answer; a changed argument is judged anew."""
    world.jobs = {10: (process(10, ["claude"]),)}
    first = prober.identify(10)
    world.now += 1
    assert first is prober.identify(10)
    world.now += 1
    world.jobs = {10: (process(10, ["claude", "--resume"]),)}
    second = prober.identify(10)
    assert second is not None
    assert ("claude", "--resume") == second.process.argv


def test_fresh_looks_past_the_cache(world: World, prober: Prober) -> None:
    """A probe after the end of a command sees the present."""
    world.jobs = {10: (process(10, ["claude"]),)}
    assert Agent.CLAUDE is agent(prober, 10)
    world.jobs = {}
    assert Agent.CLAUDE is agent(prober, 10)
    assert None is agent(prober, 10, fresh=True)


def test_new_group_is_seen_at_once(world: World, prober: Prober) -> None:
    """A group younger than the shared pass gets a pass of its own."""
    world.jobs = {10: (process(10, ["vim"]),)}
    assert None is agent(prober, 10)
    world.jobs[11] = (process(11, ["claude"]),)
    world.now += 0.1
    assert Agent.CLAUDE is agent(prober, 11)


def test_age_is_that_of_the_pass(world: World, prober: Prober) -> None:
    """An answer from a shared pass expires with the pass, not 0.75 s after it was asked for."""
    world.jobs = {10: (process(10, ["vim"]),), 11: (process(11, ["vim"]),)}
    prober.identify(10)
    world.now += 0.25
    prober.identify(11)
    world.jobs[11] = (process(11, ["claude"]),)
    world.now += 0.5
    assert Agent.CLAUDE is agent(prober, 11)


def test_relay(world: World, prober: Prober) -> None:
    """A relay's inner terminal counts when the outer job tells nothing, or the same agent less surely."""
    claude = (process(21, ["claude"]),)
    world.jobs = {
        10: (process(10, ["script", "-c", "x"]),),
        20: claude,
        30: (process(30, ["python", "hcom", "claude"]),),
    }
    world.inner = {10: 20, 30: 20}
    for group in (10, 30):
        found = prober.identify(group)
        assert (Agent.CLAUDE, 21) == (found and found.agent, found and found.process.pid)
    explained = prober.explain(10)
    assert 21 == (explained.found and explained.found.process.pid)


def test_not_a_relay(world: World, prober: Prober) -> None:
    """An agent's own tool terminal, an editor's terminal, and an inner terminal without an agent change nothing."""
    world.jobs = {
        10: (process(10, ["node", "/x/gemini"]),),
        11: (process(11, ["nvim"]),),
        12: (process(12, ["script"]),),
        20: (process(21, ["claude"]),),
        22: (process(23, ["bash"]),),
    }
    world.inner = {10: 20, 11: 20, 12: 22}
    assert [Agent.GEMINI, None, None] == [agent(prober, group) for group in (10, 11, 12)]


@pytest.mark.parametrize("pgrp", [None, 0, -1])
def test_no_group_is_nobody(world: World, prober: Prober, pgrp: int | None) -> None:
    """Without a foreground group nothing is read."""
    assert None is agent(prober, pgrp)
    assert ["no foreground job"] == prober.explain(pgrp).lines()
    assert 0 == world.passes


def test_foreground_of_a_foreign_terminal(prober: Prober) -> None:
    """Without a descriptor that answers, the group is that of the pane's first process."""
    read, write = os.pipe()
    try:
        assert 1007 == prober.foreground(None, 7)
        assert 1007 == prober.foreground(-1, 7)
        assert 1007 == prober.foreground(read, 7)
        assert None is prober.foreground(read, None)
        assert None is prober.foreground(read, 0)
    finally:
        os.close(read)
        os.close(write)


def test_foreground_of_our_terminal() -> None:
    """A terminal without a session answers nothing, so the first process is asked."""
    master, slave = os.openpty()
    try:
        assert None is foreground_group(master, 7, lambda pid: None)
        assert 8 == foreground_group(master, 7, lambda pid: 8)
    finally:
        os.close(master)
        os.close(slave)
