"""Agents on a private tmux server: a terminal that owes nothing to the code under test."""

import asyncio
import os
import uuid
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Self

__all__ = ["TmuxPane", "TmuxServer"]

_KEYS = {
    "enter": "Enter",
    "escape": "Escape",
    "up": "Up",
    "down": "Down",
    "left": "Left",
    "right": "Right",
    "tab": "Tab",
    "backspace": "BSpace",
    "page-up": "PPage",
    "page-down": "NPage",
    "end": "End",
    "space": "Space",
}


class TmuxServer:
    """One tmux server with a name of its own; leaving the context ends it with everything in it."""

    def __init__(self) -> None:
        self._name = f"prowl-live-{os.getpid()}-{uuid.uuid4().hex[:6]}"

    async def run(self, *arguments: str) -> str:
        """Run one tmux command; raises RuntimeError when tmux refuses it."""
        process = await asyncio.create_subprocess_exec(
            *("tmux", "-L", self._name, "-f", os.devnull, "-u", *arguments),
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
            env={"PATH": os.environ["PATH"], "HOME": os.devnull, "TERM": "xterm-256color", "LANG": "C.UTF-8"},
        )
        out, error = await process.communicate()
        if process.returncode:
            raise RuntimeError(f"tmux {arguments[0]}: {error.decode().strip()}")
        return out.decode()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        with suppress(RuntimeError):
            await self.run("kill-server")

    async def open(
        self, argv: Sequence[str], environment: Mapping[str, str], cwd: Path, columns: int, rows: int
    ) -> "TmuxPane":
        """Start a program with exactly this environment in a new pane of this size."""
        name = f"s{uuid.uuid4().hex[:8]}"
        variables = [f"{key}={value}" for key, value in environment.items()]
        size = ("-x", str(columns), "-y", str(rows))
        command = ("env", "-i", *variables, *argv)
        await self.run("new-session", "-d", "-s", name, *size, "-c", str(cwd), *command, ";", "set", "status", "off")
        await self.run("set", "-g", "escape-time", "0", ";", "set", "-wg", "remain-on-exit", "on")
        await self.run("resize-window", "-t", name, *size)
        return TmuxPane(self, name)


class TmuxPane:
    """One pane of a TmuxServer."""

    def __init__(self, server: TmuxServer, name: str) -> None:
        self._server = server
        self._name = name

    async def rows(self) -> list[str]:
        """Return the rows of the active screen, trailing blanks cut."""
        text = await self._server.run("capture-pane", "-p", "-t", self._name)
        return [row.rstrip(" ") for row in text.removesuffix("\n").split("\n")]

    async def title(self) -> str:
        """Return the title that the program set, empty while it has set none."""
        text = await self._server.run("display-message", "-p", "-t", self._name, "#{pane_title}")
        title = text.removesuffix("\n")
        # tmux takes a graphics query of some CLIs for a title.
        return "" if title == os.uname().nodename or title.startswith("Gi=") else title

    async def type(self, text: str) -> None:
        """Type text."""
        await self._server.run("send-keys", "-t", self._name, "-l", "--", text)

    async def press(self, key: str) -> None:
        """Press one key."""
        name = f"C-{key.removeprefix('ctrl-')}" if key.startswith("ctrl-") else _KEYS.get(key, key)
        await self._server.run("send-keys", "-t", self._name, name)

    async def resize(self, columns: int, rows: int) -> None:
        """Change the size."""
        await self._server.run("resize-window", "-t", self._name, "-x", str(columns), "-y", str(rows))

    async def alternate(self) -> bool:
        """Tell whether the alternate screen is in use."""
        return "1\n" == await self._server.run("display-message", "-p", "-t", self._name, "#{alternate_on}")
