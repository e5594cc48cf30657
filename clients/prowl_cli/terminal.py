"""The person's terminal while it is attached: raw mode, its size, and leaving it as it was found."""

import fcntl
import os
import re
import select
import termios
import time
import tty
from collections.abc import Iterator
from contextlib import contextmanager, suppress

__all__ = ["FOCUS_ON", "Output", "own_screen", "raw_input", "size_of", "take_answer", "write_all"]

FOCUS_ON = b"\x1b[?1004h"
_ENTER = b"\x1b[?1049h\x1b[H\x1b[2J" + FOCUS_ON
_LEAVE = (
    b"\x1b[?2026l\x1b[?1004l\x1b[?2004l\x1b[?1000l\x1b[?1002l\x1b[?1003l\x1b[?1006l\x1b[?1l\x1b>"
    b"\x1b[<8u\x1b[>4m\x1b[r\x1b[0m\x1b(B\x1b[0 q\x1b[?7h\x1b[?25h\x1b[?1049l"
)
"""Switches off whatever a program may have switched on; it stays on in the pane, which is another terminal."""

_BELOW = b"\x1b[999;1H\r\n"
_SCREENS = re.compile(rb"\x1bc|\x1b\[\?(?:[\d;]*;)?(?:47|1047|1049)(?:;[\d;]*)?([hl])")
_BEGUN = re.compile(rb"\x1b(?:\[(?:\?[\d;]{0,32})?)?\Z")

_LAST_ANSWER = re.compile(rb"\x1b\[\?[\d;]*c")
_ANSWERS = re.compile(rb"\x1b\[\?[\d;]*c|\x1b\]7501;[^\x07\x1b]*(?:\x07|\x1b\\)")


@contextmanager
def raw_input(stdin: int) -> Iterator[None]:
    """Put the terminal into raw mode for the length of the block."""
    before = termios.tcgetattr(stdin)
    try:
        tty.setraw(stdin, termios.TCSANOW)
        yield
    finally:
        termios.tcsetattr(stdin, termios.TCSADRAIN, before)


@contextmanager
def own_screen(stdout: int) -> Iterator["Output"]:
    """Switch to a screen of our own with focus reports for the length of the block, which writes to what it gets.

    The pane's ordinary screen is shown on the terminal's ordinary one, so that it has what was there when a full-screen
    program leaves. What the terminal showed before is then scrolled out of sight first, and what follows stands below.
    """
    output = Output(stdout, size_of(stdout)[1])
    try:
        write_all(stdout, _ENTER)
        yield output
    finally:
        write_all(stdout, _LEAVE + (b"" if output.alternate else _BELOW))


def size_of(fd: int) -> tuple[int, int]:
    """Return columns and rows of a terminal, within what a pane may have; one that does not know them has 80 by 24."""
    found = os.get_terminal_size(fd)
    return min(found.columns or 80, 1000), min(found.lines or 24, 1000)


def write_all(fd: int, data: bytes) -> None:
    """Write all bytes; a terminal that went away takes none and raises nothing."""
    view = memoryview(data)
    try:
        while view:
            view = view[os.write(fd, view) :]
    except OSError:
        return


def take_answer(fd: int, seconds: float) -> None:
    """Take the terminal's answer to DA1, and one before it, out of the input; nothing behind it is read.

    What was typed before it is put back where the system allows that.
    """
    end = time.monotonic() + seconds
    taken = b""
    while not _LAST_ANSWER.search(taken):
        if not select.select([fd], [], [], max(end - time.monotonic(), 0))[0]:
            break
        try:
            byte = os.read(fd, 1)
        except OSError:
            return
        if not byte:
            return
        taken += byte
    with suppress(OSError):
        for code in _ANSWERS.sub(b"", taken):
            fcntl.ioctl(fd, termios.TIOCSTI, bytes([code]))


class Output:
    """Writes the pane's output to the terminal and keeps focus reports on when the program switches them off."""

    def __init__(self, fd: int, rows: int) -> None:
        self._fd = fd
        self._rows = rows
        self._tail = b""
        self._begun = b""
        self._ordinary = False
        self.alternate = True
        """Whether the alternate screen is shown, as it is at first."""

    def write(self, data: bytes) -> None:
        """Write one chunk."""
        write_all(self._fd, self._switching(data))
        seen = self._tail + data
        if b"1004l" in seen or b"\x1bc" in seen:
            write_all(self._fd, FOCUS_ON)
        self._tail = seen[-4:] if b"1004l" not in seen[-5:] else b""

    def _switching(self, data: bytes) -> bytes:
        """Follow which screen is shown; return ``data`` with what scrolls the ordinary one away when it comes first."""
        seen = self._begun + data
        for found in _SCREENS.finditer(seen):
            self.alternate = found[1] == b"h"
            if not self.alternate and not self._ordinary:
                self._ordinary = True
                place = found.end() - len(self._begun)
                data = data[:place] + b"\x1b[999;1H" + b"\n" * self._rows + b"\x1b[H" + data[place:]
        begun = _BEGUN.search(seen)
        self._begun = begun[0] if begun else b""
        return data
