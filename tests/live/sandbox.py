"""An isolated home and project for one agent, and the end of everything that was started in it."""

import os
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

import psutil

__all__ = ["Sandbox", "end_processes", "sandbox"]

_GRACE = 2.0  # seconds between asking a left-over process to end and ending it


@dataclass(frozen=True, slots=True)
class Sandbox:
    """Where an agent lives: ``home`` is its HOME, ``project`` a git repository below it, ``url`` the mock's address."""

    home: Path
    url: str

    @property
    def project(self) -> Path:
        """The working folder, a git repository with a file hello.txt."""
        return self.home / "project"

    def environment(self, path: tuple[str, ...]) -> dict[str, str]:
        """Return the whole environment of an agent: nothing of ours leaks into it."""
        return {
            "HOME": str(self.home),
            "PATH": os.pathsep.join([*path, "/usr/local/bin", "/usr/bin", "/bin"]),
            "TERM": "xterm-256color",
            "COLORTERM": "truecolor",
            "LANG": "C.UTF-8",
            "SHELL": "/bin/bash",
            "USER": "u",
            "LOGNAME": "u",
            "NO_PROXY": "*",
            "no_proxy": "*",
            "DO_NOT_TRACK": "1",
            "NO_UPDATE_NOTIFIER": "1",
            "DISABLE_TELEMETRY": "1",
            "DISABLE_AUTOUPDATER": "1",
        }

    def write(self, name: str, text: str) -> None:
        """Write a configuration file below the home."""
        target = self.home / name
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(text)

    def reset_project(self) -> None:
        """Put the project back as it was made."""
        _git(self.project, "checkout", "-q", ".")
        _git(self.project, "clean", "-fdxq")


@contextmanager
def sandbox(url: str) -> Iterator[Sandbox]:
    """Make a sandbox; on leaving end every process whose HOME it is and remove it."""
    place = Sandbox(Path(tempfile.mkdtemp(prefix="rec-", dir="/tmp")), url)
    try:
        place.project.mkdir()
        (place.project / "hello.txt").write_text("hello\n")
        _git(place.project, "init", "-q", "-b", "main")
        _git(place.project, "add", ".")
        _git(place.project, "-c", "user.name=u", "-c", "user.email=u@example.com", "commit", "-qm", "Hello")
        yield place
    finally:
        end_processes(place.home)
        shutil.rmtree(place.home, ignore_errors=True)


def _git(folder: Path, *arguments: str) -> None:
    subprocess.run(["git", "-C", str(folder), *arguments], check=True, capture_output=True)


def end_processes(home: Path) -> None:
    """End every process that has this home: agents leave daemons behind that outlive their terminal."""
    deadline = time.monotonic() + _GRACE
    asked: set[int] = set()
    while found := _living(home):
        late = time.monotonic() > deadline
        for pid in found:
            if late or pid not in asked:
                with suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL if late else signal.SIGTERM)
                asked.add(pid)
        if time.monotonic() > deadline + _GRACE:
            raise RuntimeError(f"{len(found)} processes of an agent could not be ended")
        time.sleep(0.1)


def _living(home: Path) -> list[int]:
    found = []
    for process in psutil.process_iter():
        with suppress(psutil.Error, OSError):
            if process.environ().get("HOME") == str(home) and process.status() != psutil.STATUS_ZOMBIE:
                found.append(process.pid)
    return found
