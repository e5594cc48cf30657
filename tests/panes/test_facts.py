"""Working directories, worktrees and projects."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from prowl_svc.panes.facts import Project, Worktree, WorktreeCache, directory_of_report, project_of, working_directory

HEADLESS = {"GIT_CONFIG_GLOBAL": "/dev/null", "GIT_CONFIG_SYSTEM": "/dev/null", "PATH": os.environ["PATH"]}
WHO = ["-c", "user.name=u", "-c", "user.email=u@example.com", "-c", "init.defaultBranch=main"]


def git(folder: Path, *args: str) -> str:
    command = ["git", *WHO, *args]
    return subprocess.run(command, cwd=folder, env=HEADLESS, check=True, capture_output=True, text=True).stdout.strip()


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    if shutil.which("git") is None:
        pytest.skip("git makes the repositories of this test")
    folder = tmp_path / "app"
    folder.mkdir()
    git(folder, "init", "-q")
    git(folder, "commit", "-q", "--allow-empty", "-m", "first")
    return folder


def test_main_worktree(repository: Path) -> None:
    """Any folder inside a repository belongs to its worktree, named by the branch; a switch is seen at once."""
    inner = repository / "a" / "b"
    inner.mkdir(parents=True)
    cache = WorktreeCache()
    expected = Worktree(str(repository), str(repository), "main", "git")
    assert [expected, expected] == [cache.find(str(inner)), cache.find(str(repository))]
    assert Project("app", "main", str(repository)) == project_of(expected)
    git(repository, "switch", "-q", "-c", "feature/x")
    assert "feature/x" == cache.find(str(inner)).name


def test_linked_worktree_and_detached_head(repository: Path) -> None:
    """A linked worktree has its own path and branch and the main one as root; a detached HEAD is a short commit."""
    linked = repository.parent / "app-fix"
    git(repository, "worktree", "add", "-q", "-b", "fix", str(linked))
    cache = WorktreeCache()
    assert Worktree(str(linked), str(repository), "fix", "git") == cache.find(str(linked))
    assert Project("app", "fix", str(linked)) == project_of(cache.find(str(linked)))
    git(linked, "checkout", "-q", "--detach")
    assert git(linked, "rev-parse", "HEAD")[:7] == cache.find(str(linked)).name


def test_bare_repository_and_submodule(repository: Path) -> None:
    """The root of a bare repository's worktree is the repository, that of a submodule is itself."""
    bare = repository.parent / "app.git"
    git(repository.parent, "clone", "-q", "--bare", str(repository), str(bare))
    linked = repository.parent / "tree"
    git(bare, "worktree", "add", "-q", "-b", "w", str(linked))
    assert Worktree(str(linked), str(bare), "w", "git") == WorktreeCache().find(str(linked))
    git(repository, "-c", "protocol.file.allow=always", "submodule", "add", "-q", str(bare), "sub")
    sub = str(repository / "sub")
    found = WorktreeCache().find(sub)
    assert (sub, sub, "git") == (found.path, found.root_path, found.kind)


def test_plain_folder(tmp_path: Path) -> None:
    """A folder outside git is its own worktree under its name, until a repository appears around it."""
    folder = tmp_path / "notes"
    folder.mkdir()
    cache = WorktreeCache()
    assert Worktree(str(folder), str(folder), "notes", "plain") == cache.find(str(folder))
    assert Project("notes", None, str(folder)) == project_of(cache.find(str(folder)))
    (tmp_path / ".git").mkdir()
    (tmp_path / ".git" / "HEAD").write_text("ref: refs/heads/trunk\n")
    assert Worktree(str(tmp_path), str(tmp_path), "trunk", "git") == cache.find(str(folder))
    shutil.rmtree(tmp_path / ".git")
    assert "plain" == cache.find(str(folder)).kind
    assert Worktree("/", "/", "/", "plain") == cache.find("/")


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        ("ref: refs/heads/a/b\n", "a/b"),
        ("ref: refs/remotes/x\n", "refs/remotes/x"),
        ("ref: refs/heads/.invalid\n", "HEAD"),
        ("0123456789abcdef0123456789abcdef01234567\n", "0123456"),
        ("garbage", "HEAD"),
    ],
)
def test_heads(tmp_path: Path, content: str, expected: str) -> None:
    """The name is read from HEAD, whatever is in it."""
    (tmp_path / ".git").mkdir()
    (tmp_path / ".git" / "HEAD").write_text(content)
    assert expected == WorktreeCache().find(str(tmp_path)).name


def test_broken_git_file(tmp_path: Path) -> None:
    """A .git that leads nowhere does not make a worktree, and does not hide one above it."""
    inner = tmp_path / "inner"
    inner.mkdir()
    (inner / ".git").write_text("gitdir: /nowhere\n")
    assert "plain" == WorktreeCache().find(str(inner)).kind


def test_what_is_no_file_keeps_nobody_waiting(tmp_path: Path) -> None:
    """A pipe in the place of git's files is never waited on."""
    for name in ("a/.git", "b/.git/HEAD"):
        (tmp_path / name).parent.mkdir(parents=True)
        os.mkfifo(tmp_path / name)
    cache = WorktreeCache()
    assert ["plain", "plain"] == [cache.find(str(tmp_path / name)).kind for name in "ab"]


def test_answers_are_kept(repository: Path) -> None:
    """An answer is read once and then only checked against the times of its files."""
    seen: list[str] = []

    def stat(path: str) -> os.stat_result:
        seen.append(path)
        return os.stat(path)

    cache = WorktreeCache(stat)
    first = cache.find(str(repository))
    seen.clear()
    assert first is cache.find(str(repository))
    assert [str(repository / ".git" / "HEAD")] == seen


def test_working_directory(tmp_path: Path) -> None:
    """The first process that still tells its folder decides."""
    process = subprocess.Popen([sys.executable, "-c", "input()"], cwd=tmp_path, stdin=subprocess.PIPE)
    try:
        assert str(tmp_path) == working_directory([None, 0, 2**22 + 1, process.pid])
    finally:
        process.communicate(b"\n")
    assert working_directory([process.pid]) is None


def test_deleted_working_directory(tmp_path: Path) -> None:
    """A folder that was deleted under a process is not known."""
    folder = tmp_path / "gone"
    folder.mkdir()
    process = subprocess.Popen([sys.executable, "-c", "input()"], cwd=folder, stdin=subprocess.PIPE)
    try:
        folder.rmdir()
        assert working_directory([process.pid]) is None
    finally:
        process.communicate(b"\n")


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("file:///tmp/a%20b", "/tmp/a b"),
        ("file://box/tmp", "/tmp"),
        ("file://BOX.example.com/tmp", "/tmp"),
        ("file://localhost/tmp/", "/tmp"),
        ("file://other/tmp", None),
        ("kitty-shell-cwd://box/a%20b", "/a%20b"),
        ("/plain/../tmp", "/tmp"),
        ('"/quoted"', "/quoted"),
        ("relative", None),
        ("file:///a%00b", None),
        ("file://[bad/x", None),
        ("", None),
        ("/" + "x" * 5000, None),
    ],
)
def test_reported_directories(value: str, expected: str | None) -> None:
    """A report names a local absolute path or nothing; one of another machine is not ours."""
    assert expected == directory_of_report(value, "box.example.com")
