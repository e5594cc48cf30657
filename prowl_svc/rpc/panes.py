"""PaneService: list, create, attach, read, type, resize, close and view panes."""

import asyncio
import os
from collections.abc import AsyncIterator
from typing import Any

from prowl.v1 import common_pb2, panes_pb2

from prowl_svc.clocks import Clocks
from prowl_svc.model.agents import Agent
from prowl_svc.model.errors import Code, ProwlError
from prowl_svc.panes.hosted import HostedPane
from prowl_svc.panes.tap import Attachment, Lost
from prowl_svc.rpc.agents import AgentServicer
from prowl_svc.rpc.callers import Callers
from prowl_svc.rpc.encode import timestamp
from prowl_svc.rpc.reading import last_fitting, read_pane
from prowl_svc.rpc.signalling import signal_kind
from prowl_svc.rpc.targets import Targets
from prowl_svc.signals.limits import check_launch_events, check_text
from prowl_svc.terminal.keys import normal_key
from prowl_svc.watch.host import Creation, Host, Launch, PaneSlot

__all__ = ["PaneServicer"]

_MAX_TEXT = 256 * 1024
_MAX_INPUT = 64 * 1024
_MAX_ARGV = 1024
_MAX_TITLE = 1024
_KEYS = {"enter": b"\r", "ctrl-c": b"\x03", "ctrl-u": b"\x15", "space": b" "}


