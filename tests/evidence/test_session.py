"""Sessions: found by the strongest evidence there is, and never guessed into use."""

import json
import os
import sqlite3
from dataclasses import replace
from pathlib import Path

import pytest

from prowl_svc.evidence.open_files import OpenFiles
from prowl_svc.evidence.session import Attribution, Ladder, SessionQuery
from prowl_svc.evidence.session_cache import Resolution, Retained, SessionResolver, retain
from prowl_svc.evidence.session_match import Fragments, best_match, fragments_of, normalize, score
from prowl_svc.evidence.session_paths import encode_cwd, folders, session_id
from prowl_svc.evidence.session_recent import Recent, WideScanError, codex_folders, store_sessions
from prowl_svc.model.agents import Agent
from prowl_svc.model.observation import SessionConfidence, SessionRef
from prowl_svc.model.process import Generation
from tests.evidence.fakes import PROVIDERS, FakeHost, cases

A = "d0000000-aaaa-4bbb-8ccc-000000000001"
B = "d0000000-aaaa-4bbb-8ccc-000000000002"
NOW = 1_796_000_000.0
PATHS = cases("session.path")[0]


@pytest.mark.parametrize("row", PATHS["table"], ids=lambda row: row["agent"])
def test_path_grammar(row):
    """Each agent's session file tells its id."""
    named = session_id(Agent.from_name(row["agent"]), row["path"])

    assert named is not None
    assert row["id"].split()[0] == named[0]
    assert ("no transcript" not in row["id"] and row["agent"] != "cursor") == named[1]


@pytest.mark.parametrize(("agent", "path"), PATHS["rejected"])
def test_rejected_paths(agent, path):
    """Files that only look like sessions are none."""
    assert session_id(Agent.from_name(agent), path) is None


@pytest.mark.parametrize(
    ("agent", "path", "expected"),
    [
        (Agent.PI, f"/home/u/.pi/agent/sessions/--home-u-App--/2026-08-01T12-00-00-000Z_{A}.jsonl", A),
        (Agent.KIMI, f"/home/u/.kimi-code/sessions/wd_App_1a2b/session_{A}/agents/main/wire.jsonl", A),
        (Agent.KIMI, f"/home/u/.kimi/sessions/0f/{A}/wire.jsonl", A),
        (Agent.CLINE, "/home/u/.cline/data/sessions/1796106202_ab1/1796106202_ab1.json", "1796106202_ab1"),
        (Agent.CLINE, "/home/u/.cline/data/sessions/1796106202_ab1/other.json", None),
        (Agent.AMP, f"/home/u/.local/share/amp/threads/T-{A}.json", f"T-{A}"),
        (Agent.GROK, f"/home/u/.grok/sessions/%2Fhome%2Fu/{A}/events.jsonl", A),
        (Agent.QODER, f"/home/u/.qoder/projects/-home-u/{A}/state.json", A),
        (Agent.OMP, f"/home/u/.omp/agent/sessions/-App/2026-08-01T12-00-00-000Z_{A}/Vulture.jsonl", None),
        (Agent.CODEX, f"/home/u/.codex/sessions/2026/08/01/rollout-2026-08-01T12-00-00-{A}.jsonl.zst", None),
    ],
)
def test_paths_of_current_versions(agent, path, expected):
    """Files where current versions keep them are known too; children's and compressed ones are not."""
    named = session_id(agent, path)

    assert expected == (named and named[0])


def test_config_root_replaces_the_layout():
    """With a root of its own, only files below it count."""
    assert (A, True) == session_id(Agent.CLAUDE, f"/srv/r/projects/-a/{A}.jsonl", "/srv/r/")
    assert session_id(Agent.CLAUDE, f"/home/u/.claude/projects/-a/{A}.jsonl", "/srv/r") is None
    assert ["/srv/r/projects/-a"] == folders(Agent.CLAUDE, "/a", "/srv/r", "/home/u")


@pytest.mark.parametrize("row", cases("session.encoder")[0]["table"], ids=lambda row: row["cwd"])
def test_folder_encoding(row):
    """Each agent's name of a working directory."""
    for name in row["agents"]:
        agent = Agent.from_name(name.split()[0])
        cwd = row["cwd"].replace("<home>", "/home/me")
        assert row["dir"] == encode_cwd(agent, cwd, "/home/me")


