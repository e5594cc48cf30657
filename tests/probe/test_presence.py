"""Presence through misses, and the launch process that is kept."""

from collections.abc import Iterable

from hypothesis import given
from hypothesis import strategies as st

from prowl_svc.model.agents import Agent
from prowl_svc.model.process import Identification, Process
from prowl_svc.probe.presence import MISSES_TO_RELEASE, Presence, step
from prowl_svc.probe.score import identify
from tests.probe.jobs import job, process


def found(*processes: Process) -> Identification:
    identification = identify(job(*processes))
    assert identification is not None
    return identification


CLAUDE = found(process(2, ["claude", "--model", "opus"]))
CODEX = found(process(7, ["codex"]))


def no_walk(pid: int) -> Iterable[Process]:
    raise AssertionError("the tree must not be walked")


def test_five_misses_are_bridged_and_the_sixth_releases() -> None:
    """An agent is reported through misses 1 to 5, with its processes, and is gone at the sixth."""
    presence = step(Presence(), CLAUDE)
    for miss in range(1, MISSES_TO_RELEASE):
        presence = step(presence, None)
        assert (Agent.CLAUDE, miss, CLAUDE.process, CLAUDE.launch, False) == (
            presence.agent,
            presence.misses,
            presence.process,
            presence.launch,
            presence.identified,
        )
    assert Presence() == step(presence, None)


def test_a_hit_resets_the_count() -> None:
    """Only consecutive misses count."""
    presence = step(Presence(), CLAUDE)
    for _ in range(3):
        for _ in range(5):
            presence = step(presence, None)
        presence = step(presence, CLAUDE)
    assert (Agent.CLAUDE, 0, True) == (presence.agent, presence.misses, presence.identified)


def test_misses_without_an_agent_do_not_count() -> None:
    """An empty pane stays empty at zero."""
    assert Presence() == step(Presence(), None)


def test_another_agent_takes_over_at_once() -> None:
    """Switching agents needs no misses."""
    presence = step(step(Presence(), CLAUDE), CODEX)
    assert (Agent.CODEX, 7, 7) == (
        presence.agent,
        presence.process and presence.process.pid,
        presence.launch and presence.launch.pid,
    )


def test_the_end_of_a_command_releases_on_one_miss() -> None:
    """After the shell said that the command ended, the next miss is believed; a hit is believed too."""
    presence = step(Presence(), CLAUDE)
    assert Presence() == step(presence, None, command_finished=True)
    assert Agent.CLAUDE is step(presence, CLAUDE, command_finished=True).agent


def test_same_root_is_kept_without_a_walk() -> None:
    """While the root of the job is the same, the engine child may be detected instead, and nothing is walked."""
    tui = process(2, ["droid"], start=10)
    engine = process(3, ["droid", "exec"], ppid=2, start=20)
    presence = step(Presence(), found(tui), no_walk)
    presence = step(presence, found(engine, tui), no_walk)
    assert (engine, tui) == (presence.process, presence.launch)


def test_previous_launch_is_kept_while_it_is_an_ancestor() -> None:
    """When the job's root changed, a launch process that still lives above the detected one stays."""
    launcher = process(2, ["npx", "cline"], start=10)
    child = process(3, ["cline"], ppid=2, start=20)
    presence = step(Presence(), found(child, launcher), no_walk)
    presence = step(presence, found(child), lambda pid: [child, launcher])
    assert launcher == presence.launch
    presence = step(presence, found(child), lambda pid: [child])
    assert child == presence.launch


def test_a_reused_pid_is_not_the_previous_launch() -> None:
    """An ancestor with the pid of the previous launch process and another start time is somebody else."""
    launcher = process(2, ["npx", "cline"], start=10)
    child = process(3, ["cline"], ppid=2, start=20)
    presence = step(Presence(), found(child, launcher))
    impostor = process(2, ["bash"], start=15)
    assert child == step(presence, found(child), lambda pid: [child, impostor]).launch


def test_arguments_stay_with_the_detected_pid() -> None:
    """What the command line said outlives a miss and an unreadable command line, and ends with the pid."""
    presence = step(step(Presence(), CLAUDE), None)
    assert ("claude", "--model", "opus") == presence.arguments
    presence = step(presence, found(process(2, None, name="claude")))
    assert ("claude", "--model", "opus") == presence.arguments
    assert None is step(presence, found(process(9, None, name="claude"))).arguments


@given(st.lists(st.sampled_from([CLAUDE, CODEX, None])))
def test_presence_is_the_latest_hit_within_five_misses(probes: list[Identification | None]) -> None:
    """For any sequence of probes, the agent is that of the last hit unless six misses followed."""
    presence = Presence()
    expected, misses = None, 0
    for probe in probes:
        presence = step(presence, probe)
        expected, misses = (probe.agent, 0) if probe else (expected, misses + 1)
        if misses >= 6:
            expected = None
    assert expected is presence.agent
