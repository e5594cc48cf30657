"""Provider cases (``providers/manifest.json``): logs, registry, sessions, progress and the seen rule."""

import asyncio
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from tests.conformance.cases import CaseError, Outcome, judged, part, read_json
from tests.conformance.parts import machine


def run(path: Path) -> Iterator[Outcome]:
    """Run the entries of a manifest; those marked as prose are for people."""
    data = read_json(path)
    cases = data.get("cases") if isinstance(data, dict) else None
    if not isinstance(cases, list):
        raise CaseError("has no cases")
    entries = [case for case in cases if not (isinstance(case, dict) and case.get("prose"))]

    def judge(case: dict[str, Any]) -> str | None:
        kind = case.get("kind")
        run_kind = KINDS.get(kind) if isinstance(kind, str) else None
        if run_kind is None:
            raise CaseError(f"no kind is called {kind!r}")
        try:
            return run_kind({**case, "process": data.get("process_for_claude_fixtures")}, path.parent)
        except (KeyError, TypeError) as error:
            missing = _missing(case, error)
            if missing is None:
                raise
            raise CaseError(missing) from None

    return judged(entries, judge)


def _missing(case: dict[str, Any], error: Exception) -> str | None:
    """Tell whether an exception came from a key that the case lacks."""
    key = error.args[0] if isinstance(error, KeyError) and error.args else None
    return f"has no {key}" if isinstance(key, str) and key in _KEYS and key not in case else None


_KEYS = ("file", "process", "files", "table", "steps", "expected", "expected_events", "created_after_provider_start")


def _differs(case: dict[str, Any], seen: object, expected: object) -> str | None:
    return None if seen == expected else f"{case['id']}: {seen}, not {expected}"


def _codex_sample(case: dict[str, Any], folder: Path) -> str | None:
    logs = part("prowl_svc.evidence.codex_logs")
    shown = part("tests.evidence.fakes").shown
    paths = [_existing(folder / name) for name in case["files"]]
    born = 2.0 if case["created_after_provider_start"] else 0.0
    _, facts, failure = logs.read_logs(logs.LogState(), paths, 1.0, birth=lambda path: born)
    category, _, detail = (case.get("expected_failure") or "").partition(":")
    # What the kind of failure adds in brackets (an error's number) is not decided by the case.
    seen = None if failure is None else (failure[0], failure[1].partition("(")[0] if detail else "")
    return _differs(case, (shown(facts), seen), (case["expected_events"], (category, detail) if category else None))


def _claude_sample(case: dict[str, Any], folder: Path) -> str | None:
    registry, rooms = part("prowl_svc.evidence.claude_registry"), part("tests.evidence.test_claude_registry")
    about, domain, ticks = case["process"], "darwin", None
    if not isinstance(about, dict):
        raise CaseError("the manifest does not say of which process the records are")
    if case.get("profile") == "our-linux":
        domain, ticks = about["linux_pid_domain"], int(about["linux_starttime_ticks"])
    process = registry.RegistryProcess(about["pid"], domain, about["started_at_epoch"], ticks)
    raw = (
        b" " * (registry.MAX_SIZE + 1) if case["file"] is None else Path(_existing(folder / case["file"])).read_bytes()
    )
    with tempfile.TemporaryDirectory() as home:
        root = rooms.Root(Path(home), process)
        if case.get("last_updated_at") is not None:
            root.write(updatedAt=case["last_updated_at"])
            asyncio.run(root.sample(0.0))
        root.write(raw)
        facts = asyncio.run(root.sample(1.0))
        failure = case.get("expected_failure")
        return _differs(case, (facts, root.lines), ([case["expected"]], [failure] if failure else []))


def _codex_steps(case: dict[str, Any], folder: Path) -> str | None:
    return part("tests.conformance.parts.codex_steps").run(case, folder)  # type: ignore[no-any-return]


def _sequence(case: dict[str, Any], folder: Path) -> str | None:
    return machine.sequence(read_json(folder / case["file"]))


