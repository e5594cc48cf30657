"""Real processes on real terminals, under names of our choice."""

import os
import shutil
import signal
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from select import select

BASH = shutil.which("bash") or "/bin/bash"
WAIT = "echo re''ady; read answer"
"""What a program under a chosen name does: it says so and waits."""

_DEADLINE = 20.0


@dataclass
class Terminal:
    """A terminal that a program of ours leads."""

    master: int
    pid: int
    output: bytes = b""

    def expect(self, text: bytes = b"ready") -> None:
        """Wait until the program wrote ``text`` (after the last text waited for)."""
        deadline = time.monotonic() + _DEADLINE
        while text not in self.output:
            if not select([self.master], [], [], max(0.0, deadline - time.monotonic()))[0]:
                raise AssertionError(f"no {text!r} in {self.output!r}")
            self.output += os.read(self.master, 65536)
        self.output = self.output.partition(text)[2]

    def type(self, text: str) -> None:
        os.write(self.master, text.encode())


@contextmanager
def terminal(path: str, *arguments: str, env: dict[str, str] | None = None) -> Iterator[Terminal]:
    """Run a program as the leader of a new session on a new terminal; it and its session are killed at the end."""
    master, slave = os.openpty()
    name = os.ttyname(slave)
    pid = os.posix_spawn(
        path,
        list(arguments),
        {**os.environ, **(env or {})},
        file_actions=[
            (os.POSIX_SPAWN_OPEN, 0, name, os.O_RDWR, 0),
            (os.POSIX_SPAWN_DUP2, 0, 1),
            (os.POSIX_SPAWN_DUP2, 0, 2),
        ],
        setsid=True,
    )
    os.close(slave)
    try:
        yield Terminal(master, pid)
    finally:
        os.close(master)  # hangs the session up
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
        with suppress(ChildProcessError):
            os.waitpid(pid, 0)


def link(folder: Path, name: str, target: str = BASH) -> str:
    """Put a program under another name."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / name
    path.symlink_to(target)
    return str(path)


def until(condition: Callable[[], bool]) -> None:
    """Wait for a change of the process table, of which nothing tells."""
    deadline = time.monotonic() + _DEADLINE
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.005)
