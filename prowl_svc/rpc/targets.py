"""Selectors to panes, and panes to the messages that describe them (signals.md §7.1, §7.2)."""

from prowl.v1 import common_pb2

from prowl_svc.model.errors import Code, ProwlError
from prowl_svc.panes.facts import Worktree, project_of
from prowl_svc.panes.hosted import HostedPane
from prowl_svc.watch.host import Host, PaneSlot

__all__ = ["Targets", "worktree_message"]

_KIND = {"git": common_pb2.WORKTREE_KIND_GIT, "plain": common_pb2.WORKTREE_KIND_PLAIN}


def worktree_message(owner: Worktree) -> common_pb2.Worktree:
    """Return a worktree's message."""
    return common_pb2.Worktree(
        id=owner.id, name=owner.name, path=owner.path, root_path=owner.root_path, kind=_KIND[owner.kind]
    )


class Targets:
    """Finds panes by what clients call them; raises ProwlError with the code and advice of each failure."""

    def __init__(self, host: Host) -> None:
        self._host = host

    def slot(self, selector: str) -> PaneSlot:
        """Return the pane that a UUID, handle, tab or worktree names; an empty selector is the focused pane."""
        if not selector.strip():
            return self._host.registry.active()
        try:
            return self._host.registry.resolve_pane(selector)
        except ProwlError as error:
            raise self._explained(selector, error) from None

    def explicit(self, selector: str) -> PaneSlot:
        """Return the pane of a UUID or handle; refuses anything else (signals.md §7.2)."""
        if not selector.strip():
            raise ProwlError(Code.INVALID_ARGUMENT, "Name a pane by its UUID or handle pN.")
        try:
            found = self._host.registry.resolve(selector)
        except ProwlError as error:
            raise self._explained(selector, error) from None
        if found.kind != "pane":
            raise ProwlError(
                Code.INVALID_ARGUMENT, f"{selector.strip()[:100]} names a {found.kind}; name a pane, by UUID or pN."
            )
        return found.slots[0]

    def pane(self, selector: str) -> HostedPane:
        """Return the pane of a UUID or handle."""
        return self.explicit(selector).pane

    def observed(self, selector: str) -> str:
        """Return the id to observe: a pane that does not exist has a stream too, which ends at once (§1.1)."""
        try:
            return self.explicit(selector).pane.id
        except ProwlError as error:
            if error.code is not Code.TARGET_NOT_FOUND:
                raise
            return selector.strip()

    def target(self, pane_id: str) -> common_pb2.Target:
        """Return a live pane with its tab and worktree; raises AGENT_GONE for one that closed."""
        slot = self._host.registry.get(pane_id)
        if slot is None:
            raise ProwlError(Code.AGENT_GONE, "The pane closed.")
        return self.describe(slot)

    def describe(self, slot: PaneSlot) -> common_pb2.Target:
        """Return a pane with its tab and worktree."""
        registry, pane, group = self._host.registry, slot.pane, slot.group
        selected = registry.selected is group
        message = common_pb2.Target(
            tab=common_pb2.Tab(
                id=group.id,
                title=group.title or self._title(group.slots[0] if group.slots else slot),
                selected=selected,
                handle=group.handle,
            ),
            pane=common_pb2.Pane(
                id=pane.id,
                title=self._title(slot),
                cwd=self._host.cwd(pane),
                focused=selected and group.focused is slot,
                handle=slot.handle,
                index=slot.index if slot in group.slots else 0,
                size=common_pb2.Size(columns=pane.screen.columns, rows=pane.screen.rows),
                origin=slot.origin,
                exit_status=pane.exit_status,
            ),
        )
        owner = self._host.worktree(pane)
        if owner is not None:
            message.worktree.CopyFrom(worktree_message(owner))
        return message

    def project(self, pane_id: str) -> common_pb2.Project:
        """Return the project that a pane's agent works on; empty while its folder cannot be read."""
        slot = self._host.registry.get(pane_id)
        owner = self._host.worktree(slot.pane) if slot is not None else None
        if owner is None:
            return common_pb2.Project()
        project = project_of(owner)
        return common_pb2.Project(name=project.name, branch=project.branch or "", path=project.path)

    def _title(self, slot: PaneSlot) -> str:
        return slot.pane.screen.title or slot.command

    def _explained(self, selector: str, error: ProwlError) -> ProwlError:
        status = self._host.ended(selector) if error.code is Code.TARGET_NOT_FOUND else None
        if status is None:
            return error
        details = {**(error.details or {}), "exit_status": status}
        return ProwlError(error.code, f"{error.message} Its program ended with status {status}.", details)
