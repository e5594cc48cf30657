"""Which agent a job is."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from prowl_svc.model.agents import Agent
from prowl_svc.model.process import Identification, Job, Process
from prowl_svc.probe.score import identify, judge, launch_process
from tests.probe.jobs import CORPUS, REPORTED, job, process, read_job, shown


@pytest.mark.parametrize("case", [*CORPUS["jobs"], *REPORTED["jobs"]], ids=lambda case: case["id"])
def test_corpus(case: dict[str, dict[str, object]]) -> None:
    """Every job of the corpus gives its agent, matched name, detected and launch process, and icon."""
    found = shown(identify(read_job(case)))
    assert case["expect"] == {key: found.get(key) for key in case["expect"]}


NODE = "/opt/node24/bin/node"
MODULES = "/usr/lib/node_modules"

# Foreground jobs as the real programs leave them, newest member first.
TREES = {
    "claude": (job(process(2, ["/x/.bin/claude"], exe="/x/claude-code/bin/claude.exe")), "claude", 2, 2),
    "claude with its MCP server": (
        job(process(3, ["python3", "mcp_files.py"], ppid=2), process(2, ["claude"])),
        "claude",
        2,
        2,
    ),
    "claude served by codex over MCP": (
        job(process(3, ["codex", "mcp-server"], ppid=2), process(2, ["claude"])),
        "claude",
        2,
        2,
    ),
    "claude by npx": (
        job(
            process(4, ["/x/.bin/claude"], ppid=3),
            process(3, ["sh", "-c", "claude"], ppid=2),
            process(2, ["npm exec claude"], name="npm exec claude"),
        ),
        "claude",
        4,
        2,
    ),
    "claude by its node wrapper": (
        job(process(3, [f"{MODULES}/claude-code-linux-x64/claude"], ppid=2), process(2, ["node", "cli-wrapper.cjs"])),
        "claude",
        3,
        2,
    ),
    "claude as an old npm script": (
        job(process(2, ["node", f"{MODULES}/@anthropic-ai/claude-code/cli.js"], exe=NODE)),
        "claude",
        2,
        2,
    ),
    "claude under a script's name": (job(process(2, ["bash", "/x/claude-wrap.sh"], name="claude-wrap.sh")), None, 0, 0),
    "claude under a link's name": (
        job(process(2, ["cc-link"], exe="/home/u/.local/share/claude/versions/2.1.332")),
        "claude",
        2,
        2,
    ),
    "claude of Nix": (
        job(process(2, ["/nix/store/h-claude/bin/.claude-unwrapped"], name=".claude-unwrapp")),
        "claude",
        2,
        2,
    ),
    "claude of Nix with its name set": (job(process(2, ["claude"], name=".claude-wrapped")), "claude", 2, 2),
    "claude below timeout": (
        job(process(3, ["claude"], ppid=2), process(2, ["timeout", "60", "claude"])),
        "claude",
        3,
        2,
    ),
    "codex": (
        job(process(3, ["/x/vendor/bin/codex"], ppid=2), process(2, ["node", "/x/.bin/codex"], name="MainThread")),
        "codex",
        3,
        2,
    ),
    "codex without a terminal interface": (
        job(process(3, ["codex", "exec", "fix it"], ppid=2), process(2, ["node", "/x/.bin/codex", "exec", "fix it"])),
        "codex",
        3,
        2,
    ),
    "codex's daemon alone": (
        job(process(2, ["/x/bin/codex", "app-server", "--listen", "unix://s", "--managed-daemon"], name="codex")),
        None,
        0,
        0,
    ),
    "codex's code mode host": (job(process(2, ["/x/bin/codex-code-mode-host"], name="codex-code-mode")), None, 0, 0),
    "gemini": (
        job(
            process(3, [NODE, "--max-old-space-size=8000", "/x/.bin/gemini"], ppid=2, name="MainThread"),
            process(2, ["node", "/x/.bin/gemini"], name="MainThread"),
        ),
        "gemini",
        3,
        2,
    ),
    "gemini by deno": (job(process(2, ["deno", "run", "-A", "npm:@google/gemini-cli"])), "gemini", 2, 2),
    "qwen": (
        job(
            process(4, [NODE, "--expose-gc", f"{MODULES}/@qwen-code/qwen-code/cli.js"], ppid=3, name="MainThread"),
            process(3, [NODE, "--expose-gc", f"{MODULES}/@qwen-code/qwen-code/cli.js"], ppid=2, name="MainThread"),
            process(2, ["node", "/x/.bin/qwen"], name="MainThread"),
        ),
        "qwen",
        2,
        2,
    ),
    "opencode": (job(process(2, ["opencode"], exe="/x/opencode-ai/bin/opencode.exe")), "opencode", 2, 2),
    "copilot": (
        job(
            process(3, ["/x/copilot-linux-x64/copilot"], ppid=2, name="MainThread", exe="/x/copilot-linux-x64/copilot"),
            process(2, ["node", "/x/.bin/copilot"], name="MainThread", exe=NODE),
        ),
        "copilot",
        3,
        2,
    ),
    "pi": (job(process(2, ["pi", "", ""], name="pi", exe=NODE)), "pi", 2, 2),
    "pi, a fork": (job(process(2, ["prime-agent"])), "pi", 2, 2),
    "omp": (job(process(2, ["bun", "/x/.bin/omp", "--approval-mode", "always-ask"], name="omp")), "omp", 2, 2),
    "cline": (job(process(2, ["cline", "--auto-approve", "false"])), "cline", 2, 2),
    "cline's hub": (job(process(2, ["cline", "--cline-hub-daemon", "--port", "25463"])), None, 0, 0),
    "kimi code starting": (job(process(2, ["node", "/x/.bin/kimi"], name="MainThread", exe=NODE)), "kimi", 2, 2),
    "kimi code": (job(process(2, ["kimi-code", ""], name="kimi-code", exe=NODE)), "kimi", 2, 2),
    "kimi of Python starting": (job(process(2, ["/v/bin/python3", "/v/bin/kimi"], name="kimi")), "kimi", 2, 2),
    "kimi of Python": (job(process(2, ["Kimi Code", ""], name="Kimi Code", exe="/v/bin/python3.13")), "kimi", 2, 2),
    "kimi by uv": (
        job(process(3, ["/v/bin/python", "/v/bin/kimi"], ppid=2, name="python"), process(2, ["uv", "run", "kimi"])),
        "kimi",
        3,
        2,
    ),
    "kimi as a module": (job(process(2, ["python3.13", "-m", "kimi"])), "kimi", 2, 2),
    "kimi running a command in its own group": (
        job(
            process(4, ["sleep", "9"], ppid=3),
            process(3, ["/bin/bash", "-c", "sleep 9 # codex"], ppid=2),
            process(2, ["Kimi Code"], name="Kimi Code"),
        ),
        "kimi",
        2,
        2,
    ),
    "droid": (
        job(process(3, ["droid", "exec", "--input-format", "stream-jsonrpc"], ppid=2), process(2, ["droid"])),
        "droid",
        3,
        2,
    ),
    "grok": (job(process(2, ["grok"], exe="/x/grok-native")), "grok", 2, 2),
    "grok of an installer, without its arguments": (
        job(process(2, None, name="grok-0.2.101-li", exe="/home/u/.grok/downloads/grok-0.2.101-linux-x86_64")),
        "grok",
        2,
        2,
    ),
    "amp": (job(process(2, ["amp"])), "amp", 2, 2),
    "amp of old": (
        job(process(2, ["node", "--no-warnings", "/x/.bin/amp"], name="MainThread", exe=NODE)),
        "amp",
        2,
        2,
    ),
    "qoder": (job(process(2, ["node", "/x/.bin/qodercli"], name="MainThread", exe=NODE)), "qoder", 2, 2),
    "cursor": (
        job(process(2, ["/home/u/.local/bin/cursor-agent", "/home/u/.local/share/cursor-agent/versions/7/index.js"])),
        "cursor",
        2,
        2,
    ),
    "node's thread under another name": (
        job(process(2, ["launcher", "/x/.bin/codex"], name="MainThread", exe="/x/bin/bun.exe")),
        "codex",
        2,
        2,
    ),
    "an editor with a telling file": (job(process(2, ["vim", "claude"], exe="/usr/bin/vim.basic")), None, 0, 0),
    "a shell": (job(process(2, ["-zsh"], exe="/usr/bin/zsh")), None, 0, 0),
    "a title of several words": (job(process(2, ["claude --resume x"], name="claude --resume")), "claude", 2, 2),
    "a title that runs a script": (job(process(2, ["node /x/.bin/codex --fast"], name="node")), "codex", 2, 2),
    "a title that ends in a telling path": (job(process(2, ["nginx: serving /srv/codex"], name="nginx")), None, 0, 0),
}


@pytest.mark.parametrize("name", TREES)
def test_trees(name: str) -> None:
    """The process trees that the real programs and their installers leave are their agent, or rightly none."""
    tree, agent, pid, launch = TREES[name]
    found = identify(tree)
    assert (agent, pid, launch) == ((found.agent.short, found.process.pid, found.launch.pid) if found else (None, 0, 0))


def test_executable_is_asked_only_where_text_cannot_tell() -> None:
    """A process that its text identifies costs no look at its executable."""
    asked: list[int] = []

    def resolve(pid: int) -> str | None:
        asked.append(pid)
        return "/usr/bin/less"

    assert identify(job(process(2, ["claude"]), process(3, ["node", "/x/codex"])), resolve) is not None
    assert [] == asked
    assert None is identify(job(process(2, ["less", "codex"])), resolve)
    assert [2] == asked


def test_cursor_is_tested_before_grok() -> None:
    """An agent below ~/.grok whose arguments mention cursor-agent is Cursor."""
    found = identify(job(process(2, ["/home/u/.grok/bin/agent", "--root", "/x/cursor-agent/7"])))
    assert Agent.CURSOR is (found and found.agent)


def test_agent_of_grok_by_text_and_by_link() -> None:
    """The shared name is Grok when its path or its resolved executable lies in Grok's home, with Grok's own icon."""
    typed = identify(job(process(2, ["/home/u/.grok/bin/agent"])))
    linked = identify(job(process(2, ["agent"])), lambda pid: "/home/u/.grok/downloads/grok-1.0-linux-x64")
    assert (Agent.GROK, "grok") == (typed and typed.agent, typed and typed.icon)
    assert (Agent.GROK, "grok") == (linked and linked.agent, linked and linked.icon)
    assert None is identify(job(process(2, ["agent"])), lambda pid: "/usr/bin/agent")


def test_a_better_candidate_wins_in_any_order() -> None:
    """The highest score wins wherever it stands; among equals the first does."""
    direct, wrapped = process(2, ["claude"]), process(3, ["node", "/tmp/codex"])
    for order in ((direct, wrapped), (wrapped, direct)):
        assert Agent.CLAUDE is getattr(identify(job(*order)), "agent", None)
    for first, second in (("claude", "codex"), ("codex", "claude")):
        assert first == getattr(identify(job(process(2, [first]), process(3, [second]))), "matched_name", None)


def test_aliases() -> None:
    """A declared name counts like one of the table."""
    found = identify(job(process(2, ["my-pi"])), aliases={"my-pi": Agent.PI})
    assert (Agent.PI, "my-pi", 80) == (found and found.agent, found and found.matched_name, found and found.score)


def test_no_job_is_no_agent() -> None:
    """Without a foreground job there is nobody."""
    assert None is identify(None)


def test_launch_climb_stops_in_a_cycle() -> None:
    """Processes that claim to be each other's parents do not hold the climb."""
    cycle = job(process(2, ["pi"], ppid=3), process(3, ["sh"], ppid=2))
    assert launch_process(cycle, cycle.processes[0]).pid in (2, 3)


