"""Starts a private service, plays real sessions in its panes, and prints the roster until each agent was all it can be.

``python -m prowl_svc.demo [--speed N]``; exits 0 when every agent went working, blocked, done, else 1.
"""

import argparse
import contextlib
import os
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from importlib.resources import as_file, files
from pathlib import Path

from prowl.v1 import agents_pb2, common_pb2, panes_pb2
from prowl_cli import encode
from prowl_cli.commands.agents import render
from prowl_cli.connect import serve_command
from prowl_client import address
from prowl_client.errors import ProwlError
from prowl_client.sync import Client

from prowl_svc.terminal.cast import read_cast

__all__ = ["main"]

AGENTS = ("claude", "codex")
STAGES = ("working", "blocked", "done")
_START_SECONDS = 30.0
_GRACE_SECONDS = 45.0
_WIDTH = 100


def main() -> int:
    """Run the demonstration."""
    parser = argparse.ArgumentParser(prog="python -m prowl_svc.demo", description=__doc__)
    parser.add_argument("--speed", type=float, default=4.0, help="how much faster than life (default: 4)")
    args = parser.parse_args()
    if not 0.1 <= args.speed <= 20:
        parser.error("use a speed from 0.1 to 20")
    with tempfile.TemporaryDirectory(prefix="prowl-demo-") as folder, contextlib.ExitStack() as stack:
        try:
            client = stack.enter_context(_service(Path(folder)))
            complete = _play(client, Path(folder), args.speed, stack)
        except ProwlError as error:
            print(f"The demonstration failed: {error}", file=sys.stderr)
            return 1
    if complete:
        print(_what_next())
    return 0 if complete else 1


@contextlib.contextmanager
def _service(folder: Path) -> Iterator[Client]:
    """Run a service of its own in ``folder`` and give a client of it."""
    socket = folder / "run" / "prowl.sock"
    environ = {name: value for name, value in os.environ.items() if not name.startswith("PROWL_")}
    environ |= {
        "PROWL_SOCKET": str(socket),
        "PROWL_STATE_DIRECTORY": str(folder / "state"),
        "XDG_CONFIG_HOME": str(folder),
    }
    print("Starting a private service in a temporary folder.")
    log = folder / "serve.log"
    with log.open("wb") as output:
        process = subprocess.Popen(
            serve_command(), stdin=subprocess.DEVNULL, stdout=output, stderr=output, env=environ, start_new_session=True
        )
    try:
        _await(socket, process, log)
        with Client(socket) as client:
            yield client
    finally:
        process.terminate()
        try:
            process.wait(15)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def _await(socket: Path, process: "subprocess.Popen[bytes]", log: Path) -> None:
    deadline = time.monotonic() + _START_SECONDS
    while address.diagnose(socket) is not None:
        if process.poll() is not None or time.monotonic() > deadline:
            raise ProwlError(
                "APP_NOT_RUNNING", f"the service did not start: {log.read_text('utf-8', 'replace')[-2000:]}"
            )
        time.sleep(0.02)


def _play(client: Client, folder: Path, speed: float, stack: contextlib.ExitStack) -> bool:
    """Host a pane for every recording and follow the roster; tells whether every agent went through all stages."""
    seconds = 0.0
    player = stack.enter_context(as_file(files("prowl_svc.demo") / "player.py"))
    panes: dict[str, str] = {}
    for name in AGENTS:
        recording = stack.enter_context(as_file(files("prowl_svc.demo") / f"{name}.cast"))
        cast = read_cast(recording)
        seconds = max(seconds, cast.duration / speed)
        # The kernel names a process after the file that was executed, so a link makes the player an agent.
        link = folder / name
        link.symlink_to(Path(sys.executable).resolve())
        made = client.create_pane(
            panes_pb2.CreatePaneRequest(
                argv=[str(link), "-I", "-S", str(player), str(recording), str(speed)],
                cwd=os.getcwd(),
                size=common_pb2.Size(columns=cast.columns, rows=cast.rows),
                title=f"a recorded {name} session",
            )
        )
        panes[made.target.pane.id] = name
        print(f"Pane {made.target.pane.handle} plays a real {name} session, {speed:g} times as fast as it was.")
    print()
    return _follow(client, panes, seconds + _GRACE_SECONDS)


def _follow(client: Client, panes: dict[str, str], patience: float) -> bool:
    """Print the roster after every change of a state until each pane went through all stages in order."""
    reached = dict.fromkeys(panes, 0)
    shown: dict[str, str] = {}
    began = time.monotonic()
    # Closing the channel ends the stream: a roster that stops changing must not keep the demonstration forever.
    alarm = threading.Timer(patience, client.close)
    alarm.daemon = True
    alarm.start()
    try:
        for roster in client.watch_agents():
            rows = encode.triage([row for row in roster.agents if row.id in panes])
            now = {row.id: encode.status(row.entry.status) for row in rows}
            if now != shown and now:
                shown = now
                print(f"after {time.monotonic() - began:4.1f} s\n{render(rows, limit=_WIDTH)}\n", flush=True)
            for row in rows:
                _advance(reached, row)
            if all(count == len(STAGES) for count in reached.values()):
                return True
    except (ProwlError, ValueError):
        pass
    finally:
        alarm.cancel()
    for pane, count in reached.items():
        if count < len(STAGES):
            print(f"The {panes[pane]} session was never seen {STAGES[count]}.", file=sys.stderr)
    return False


def _advance(reached: dict[str, int], row: agents_pb2.Agent) -> None:
    count = reached[row.id]
    if count < len(STAGES) and encode.status(row.entry.status) == STAGES[count]:
        reached[row.id] = count + 1


def _what_next() -> str:
    prowl = Path(sys.executable).with_name("prowl")
    command = os.path.relpath(prowl) if prowl.exists() and not shutil.which("prowl") else "prowl"
    found = [name for name in AGENTS if shutil.which(name)]
    lines = ["Every agent went working, blocked, done. The private service is gone again. What to type next:", ""]
    if found:
        lines += [f"  {command} run -- {name:<16}# the real one, in a pane of its own" for name in found]
    else:
        lines.append(f"  {command} run -- bash            # no claude or codex is installed here; any program will do")
    lines += [
        f"  {command} agents --watch         # in another terminal: who works, who needs you, who is done",
        f"  {command} --help",
    ]
    return "\n".join(lines)


if __name__ == "__main__":
    sys.exit(main())