def _seen(case: dict[str, Any], folder: Path) -> str | None:
    display = part("prowl_svc.decision.display")
    state = part("prowl_svc.model.state")
    agent = part("prowl_svc.model.agents").Agent.CLAUDE
    for row in case["table"]:
        before = display.Attention(agent, state.RawState(row["previous"]), row["prev_seen"])
        now = state.Decision(state.RawState(row["now"]), "demo.rule", "demo.rule")
        after = display.observe(before, agent, now, row["viewed"], 1.0)
        if (after.seen, after.shown) != (row["seen"], row["display"]):
            return f"{case['id']}: {row} gives {after.seen}, {after.shown}"
    return None


def _progress(case: dict[str, Any], folder: Path) -> str | None:
    decode = part("prowl_svc.terminal.osc").decode_osc
    terminal = part("prowl_svc.model.terminal")
    for row in case["table"]:
        event = decode(row["body"].encode(), b"\x07", 0)
        seen: tuple[str | None, int | None] = (None, None)
        if isinstance(event, terminal.Progress):
            seen = (event.state.value, event.percent)
        elif isinstance(event, terminal.Notification):
            seen = (f"notification:{event.body}", None)
        if seen != (row["result"], row["value"]):
            return f"{case['id']}: {row} gives {seen}"
    return None


def _existing(path: Path) -> str:
    if not path.is_file():
        raise CaseError(f"{path.name} is not there")
    return str(path)


def _paths(case: dict[str, Any], folder: Path) -> str | None:
    named = part("prowl_svc.evidence.session_paths").session_id
    agents = part("prowl_svc.model.agents").Agent
    for row in case["table"]:
        found = named(agents.from_name(row["agent"]), row["path"])
        if found is None or found[0] != row["id"].split(" ")[0]:
            return f"{case['id']}: {row['path']} gives {found}"
    for name, path in case.get("rejected", ()):
        if named(agents.from_name(name), path) is not None:
            return f"{case['id']}: {path} is not rejected"
    return None


def _encoders(case: dict[str, Any], folder: Path) -> str | None:
    encode = part("prowl_svc.evidence.session_paths").encode_cwd
    agents = part("prowl_svc.model.agents").Agent
    for row in case["table"]:
        for name in row["agents"]:
            cwd = row["cwd"].replace("<home>", "/home/me")
            seen = encode(agents.from_name(name.split(" ")[0]), cwd, "/home/me")
            if seen != row["dir"]:
                return f"{case['id']}: {name} makes {seen} of {cwd}"
    return None


def _retention(case: dict[str, Any], folder: Path) -> str | None:
    cache = part("prowl_svc.evidence.session_cache")
    observation = part("prowl_svc.model.observation")
    old, new = (
        observation.SessionRef(name, None, observation.SessionConfidence.EXACT, "open_file") for name in ("old", "new")
    )
    for row in case["table"]:
        before = cache.Retained(old, 7, 1)
        pid = {None: None, "same": 7, "other": 8}[row.get("identified_pid", "same")]
        resolution = cache.Resolution(new if row.get("resolved") else None, row.get("fresh", True))
        after = cache.retain(before, pid, resolution)
        word = row["result"].replace(";", ",").split(",")[0]
        expected = {"new": (new, 0), "keep": (old, 1), "drop": (None, 0), "streak+1": (old, 2)}.get(word)
        if (after.session, after.streak) != expected:
            return f"{case['id']}: {row} gives {after}"
        if expected == (old, 2) and cache.retain(after, pid, resolution).session is not None:
            return f"{case['id']}: {row} is not dropped the third time"
    return None


KINDS: dict[str, Callable[[dict[str, Any], Path], str | None]] = {
    "codex.sample": _codex_sample,
    "codex.steps": _codex_steps,
    "claude.sample": _claude_sample,
    "machine.sequence": _sequence,
    "pane.seen": _seen,
    "pane.session": _retention,
    "osc9": _progress,
    "session.path": _paths,
    "session.encoder": _encoders,
}
