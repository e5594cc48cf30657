"""The log tells what happened, and never what panes show."""

import asyncio
import io
import logging
import os
import signal
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from prowl_svc import logs
from prowl_svc.app import serve
from prowl_svc.config import Config
from tests.service.conftest import until


@pytest.fixture
def log(monkeypatch: pytest.MonkeyPatch) -> Iterator[io.StringIO]:
    """What the service writes to standard error at its most talkative."""
    text = io.StringIO()
    root, prowl = logging.getLogger(), logging.getLogger("prowl")
    before = root.handlers[:], root.level, prowl.level
    monkeypatch.setattr(sys, "stderr", text)
    logs.configure("debug", "text")
    yield text
    root.handlers[:] = before[0]
    root.setLevel(before[1])
    prowl.setLevel(before[2])


def test_a_client_that_leaves_is_no_error(log: io.StringIO) -> None:
    """The library's words for it are dropped, others are kept."""
    library = logging.getLogger("grpc._cython.cygrpc")
    library.error("ExecuteBatchError raised in core by servicer method [%s]", "/prowl.v1.PaneService/AttachPane")
    library.error("Unexpected [%s] raised by servicer method [%s]", "KeyError", "/prowl.v1.PaneService/AttachPane")
    assert ["Unexpected"] == [line.split()[3] for line in log.getvalue().splitlines()]


async def test_an_error_that_nothing_caught_is_told_without_its_text(log: io.StringIO, folder: Path) -> None:
    """Type and place are logged; neither the exception's words nor the arguments of what failed."""

    def fails(shown: bytes) -> None:
        raise ValueError(shown.decode())

    config = Config(socket=folder / "s" / "prowl.sock", state_directory=folder / "state")
    serving = asyncio.ensure_future(serve(config, os.environ))

    async def ready() -> bool:
        return "serving" in log.getvalue()

    await until(ready)
    asyncio.get_running_loop().call_soon(fails, b"what-a-pane-shows")
    os.kill(os.getpid(), signal.SIGTERM)
    await serving
    assert 'unexpected error error="ValueError" at="test_logs.py:' in log.getvalue()
    assert "what-a-pane-shows" not in log.getvalue()
    assert log.getvalue().count("Z error ") == 1