def test_gemini_slug(tmp_path):
    """Gemini names folders by its own list, then by the hash."""
    base = tmp_path / ".gemini"
    base.mkdir()
    (base / "projects.json").write_text(json.dumps({"projects": {"/a": "app"}}))
    found = folders(Agent.GEMINI, "/a", None, str(tmp_path))

    assert str(base / "tmp" / "app" / "chats") == found[0]
    assert 2 == len(found)


# --- matching


def test_recorded_match():
    """The screen's prompt picks the transcript that holds it, however the terminal wrapped it."""
    case = cases("session.match")[0]
    fragments = {name: fragments_of((PROVIDERS / name).read_bytes()) for name in case["candidates"]}

    assert "session/match-a.jsonl" == best_match(fragments, case["screen"])


def test_match_needs_a_clear_winner():
    """Equal texts, a session without texts, a short screen and too many sessions give no match."""
    text = "refactor the demo parser"
    assert "a" == best_match({"a": [text], "b": ["something entirely different"]}, text)
    assert best_match({"a": [text], "b": [text]}, text) is None
    assert best_match({"a": [text], "b": []}, text) is None
    assert best_match({"a": [text]}, "refactor") is None
    assert best_match({str(n): [text + str(n)] for n in range(13)}, text) is None
    assert best_match({"a": ["nothing of the kind"]}, text) is None


def test_score():
    """Whole fragments score by length up to 200, a long one's end scores 80."""
    long = "x" * 50 + "y" * 100

    assert 92 == score(["a" * 12], "bb" + "a" * 12)
    assert 200 == score([long], long)
    assert 80 == score([long], "y" * 80)
    assert 0 == score([long], "y" * 79)


def test_normalize():
    """Colours go, case and white space do not count."""
    assert "grün ok fine" == normalize("\x1b[1;31mGRÜN\x1b[0m\u00a0ok \n\tfine ")


def test_fragments_come_from_texts_only():
    """Only the values under known keys count, at any depth, of at least 12 characters."""
    lines = [
        {"type": "user", "message": {"content": [{"type": "text", "text": "A fragment of some length"}]}},
        {"prompt": "short", "other": "not a text of the conversation"},
        {"last_assistant_message": "The last assistant message"},
    ]
    raw = b'{"cut' + b"\n" + b"\n".join(json.dumps(line).encode() for line in lines) + b'\n{"half'

    assert ["a fragment of some length", "the last assistant message"] == fragments_of(raw)


def test_fragments_are_kept_until_the_file_changes(tmp_path):
    """A transcript is read again when its time changes; one that cannot be read is tried again."""
    path, fragments = tmp_path / "a.jsonl", Fragments()
    assert [] == fragments.of([str(path)])
    path.write_text(json.dumps({"text": "the first of the texts"}) + "\n")
    os.utime(path, ns=(1, 1))
    assert ["the first of the texts"] == fragments.of([str(path)])
    path.write_text(json.dumps({"text": "the second of the texts"}) + "\n")
    os.utime(path, ns=(1, 1))
    assert ["the first of the texts"] == fragments.of([str(path)])
    os.utime(path, ns=(2, 2))
    assert ["the second of the texts"] == fragments.of([str(path)])


# --- looking


def test_codex_days():
    """The day folders reach from the day before the start to today; a month is too long."""
    day = 86400.0
    assert 3 == len(codex_folders("/s", NOW - day, NOW))
    assert [] == codex_folders("/s", NOW - 40 * day, NOW)


