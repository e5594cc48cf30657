"""Which package holds which agent CLI: pinned versions, executables and the runtimes they need."""

import platform
from dataclasses import dataclass

__all__ = ["BUN", "NODE_22", "NODE_24", "PACKAGES", "Package", "package", "packages"]

_ARCH = {"x86_64": "x64", "aarch64": "arm64"}.get(platform.machine(), platform.machine())


@dataclass(frozen=True, slots=True)
class Package:
    """One installable CLI: ``spec`` is ``name@version``, ``executable`` is relative to the install folder.

    ``agent`` is the agent's raw value, ``node`` the runtime that installs and runs it, ``needs`` further packages
    whose executables must be on PATH.
    """

    agent: str
    spec: str
    executable: str
    node: "Package | None" = None
    needs: tuple["Package", ...] = ()

    @property
    def version(self) -> str:
        """The pinned version."""
        return self.spec.rpartition("@")[2]

    @property
    def key(self) -> str:
        """The name of the install folder."""
        return f"{self.agent}-{self.version}"


NODE_22 = Package("node", f"node-linux-{_ARCH}@22.23.5", f"node_modules/node-linux-{_ARCH}/bin/node")
NODE_24 = Package("node", f"node-linux-{_ARCH}@24.21.0", f"node_modules/node-linux-{_ARCH}/bin/node")
BUN = Package("bun", "bun@1.4.5", "node_modules/.bin/bun", NODE_24)

# The first package of an agent is its current version, which the live suite runs.
PACKAGES = (
    Package("claude", "@anthropic-ai/claude-code@2.1.332", "node_modules/.bin/claude", NODE_22),
    Package("claude", "@anthropic-ai/claude-code@2.1.197", "node_modules/.bin/claude", NODE_22),
    Package("codex", "@openai/codex@0.171.0", "node_modules/.bin/codex", NODE_22),
    Package("codex", "@openai/codex@0.155.0", "node_modules/.bin/codex", NODE_22),
    Package("pi", "@earendil-works/pi-coding-agent@1.6.0", "node_modules/.bin/pi", NODE_24),
    Package("pi", "@mariozechner/pi-coding-agent@0.73.1", "node_modules/.bin/pi", NODE_24),
    Package("gemini", "@google/gemini-cli@0.61.0", "node_modules/.bin/gemini", NODE_22),
    Package("qwen", "@qwen-code/qwen-code@0.24.4", "node_modules/.bin/qwen", NODE_22),
    Package("opencode", "opencode-ai@1.18.33", "node_modules/.bin/opencode", NODE_22),
    Package("copilot", "@github/copilot@1.0.102", "node_modules/.bin/copilot", NODE_24),
    Package("omp", "@oh-my-pi/pi-coding-agent@18.2.3", "node_modules/.bin/omp", NODE_24, (BUN,)),
    Package("cline", "cline@3.0.65", "node_modules/.bin/cline", NODE_24),
    Package("kimi", "@moonshot-ai/kimi-code@2.1.0", "node_modules/.bin/kimi", NODE_24),
    Package(
        "droid", f"@factory/cli-linux-{_ARCH}@0.225.2", f"node_modules/@factory/cli-linux-{_ARCH}/bin/droid", NODE_24
    ),
    Package("grok", "@xai-official/grok@1.0.41", "node_modules/.bin/grok", NODE_24),
    Package("amp", "@sourcegraph/amp@0.0.1770734955-g93e689", "node_modules/.bin/amp", NODE_24),
)


def packages(agent: str) -> tuple[Package, ...]:
    """Return every pinned package of an agent, current version first."""
    return tuple(item for item in PACKAGES if item.agent == agent)


def package(agent: str, version: str | None = None) -> Package:
    """Return an agent's current package, or that version of it; raises KeyError when there is none.

    A version that is not pinned is taken from the agent's current package name.
    """
    known = packages(agent)
    if not known:
        raise KeyError(agent)
    if version is None:
        return known[0]
    for item in known:
        if item.version == version:
            return item
    current = known[0]
    name = current.spec.rpartition("@")[0]
    return Package(current.agent, f"{name}@{version}", current.executable, current.node, current.needs)
