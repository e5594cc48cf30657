"""Which executable names are agents, and which programs merely run other programs (detection.md §1.2, §1.3)."""

import re
from collections.abc import Iterable, Mapping
from typing import Final

from prowl_svc.model.agents import Agent

__all__ = [
    "NAMES",
    "PACKAGES",
    "agent_named",
    "basename",
    "executable_agent",
    "is_interpreter",
    "is_versioned_grok",
    "is_wrapper",
    "normalise",
    "package_agent",
    "serves_programs",
]

NAMES: Final[Mapping[str, Agent]] = {
    name: agent
    for agent, names in {
        Agent.PI: ("pi", "prime-agent"),  # the second is a fork with Pi's interface
        Agent.OMP: ("omp", "oh-my-pi"),
        Agent.CLAUDE: ("claude", "claude-code"),
        Agent.CODEX: ("codex", "omx", "oh-my-codex"),
        Agent.GEMINI: ("gemini",),
        Agent.CURSOR: ("cursor", "cursor-agent"),
        Agent.CLINE: ("cline",),
        Agent.OPENCODE: ("opencode", "open-code"),
        Agent.COPILOT: ("copilot", "github-copilot", "ghcs"),
        Agent.KIMI: ("kimi", "kimi code", "kimi-code"),  # the last two are process titles
        Agent.DROID: ("droid",),
        Agent.AMP: ("amp", "amp-local"),
        Agent.QODER: ("qodercli",),
        Agent.QWEN: ("qwen",),
        Agent.GROK: ("grok",),
    }.items()
    for name in names
}
"""Executable names after ``normalise``. The shared name ``agent`` is decided in ``score``."""

PACKAGES: Final[Mapping[str, Agent]] = {
    "@anthropic-ai/claude-code": Agent.CLAUDE,
    "@openai/codex": Agent.CODEX,
    "@google/gemini-cli": Agent.GEMINI,
    "@qwen-code/qwen-code": Agent.QWEN,
    "@github/copilot": Agent.COPILOT,
    "@earendil-works/pi-coding-agent": Agent.PI,
    "@mariozechner/pi-coding-agent": Agent.PI,
    "@oh-my-pi/pi-coding-agent": Agent.OMP,
    "@moonshot-ai/kimi-code": Agent.KIMI,
    "@factory/cli": Agent.DROID,
    "@ampcode/cli": Agent.AMP,
    "@sourcegraph/amp": Agent.AMP,
    "@qoder-ai/qodercli": Agent.QODER,
    "opencode-ai": Agent.OPENCODE,
    "cline": Agent.CLINE,
    "kimi_cli": Agent.KIMI,
}
"""Packages whose scripts an interpreter runs in its own process. Grok is native, so it has no row."""

_WRAPPERS: Final = frozenset(
    ["node", "bun", "python", "python3", "ruby", "deno", "sh", "bash", "zsh", "fish", "tmux", "npx", "bunx"]
)
_VERSIONED: Final = re.compile(r"(?:node|nodejs|bun|python|ruby|deno|bash|zsh|fish)-?v?\d+(?:\.\d+)*[a-z]?|nodejs")
_GROK_PLATFORMS: Final = ("-macos-", "-linux-", "-windows-")
_NIX: Final = re.compile(r"\.+(?P<stem>[a-z][a-z -]*?)(?:-wrapped|-unwrapped)+_*")
_COMM_BYTES: Final = 15  # the kernel cuts short names here
_QUOTES: Final = "'\""

# First positional arguments with which an agent's executable serves other programs instead of a person at a terminal.
_SERVER_COMMANDS: Final[Mapping[Agent, frozenset[tuple[str, ...]]]] = {
    Agent.CODEX: frozenset({("app-server",), ("mcp-server",), ("exec-server",), ("responses-api-proxy",)}),
    Agent.CLAUDE: frozenset({("daemon",), ("mcp", "serve"), ("bg-pty-host",), ("bg-spare",)}),
}
_SERVER_OPTIONS: Final[Mapping[Agent, frozenset[str]]] = {
    Agent.CLINE: frozenset({"--cline-hub-daemon"}),
    Agent.CODEX: frozenset({"--managed-daemon"}),
    Agent.CLAUDE: frozenset({"--bg-pty-host", "--bg-spare"}),
}