def test_walks_are_limited_and_remembered(tmp_path, monkeypatch):
    """Too many entries void the round, and a folder is not walked twice within a second."""
    clock = [0.0]
    recent = Recent(lambda: clock[0])
    folder = tmp_path / ".claude" / "projects" / "-a"
    folder.mkdir(parents=True)
    (folder / f"{A}.jsonl").write_text("")
    assert [A] == list(recent.sessions(Agent.CLAUDE, [str(folder)], None, 0.0))
    (folder / f"{B}.jsonl").write_text("")
    assert [A] == list(recent.sessions(Agent.CLAUDE, [str(folder)], None, 0.0))
    clock[0] = 1.0
    assert {A, B} == set(recent.sessions(Agent.CLAUDE, [str(folder)], None, 0.0))
    clock[0] = 2.0
    monkeypatch.setattr("prowl_svc.evidence.session_recent.WALK_LIMIT", 1)
    with pytest.raises(WideScanError):
        recent.sessions(Agent.CLAUDE, [str(folder)], None, 0.0)


class World:
    """A home, a project and a process, and the ladder that looks at them."""

    def __init__(self, tmp_path: Path, agent: Agent) -> None:
        self.home = tmp_path / "home"
        self.cwd = tmp_path / "App"
        self.home.mkdir()
        self.cwd.mkdir()
        self.host = FakeHost()
        self.clock = 0.0
        self.ladder = Ladder(self.host, lambda: self.clock, lambda: NOW)
        self.query = SessionQuery(agent, Generation(7, 1), (7,), NOW, str(self.cwd), "", str(self.home))

    def file(self, *parts: str, text: str = "", at: float = NOW) -> str:
        path = self.home.joinpath(*parts)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        os.utime(path, (at, at))
        return str(path)

    def project(self, identity: str, text: str = "", at: float = NOW) -> str:
        folder = encode_cwd(self.query.agent, str(self.cwd), str(self.home))
        return self.file(".claude", "projects", folder, f"{identity}.jsonl", text=text, at=at)

    def opens(self, *paths: str) -> None:
        self.host.files = OpenFiles(paths)

    def look(self, **changes: object) -> tuple | None:
        self.clock += 2
        session = self.ladder.attribute(replace(self.query, **changes)).session
        return None if session is None else (session.id, session.path, session.confidence.value, session.source)


def texts(*values: str) -> str:
    return "".join(json.dumps({"text": value}) + "\n" for value in values)


def test_one_open_file_is_exact(tmp_path):
    """The only session file that the process writes is its session."""
    world = World(tmp_path, Agent.CLAUDE)
    path = world.project(A)
    world.project(B)
    world.opens("/etc/hosts", path)

    assert (A, path, "exact", "open_file") == world.look()


def test_codex_children_are_no_sessions(tmp_path):
    """A child's log beside its parent's leaves the parent exact."""
    world = World(tmp_path, Agent.CODEX)
    source = {"subagent": {"thread_spawn": {"parent_thread_id": A}}}
    paths = []
    for identity, origin in ((A, "cli"), (B, source)):
        line = json.dumps({"type": "session_meta", "payload": {"id": identity, "source": origin}}) + "\n"
        paths.append(world.file(".codex", "sessions", "2026", "11", "30", f"rollout-x-{identity}.jsonl", text=line))
    world.opens(*paths)

    assert (A, paths[0], "exact", "open_file") == world.look()


def test_noted_session_is_exact(tmp_path):
    """A session that the registry or the daemon proved is found with its transcript."""
    world = World(tmp_path, Agent.CLAUDE)
    path = world.project(A, at=NOW - 1000)

    assert (A, path, "exact", "process_log") == world.look(noted=A)
    assert (B, None, "exact", "process_log") == world.look(noted=B)


def test_open_files_are_matched_with_the_screen(tmp_path):
    """Of several open sessions the one on the screen is chosen."""
    world = World(tmp_path, Agent.CLAUDE)
    paths = [world.project(A, texts("investigate the colours")), world.project(B, texts("refactor the parser now"))]
    world.opens(*paths)

    assert (B, paths[1], "high", "transcript_match") == world.look(screen="> Refactor the\nparser now")
    assert world.look(screen="> Something else altogether") is None


def test_recent_files(tmp_path):
    """Recent transcripts are matched, else the only one is a guess; older ones do not count."""
    world = World(tmp_path, Agent.CLAUDE)
    path = world.project(A, texts("refactor the parser now"), at=NOW - 1.9)
    old = world.project(B, texts("investigate the colours"), at=NOW - 2.1)

    assert (A, path, "high", "transcript_match") == world.look(screen="> refactor the parser now")
    assert (A, path, "medium", "recent_file") == world.look(screen="> an empty screen, nearly")
    os.utime(old, (NOW, NOW))
    assert world.look(screen="> an empty screen, nearly") is None


