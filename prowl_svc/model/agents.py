"""The fifteen agents: ids, names for people, icon tokens (detection.md §0)."""

from enum import StrEnum

__all__ = ["Agent"]


class Agent(StrEnum):
    """A coding agent; the value is the stable raw value that goes on the wire."""

    CLAUDE = "claude"
    CODEX = "codex"
    GEMINI = "gemini"
    CURSOR = "cursor-agent"
    CLINE = "cline"
    OPENCODE = "opencode"
    COPILOT = "copilot"
    KIMI = "kimi"
    DROID = "droid"
    AMP = "amp"
    PI = "pi"
    OMP = "omp"
    QODER = "qodercli"
    QWEN = "qwen"
    GROK = "grok"

    @property
    def short(self) -> str:
        """The short id used by rule ids and case files: ``cursor`` and ``qoder``, else the raw value."""
        return _SHORT.get(self.value, self.value)

    @property
    def display_name(self) -> str:
        """The name shown to people, which is also the icon token."""
        return "cursor" if self is Agent.CURSOR else self.value

    @classmethod
    def from_name(cls, name: str) -> "Agent":
        """Return the agent of a raw value or short id; raises ValueError for any other name."""
        return cls(_RAW.get(name, name))


_SHORT = {"cursor-agent": "cursor", "qodercli": "qoder"}
_RAW = {short: raw for raw, short in _SHORT.items()}
