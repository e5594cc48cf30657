"""Which files a process holds open for writing: descriptors only, never a directory walk (providers.md §2.1)."""

import os
import sys
from collections.abc import Iterable
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


def list_open_files(pid: int, proc: str = "/proc") -> OpenFiles:
    """Return what a process holds open for writing; incomplete when a descriptor or the process cannot be read.

    A descriptor that closes during the listing makes it incomplete, so a few passes are made.
    """
    if sys.platform == "darwin":
        from prowl_svc.evidence.open_files_macos import list_writable  # noqa: PLC0415 - loads a system library

        return list_writable(pid)
    for _ in range(_ATTEMPTS):
        try:
            return _list_linux(f"{proc}/{pid}")
        except FileNotFoundError:
            continue
        except OSError:
            break
    return _INCOMPLETE


def _list_linux(process: str) -> OpenFiles:
    descriptors = os.listdir(f"{process}/fd")
    if len(descriptors) >= MAX_DESCRIPTORS:
        return _INCOMPLETE
    return OpenFiles(tuple(dict.fromkeys(_writable(process, sorted(descriptors, key=int)))))


def _writable(process: str, descriptors: Iterable[str]) -> Iterable[str]:
    for descriptor in descriptors:
        path = os.readlink(f"{process}/fd/{descriptor}")
        # Pipes, sockets and devices never are a log; deleted files have no name any more.
        if path.startswith("/") and not path.startswith(("/dev/", "/proc/")) and not path.endswith(" (deleted)"):
            with open(f"{process}/fdinfo/{descriptor}", "rb") as file:
                info = file.read(4096)
            if _flags(info) & os.O_ACCMODE != os.O_RDONLY:
                yield path


def _flags(info: bytes) -> int:
    for line in info.splitlines():
        if line.startswith(b"flags:"):
            return int(line[6:], 8)
    return os.O_RDONLY
