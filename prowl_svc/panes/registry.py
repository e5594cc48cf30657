"""All panes of the service: ids, handles that are never used again, groups, and targets (signals.md §7.2)."""

import re
import uuid
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Generic, Protocol, TypeVar

from prowl_svc.model.errors import Code, ProwlError
from prowl_svc.panes.facts import Worktree

__all__ = ["Change", "Group", "PaneLike", "Registry", "Slot", "Target"]

_HANDLE = re.compile(r"[pt][0-9]{1,18}", re.IGNORECASE)
_MAX_TARGET = 4096
_MAX_NAMED = 8


class PaneLike(Protocol):
    """What the registry needs of a pane, wherever it comes from."""

    @property
    def id(self) -> str:
        """UUID of the pane."""
        ...


P = TypeVar("P", bound=PaneLike)


@dataclass(eq=False, slots=True)
class Group(Generic[P]):
    """Panes that belong together: a UUID, a handle ``tN``, the title given at creation and the panes in order."""

    id: str
    handle: str
    title: str
    slots: "list[Slot[P]]" = field(default_factory=list)
    focused: "Slot[P] | None" = None
    """The pane that has the keyboard among those of the group."""


@dataclass(eq=False, slots=True)
class Slot(Generic[P]):
    """A registered pane with its handle ``pN``, its group, where it comes from and what was asked to run in it."""

    pane: P
    handle: str
    group: Group[P]
    origin: str
    command: str

    @property
    def index(self) -> int:
        """Zero-based position in the group."""
        return self.group.slots.index(self)


class Change(StrEnum):
    """What happened to a slot."""

    ADDED = "added"
    REMOVED = "removed"
    FOCUSED = "focused"


@dataclass(frozen=True, slots=True)
class Target(Generic[P]):
    """What a target named: ``kind`` is ``pane``, ``tab`` or ``worktree``; the panes in order of creation."""

    kind: str
    slots: tuple[Slot[P], ...]


