"""Installs the pinned agent CLIs into a cache folder: idempotent, safe to run side by side.

``PROWL_LIVE_CACHE`` names the folder (default ``~/.cache/prowl-live``). A registry that cannot be reached raises
RegistryUnreachable, which callers turn into a visible skip; every other failure is InstallFailed.
"""

import fcntl
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from tests.live.packages import PACKAGES, Package, package, packages

__all__ = ["InstallFailed", "Installed", "RegistryUnreachable", "cache_folder", "install"]

_UNREACHABLE = ("ENOTFOUND", "EAI_AGAIN", "ECONNREFUSED", "ENETUNREACH", "EHOSTUNREACH", "ETIMEDOUT")
_TIMEOUT = 540.0
_STAMP = ".installed"


class InstallFailed(Exception):
    """The package manager failed for a reason other than the network."""


class RegistryUnreachable(InstallFailed):
    """The package registry cannot be reached from here."""


@dataclass(frozen=True, slots=True)
class Installed:
    """One CLI on disk: its executable and the folders that must be on PATH, its own first."""

    package: Package
    executable: Path
    path: tuple[str, ...]

    @property
    def command(self) -> str:
        """What a person would type."""
        return self.executable.name


def cache_folder() -> Path:
    """Return the cache folder, created when missing."""
    folder = Path(os.environ.get("PROWL_LIVE_CACHE") or Path.home() / ".cache" / "prowl-live")
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def install(item: Package) -> Installed:
    """Install a package and what it needs unless it is there already; raises InstallFailed."""
    runtimes = [install(need) for need in (*((item.node,) if item.node else ()), *item.needs)]
    folder = cache_folder() / item.key
    with _locked(folder.parent / f"{item.key}.lock"):
        if not (folder / _STAMP).exists():
            _fetch(item, folder, runtimes)
    executable = folder / item.executable
    if not executable.exists():
        raise InstallFailed(f"{item.spec} has no {item.executable}")
    path = [str(executable.parent), *(entry for runtime in runtimes for entry in runtime.path)]
    return Installed(item, executable, tuple(dict.fromkeys(path)))


def _fetch(item: Package, folder: Path, runtimes: list[Installed]) -> None:
    npm = shutil.which("npm")
    if npm is None:
        raise InstallFailed("npm is needed to install the agent CLIs and is not on PATH")
    staging = Path(tempfile.mkdtemp(prefix=f".{item.key}-", dir=folder.parent))
    try:
        search = os.pathsep.join([*(entry for runtime in runtimes for entry in runtime.path), os.environ["PATH"]])
        flags = ["--no-audit", "--no-fund", "--no-update-notifier", "--loglevel=error", "--no-save"]
        done = subprocess.run(
            [npm, "install", "--prefix", str(staging), *flags, item.spec],
            env={**os.environ, "PATH": search},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=_TIMEOUT,
            check=False,
        )
        if done.returncode:
            said = (done.stderr or done.stdout)[-2000:]
            kind = RegistryUnreachable if any(code in said for code in _UNREACHABLE) else InstallFailed
            raise kind(f"{item.spec}: {said.strip()}")
        (staging / _STAMP).touch()
        shutil.rmtree(folder, ignore_errors=True)
        staging.rename(folder)
    except subprocess.TimeoutExpired as error:
        raise InstallFailed(f"{item.spec}: npm took more than {_TIMEOUT:.0f} s") from error
    finally:
        shutil.rmtree(staging, ignore_errors=True)


@contextmanager
def _locked(path: Path) -> Iterator[None]:
    with path.open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def main(arguments: list[str]) -> int:
    """Install the named agents (``claude``, ``claude@2.1.197``), or all; print where each went."""
    chosen: list[Package] = []
    for name in arguments or [item.agent for item in PACKAGES]:
        agent, _, version = name.partition("@")
        chosen += [package(agent, version)] if version else packages(agent)
    failed = 0
    for item in dict.fromkeys(chosen):
        try:
            print(f"{item.key}: {install(item).executable}", flush=True)
        except InstallFailed as error:
            failed += 1
            print(f"{item.key}: {type(error).__name__}: {error}", flush=True)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
