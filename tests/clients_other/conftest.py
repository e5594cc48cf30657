"""A service in this process, and programs in other languages that talk to it."""

import asyncio
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path

import pytest

from prowl_svc.app import Service
from tests.live.install import cache_folder
from tests.service.conftest import agents, channel, create, folder, panes, service
from tests.service.test_watching import start

__all__ = ["ROOT", "Program", "agents", "channel", "create", "folder", "panes", "program", "service", "start"]

ROOT = Path(__file__).resolve().parents[2]
EXAMPLES = ROOT / "clients" / "examples"
_PATIENCE = 30.0


@dataclass(frozen=True)
class Program:
    """One of the two programs: how it is started, and on which socket."""

    command: tuple[str, ...]
    environment: dict[str, str]

    @asynccontextmanager
    async def started(self, *arguments: str) -> AsyncIterator[asyncio.subprocess.Process]:
        """Run it beside the test; whatever is left of it is ended."""
        process = await asyncio.create_subprocess_exec(
            *self.command,
            *arguments,
            env=self.environment,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
        )
        try:
            yield process
        finally:
            if process.returncode is None:
                process.kill()
            await process.wait()

    async def run(self, *arguments: str) -> tuple[int | None, list[str], str]:
        """Run it to its end; returns its exit status, the lines of its output, and its errors."""
        async with self.started(*arguments) as process, asyncio.timeout(_PATIENCE):
            out, err = await process.communicate()
            return process.returncode, out.decode().splitlines(), err.decode()


@pytest.fixture(params=["python", pytest.param("node", marks=pytest.mark.live)])
async def program(request: pytest.FixtureRequest, service: Service, folder: Path) -> Program:
    """The program in each language; the other one's libraries come from the package registry."""
    environment = {
        "PATH": os.environ["PATH"],
        "PYTHONPATH": str(ROOT / "clients" / "prowl_client" / "gen"),
        "PROWL_SOCKET": str(service.config.socket),
    }
    if request.param == "python":
        return Program((sys.executable, str(EXAMPLES / "python" / "agents.py")), environment)
    node = shutil.which("node")
    assert node is not None, "node is needed"
    modules = await asyncio.to_thread(_modules)
    place = folder / "clients" / "examples" / "node"
    shutil.copytree(EXAMPLES / "node", place, ignore=shutil.ignore_patterns("node_modules"))
    (place / "node_modules").symlink_to(modules)
    (folder / "proto").symlink_to(ROOT / "proto")
    return Program((node, str(place / "agents.mjs")), environment)


def _modules() -> Path:
    """Install what the Node program needs into the cache, once for each set of versions."""
    wanted = EXAMPLES / "node" / "package.json"
    target = cache_folder() / f"clients-{sha256(wanted.read_bytes()).hexdigest()[:12]}"
    if not target.exists():
        with tempfile.TemporaryDirectory(dir=target.parent) as staging:
            shutil.copy(wanted, staging)
            flags = ["--no-audit", "--no-fund", "--no-update-notifier", "--loglevel=error"]
            install = ["npm", "install", "--prefix", staging, *flags]
            done = subprocess.run(install, capture_output=True, text=True, timeout=300, check=False)
            if any(word in done.stderr for word in ("ENOTFOUND", "EAI_AGAIN", "ECONNREFUSED", "ETIMEDOUT")):
                pytest.skip(f"the package registry is out of reach: {done.stderr}"[:200])
            assert 0 == done.returncode, done.stderr
            Path(staging).rename(target)
            Path(staging).mkdir()  # the context removes it
    return target / "node_modules"