class Registry(Generic[P]):
    """The panes of one service; ``worktree_of`` tells the owner of a pane, None while it is unknown."""

    def __init__(
        self, worktree_of: Callable[[P], Worktree | None], new_id: Callable[[], str] = lambda: str(uuid.uuid4())
    ) -> None:
        self._worktree_of = worktree_of
        self._new_id = new_id
        self._slots: dict[str, Slot[P]] = {}
        self._groups: dict[str, Group[P]] = {}
        self._by_handle: dict[str, Slot[P] | Group[P]] = {}
        self._panes_named = 0
        self._groups_named = 0
        self._selected: Group[P] | None = None
        self._watchers: list[Callable[[Change, Slot[P]], None]] = []

    def __len__(self) -> int:
        return len(self._slots)

    def __iter__(self) -> Iterator[Slot[P]]:
        return iter(list(self._slots.values()))

    def watch(self, changed: Callable[[Change, Slot[P]], None]) -> Callable[[], None]:
        """Call ``changed`` at once on every change; the returned function stops that."""
        self._watchers.append(changed)
        return lambda: self._watchers.remove(changed) if changed in self._watchers else None

    @property
    def selected(self) -> Group[P] | None:
        """The group whose pane was focused or created last."""
        return self._selected

    def get(self, pane_id: str) -> Slot[P] | None:
        """Return the slot of a pane's UUID."""
        return self._slots.get(pane_id)

    def add(
        self, pane: P, *, origin: str = "pty", command: str = "", group: Group[P] | None = None, title: str = ""
    ) -> Slot[P]:
        """Register a pane, in a new group unless one is given; raises ValueError for an id that is registered."""
        if pane.id in self._slots:
            raise ValueError("the pane is registered already")
        if group is None or group.id not in self._groups:
            self._groups_named += 1
            group = Group(self._new_id(), f"t{self._groups_named}", title)
            self._groups[group.id] = self._by_handle[group.handle] = group
        self._panes_named += 1
        slot = Slot(pane, f"p{self._panes_named}", group, origin, command)
        group.slots.append(slot)
        self._slots[pane.id] = self._by_handle[slot.handle] = slot
        group.focused = group.focused or slot
        self._selected = self._selected or group
        self._tell(Change.ADDED, slot)
        return slot

    def remove(self, pane_id: str) -> Slot[P] | None:
        """Forget a pane, and its group with the last one; returns what was removed."""
        slot = self._slots.pop(pane_id, None)
        if slot is None:
            return None
        group = slot.group
        del self._by_handle[slot.handle]
        position = slot.index
        group.slots.remove(slot)
        if group.focused is slot:
            group.focused = group.slots[min(position, len(group.slots) - 1)] if group.slots else None
        if not group.slots:
            del self._groups[group.id], self._by_handle[group.handle]
            if self._selected is group:
                self._selected = next(reversed(self._groups.values()), None)
        self._tell(Change.REMOVED, slot)
        return slot

    def focus(self, slot: Slot[P]) -> None:
        """Give a pane the keyboard of its group, and select the group."""
        slot.group.focused = slot
        self._selected = slot.group
        self._tell(Change.FOCUSED, slot)

    def resolve(self, target: str) -> Target[P]:
        """Find what a target names: UUID or handle of a pane or group, or id, path or name of a worktree.

        Raises ProwlError INVALID_ARGUMENT, TARGET_NOT_FOUND, or TARGET_NOT_UNIQUE for a name of several worktrees.
        """
        text = target.strip()
        if not text or len(text) > _MAX_TARGET or not text.isprintable():
            raise ProwlError(Code.INVALID_ARGUMENT, "Name a target: a pane or tab (UUID, pN, tN) or a worktree.")
        lowered = text.lower()
        found: Slot[P] | Group[P] | None = self._slots.get(lowered) or self._groups.get(lowered)
        found = found or self._by_handle.get(lowered)
        if isinstance(found, Slot):
            return Target("pane", (found,))
        if isinstance(found, Group):
            return Target("tab", tuple(found.slots))
        if _HANDLE.fullmatch(text) or _is_uuid(text):
            raise ProwlError(Code.TARGET_NOT_FOUND, f"There is no pane or tab {text}; it may have been closed.")
        return self._worktree(text)

    def resolve_pane(self, target: str) -> Slot[P]:
        """Find the one pane that a target names; raises TARGET_NOT_UNIQUE when it names several."""
        found = self.resolve(target)
        if len(found.slots) != 1:
            raise _not_unique(f"{target.strip()[:100]} has {len(found.slots)} panes", found.slots)
        return found.slots[0]

    def resolve_group(self, target: str) -> Group[P]:
        """Find the one group that a target names, itself or by its panes; raises TARGET_NOT_UNIQUE for several."""
        found = self.resolve(target)
        groups = {slot.group.id: slot.group for slot in found.slots}
        if len(groups) != 1:
            raise _not_unique(f"{target.strip()[:100]} has {len(groups)} tabs", found.slots)
        return next(iter(groups.values()))

    def active(self) -> Slot[P]:
        """Return the focused pane of the selected group; raises NO_ACTIVE_PANE when there are no panes."""
        if self._selected is None or self._selected.focused is None:
            raise ProwlError(Code.NO_ACTIVE_PANE, "There is no pane. Create one first.")
        return self._selected.focused

    def _worktree(self, text: str) -> Target[P]:
        owners = [(slot, owner) for slot in self._slots.values() if (owner := self._worktree_of(slot.pane))]
        path = text.rstrip("/") or "/"
        for matches in (lambda owner: path in (owner.id, owner.path), lambda owner: text == owner.name):
            found = tuple(slot for slot, owner in owners if matches(owner))
            if len({owner.id for _, owner in owners if matches(owner)}) > 1:
                raise _not_unique(f"Several worktrees are named {text[:100]}", found)
            if found:
                return Target("worktree", found)
        raise ProwlError(Code.TARGET_NOT_FOUND, f"There is no pane, tab or worktree {text[:100]!r}.")

    def _tell(self, change: Change, slot: Slot[P]) -> None:
        for watcher in list(self._watchers):
            watcher(change, slot)


def _is_uuid(text: str) -> bool:
    try:
        uuid.UUID(text)
    except ValueError:
        return False
    return len(text) == 36


def _not_unique(what: str, slots: "tuple[Slot[P], ...]") -> ProwlError:
    named = ", ".join(slot.handle for slot in slots[:_MAX_NAMED])
    more = ", …" if len(slots) > _MAX_NAMED else ""
    message = f"{what}; name one of the panes {named}{more}." if slots else f"{what}."
    return ProwlError(Code.TARGET_NOT_UNIQUE, message, {"panes": [slot.pane.id for slot in slots]})
