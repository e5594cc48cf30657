"""Where a pane is: its working directory, and the git worktree or plain folder that owns it (providers.md §7.1).

git is never started; what it would say is read from its files and kept until they change.
"""

import os
import re
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from stat import S_ISREG
from urllib.parse import unquote, urlsplit

import psutil

__all__ = ["Project", "Worktree", "WorktreeCache", "directory_of_report", "project_of", "working_directory"]

_MAX_FILE = 4096
_MAX_CACHED = 512
_COMMIT = re.compile(r"[0-9a-f]{40}(?:[0-9a-f]{24})?")
_SHORT_COMMIT = 7


@dataclass(frozen=True, slots=True)
class Worktree:
    """The owner of a folder.

    ``id`` and ``path`` are its absolute path, ``name`` is the branch, the short commit of a detached HEAD, or the
    folder's name outside git; ``root_path`` is the repository's main worktree; ``kind`` is ``git`` or ``plain``.
    """

    path: str
    root_path: str
    name: str
    kind: str

    @property
    def id(self) -> str:
        """The stable id."""
        return self.path


@dataclass(frozen=True, slots=True)
class Project:
    """What an agent row shows of its folder: repository or folder name, branch if any, path."""

    name: str
    branch: str | None
    path: str


def project_of(worktree: Worktree) -> Project:
    """Return the project of a worktree."""
    if worktree.kind == "git":
        return Project(_base(worktree.root_path), worktree.name, worktree.path)
    return Project(worktree.name, None, worktree.path)


def working_directory(pids: "list[int | None]") -> str | None:
    """Return the working directory of the first of the processes that tells one; a deleted folder is none."""
    for pid in pids:
        if pid is None or pid <= 0:
            continue
        try:
            path = os.readlink(f"/proc/{pid}/cwd") if os.path.isdir("/proc/self") else psutil.Process(pid).cwd()
        except (OSError, psutil.Error):
            continue
        if os.path.isabs(path) and not path.endswith(" (deleted)"):
            return path
    return None


def directory_of_report(value: str, host: str) -> str | None:
    """Return the local absolute path that a terminal report names (OSC 7, 9;9 or 1337), None when it names none.

    ``host`` is this machine's name; a report of another host is not about our files.
    """
    text = value.strip().strip('"')
    if text.startswith(("file:", "kitty-shell-cwd:")):
        try:
            parts = urlsplit(text)
            name = parts.hostname
        except ValueError:
            return None
        known = ("localhost", "127.0.0.1", host.lower(), host.lower().split(".")[0])
        if name and name not in known:
            return None
        text = unquote(parts.path) if text.startswith("file:") else parts.path
    if not os.path.isabs(text) or "\0" in text or len(text) > _MAX_FILE:
        return None
    return os.path.normpath(text)


class WorktreeCache:
    """Finds the worktree of a folder; an answer holds while the files that it was read from do not change."""

    def __init__(self, stat: Callable[[str], os.stat_result] = os.stat) -> None:
        self._stat = stat
        self._known: OrderedDict[str, tuple[tuple[tuple[str, int], ...], Worktree]] = OrderedDict()

    def find(self, folder: str) -> Worktree:
        """Return the owner of an absolute folder: the innermost git worktree, else the folder itself."""
        if known := self._known.get(folder):
            stamps, worktree = known
            if all(self._changed_at(path) == at for path, at in stamps):
                self._known.move_to_end(folder)
                return worktree
        stamps, worktree = self._read(folder)
        self._known[folder] = (stamps, worktree)
        self._known.move_to_end(folder)
        if len(self._known) > _MAX_CACHED:
            self._known.popitem(last=False)
        return worktree

    def _read(self, folder: str) -> tuple[tuple[tuple[str, int], ...], Worktree]:
        stamps: list[tuple[str, int]] = []
        current = Path(folder)
        for place in (current, *current.parents):
            dot_git = str(place / ".git")
            at = self._changed_at(dot_git)
            if at:
                git_dir = _git_dir(place)
                head = git_dir and _read_text(git_dir / "HEAD")
                if git_dir and head:
                    stamps.append((str(git_dir / "HEAD"), self._changed_at(str(git_dir / "HEAD"))))
                    # A directory's own time moves with every commit; that it is there is enough.
                    stamps += [] if os.path.isdir(dot_git) else [(dot_git, at)]
                    return tuple(stamps), Worktree(str(place), str(_root(place, git_dir)), _branch(head), "git")
            stamps.append((dot_git, at))
        name = _base(folder)
        return tuple(stamps), Worktree(folder, folder, name, "plain")

    def _changed_at(self, path: str) -> int:
        try:
            return self._stat(path).st_mtime_ns
        except OSError:
            return 0


def _base(path: str) -> str:
    return os.path.basename(path.rstrip("/")) or path


def _read_text(path: Path) -> str:
    """Return the beginning of a regular file; anything else, which could keep us waiting, reads as nothing."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
        try:
            data = os.read(descriptor, _MAX_FILE) if S_ISREG(os.fstat(descriptor).st_mode) else b""
        finally:
            os.close(descriptor)
    except (OSError, ValueError):
        return ""
    return data.decode("utf-8", "replace").strip()


def _git_dir(place: Path) -> Path | None:
    """Return the git directory of a worktree: ``.git`` itself, or what the file of that name points to."""
    dot_git = place / ".git"
    if dot_git.is_dir():
        return dot_git
    key, _, target = _read_text(dot_git).partition(":")
    return Path(os.path.normpath(place / target.strip())) if key == "gitdir" and target.strip() else None


def _root(place: Path, git_dir: Path) -> Path:
    """Return the main worktree: the folder around the directory that all worktrees share, else the place itself."""
    common = _read_text(git_dir / "commondir")
    if not common:
        return place
    shared = Path(os.path.normpath(git_dir / common))
    return shared.parent if shared.name == ".git" else shared


def _branch(head: str) -> str:
    if head.startswith("ref:"):
        branch = head[4:].strip().removeprefix("refs/heads/")
        return "HEAD" if branch in ("", ".invalid") else branch  # reftables hide it
    return head[:_SHORT_COMMIT] if _COMMIT.fullmatch(head) else "HEAD"
