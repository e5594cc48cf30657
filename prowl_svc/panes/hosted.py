"""A pane that the service hosts: one program's terminal, its screen, its input and its end (terminal.md §3)."""

import asyncio
import contextlib
import os
import signal
from collections.abc import Callable, Sequence

from prowl_svc.model.errors import Code, ProwlError
from prowl_svc.model.terminal import ModeChange, SideEvent
from prowl_svc.panes.exits import UNKNOWN_STATUS, watch_exit
from prowl_svc.panes.reader import ReadScheduler
from prowl_svc.panes.spawn import Child, set_size
from prowl_svc.panes.tap import MAX_QUEUED, Attachment, OutputTap
from prowl_svc.panes.writer import Writer
from prowl_svc.terminal.answers import FOCUS_IN, FOCUS_OUT
from prowl_svc.terminal.keys import encode_key, encode_paste, encode_text
from prowl_svc.terminal.redraw import redraw
from prowl_svc.terminal.screen import Screen

__all__ = ["SYNC_TIMEOUT", "HostedPane"]

SYNC_TIMEOUT = 0.15
"""Seconds after which an unfinished synchronized update is shown as it is."""
ENTER_PAUSE = 0.03
"""Seconds between sent text and the Enter after it."""
TYPED_PAUSE = 0.25
"""The same for typed text where the program takes pastes: Codex takes quick typing for one, and Enter up to 120 ms
later for a part of it."""
LAST_OUTPUT = 0.1
"""Seconds to wait for the last output of a program that ended while something else holds its terminal open."""
LAST_OUTPUT_AT_MOST = 2.0
LAST_WORDS = 0.1
"""Seconds after the hang-up during which output is still read."""
KILL_WAIT = 1.0
"""Seconds that a killed program may take to vanish before the pane ends without it."""

_FOCUS_MODE, _PASTE_MODE, _CURSOR_KEYS_MODE = 1004, 2004, 1


def _nothing(*_: object) -> None:
    return