def test_symlinked_folder(tmp_path):
    """A working directory is tried as given and with symbolic links resolved."""
    world = World(tmp_path, Agent.CLAUDE)
    path = world.project(A)
    link = tmp_path / "link"
    link.symlink_to(world.cwd)

    assert (A, path, "medium", "recent_file") == world.look(cwd=str(link))


def test_config_root_is_looked_in_alone(tmp_path):
    """A launch with its own root is not looked for in the default home."""
    world = World(tmp_path, Agent.CLAUDE)
    world.project(A)

    assert world.look(root=str(tmp_path / "root")) is None


def test_gemini_needs_its_header(tmp_path):
    """Gemini's id is in the header; a file without one is none."""
    world = World(tmp_path, Agent.GEMINI)
    folder = encode_cwd(Agent.GEMINI, str(world.cwd), str(world.home))
    path = world.file(".gemini", "tmp", folder, "chats", "session-2fab0218.jsonl", text='{"sessionId": "full-id"}\n')
    world.file(".gemini", "tmp", folder, "chats", "session-0000.jsonl", text="{}\n")

    assert ("full-id", path, "medium", "recent_file") == world.look()


def test_copilot_notes(tmp_path):
    """Copilot's log names the foreground session last; a hold file names it too; an older log does not count."""
    world = World(tmp_path, Agent.COPILOT)
    lines = f"Registering foreground session: {A}\nRegistering foreground session: {B}\n"
    log = world.file(".copilot", "logs", "process-1796-7.log", text=lines)
    assert (B, None, "exact", "process_log") == world.look()
    os.utime(log, (NOW - 10, NOW - 10))
    world.file(".copilot", "session-state", A, "inuse.8.hold")
    events = world.file(".copilot", "session-state", A, "events.jsonl", at=NOW - 100)
    assert (A, events, "exact", "process_log") == world.look(pids=(7, 8))
    assert world.look() is None


def test_qwen_notes(tmp_path):
    """Qwen notes its session beside the chats, and current versions under the pid."""
    world = World(tmp_path, Agent.QWEN)
    folder = encode_cwd(Agent.QWEN, str(world.cwd), str(world.home))
    note = {"schema_version": 1, "pid": 7, "started_at": NOW, "session_id": A}
    path = world.file(".qwen", "projects", folder, "chats", f"{A}.runtime.json", text=json.dumps(note))
    assert (A, None, "exact", "process_log") == world.look()
    Path(path).write_text(json.dumps({**note, "started_at": NOW - 100}))
    assert world.look() is None
    world.file(".qwen", "sessions", "7.json", text=json.dumps({"schemaVersion": 1, "pid": 7, "sessionId": B}))
    assert B == world.look()[0]


def test_grok_notes(tmp_path):
    """Grok lists active sessions; a row of another process or of before it does not count."""
    world = World(tmp_path, Agent.GROK)
    rows = [
        {"pid": 8, "opened_at": "2027-01-01T00:00:00Z", "session_id": A},
        {"pid": 7, "opened_at": "yesterday", "session_id": A},
        {"pid": 7, "opened_at": "2027-01-01T00:00:00Z", "session_id": B},
    ]
    world.file(".grok", "active_sessions.json", text=json.dumps(rows))

    assert (B, None, "exact", "process_log") == world.look()


def test_opencode_store(tmp_path):
    """OpenCode's only recent top session of the folder is a guess; children and other folders do not count."""
    world = World(tmp_path, Agent.OPENCODE)
    path = world.file(".local", "share", "opencode", "opencode.db")
    os.unlink(path)
    with sqlite3.connect(path) as store:
        store.execute("CREATE TABLE session (id TEXT, parent_id TEXT, directory TEXT, time_updated INTEGER)")
        for identity, parent, directory, at in (
            ("one", None, str(world.cwd), NOW),
            ("child", "one", str(world.cwd), NOW),
            ("elsewhere", None, "/elsewhere", NOW),
            ("old", None, str(world.cwd), NOW - 3),
        ):
            store.execute("INSERT INTO session VALUES (?, ?, ?, ?)", (identity, parent, directory, int(at * 1000)))
    store.close()

    assert ("one", None, "medium", "store_record") == world.look()
    assert [] == store_sessions(str(tmp_path / "none.db"), ["/a"], 0.0)