class PaneServicer:
    """Serves panes from the host."""

    def __init__(self, host: Host, targets: Targets, agents: AgentServicer, callers: Callers, clocks: Clocks) -> None:
        self._host = host
        self._targets = targets
        self._agents = agents
        self._callers = callers
        self._clocks = clocks
        self._attachments = 0
        host.watch_focus(self._focused)

    async def ListPanes(self, request: panes_pb2.ListPanesRequest, context: Any) -> panes_pb2.ListPanesResponse:
        """Return every pane, and the caller's own one if it runs in one."""
        host = self._host
        response = panes_pb2.ListPanesResponse(panes=[self._row(slot) for slot in host.registry])
        own = self._callers.attribution(context)
        slot = host.registry.get(own.surface) if own is not None else None
        if slot is not None:
            owner = host.worktree(slot.pane)
            response.caller.pane_id = slot.pane.id
            response.caller.worktree_id = owner.id if owner is not None else ""
        return response

    def _row(self, slot: PaneSlot) -> panes_pb2.PaneRow:
        host = self._host
        owner = host.worktree(slot.pane)
        watcher = host.roster.watcher(slot.pane.id)
        status = common_pb2.TASK_STATUS_UNSPECIFIED
        if owner is not None:
            status = common_pb2.TASK_STATUS_RUNNING if host.busy(owner) else common_pb2.TASK_STATUS_IDLE
        row = panes_pb2.PaneRow(target=self._targets.describe(slot), task_status=status)
        if watcher is not None:
            row.viewed = watcher.viewers.viewed
            row.busy = watcher.busy
            row.blocked = host.roster.blocked(slot.pane.id)
            if watcher.attention.agent is not None:
                row.agent = watcher.attention.agent.value
        return row

    async def CreatePane(self, request: panes_pb2.CreatePaneRequest, context: Any) -> panes_pb2.CreatePaneResponse:
        """Start a program in a new pane."""
        if len(request.argv) > _MAX_ARGV:
            raise ProwlError(Code.INVALID_ARGUMENT, f"argv may have {_MAX_ARGV} words at most.")
        if request.argv and not request.argv[0]:
            raise ProwlError(Code.EMPTY_INPUT, "The program's name is empty.")
        if request.cwd and not os.path.isabs(request.cwd):
            raise ProwlError(Code.PATH_NOT_ALLOWED, f"The folder must be an absolute path, not {request.cwd[:200]!r}.")
        if request.title:
            check_text("title", request.title, _MAX_TITLE)
        columns, rows = (request.size.columns, request.size.rows) if request.HasField("size") else (120, 40)
        _check_size(columns, rows)
        slot = self._host.create(
            Creation(
                argv=tuple(request.argv),
                cwd=request.cwd,
                env=dict(request.env),
                columns=columns,
                rows=rows,
                group=request.group,
                title=request.title,
                initial_input=request.initial_input if request.HasField("initial_input") else None,
                launch=_launch(request.launch_binding) if request.HasField("launch_binding") else None,
            )
        )
        resource = "pane" if len(slot.group.slots) > 1 else "tab"
        return panes_pb2.CreatePaneResponse(target=self._targets.describe(slot), resource=resource)

    async def AttachPane(
        self, requests: AsyncIterator[panes_pb2.AttachPaneRequest], context: Any
    ) -> AsyncIterator[panes_pb2.AttachPaneResponse]:
        """Connect a terminal to a pane until the pane ends or the client leaves."""
        first = await anext(aiter(requests), None)
        if first is None or first.WhichOneof("message") != "open":
            raise ProwlError(Code.INVALID_ARGUMENT, "The first message of an attachment must be open.")
        # A program that was quicker than its viewer still gets its last screen shown.
        slot = self._host.last_look(first.open.pane) or self._targets.slot(first.open.pane)
        pane = slot.pane
        before = pane.screen.columns, pane.screen.rows
        if first.open.HasField("size"):
            _check_size(first.open.size.columns, first.open.size.rows)
            pane.resize(first.open.size.columns, first.open.size.rows)
        self._attachments += 1
        viewer = f"attachment {self._attachments}"
        self._view(pane, viewer, first.open.focused)
        attachment = pane.attach()
        reader = asyncio.ensure_future(self._take_input(requests, pane, viewer, first.open.read_only, attachment))
        repaint = None
        if before == (pane.screen.columns, pane.screen.rows):
            # The redraw has no colours, and without a change of size the program would not paint by itself.
            repaint = asyncio.ensure_future(pane.repaint())
        try:
            yield panes_pb2.AttachPaneResponse(attached=self._targets.describe(slot))
            async for item in attachment:
                if isinstance(item, Lost):
                    yield panes_pb2.AttachPaneResponse(lost=panes_pb2.AttachLoss(bytes=item.count))
                else:
                    for start in range(0, len(item), _MAX_TEXT):
                        yield panes_pb2.AttachPaneResponse(output=item[start : start + _MAX_TEXT])
            if pane.exit_status is not None:  # whatever was typed into its end
                yield panes_pb2.AttachPaneResponse(exited=pane.exit_status)
            elif reader.done() and not reader.cancelled() and (error := reader.exception()) is not None:
                raise error
        finally:
            reader.cancel()
            if repaint is not None:
                await repaint
            attachment.close()
            self._leave(pane, viewer)

    async def _take_input(
        self,
        requests: AsyncIterator[panes_pb2.AttachPaneRequest],
        pane: HostedPane,
        viewer: str,
        read_only: bool,
        attachment: Attachment,
    ) -> None:
        taken: asyncio.Future[None] | None = None
        try:
            async for request in requests:
                match request.WhichOneof("message"):
                    case "input":
                        if len(request.input) > _MAX_INPUT:
                            raise ProwlError(Code.INVALID_ARGUMENT, f"Input may have {_MAX_INPUT} bytes a message.")
                        if not read_only:
                            if taken is not None:
                                await taken  # back-pressure: one message waits for the program, sizes do not
                            pane.write(request.input)
                            self._host.interacted(pane.id, request.input)
                            taken = asyncio.ensure_future(pane.drained())
                    case "resize":
                        _check_size(request.resize.columns, request.resize.rows)
                        pane.resize(request.resize.columns, request.resize.rows)
                    case "focused":
                        self._view(pane, viewer, request.focused)
                    case _:
                        raise ProwlError(Code.INVALID_ARGUMENT, "After open come input, resize and focused only.")
        except BaseException:
            attachment.close()  # but a client that only has no more to say may look on
            raise
        finally:
            if taken is not None:
                taken.cancel()

    def _view(self, pane: HostedPane, viewer: str, viewed: bool, *, lasting: bool = True) -> int | None:
        watcher = self._host.roster.watcher(pane.id)
        if watcher is None:
            return None
        watcher.viewers.claim(viewer, viewed, lasting=lasting)
        pane.focus(watcher.viewers.viewed)
        return watcher.view_changed()

    def _leave(self, pane: HostedPane, viewer: str) -> None:
        watcher = self._host.roster.watcher(pane.id)
        if watcher is not None:
            watcher.viewers.leave(viewer)
            pane.focus(watcher.viewers.viewed)

    def _focused(self, pane_id: str) -> None:
        watcher = self._host.roster.watcher(pane_id)
        if watcher is not None:
            watcher.view_changed()

    async def ReadPane(self, request: panes_pb2.ReadPaneRequest, context: Any) -> panes_pb2.ReadPaneResponse:
        """Return rows of a pane, when asked for once they stopped changing."""
        slot = self._targets.slot(request.pane)
        response = await read_pane(slot.pane, request)
        response.target.CopyFrom(self._targets.describe(slot))
        return response

    async def SendText(self, request: panes_pb2.SendTextRequest, context: Any) -> panes_pb2.SendTextResponse:
        """Type or paste text; wait for the command's end if asked to."""
        if not request.text and not request.enter:
            raise ProwlError(Code.EMPTY_INPUT, "There is no text to send.")
        if len(request.text.encode("utf-8", "replace")) > _MAX_TEXT:
            raise ProwlError(Code.INVALID_ARGUMENT, f"The text may have {_MAX_TEXT} bytes at most.")
        if request.capture and not request.wait:
            raise ProwlError(Code.INVALID_ARGUMENT, "capture needs wait.")
        if request.timeout_seconds > 300:
            raise ProwlError(Code.INVALID_ARGUMENT, "The timeout may be 300 seconds at most.")
        slot = self._targets.slot(request.pane)
        pane = slot.pane
        if request.wait and not request.enter:
            raise ProwlError(Code.INVALID_ARGUMENT, "wait needs enter: without it no command runs.")
        began = self._clocks.monotonic()
        ended = None
        if request.wait and self._host.reports_commands(pane.id):
            ended = asyncio.ensure_future(self._host.command_end(pane.id))
        elif request.capture:
            raise ProwlError(
                Code.CAPTURE_UNSUPPORTED, "The pane's shell does not report where commands end (OSC 133); use read."
            )
        before = len(pane.screen.scrollback_rows()), pane.screen.active_rows()
        try:
            if request.enter:
                count = await pane.submit_text(request.text, paste=request.paste)
            else:
                count = pane.send_text(request.text, paste=request.paste)
            self._host.interacted(pane.id, b"\r" if request.enter else b"x")
            response = panes_pb2.SendTextResponse(
                target=self._targets.describe(slot),
                characters=len(request.text),
                bytes=count,
                trailing_enter_sent=request.enter,
            )
            if ended is not None:
                await self._command_end(pane, ended, request, response, began)
        finally:
            if ended is not None:
                ended.cancel()
        if request.capture:
            _capture(pane, before, response)
        return response

    async def _command_end(
        self,
        pane: HostedPane,
        ended: "asyncio.Future[Any]",
        request: panes_pb2.SendTextRequest,
        response: panes_pb2.SendTextResponse,
        began: float,
    ) -> None:
        limit = request.timeout_seconds or 30
        gone = asyncio.ensure_future(pane.wait())
        try:
            await asyncio.wait({ended, gone}, timeout=limit, return_when=asyncio.FIRST_COMPLETED)
        finally:
            gone.cancel()
        if not ended.done():
            if pane.exit_status is not None:
                raise ProwlError(
                    Code.SEND_FAILED,
                    f"The text was sent, and the pane's program ended with status {pane.exit_status}.",
                    {"exit_status": pane.exit_status},
                )
            raise ProwlError(
                Code.WAIT_TIMEOUT,
                f"The text was sent, but the shell reported no command's end (OSC 133 D) in {limit} s.",
            )
        mark = ended.result()
        response.wait.duration_ms = int((self._clocks.monotonic() - began) * 1000)
        if mark.exit_code is not None:
            response.wait.exit_code = mark.exit_code

    async def SendKey(self, request: panes_pb2.SendKeyRequest, context: Any) -> panes_pb2.SendKeyResponse:
        """Press a key."""
        slot = self._targets.slot(request.pane)
        repeat = request.repeat or 1
        slot.pane.send_key(request.key, repeat)
        key = normal_key(request.key)
        self._host.interacted(slot.pane.id, _KEYS.get(key, key.encode() if len(key) == 1 else b"\x1b"))
        return panes_pb2.SendKeyResponse(target=self._targets.describe(slot), key=key, repeat=repeat)

    async def ResizePane(self, request: panes_pb2.ResizePaneRequest, context: Any) -> panes_pb2.ResizePaneResponse:
        """Change a pane's size."""
        slot = self._targets.explicit(request.pane)
        _check_size(request.size.columns, request.size.rows)
        slot.pane.resize(request.size.columns, request.size.rows)
        return panes_pb2.ResizePaneResponse(target=self._targets.describe(slot))

    async def ClosePane(self, request: panes_pb2.ClosePaneRequest, context: Any) -> panes_pb2.ClosePaneResponse:
        """End a pane's programs, or those of all panes of a tab."""
        if not request.target.strip():
            raise ProwlError(Code.INVALID_ARGUMENT, "Name a pane or a tab, by UUID or handle.")
        found = self._host.registry.resolve(request.target)
        if found.kind == "worktree":
            raise ProwlError(Code.INVALID_ARGUMENT, "Name a pane or a tab, by UUID or handle; a worktree is too much.")
        if not request.force:
            busy = [slot.handle for slot in found.slots if self._agent_busy(slot)]
            if busy:
                raise ProwlError(
                    Code.CLOSE_FAILED, f"The agent in {', '.join(busy)} is working or needs you; use force to close."
                )
        targets = [self._targets.describe(slot) for slot in found.slots]
        await asyncio.gather(*(self._host.close(slot) for slot in found.slots))
        return panes_pb2.ClosePaneResponse(resource=found.kind, targets=targets)

    def _agent_busy(self, slot: PaneSlot) -> bool:
        watcher = self._host.roster.watcher(slot.pane.id)
        return watcher is not None and watcher.attention.agent is not None and watcher.agent_busy

    async def ViewPane(self, request: panes_pb2.ViewPaneRequest, context: Any) -> panes_pb2.ViewPaneResponse:
        """Take a host's word whether a person looks at a pane."""
        check_text("viewer", request.viewer, 256)
        pane = self._targets.pane(request.pane)
        acknowledged = self._view(pane, f"host {request.viewer}", request.viewed, lasting=False)
        watcher = self._host.roster.watcher(pane.id)
        response = panes_pb2.ViewPaneResponse(viewed=watcher is not None and watcher.viewers.viewed)
        if acknowledged is not None:
            response.acknowledged_at.CopyFrom(timestamp(acknowledged))
        row = self._host.roster.row(pane.id)
        if row is not None:
            response.agent.CopyFrom(self._agents.row(row))
        return response

    async def FocusPane(self, request: panes_pb2.FocusPaneRequest, context: Any) -> panes_pb2.FocusPaneResponse:
        """Give a pane the keyboard of its tab."""
        slot = self._targets.explicit(request.pane)
        self._host.registry.focus(slot)
        return panes_pb2.FocusPaneResponse(target=self._targets.describe(slot))