class HostedPane:
    """One hosted pane; everything is called on its loop.

    ``on_output`` gets the side-channel events of some output in order, and the screen's revision after it; also with
    no events when only the screen changed. ``on_exit`` gets the exit status once, after the last output: the exit
    code, or 128 plus the number of the signal that ended the program.
    """

    def __init__(
        self,
        pane_id: str,
        child: Child,
        screen: Screen,
        scheduler: ReadScheduler,
        *,
        on_output: Callable[[Sequence[SideEvent], int], None] = _nothing,
        on_exit: Callable[[int], None] = _nothing,
    ) -> None:
        self.id = pane_id
        self.screen = screen
        self.on_output = on_output
        self.on_exit = on_exit
        self.focused = False
        """Whether a person's keyboard is on the pane, as far as the program is told."""
        self.exit_status: int | None = None
        """The status, once the pane has ended."""
        self._loop = scheduler.loop
        self._pid = child.pid
        self._master: int | None = child.master
        self._child: int | None = child.pid
        self._status: int | None = None
        self._ended = asyncio.Event()
        self._tap = OutputTap(lambda: redraw(screen))
        self._writer = Writer(self._loop, child.master)
        self._events: list[SideEvent] = []
        self._sync: tuple[asyncio.TimerHandle, int] | None = None
        self._fed = 0
        self._output_ended = False
        self._source = scheduler.source(child.master, self._feed, self._served, self._output_end)
        self._source.start()
        watch_exit(self._loop, child.pid, self._exited)

    @property
    def master(self) -> int | None:
        """Descriptor of the terminal, None once the pane has ended."""
        return self._master

    @property
    def child(self) -> int | None:
        """Pid of the first process, None once it was reaped."""
        return self._child

    @property
    def running(self) -> bool:
        """Whether the pane has not ended."""
        return self.exit_status is None

    # Input

    def write(self, data: bytes) -> None:
        """Queue raw input; raises ProwlError SEND_FAILED, and then nothing was queued, when it cannot be delivered."""
        self._writer.write(data)

    async def drained(self) -> None:
        """Wait until the terminal took all input; raises SEND_FAILED when the pane ends before."""
        await self._writer.drained()

    def send_text(self, text: str, *, paste: bool = False) -> int:
        """Type or paste text; return its bytes. Raises ProwlError SEND_FAILED, and then nothing was sent."""
        data = encode_paste(text, bracketed=self.screen.mode(_PASTE_MODE)) if paste else encode_text(text)
        self.write(data)
        return len(data)

    async def submit_text(self, text: str, *, paste: bool = False) -> int:
        """Type or paste text, and Enter after a moment: programs take text and Enter in one read for a paste."""
        count = self.send_text(text, paste=paste)
        await self.drained()
        await asyncio.sleep(TYPED_PAUSE if self.screen.mode(_PASTE_MODE) and not paste else ENTER_PAUSE)
        self.write(self._key("enter"))
        return count

    def send_key(self, token: str, repeat: int = 1) -> None:
        """Press a key; raises ProwlError UNSUPPORTED_KEY, INVALID_REPEAT or KEY_DELIVERY_FAILED."""
        if not 1 <= repeat <= 100:
            raise ProwlError(Code.INVALID_REPEAT, "A key can be pressed 1 to 100 times.")
        data = self._key(token) * repeat
        try:
            self.write(data)
        except ProwlError as error:
            raise ProwlError(Code.KEY_DELIVERY_FAILED, error.message) from error

    def focus(self, focused: bool) -> None:
        """Tell the program whether a person looks, if it asked; unchanged focus is not told again."""
        if focused != self.focused:
            self.focused = focused
            if self.screen.mode(_FOCUS_MODE):
                self._tell_focus()

    def resize(self, columns: int, rows: int) -> None:
        """Change the size of terminal and screen, 1 to 1000 each."""
        self.screen.resize(columns, rows)
        if self._master is not None:
            set_size(self._master, self.screen.columns, self.screen.rows)

    async def repaint(self) -> None:
        """Make the program draw everything again, by a size that differs for a moment; shells do not care."""
        if self._master is not None:
            columns, rows = self.screen.columns, self.screen.rows
            set_size(self._master, max(1, columns - 1), rows)
            await asyncio.sleep(0.05)  # signals coalesce, and the program must see both sizes
            if self._master is not None:
                set_size(self._master, self.screen.columns, self.screen.rows)

    def _key(self, token: str) -> bytes:
        screen = self.screen
        return encode_key(token, application_cursor=screen.mode(_CURSOR_KEYS_MODE), kitty_flags=screen.kitty_flags)

    def _tell_focus(self) -> None:
        self._writer.answer(FOCUS_IN if self.focused else FOCUS_OUT)

    # Output

    def attach(self, limit: int = MAX_QUEUED) -> Attachment:
        """Connect a terminal to the raw output; iterate over what it returns, and close that. See ``tap``."""
        return self._tap.attach(limit)

    @property
    def attached(self) -> int:
        """How many terminals are attached."""
        return len(self._tap)

    def _feed(self, data: bytes) -> None:
        events = self.screen.feed(data)
        if answers := self.screen.take_answers():
            self._writer.answer(answers)
        if events:
            # A program that asks for focus reports hears at once that nobody looks: then it notifies.
            if any(isinstance(event, ModeChange) and event.mode == _FOCUS_MODE and event.on for event in events):
                self._tell_focus()
            self._events += events
        self._fed += len(data)
        self._tap.write(data)

    def _served(self) -> None:
        events, self._events = self._events, []
        revision = self.screen.revision
        self._guard_sync(revision)
        self.on_output(events, revision)

    def _guard_sync(self, revision: int) -> None:
        """Time-box an open synchronized update; a frame that was completed in between starts the time anew."""
        if self._sync:
            timer, begun = self._sync
            if self.screen.synchronizing and begun == revision:
                return
            timer.cancel()
            self._sync = None
        if self.screen.synchronizing:
            self._sync = (self._loop.call_later(SYNC_TIMEOUT, self._sync_over), revision)

    def _sync_over(self) -> None:
        self._sync = None
        before = self.screen.revision
        self.screen.flush()
        if (revision := self.screen.revision) != before:
            self.on_output((), revision)

    # The end

    async def wait(self) -> int:
        """Wait for the end of the pane and return the exit status."""
        await self._ended.wait()
        assert self.exit_status is not None
        return self.exit_status

    async def close(self, grace: float) -> int:
        """End the programs: hang up, after ``grace`` seconds kill; return the exit status."""
        if self.running:
            groups = self._groups()
            self._signal(groups, signal.SIGHUP, signal.SIGCONT)
            # Last words are still read; then the terminal goes away, for those that must see that to believe it.
            if not await self._ends_within(min(grace, LAST_WORDS)):
                groups |= self._groups()
                self._hang_up()
                if not await self._ends_within(grace - LAST_WORDS):
                    self._signal({group for group in groups if self._owns(group)}, signal.SIGKILL)
                    await self._ends_within(KILL_WAIT)
            self._finish()
        return await self.wait()

    async def _ends_within(self, seconds: float) -> bool:
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(self._ended.wait(), max(0.0, seconds))
        return not self.running

    def _groups(self) -> set[int]:
        """The process groups to signal: the first process's and the one in the foreground."""
        groups = set()
        if self._child is not None:  # not reaped, so the number is still its own
            groups.add(self._child)
        if self._master is not None:
            with contextlib.suppress(OSError):
                foreground = os.tcgetpgrp(self._master)
                if foreground > 0 and self._owns(foreground):
                    groups.add(foreground)
        return groups

    def _owns(self, group: int) -> bool:
        """Tell whether a group that the terminal named is of our session; its first process may be gone already."""
        try:
            return os.getsid(group) == self._pid
        except ProcessLookupError:
            return True

    def _signal(self, groups: set[int], *numbers: signal.Signals) -> None:
        for group in groups:
            for number in numbers:
                with contextlib.suppress(OSError):
                    os.killpg(group, number)

    def _exited(self, status: int) -> None:
        self._child = None
        self._status = status
        if self._output_ended:
            self._finish()
        elif self.running:
            self._source.drain()
            self._await_last_output(self._loop.time() + LAST_OUTPUT_AT_MOST, -1)

    def _await_last_output(self, until: float, fed: int) -> None:
        """Wait for the end of output as long as something comes."""
        if self.running:
            if fed == self._fed or self._loop.time() >= until:
                self._finish()
            else:
                self._loop.call_later(LAST_OUTPUT, self._await_last_output, until, self._fed)

    def _output_end(self) -> None:
        self._output_ended = True
        if self._status is not None:
            self._finish()

    def _hang_up(self) -> None:
        """Let the terminal go: nothing is read or written any more."""
        if self._master is None:
            return
        if self._sync:
            self._sync[0].cancel()
            self._sync = None
        self.screen.flush()
        self._source.stop()
        self._writer.close()
        os.close(self._master)
        self._master = None
        self._output_ended = True

    def _finish(self) -> None:
        if not self.running:
            return
        self._hang_up()
        self.exit_status = self._status if self._status is not None else UNKNOWN_STATUS
        self._tap.end()
        self._ended.set()
        self.on_exit(self.exit_status)
