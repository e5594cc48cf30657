"""Freezing an ancestry: no exit, no reparenting and no reused pid may lend a process another's name."""

from collections.abc import Callable
from dataclasses import dataclass, field

from hypothesis import given, settings
from hypothesis import strategies as st

from prowl_svc.identity.ancestry import MAX_HOPS, freeze
from prowl_svc.model.process import Generation, Process


def table(*rows: tuple[int, int, int]) -> Callable[[int], Process | None]:
    """A reader of fixed (pid, ppid, start) rows."""
    found = {pid: Process(pid, ppid, pid, "p", start=start) for pid, ppid, start in rows}
    return found.get


def always() -> bool:
    return True


def test_ancestry_starts_with_the_caller_and_ends_below_init() -> None:
    """The caller comes first, then its parents up to the child of pid 1."""
    caller = freeze(30, 7, table((30, 20, 3), (20, 10, 2), (10, 1, 1), (1, 0, 0)), always)
    assert (30, 7) == (caller.pid, caller.uid)
    assert (Generation(30, 3), Generation(20, 2), Generation(10, 1)) == caller.ancestry


def test_ancestry_is_bounded() -> None:
    """At most 32 hops are kept."""
    rows = [(pid, pid - 1, pid) for pid in range(2, 100)]
    caller = freeze(99, 0, table(*rows), always)
    assert MAX_HOPS == len(caller.ancestry)
    assert Generation(99, 99) == caller.generation


def test_own_parent_ends_the_walk() -> None:
    """A process that names itself as its parent is the last hop."""
    assert (Generation(5, 1),) == freeze(5, 0, table((5, 5, 1)), always).ancestry


def test_unreadable_parent_ends_the_walk() -> None:
    """What cannot be read is left out, and nothing above it is claimed."""
    assert (Generation(5, 1),) == freeze(5, 0, table((5, 4, 1)), always).ancestry


def test_unreadable_caller_has_no_identity() -> None:
    """A connector that cannot be read, or has no pid here, is anonymous."""
    assert freeze(5, 3, table(), always).generation is None
    assert freeze(0, 3, table((0, 0, 1)), always).generation is None


def test_dead_connector_has_no_identity() -> None:
    """A connector that is gone when the walk ends is anonymous, its uid known all the same."""
    caller = freeze(5, 3, table((5, 1, 1)), lambda: False)
    assert (None, 0, 3) == (caller.generation, caller.pid, caller.uid)


def test_connector_that_exits_during_the_walk_has_no_identity() -> None:
    """Liveness is asked again after the last read."""
    answers = iter([True, False])
    assert freeze(5, 3, table((5, 1, 1)), lambda: next(answers)).generation is None


def test_unsettled_ancestry_is_tried_again() -> None:
    """A chain that changed while it was read is read anew, and given up after three attempts."""
    reads: list[int] = []

    def restless(settles_after: int) -> Callable[[int], Process | None]:
        reads.clear()

        def read(pid: int) -> Process | None:
            reads.append(pid)
            return Process(pid, 1, pid, "p", start=min(len(reads), settles_after))

        return read

    assert Generation(5, 3) == freeze(5, 0, restless(3), always).generation
    assert freeze(5, 0, restless(100), always).generation is None
    assert 6 == len(reads)


@dataclass
class Machine:
    """A process table in which anything may happen before each read."""

    script: list[tuple[str, int]]
    clock: int = 10
    alive: dict[int, Process] = field(default_factory=dict)
    parents: set[tuple[Generation, int]] = field(default_factory=set)

    def spawn(self, pid: int, ppid: int) -> None:
        self.clock += 1
        self.put(Process(pid, ppid, pid, "p", start=self.clock))

    def put(self, process: Process) -> None:
        self.alive[process.pid] = process
        parent = self.alive.get(process.ppid)
        if parent is not None:
            self.parents.add((process.generation, parent.start))

    def exit(self, pid: int) -> None:
        if self.alive.pop(pid, None) is not None:
            for child in [p for p in self.alive.values() if p.ppid == pid]:
                self.put(Process(child.pid, 1, child.pid, "p", start=child.start))

    def happen(self) -> None:
        if not self.script:
            return
        what, pid = self.script.pop(0)
        if what == "exit":
            self.exit(pid)
        elif what == "reuse" and pid not in self.alive and len(self.alive) > 1:
            self.spawn(pid, max(self.alive))
        elif what == "replace":
            self.exit(pid)
            self.spawn(pid, 2 if pid != 2 and 2 in self.alive else 1)

    def read(self, pid: int) -> Process | None:
        self.happen()
        return self.alive.get(pid)


@settings(max_examples=400, deadline=None)
@given(
    st.lists(st.tuples(st.sampled_from(["exit", "reuse", "replace", "rest", "rest"]), st.integers(2, 6)), max_size=40)
)
def test_no_interleaving_yields_a_false_ancestry(script: list[tuple[str, int]]) -> None:
    """Whatever exits and reuses pids between reads, each claimed parent was once one, and the first is the caller."""
    machine = Machine(script)
    for pid in range(2, 7):
        machine.spawn(pid, pid - 1)
    connector = machine.alive[6].generation

    def alive() -> bool:
        machine.happen()
        now = machine.alive.get(6)
        return now is not None and now.generation == connector

    caller = freeze(6, 0, machine.read, alive)
    if caller.ancestry:
        assert connector == caller.generation
    for child, parent in zip(caller.ancestry, caller.ancestry[1:], strict=False):
        assert (child, parent.start) in machine.parents