def test_refusals_say_why() -> None:
    """What looked like an agent and was not taken is kept with its reason."""
    verdict = judge(job(process(2, ["node", "app.js", "--model", "grok"]), process(3, ["codex", "app-server"])))
    assert () == verdict.candidates
    assert [("grok", "token"), ("codex", "argv0"), ("codex", "name")] == [
        (no.name, no.source) for no in verdict.refused
    ]


_WORDS = st.sampled_from(
    [
        "claude",
        "node",
        "agent",
        "grok",
        "/x/.grok/agent",
        "cursor-agent",
        "Kimi Code",
        "MainThread",
        "-",
        "''",
        "npm:",
        " ",
    ]
)
_TEXT = st.one_of(_WORDS, st.text(max_size=20))
_PROCESS = st.builds(
    Process,
    pid=st.integers(1, 6),
    ppid=st.integers(0, 6),
    pgrp=st.just(1),
    name=_TEXT,
    argv=st.none() | st.lists(_TEXT, max_size=4).map(tuple),
    exe=st.none() | _TEXT,
)


@given(st.lists(_PROCESS, max_size=6).map(tuple), _TEXT)
def test_any_job_is_answered(processes: tuple[Process, ...], exe: str) -> None:
    """Whatever processes call themselves, the answer is one of the job's candidates with the highest score, or none."""
    some = Job(1, processes)
    found: Identification | None = identify(some, lambda pid: exe)
    if found is None:
        assert () == judge(some, lambda pid: exe).candidates
    else:
        assert found.score == max(candidate.score for candidate in found.candidates)
        assert found.process in processes
        assert found.launch in processes