def basename(text: str) -> str | None:
    """Return the last path component, unquoted and without one login dash; None when nothing is left (§1.1)."""
    name = text.strip().strip(_QUOTES).rstrip("/").rpartition("/")[2]
    return name.removeprefix("-") or None


def normalise(text: str) -> str | None:
    """Return the name as the table holds it: basename, lower-case, one ``.js`` removed; None when nothing is left.

    The hidden names that Nix gives to wrapped programs (``.claude-unwrapped``, also cut by the kernel) become the
    program's own name.
    """
    name = basename(text)
    if name is None:
        return None
    name = name.lower().removesuffix(".js")
    if name.startswith("."):
        name = _unhide(name)
    return name or None


def _unhide(name: str) -> str:
    match = _NIX.fullmatch(name)
    if match is None and len(name) == _COMM_BYTES:
        stem, dash, cut = name.lstrip(".").rpartition("-")
        if dash and cut and any(suffix.startswith(cut) for suffix in ("wrapped", "unwrapped")):
            return stem
    return match["stem"] if match else name


def is_versioned_grok(name: str) -> bool:
    """Tell whether a normalised name is a Grok install binary such as ``grok-0.2.101-macos-aarch64``."""
    return name.startswith("grok-") and any(platform in name for platform in _GROK_PLATFORMS)


def agent_named(name: str, aliases: Mapping[str, Agent] | None = None) -> Agent | None:
    """Return the agent of a normalised name; ``aliases`` are further normalised names that the user declared."""
    agent = NAMES.get(name)
    if agent is None and aliases:
        agent = aliases.get(name)
    if agent is None and is_versioned_grok(name):
        agent = Agent.GROK
    return agent


def executable_agent(path: str) -> tuple[str, Agent] | None:
    """Return the name and agent that a resolved executable path tells, for processes started under another name.

    ``.exe`` is how npm names some native binaries; ``…/claude/versions/2.1.332`` is how an installer keeps versions.
    """
    parts = path.removesuffix(" (deleted)").lower().split("/")
    names = [parts[-1].removesuffix(".exe")]
    if len(parts) > 2 and parts[-2] == "versions":
        names.append(parts[-3])
    for name in names:
        agent = agent_named(name)
        if agent is not None:
            return name, agent
    return None


def is_interpreter(name: str) -> bool:
    """Tell whether a normalised name is Node or Bun, which may rename their main thread."""
    name = name.removesuffix(".exe")
    return name in {"node", "bun"} or (name.startswith(("node", "bun")) and _VERSIONED.fullmatch(name) is not None)


def is_wrapper(name: str) -> bool:
    """Tell whether the tokens of a process with this normalised name may name an agent (§1.3)."""
    return name in _WRAPPERS or _VERSIONED.fullmatch(name) is not None


def package_agent(token: str) -> Agent | None:
    """Return the agent whose installed package holds the script ``token``, or that ``npm:`` specifier names (§1.2).

    Only the innermost ``node_modules`` or ``site-packages`` counts, so a dependency of an agent is not the agent.
    """
    if token.startswith("npm:"):
        scope, slash, rest = token.removeprefix("npm:").lstrip("/").rpartition("/")
        return PACKAGES.get(scope + slash + rest.partition("@")[0])
    for folder in ("/node_modules/", "/site-packages/"):
        _, found, inside = token.rpartition(folder)
        if found:
            parts = inside.split("/")
            length = 2 if parts[0].startswith("@") else 1
            if len(parts) > length:
                return PACKAGES.get("/".join(parts[:length]))
    return None


def serves_programs(agent: Agent, arguments: Iterable[str]) -> bool:
    """Tell whether the arguments make an agent's executable a server for other programs (real-agents.md A.4, B.3).

    Such processes (Codex's app server, an agent serving MCP to another one, Cline's hub) are nobody's pane.
    """
    commands = _SERVER_COMMANDS.get(agent, frozenset())
    options = _SERVER_OPTIONS.get(agent, frozenset())
    positional: list[str] = []
    for argument in arguments:
        if argument in options:
            return True
        if argument.startswith("-") or "=" in argument:
            continue
        positional.append(argument)
        if tuple(positional) in commands:
            return True
        if len(positional) == 2:
            break
    return False
