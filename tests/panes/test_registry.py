"""Ids, handles, groups and targets of panes."""

import uuid
from dataclasses import dataclass

import pytest

from prowl_svc.model.errors import Code, ProwlError
from prowl_svc.panes.facts import Worktree
from prowl_svc.panes.registry import Change, Registry, Slot


@dataclass(eq=False)
class Pane:
    id: str
    worktree: Worktree | None = None


MAIN = Worktree("/src/app", "/src/app", "main", "git")
FEATURE = Worktree("/src/app-x", "/src/app", "feature/x", "git")
OTHER_MAIN = Worktree("/src/lib", "/src/lib", "main", "git")


def new_pane(worktree: Worktree | None = None) -> Pane:
    return Pane(str(uuid.uuid4()), worktree)


@pytest.fixture
def registry() -> Registry[Pane]:
    return Registry(lambda pane: pane.worktree)


def refusal(registry: Registry[Pane], target: str) -> Code:
    with pytest.raises(ProwlError) as caught:
        registry.resolve_pane(target)
    return caught.value.code


def test_handles_are_never_used_again(registry: Registry[Pane]) -> None:
    """Handles count up over the life of the service, whatever was closed."""
    first, second = registry.add(new_pane()), registry.add(new_pane())
    registry.remove(second.pane.id)
    third = registry.add(new_pane(), group=first.group)
    handles = [(slot.handle, slot.group.handle) for slot in (first, second, third)]
    assert [("p1", "t1"), ("p2", "t2"), ("p3", "t1")] == handles
    assert [0, 1] == [first.index, third.index]
    assert Code.TARGET_NOT_FOUND is refusal(registry, "p2")
    assert Code.TARGET_NOT_FOUND is refusal(registry, "t2")
    assert "t3" == registry.add(new_pane()).group.handle


def test_targets(registry: Registry[Pane]) -> None:
    """A pane is named by its UUID or handle, by its tab, or by its worktree's id, path or name."""
    slot = registry.add(new_pane(MAIN))
    other = registry.add(new_pane(FEATURE))
    names = [
        slot.pane.id,
        slot.pane.id.upper(),
        "p1",
        "P1",
        " p1 ",
        slot.group.id,
        "t1",
        "/src/app",
        "/src/app/",
        "main",
    ]
    assert [slot] * len(names) == [registry.resolve_pane(name) for name in names]
    assert other is registry.resolve_pane("feature/x")
    kinds = ["pane", "tab", "worktree"]
    assert kinds == [registry.resolve(name).kind for name in ("p1", "t1", "main")]
    assert slot.group is registry.resolve_group("p1")


def test_several_panes(registry: Registry[Pane]) -> None:
    """A tab or worktree of several panes names its tab but no single pane, and the refusal lists the panes."""
    first = registry.add(new_pane(MAIN))
    second = registry.add(new_pane(MAIN), group=first.group)
    assert (first, second) == registry.resolve("t1").slots
    assert first.group is registry.resolve_group("main")
    with pytest.raises(ProwlError) as caught:
        registry.resolve_pane("main")
    assert Code.TARGET_NOT_UNIQUE is caught.value.code
    assert "p1, p2" in caught.value.message
    assert {"panes": [first.pane.id, second.pane.id]} == caught.value.details
    registry.add(new_pane(MAIN))
    with pytest.raises(ProwlError) as caught:
        registry.resolve_group("main")
    assert Code.TARGET_NOT_UNIQUE is caught.value.code


def test_one_name_of_two_worktrees(registry: Registry[Pane]) -> None:
    """A branch name of two worktrees names neither, their paths still do."""
    registry.add(new_pane(MAIN))
    lib = registry.add(new_pane(OTHER_MAIN))
    assert Code.TARGET_NOT_UNIQUE is refusal(registry, "main")
    assert lib is registry.resolve_pane("/src/lib")


@pytest.mark.parametrize(
    ("target", "code"),
    [
        ("", Code.INVALID_ARGUMENT),
        ("  ", Code.INVALID_ARGUMENT),
        ("a\nb", Code.INVALID_ARGUMENT),
        ("x" * 5000, Code.INVALID_ARGUMENT),
        ("p9", Code.TARGET_NOT_FOUND),
        ("t9", Code.TARGET_NOT_FOUND),
        (str(uuid.UUID(int=1)), Code.TARGET_NOT_FOUND),
        ("nothing", Code.TARGET_NOT_FOUND),
        ("p1x", Code.TARGET_NOT_FOUND),
    ],
)
def test_refusals(registry: Registry[Pane], target: str, code: Code) -> None:
    """What names nothing is refused with its reason."""
    registry.add(new_pane(MAIN))
    assert code is refusal(registry, target)


def test_stale_handle_is_no_worktree_name(registry: Registry[Pane]) -> None:
    """A handle never falls back to a worktree of that name."""
    registry.add(new_pane(Worktree("/src/p7", "/src/p7", "p7", "plain")))
    assert Code.TARGET_NOT_FOUND is refusal(registry, "p7")


def test_changes_are_told(registry: Registry[Pane]) -> None:
    """Watchers hear of every addition, focus and removal at once, until they stop."""
    heard: list[tuple[Change, str]] = []
    stop = registry.watch(lambda change, slot: heard.append((change, slot.handle)))
    slot = registry.add(new_pane())
    registry.focus(slot)
    assert slot is registry.remove(slot.pane.id)
    assert registry.remove(slot.pane.id) is None
    stop()
    stop()
    registry.add(new_pane())
    assert [(Change.ADDED, "p1"), (Change.FOCUSED, "p1"), (Change.REMOVED, "p1")] == heard


def test_focus_and_active(registry: Registry[Pane]) -> None:
    """The active pane is the focused one of the selected tab, and moves to a neighbour when it is closed."""
    with pytest.raises(ProwlError) as caught:
        registry.active()
    assert Code.NO_ACTIVE_PANE is caught.value.code
    first = registry.add(new_pane(), title="work")
    second = registry.add(new_pane(), group=first.group)
    third = registry.add(new_pane())
    assert first is registry.active()
    registry.focus(second)
    registry.remove(second.pane.id)
    assert first is registry.active()
    registry.focus(third)
    assert third.group is registry.selected
    registry.remove(third.pane.id)
    assert (first, "work") == (registry.active(), first.group.title)
    registry.remove(first.pane.id)
    assert (None, 0) == (registry.selected, len(registry))


def test_order_and_duplicates(registry: Registry[Pane]) -> None:
    """Panes are listed in order of creation, and an id is registered once."""
    slots: list[Slot[Pane]] = [registry.add(new_pane()) for _ in range(3)]
    assert slots == list(registry)
    assert slots[1] is registry.get(slots[1].pane.id)
    with pytest.raises(ValueError, match="registered"):
        registry.add(slots[0].pane)