def _launch(binding: panes_pb2.LaunchBinding) -> Launch:
    try:
        agent = Agent(binding.runtime)
    except ValueError:
        raise ProwlError(Code.INVALID_ARGUMENT, f"There is no runtime {binding.runtime[:64]!r}.") from None
    events = {name: signal_kind(kind) for name, kind in binding.declared_events.items()}
    check_launch_events(events)
    root = binding.config_root if binding.HasField("config_root") else None
    if root is not None and not os.path.isabs(root):
        raise ProwlError(Code.PATH_NOT_ALLOWED, "The config root must be an absolute path.")
    return Launch(agent.value, events, root)


def _check_size(columns: int, rows: int) -> None:
    if not (1 <= columns <= 1000 and 1 <= rows <= 1000):
        raise ProwlError(Code.INVALID_ARGUMENT, "A size has 1 to 1000 columns and 1 to 1000 rows.")


def _capture(pane: HostedPane, before: tuple[int, list[str]], response: panes_pb2.SendTextResponse) -> None:
    """Return what is new on screen and in the scrollback since the text was sent (source screen_diff)."""
    if pane.screen.alternate:
        raise ProwlError(Code.CAPTURE_UNSUPPORTED, "A full-screen program is in front; its output cannot be captured.")
    old_rows, old_screen = before
    scrolled = list(pane.screen.scrollback_rows())
    now = scrolled[old_rows:] + pane.screen.active_rows()
    then = list(old_screen)
    while then and not then[-1]:
        then.pop()
    common = 0
    while common < min(len(then), len(now)) and then[common] == now[common]:
        common += 1
    fresh = now[common:]
    while fresh and not fresh[-1]:
        fresh.pop()
    fitting = last_fitting(fresh)
    response.capture.text = "\n".join(fitting)
    response.capture.line_count = len(fitting)
    response.capture.truncated = len(scrolled) < old_rows or len(fitting) < len(fresh)
