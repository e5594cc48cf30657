"""The programs that the clients' guide shows do what it says, in a pane of a real service."""

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.cli.process import Prowl, stop, until

ROOT = Path(__file__).parents[2]
CLIENTS = ROOT / "clients"
PACKAGES = ("@grpc/grpc-js@1.14.0", "@grpc/proto-loader@0.8.0")


@pytest.fixture(scope="module")
def prowl(tmp_path_factory):
    """The command and a service of its own."""
    folder = tmp_path_factory.mktemp("prowl")
    prowl = Prowl(folder)
    prowl.data("list", "--json")
    yield prowl
    stop(folder)


def output(prowl, *command):
    """Run a program in a pane and return what it printed until it said that it is done."""
    handle = prowl.pane("sh", "-c", '"$@"; echo "ended $?"; read x', "sh", *command, size="100x40")

    def ended():
        text = prowl.text(handle)
        return text if "ended " in text else None

    text = until(ended, 60)
    prowl.run("close", handle, "--force")
    assert "ended 0" in text, text
    return text


def check(text, wait):
    """Fail unless the program listed, signalled, observed its signal, and waited."""
    assert re.search(r"event snapshot at revision \d+", text)
    assert re.search(r"event signal at revision \d+", text)
    assert re.search(r"signalled: SIGNAL_BINDING_UNBOUND", text)
    assert wait in text
    assert "done" in text


def test_the_python_example(prowl):
    """The Python program runs in a pane and is told of its own signal."""
    check(output(prowl, sys.executable, str(CLIENTS / "examples" / "agents.py")), "wait: AGENT_NOT_FOUND")


@pytest.mark.live
def test_the_node_example(prowl, tmp_path):
    """The Node program needs nothing of ours but the contract, and does the same."""
    npm, node = shutil.which("npm"), shutil.which("node")
    assert npm, "npm is needed"
    assert node, "node is needed"
    cache = Path(os.environ.get("PROWL_LIVE_CACHE") or Path.home() / ".cache" / "prowl-live") / "clients"
    cache.mkdir(parents=True, exist_ok=True)
    flags = ["--no-audit", "--no-fund", "--no-update-notifier", "--loglevel=error"]
    subprocess.run([npm, "install", "--prefix", str(cache), *flags, *PACKAGES], check=True, timeout=300)
    script = cache / "agents.mjs"
    shutil.copy(CLIENTS / "examples" / "agents.mjs", script)

    check(output(prowl, node, str(script), str(ROOT / "proto")), "wait: NOT_FOUND")


def test_buf_curl_lists_agents_by_reflection(prowl):
    """The call that the guide shows works with the service's own reflection, and with the contract's files."""
    buf = Path(sys.executable).with_name("buf")
    if not buf.exists():
        pytest.skip("buf is not installed")
    for schema in ([], ["--schema", str(ROOT / "proto")]):
        done = subprocess.run(
            [
                str(buf),
                "curl",
                "--protocol",
                "grpc",
                "--http2-prior-knowledge",
                "--unix-socket",
                prowl.environment["PROWL_SOCKET"],
                *schema,
                "-d",
                "{}",
                "http://localhost/prowl.v1.ServerService/GetInfo",
            ],
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
        assert 0 == done.returncode, done.stderr
        assert prowl.environment["PROWL_SOCKET"] == json.loads(done.stdout)["socket"]


@pytest.mark.parametrize("name", ["agents.py", "agents.mjs"])
def test_the_guide_shows_the_programs_as_they_are(name):
    """What the guide prints is the program that is tested here."""
    assert (CLIENTS / "examples" / name).read_text("utf-8").strip() in (CLIENTS / "README.md").read_text("utf-8")
