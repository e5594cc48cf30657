"""What the clients' guide shows is what works."""

import asyncio
import json
import os
import re
import sys
from pathlib import Path

import pytest
from prowl.v1 import panes_pb2

from prowl_svc.app import Service
from prowl_svc.model.errors import Code
from prowl_svc.rpc.errors import status_of
from tests.clients_other.conftest import EXAMPLES, ROOT
from tests.service.conftest import Create, until
from tests.service.test_watching import BLOCKED, Agents, Panes, Start, Watch, tell

GUIDE = (ROOT / "clients" / "README.md").read_text("utf-8")
BUF = Path(sys.executable).with_name("buf")


def shown(language: str) -> list[str]:
    """The blocks of the guide in one language."""
    return re.findall(rf"^```{language}\n(.*?)^```$", GUIDE, re.DOTALL | re.MULTILINE)


@pytest.mark.skipif(not BUF.exists(), reason="buf is not installed")
async def test_the_calls_of_a_shell(
    service: Service, start: Start, create: Create, panes: Panes, agents: Agents
) -> None:
    """Run in a pane as they are printed: all four answer, and the signal is the pane's own."""
    folder, observed = service.config.state_directory.parent, await start()
    await tell(panes, observed, "blocked")
    await Watch(agents, observed).status(BLOCKED)
    (block,) = shown("sh")
    (folder / "calls").write_text(f"set -e\n{block}", "utf-8")
    script = "sh ./calls >out 2>err; echo $? >status; read x"
    environment = {"PATH": f"{BUF.parent}:{os.environ['PATH']}"}
    pane = await create("sh", "-c", script, env=environment)

    async def observing() -> bool:
        return service.hub.subscriber_count(observed) == 2

    await until(observing, 30)
    await panes.ClosePane(panes_pb2.ClosePaneRequest(target=observed, force=True))

    async def ended() -> bool:
        return (folder / "status").exists() and (folder / "status").read_text() != ""

    await until(ended, 30)
    assert ("0\n", "") == ((folder / "status").read_text(), (folder / "err").read_text())
    decoder, text, answers = json.JSONDecoder(), (folder / "out").read_text().lstrip(), []
    while text:
        answer, end = decoder.raw_decode(text)
        answers.append(answer)
        text = text[end:].lstrip()
    listed, waited, signalled, *streamed = answers
    assert observed == listed["agents"][0]["id"]
    assert "AGENT_STATUS_BLOCKED" == waited["observation"]["status"]
    assert pane == signalled["paneId"]
    events = [next(key for key in event if key != "revision") for batch in streamed for event in batch["events"]]
    assert ["snapshot", "removed", "surfaceClosed"] == events


@pytest.mark.skipif(not BUF.exists(), reason="buf is not installed")
async def test_the_errors_of_a_shell(service: Service) -> None:
    """An error is JSON with the reason in its details, by reflection and with the contract's files alike."""
    base = (str(BUF), "curl", "--protocol", "grpc", "--http2-prior-knowledge")
    for schema in ((), ("--schema", str(ROOT / "proto"))):
        process = await asyncio.create_subprocess_exec(
            *(*base, "--unix-socket", str(service.config.socket), *schema, "-d", '{"pane": "p9"}'),
            "http://localhost/prowl.v1.AgentService/ExplainAgent",
            stdout=asyncio.subprocess.DEVNULL,
            stderr=asyncio.subprocess.PIPE,
        )
        async with asyncio.timeout(30):
            _, err = await process.communicate()
        error = json.loads(err)
        assert "not_found" == error["code"]
        assert "google.rpc.ErrorInfo" == error["details"][0]["type"]


@pytest.mark.parametrize(("language", "program"), [("python", "python/agents.py"), ("js", "node/agents.mjs")])
def test_the_pieces_of_the_programs(language: str, program: str) -> None:
    """A piece that the guide prints is in the program that is tested."""
    assert shown(language)[0] in (EXAMPLES / program).read_text("utf-8")


def test_the_table_of_errors() -> None:
    """Each reason of the guide exists and comes with the status that is printed beside it."""
    from google.rpc import code_pb2

    from prowl_svc.model.errors import ProwlError

    rows = re.findall(r"^\| (`[A-Z_`, ]+`) \| `([A-Z_]+)` \|", GUIDE, re.MULTILINE)
    assert 8 == len(rows)
    for reasons, status in rows:
        for reason in re.findall(r"[A-Z_]+", reasons):
            assert status == code_pb2.Code.Name(status_of(ProwlError(Code[reason], "")).code)


def test_node_is_pinned() -> None:
    """The libraries of the Node program have exact versions."""
    versions = json.loads((EXAMPLES / "node" / "package.json").read_text("utf-8"))["dependencies"].values()
    assert all(re.fullmatch(r"\d+\.\d+\.\d+", version) for version in versions)
