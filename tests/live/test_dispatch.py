"""A real agent is handed a task, proves by its last tool call that it did it, and the coordinator gets the receipt."""

import asyncio
import json
import os
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from prowl_svc.signals.delivery import typed_prompt
from tests.live.service import PATHS
from tests.live.session import matches
from tests.live.walk import RESTING, Walk, walking
from tests.mock_models.server import Phase

pytestmark = pytest.mark.live

AGENTS = ("claude", "codex")
"""Those whose composer is told from a draft by its screen."""

PROWL = f"{sys.executable} -m prowl_cli.main"
"""What an installation has as ``prowl`` on its PATH; the agent's own environment leads to the modules."""

INSIDE = {"PYTHONPATH": os.pathsep.join(map(str, PATHS))}


async def prowl(walk: Walk, *argv: str, stdin: str = "") -> dict[str, Any]:
    """The command as a coordinator runs it, outside any pane; returns its envelope."""
    process = await asyncio.create_subprocess_exec(
        *PROWL.split(),
        *argv,
        "--json",
        env={**os.environ, **INSIDE, "PROWL_SOCKET": str(walk.service.socket)},
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
    )
    try:
        async with asyncio.timeout(60):
            out, _ = await process.communicate(stdin.encode())
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()
    envelope: dict[str, Any] = json.loads(out)
    return envelope


async def hand(walk: Walk, task: str) -> dict[str, Any]:
    return await prowl(walk, "agents", "dispatch", walk.pane.ident, "--prompt", "-", stdin=task)


def heard(home: Path) -> Iterator[str]:
    """What Claude took as messages of its user, from its own transcripts."""
    for transcript in home.glob(".claude/projects/*/*.jsonl"):
        for line in transcript.read_text("utf-8").splitlines():
            entry = json.loads(line)
            content = entry.get("message", {}).get("content")
            if entry.get("type") == "user" and isinstance(content, str):
                yield content


@pytest.mark.parametrize("agent", AGENTS)
async def test_a_task_and_its_receipt(agent: str) -> None:
    """The agent gets the whole task as one message, completes it by a command, and the wait returns the receipt."""
    async with walking(agent, INSIDE) as walk:
        await walk.session.start()
        await walk.pane.until(*RESTING)
        outside = "ESC " if agent == "codex" else ""  # its sandbox has no way to the socket
        completion = f'{outside}{PROWL} agents dispatch-complete --outcome succeeded --summary "two lines were said"'
        task = f"Say two lines:\n\n\tthen [[bash {completion} | text It is done.]]"
        answer = await hand(walk, task)
        assert answer["ok"], answer
        issued = answer["data"]["dispatch"]
        assert "pending" == issued["state"]
        waiting = asyncio.create_task(prowl(walk, "agents", "wait", "--dispatch", issued["id"], "--timeout", "60"))
        again = await hand(walk, "More")
        assert "DISPATCH_PENDING" == again["error"]["code"]
        assert issued == again["error"]["details"]["record"]
        await walk.session.asked()
        await walk.session.approve()
        received = await waiting
        assert received["ok"], received
        receipt = received["data"]["receipt"]
        assert (issued["id"], "completed", "succeeded", "two lines were said") == (
            *(receipt[key] for key in ("id", "state", "outcome", "summary")),
        )
        await walk.session.quiet()
        assert await walk.pane.until(*RESTING) in RESTING
        if agent != "claude":
            return
        (message,) = (text for text in heard(walk.session.mock.project.parent) if "[Prowl]" in text)
        # Claude says so when a message was pasted, and shows a tab as four blanks.
        pasted = re.fullmatch(r"\s*<pasted_content [^>]*>\n(.*)\n</pasted_content [^>]*>\s*", message, re.DOTALL)
        assert pasted is not None, message
        assert typed_prompt(task).replace("\t", " " * 4) == pasted[1]


@pytest.mark.parametrize("agent", AGENTS)
async def test_nothing_is_typed_where_it_is_not_awaited(agent: str) -> None:
    """A draft, a running turn and an open question each refuse the task with a reason, and stay as they are."""
    async with walking(agent) as walk:
        await walk.session.start()
        await walk.pane.until(*RESTING)
        await walk.session.draft("half a thought")
        drafting = await hand(walk, "Do it")
        await walk.session.until("half a thought")
        await walk.session.clear()

        await walk.session.say("Go on [[slow 6]]")
        await walk.session.working("slow")
        await walk.pane.until("working")
        busy = await hand(walk, "Do it")
        await walk.session.quiet()

        await walk.session.say(f"Do [[{walk.recipe.ask_step}]]")
        await walk.session.asked()
        await walk.pane.until("blocked")
        blocked = await hand(walk, "Do it")
        assert matches(walk.recipe.asking, await walk.session.screen())
        await walk.session.approve()
        await walk.session.mock.wait(lambda mock: mock.phase == Phase.QUIET, 20)

        assert ["DISPATCH_TARGET_BUSY"] * 3 == [answer["error"]["code"] for answer in (drafting, busy, blocked)]
        assert "input area" in drafting["error"]["message"]
        assert "[Prowl]" not in await walk.session.screen()
        await walk.pane.until(*RESTING)
        assert (await hand(walk, "Now it can be done"))["ok"]
