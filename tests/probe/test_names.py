"""Executable names."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from prowl_svc.model.agents import Agent
from prowl_svc.probe import names
from tests.probe.jobs import CORPUS


@pytest.mark.parametrize("case", CORPUS["names"], ids=lambda case: case["id"])
def test_corpus(case: dict[str, str | None]) -> None:
    """Every name of the corpus is its agent, or none."""
    name = names.normalise(case["name"] or "")
    agent = None if name is None else names.agent_named(name)
    assert case["agent"] == (None if agent is None else agent.short)


def test_every_agent_has_a_name() -> None:
    """All fifteen agents are in the table, under names that normalisation leaves alone."""
    assert set(Agent) == set(names.NAMES.values())
    assert list(names.NAMES) == [names.normalise(name) for name in names.NAMES]


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("/nix/store/abc-claude-code-2.1.332/bin/.claude-unwrapped", "claude"),
        (".claude-unwrapp", "claude"),
        (".claude-wrapped", "claude"),
        (".codex-wrapped", "codex"),
        (".opencode-wrapp", "opencode"),
        ("..claude-wrapped-wrapped", "claude"),
        (".claude-wrapped_", "claude"),
        (".claude.json", ".claude.json"),
        (".wrapped", ".wrapped"),
        ("/usr/bin/codex/", "codex"),
        ("   ", None),
        ("''", None),
        ("/", None),
    ],
)
def test_normalise(text: str, name: str | None) -> None:
    """Paths, quotes and the hidden names of Nix are taken off; other names stay as they are."""
    assert name == names.normalise(text)


@given(st.text())
def test_normalise_takes_any_text(text: str) -> None:
    """Whatever a process calls itself, the name is one path component or nothing."""
    name = names.normalise(text)
    assert name is None or (name != "" and "/" not in name)


def test_aliases_name_further_programs() -> None:
    """A name that the user declared is its agent, and never hides a name of the table."""
    aliases = {"my-claude": Agent.CLAUDE, "codex": Agent.CLAUDE}
    assert Agent.CLAUDE is names.agent_named("my-claude", aliases)
    assert Agent.CODEX is names.agent_named("codex", aliases)
    assert None is names.agent_named("my-claude")


@pytest.mark.parametrize(
    ("token", "agent"),
    [
        ("/usr/lib/node_modules/@anthropic-ai/claude-code/cli.js", Agent.CLAUDE),
        ("/x/node_modules/.pnpm/@openai+codex@0.171.0/node_modules/@openai/codex/bin/main.js", Agent.CODEX),
        ("/x/lib/python3.13/site-packages/kimi_cli/__main__.py", Agent.KIMI),
        ("npm:@google/gemini-cli", Agent.GEMINI),
        ("npm:@google/gemini-cli@0.61.0", Agent.GEMINI),
        ("npm:/opencode-ai@1.18.33", Agent.OPENCODE),
        ("/usr/lib/node_modules/@google/gemini-cli/node_modules/server/main.js", None),
        ("/usr/lib/node_modules/@google/gemini-cli", None),
        ("/usr/lib/node_modules/@xai-official/grok/cli.js", None),
        ("/srv/codex/server.js", None),
        ("npm:", None),
    ],
)
def test_package_agent(token: str, agent: Agent | None) -> None:
    """A script is its agent by the innermost package that holds it; a dependency and a mere folder are not."""
    assert agent is names.package_agent(token)


@pytest.mark.parametrize(
    ("path", "found"),
    [
        ("/opt/node_modules/@anthropic-ai/claude-code/bin/claude.exe", ("claude", Agent.CLAUDE)),
        ("/home/u/.local/share/claude/versions/2.1.332", ("claude", Agent.CLAUDE)),
        ("/home/u/.local/share/claude/versions/2.1.332 (deleted)", ("claude", Agent.CLAUDE)),
        ("/home/u/.grok/downloads/grok-0.2.101-linux-x86_64", ("grok-0.2.101-linux-x86_64", Agent.GROK)),
        ("/usr/bin/node", None),
        ("/versions", None),
        ("", None),
    ],
)
def test_executable_agent(path: str, found: tuple[str, Agent] | None) -> None:
    """A resolved executable is its agent by its own name or by the folder in which an installer keeps versions."""
    assert found == names.executable_agent(path)


@pytest.mark.parametrize(
    ("agent", "arguments", "serves"),
    [
        (Agent.CODEX, ["app-server", "--listen", "unix://x", "--managed-daemon"], True),
        (Agent.CODEX, ["-c", "notify=[]", "app-server"], True),
        (Agent.CODEX, ["mcp-server"], True),
        (Agent.CODEX, ["exec", "describe the app-server"], False),
        (Agent.CODEX, ["explain app-server"], False),
        (Agent.CODEX, ["resume", "--last"], False),
        (Agent.CLINE, ["--cline-hub-daemon", "--cwd", "/tmp"], True),
        (Agent.CLINE, ["--auto-approve", "false"], False),
        (Agent.CLAUDE, ["mcp", "serve"], True),
        (Agent.CLAUDE, ["mcp", "list"], False),
        (Agent.CLAUDE, ["daemon", "run"], True),
        (Agent.DROID, ["exec", "--input-format", "stream-jsonrpc"], False),
    ],
)
def test_serves_programs(agent: Agent, arguments: list[str], serves: bool) -> None:
    """Subcommands that serve other programs are told from those that talk to a person."""
    assert serves is names.serves_programs(agent, arguments)


@pytest.mark.parametrize(
    "name", ["python3.12", "python3.13t", "node22", "nodejs", "ruby3.2", "bun1.4.5", "node", "npx"]
)
def test_wrappers(name: str) -> None:
    """Runtimes and their versioned names are wrappers."""
    assert names.is_wrapper(name)


@pytest.mark.parametrize("name", ["npm", "uv", "vim", "rg", "nodemon", "pythonista", "bash-completion", "claude", ""])
def test_not_wrappers(name: str) -> None:
    """Other programs are not, however alike their names."""
    assert not names.is_wrapper(name)
