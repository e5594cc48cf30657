"""Where each agent keeps its sessions: path grammar and folder encodings (providers.md §8.2)."""

import hashlib
import json
import os
import re
from collections.abc import Iterable
from dataclasses import dataclass
from urllib.parse import quote

from prowl_svc.evidence.regular import regular
from prowl_svc.model.agents import Agent

__all__ = ["LAYOUTS", "Layout", "encode_cwd", "folders", "header_session", "layouts", "session_id"]

_UUID = "[0-9a-fA-F]{8}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{12}"
_TIME = r"\d{4}-\d\d-\d\dT\d\d-\d\d-\d\d(?:-\d+)?Z?"
_MAX_HEADER = 64 << 10
_MAX_PROJECTS = 1 << 20


@dataclass(frozen=True, slots=True)
class Layout:
    """One way of keeping sessions: ``home`` is the folder below the user's home that a config root replaces.

    ``pattern`` matches what follows it and holds the id; ``base`` is the folder to look in for recent sessions, in
    which ``{cwd}`` stands for the encoded working directory. ``transcript`` is False for files without a
    conversation.
    """

    home: str
    pattern: str
    base: str
    transcript: bool = True


LAYOUTS: dict[Agent, tuple[Layout, ...]] = {
    Agent.CODEX: (Layout(".codex", rf"sessions/\d{{4}}/\d\d/\d\d/rollout-[^/]*?({_UUID})\.jsonl", "sessions"),),
    Agent.CLAUDE: (Layout(".claude", rf"projects/[^/]+/({_UUID})\.jsonl", "projects/{cwd}"),),
    Agent.QWEN: (Layout(".qwen", rf"projects/[^/]+/chats/({_UUID})\.jsonl", "projects/{cwd}/chats"),),
    Agent.QODER: (
        Layout(".qoder", rf"projects/[^/]+/({_UUID})\.jsonl", "projects/{cwd}"),
        Layout(".qoder", rf"projects/[^/]+/({_UUID})/state\.json", "projects/{cwd}"),
    ),
    Agent.PI: (Layout(".pi", rf"agent/sessions/[^/]+/(?:session|{_TIME})_({_UUID})\.jsonl", "agent/sessions/{cwd}"),),
    Agent.OMP: (Layout(".omp", rf"agent/sessions/[^/]+/{_TIME}_({_UUID})\.jsonl", "agent/sessions/{cwd}"),),
    Agent.DROID: (Layout(".factory", rf"sessions/[^/]+/({_UUID})\.jsonl", "sessions/{cwd}"),),
    Agent.CURSOR: (Layout(".cursor", rf"chats/[^/]+/({_UUID})/store\.db", "chats/{cwd}", transcript=False),),
    Agent.KIMI: (
        Layout(".kimi", rf"sessions/[^/]+/({_UUID})/(?:context|wire)\.jsonl", "sessions/{cwd}"),
        Layout(".kimi-code", rf"sessions/wd_[^/]+/session_({_UUID})/agents/main/wire\.jsonl", "sessions/wd_{name}_*"),
    ),
    Agent.GEMINI: (Layout(".gemini", r"tmp/[^/]+/chats/session-([^/]+)\.jsonl", "tmp/{cwd}/chats"),),
    Agent.CLINE: (
        Layout(".cline", r"data/tasks/(\d+)/history\.json", "data/tasks"),
        Layout(".cline", r"data/sessions/(\d+_[^/]+)/\1(?:\.messages)?\.json", "data/sessions"),
    ),
    Agent.COPILOT: (Layout(".copilot", rf"session-state/({_UUID})/events\.jsonl", "session-state"),),
    Agent.GROK: (
        Layout(".grok", rf"sessions/[^/]+/({_UUID})/(?:chat_history|events|updates)\.jsonl", "sessions/{cwd}"),
    ),
    Agent.AMP: (
        Layout(".cache/amp", rf"logs/threads/(T-{_UUID})\.log", "logs/threads", transcript=False),
        Layout(".local/share/amp", rf"threads/(T-{_UUID})\.json", "threads"),
    ),
}
"""OpenCode has no session files: its sessions are rows of a store."""


