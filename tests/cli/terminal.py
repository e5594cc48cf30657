"""A terminal of a person, played by a test, with the command on it."""

import fcntl
import os
import pty
import re
import select
import signal
import struct
import subprocess
import sys
import termios

from tests.cli.process import until


def waiting(fd):
    """Return how many bytes can be read."""
    return struct.unpack("i", fcntl.ioctl(fd, termios.FIONREAD, b"\0" * 4))[0]


class Terminal:
    """A terminal with the command on it."""

    def __init__(self, prowl, *argv, size=(90, 20), environ=None):
        self.master, slave = pty.openpty()
        self.resize(size, tell=False)
        self.before = termios.tcgetattr(slave)
        self.slave = slave
        self.seen = b""
        self.process = subprocess.Popen(
            [sys.executable, "-m", "prowl_cli.main", *argv],
            env=prowl.environment | {"TERM": "xterm-256color"} | (environ or {}),
            stdin=slave,
            stdout=slave,
            stderr=slave,
            start_new_session=True,
        )

    def resize(self, size, tell=True):
        """Change the terminal's size and tell the command."""
        fcntl.ioctl(self.master, termios.TIOCSWINSZ, struct.pack("HHHH", size[1], size[0], 0, 0))
        if tell:
            self.process.send_signal(signal.SIGWINCH)

    def type(self, data):
        """Type bytes."""
        os.write(self.master, data)

    def drain(self):
        """Read what was written until now."""
        while select.select([self.master], [], [], 0)[0]:
            self.seen += os.read(self.master, 65536)

    def pause(self):
        """Type nothing until the command has read what was typed."""
        until(lambda: not waiting(self.slave))

    def expect(self, pattern, seconds=20):
        """Read until a pattern appears in all that was seen."""

        def found():
            ended = self.process.poll() is not None  # asked first: what it wrote before it ended is read below
            self.drain()
            match = re.search(pattern, self.seen)
            assert match or not ended, self.seen
            return match

        return until(found, seconds)

    def end(self):
        """Return the exit status, and whether the terminal is as it was."""
        status = self.process.wait(30)
        same = termios.tcgetattr(self.slave) == self.before
        return status, same

    def close(self):
        """Let the terminal go."""
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()
        os.close(self.master)
        os.close(self.slave)
