"""Which files a process holds open for writing: descriptors only, never a directory walk (providers.md §2.1)."""

import os
import sys
from collections.abc import Callable
from dataclasses import dataclass

__all__ = ["MAX_DESCRIPTORS", "OpenFiles", "list_open_files"]

MAX_DESCRIPTORS = 4096
_ATTEMPTS = 3


@dataclass(frozen=True, slots=True)
class OpenFiles:
    """Distinct paths in order of descriptors; ``complete`` is False when any descriptor could not be resolved."""

    paths: tuple[str, ...]
    complete: bool = True


_INCOMPLETE = OpenFiles((), complete=False)


def list_open_files(pid: int, wanted: Callable[[str], bool], proc: str = "/proc") -> OpenFiles:
    """Return the files that a process holds open for writing and whose path is wanted.

    Incomplete when a descriptor or the process cannot be read. A descriptor that closes during the listing makes it
    incomplete, so a few passes are made.
    """
    if sys.platform == "darwin":
        from prowl_svc.evidence.open_files_macos import list_writable  # noqa: PLC0415 - loads a system library

        return list_writable(pid, wanted)
    for _ in range(_ATTEMPTS):
        try:
            return _list_linux(f"{proc}/{pid}", wanted)
        except FileNotFoundError:
            continue
        except OSError:
            break
    return _INCOMPLETE


def _list_linux(process: str, wanted: Callable[[str], bool]) -> OpenFiles:
    folder = os.open(f"{process}/fd", os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        descriptors = os.listdir(folder)
        if len(descriptors) >= MAX_DESCRIPTORS:
            return _INCOMPLETE
        paths: dict[str, None] = {}
        for descriptor in sorted(descriptors, key=int):
            path = os.readlink(descriptor, dir_fd=folder)
            # Pipes and sockets never are a log, and a deleted file has no name any more.
            if path.startswith("/") and wanted(path) and _writable(process, descriptor):
                paths[path] = None
        return OpenFiles(tuple(paths))
    finally:
        os.close(folder)


def _writable(process: str, descriptor: str) -> bool:
    with open(f"{process}/fdinfo/{descriptor}", "rb", buffering=0) as file:
        return _flags(file.read(4096)) & os.O_ACCMODE != os.O_RDONLY


def _flags(info: bytes) -> int:
    for line in info.splitlines():
        if line.startswith(b"flags:"):
            return int(line[6:], 8)
    return os.O_RDONLY