# --- cache and retention


@pytest.mark.parametrize("row", cases("pane.session")[0]["table"], ids=lambda row: row["result"])
def test_retention_table(row):
    """The table of retention holds row by row."""
    kept = SessionRef(A, None, SessionConfidence.EXACT, "open_file")
    before = Retained(kept, 7, 1)
    new = SessionRef(B, None, SessionConfidence.EXACT, "open_file") if row.get("resolved") else None
    pid = {None: None, "same": 7, "other": 8}[row.get("identified_pid", "same")]
    after = retain(before, pid, Resolution(new, row.get("fresh", True)))

    match row["result"].split(",")[0]:
        case "new":
            assert (new, 0) == (after.session, after.streak)
        case "keep":
            assert before == after
        case "drop":
            assert (None, 0) == (after.session, after.streak)
        case _:
            assert (kept, 2) == (after.session, after.streak)
            assert retain(after, 7, Resolution(None, True)).session is None


def ref(identity: str, confidence: SessionConfidence) -> SessionRef:
    return SessionRef(identity, None, confidence, "recent_file")


class Answers:
    """A ladder that gives what the test queued."""

    def __init__(self, *answers: Attribution) -> None:
        self.answers = list(answers)

    def __call__(self, query: SessionQuery) -> Attribution:
        return self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]


QUERY = SessionQuery(Agent.CLAUDE, Generation(7, 1), (7,), 0.0, None, "", "/home/u")


async def test_answers_are_replayed_for_five_seconds():
    """A resolved session is looked for again after 5 s, and at once when another one was noted."""
    resolver = SessionResolver(Answers(Attribution(ref(A, SessionConfidence.EXACT))), FakeHost())
    assert Resolution(ref(A, SessionConfidence.EXACT), True) == await resolver.resolve(QUERY, 0.0)
    assert not (await resolver.resolve(QUERY, 4.99)).fresh
    assert (await resolver.resolve(replace(QUERY, noted=B), 4.99)).fresh
    assert (await resolver.resolve(replace(QUERY, noted=B), 9.99)).fresh


@pytest.mark.parametrize(("wide", "waits"), [(False, [1, 2, 4, 8, 15, 15]), (True, [8, 15, 15])])
async def test_backoff(wide, waits):
    """Nothing found doubles the wait, up to 15 s; a wide scan begins with 8 s."""
    resolver, now = SessionResolver(Answers(Attribution(None, wide)), FakeHost()), 0.0
    await resolver.resolve(QUERY, now)
    for wait in waits:
        assert not (await resolver.resolve(QUERY, now + wait - 0.01)).fresh
        now += wait
        assert (await resolver.resolve(QUERY, now)).fresh


async def test_a_guess_needs_two_looks():
    """A medium answer counts when the next look gives it again."""
    guess = [Attribution(ref(one, SessionConfidence.MEDIUM)) for one in (A, B, B)]
    resolver = SessionResolver(Answers(*guess), FakeHost())

    assert [None, None, B] == [(await resolver.resolve(QUERY, now)).session and B for now in (0.0, 1.0, 2.0)]


async def test_a_guess_is_not_anothers_session():
    """A medium answer that another live process has claimed is none; it counts once that process is gone."""
    host = FakeHost()
    answers = Answers(Attribution(ref(A, SessionConfidence.EXACT)), Attribution(ref(A, SessionConfidence.MEDIUM)))
    resolver = SessionResolver(answers, host)
    await resolver.resolve(QUERY, 0.0)
    other = replace(QUERY, generation=Generation(8, 1))
    assert [None, None] == [(await resolver.resolve(other, now)).session for now in (0.0, 1.0)]
    host.lives = [False]

    assert (await resolver.resolve(other, 10.0)).session is not None