def layouts(agent: Agent, root: str | None, home: str) -> list[tuple[str, Layout]]:
    """Return the folders that replace each layout's ``home``: the config root alone, else those below ``home``."""
    known = LAYOUTS.get(agent, ())
    if root is not None:
        first = known[0].home if known else ""
        return [(root.rstrip("/"), layout) for layout in known if layout.home == first]
    return [(os.path.join(home, layout.home), layout) for layout in known]


def session_id(agent: Agent, path: str, root: str | None = None) -> tuple[str, bool] | None:
    """Return the session id that a path holds and whether the file is a transcript; None when it is no session's.

    ``root`` is the launch's own config root; without one, the agent's folder below any directory counts.
    """
    for layout in LAYOUTS.get(agent, ()):
        if root is not None:
            match = re.fullmatch(re.escape(root.rstrip("/")) + "/" + layout.pattern, path)
        else:
            match = re.search(f"/{re.escape(layout.home)}/{layout.pattern}$", path)
        if match is not None:
            return match[1], layout.transcript
    return None


def encode_cwd(agent: Agent, cwd: str, home: str) -> str | None:
    """Return the folder name that an agent makes of a working directory, or None where it uses none."""
    match agent:
        case Agent.CLAUDE | Agent.QWEN | Agent.QODER:
            return "".join(one if one.isascii() and one.isalnum() else "-" * _units(one) for one in cwd)
        case Agent.PI:
            return _framed(cwd)
        case Agent.OMP:
            if cwd == home or cwd.startswith(home + "/"):
                return "-" + cwd[len(home) + 1 :].replace("/", "-")
            return _framed(cwd)
        case Agent.DROID:
            return cwd.replace("/", "-")
        case Agent.CURSOR | Agent.KIMI:
            return hashlib.md5(cwd.encode(errors="surrogateescape"), usedforsecurity=False).hexdigest()
        case Agent.GEMINI:
            return hashlib.sha256(cwd.encode(errors="surrogateescape")).hexdigest()
        case Agent.GROK:
            return quote(cwd, safe="")
        case _:
            return None


def _units(character: str) -> int:
    return 2 if ord(character) > 0xFFFF else 1  # the agents count UTF-16 units


def _framed(cwd: str) -> str:
    return "--" + cwd.removeprefix("/").replace("/", "-") + "--"


def folders(agent: Agent, cwd: str | None, root: str | None, home: str) -> list[str]:
    """Return where recent sessions of a working directory are looked for; some may not exist."""
    found: dict[str, None] = {}
    cwds = dict.fromkeys([cwd, os.path.realpath(cwd)]) if cwd is not None else {}
    for base, layout in layouts(agent, root, home):
        if "{" not in layout.base:
            found[os.path.join(base, layout.base)] = None
            continue
        for one in cwds:
            for name in _names(agent, one, base, home):
                part = layout.base.replace("{cwd}", name).replace("{name}", os.path.basename(one))
                found[os.path.join(base, part)] = None
    return list(found)


def _names(agent: Agent, cwd: str, base: str, home: str) -> Iterable[str]:
    if agent is Agent.GEMINI and (slug := _gemini_slug(base, cwd)) is not None:
        yield slug
    encoded = encode_cwd(agent, cwd, home)
    if encoded is not None:
        yield encoded


def _gemini_slug(base: str, cwd: str) -> str | None:
    try:
        with open(os.path.join(base, "projects.json"), "rb", opener=regular) as file:
            projects = json.loads(file.read(_MAX_PROJECTS))["projects"]
        slug = projects.get(cwd)
    except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return None
    return slug if isinstance(slug, str) and slug and "/" not in slug else None


def header_session(path: str) -> str | None:
    """Return the session id of a transcript's first record, for agents whose file names hold only a part of it."""
    try:
        with open(path, "rb", opener=regular) as file:
            record = json.loads(file.readline(_MAX_HEADER))
    except (OSError, ValueError, RecursionError):
        return None
    identity = record.get("sessionId") if isinstance(record, dict) else None
    return identity if isinstance(identity, str) and identity else None
