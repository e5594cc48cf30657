"""Attribution: from a frozen ancestry to the pane."""

from collections.abc import Mapping

from prowl_svc.identity.caller import Caller, attribute, attribute_thread
from prowl_svc.model.process import Generation

SHELL, AGENT, TOOL = Generation(10, 1), Generation(20, 2), Generation(30, 3)
CALLER = Caller(30, 0, (TOOL, AGENT, SHELL))
DAEMON, TUI = Generation(50, 1), Generation(60, 1)
SERVED = Caller(30, 0, (TOOL, DAEMON))


def test_nearest_pane_root_decides() -> None:
    """A pane inside a pane is the one that counts, with the generations up to its root."""
    found = attribute(CALLER, {SHELL: "outer", AGENT: "inner"})
    assert found is not None
    assert ("inner", (TOOL, AGENT)) == (found.surface, found.ancestry)


def test_reused_pid_is_no_pane_root() -> None:
    """A root with the same pid and another start time is another process."""
    assert attribute(CALLER, {Generation(10, 99): "pane"}) is None


def test_caller_outside_any_pane() -> None:
    """Without a match there is no pane, and an anonymous caller never has one."""
    assert attribute(CALLER, {}) is None
    assert attribute(CALLER.anonymous(), {SHELL: "pane"}) is None


def test_pane_root_itself_may_call() -> None:
    """The root process of a pane is in its pane."""
    found = attribute(Caller(10, 0, (SHELL,)), {SHELL: "pane"})
    assert found is not None
    assert (SHELL,) == found.ancestry


def thread_owner(variables: Mapping[str, str] | None, caller: Caller = SERVED) -> str | None:
    asked: list[Generation] = []

    def environment(generation: Generation) -> Mapping[str, str] | None:
        asked.append(generation)
        return variables

    found = attribute_thread(caller, {DAEMON: {"T1": ("pane", TUI)}}, environment)
    assert asked in ([], [caller.generation])
    if found is not None:
        assert TUI == found.ancestry[-1]
    return found.surface if found else None


def test_daemon_child_is_attributed_by_its_thread() -> None:
    """A descendant of a verified daemon belongs to the pane that owns the thread in its own environment."""
    assert "pane" == thread_owner({"CODEX_THREAD_ID": "T1"})


def test_daemon_child_without_an_owned_thread_is_unattributed() -> None:
    """An unknown thread, none, or an environment that cannot be read leads to no pane."""
    assert thread_owner({"CODEX_THREAD_ID": "T2"}) is None
    assert thread_owner({}) is None
    assert thread_owner(None) is None


def test_thread_of_a_caller_outside_the_daemon_counts_nothing() -> None:
    """A process that only sets the variable is not a child of the daemon; the daemon itself is not either."""
    assert thread_owner({"CODEX_THREAD_ID": "T1"}, Caller(30, 0, (TOOL, SHELL))) is None
    assert thread_owner({"CODEX_THREAD_ID": "T1"}, Caller(50, 0, (DAEMON,))) is None
    assert thread_owner({"CODEX_THREAD_ID": "T1"}, Caller(0, 0)) is None
