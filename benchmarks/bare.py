"""The peer of the service's calls: gRPC's asyncio server on a Unix socket with one method that gives back its bytes."""

import contextlib
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from benchmarks.private import PATHS

__all__ = ["EchoProgram", "bare_server"]

_SERVER = """
import asyncio, sys
import grpc

async def echo(request, context):
    return request

async def main():
    server = grpc.aio.server()
    server.add_registered_method_handlers("bare.Bare", {"Echo": grpc.unary_unary_rpc_method_handler(echo)})
    server.add_insecure_port(sys.argv[1])
    await server.start()
    print("ready", flush=True)
    await server.wait_for_termination()

asyncio.run(main())
"""

_CLIENT = """
import json, sys, time
import grpc
from prowl_client.channel import OPTIONS
from benchmarks.pane_program import gaps

target, count, rate = sys.argv[1], int(sys.argv[2]), float(sys.argv[3])
echo = grpc.insecure_channel(target, options=OPTIONS).unary_unary("/bare.Bare/Echo")
moments, measured = gaps(sys.argv[4], rate), []
sys.stdin.readline()
due = time.monotonic()
for _ in range(count):
    due += next(moments)
    if (left := due - time.monotonic()) > 0:
        time.sleep(left)
    begun = time.monotonic_ns()
    echo(b"x" * 32, timeout=15)
    measured.append(time.monotonic_ns() - begun)
print(json.dumps(measured))
"""


@contextlib.contextmanager
def bare_server(folder: Path) -> Iterator[str]:
    """Run the peer and give its address."""
    target = f"unix:{folder}/bare.sock"
    server = subprocess.Popen([sys.executable, "-c", _SERVER, target], stdout=subprocess.PIPE, text=True)
    try:
        assert server.stdout is not None
        if server.stdout.readline() != "ready\n":
            raise RuntimeError("the bare server did not start")
        yield target
    finally:
        server.kill()
        server.wait()


class EchoProgram:
    """A program that calls the peer as one in a pane calls Signal."""

    def __init__(self, folder: Path, target: str, count: int, rate: float) -> None:
        seed = tempfile.mktemp(dir=folder)
        self._process = subprocess.Popen(
            [sys.executable, "-c", _CLIENT, target, str(count), str(rate), seed],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env=dict(os.environ) | {"PYTHONPATH": PATHS},
        )

    def go(self) -> None:
        """Let it begin."""
        assert self._process.stdin is not None
        self._process.stdin.write("\n")
        self._process.stdin.flush()

    def result(self) -> list[int]:
        """Return the nanoseconds of each call, once it is done."""
        said, _ = self._process.communicate(timeout=120)
        measured: list[int] = json.loads(said)
        return measured
