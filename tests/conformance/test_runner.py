"""The conformance runner: it must be able to fail, and say of what."""

import json
import shutil
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from tests.conformance.__main__ import main
from tests.conformance.cases import NotBuiltError, Outcome, judged, part
from tests.conformance.runner import Report, case_files, read_known, run_file, run_folder

CORPUS = Path(__file__).parents[1] / "corpus"
EMPTY = {"agent": "claude", "screen": ["", ""], "title": "", "cols": 80, "rows": 24}
"""A blank screen, of which nothing can be blocked."""


class Data:
    """A folder with case files, and a list of known wrong cases."""

    def __init__(self, root: Path) -> None:
        self.root = root / "data"
        self.known = root / "known.json"
        self.known.write_text("{}")

    def write(self, name: str, content: object) -> None:
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content if isinstance(content, str) else json.dumps(content))

    def excuse(self, name: str, *ids: str) -> None:
        self.known.write_text(json.dumps({name: dict.fromkeys(ids, "the reason")}))

    def run(self, *options: str) -> int:
        return main([str(self.root), "--known", str(self.known), *options])


@pytest.fixture
def data(tmp_path: Path) -> Data:
    return Data(tmp_path)


def screen(identity: str, state: str) -> dict[str, Any]:
    return {**EMPTY, "id": identity, "expect": {"state": state}}


def test_right_cases_pass(data: Data, capsys: pytest.CaptureFixture[str]) -> None:
    """A folder whose cases are right exits 0 with a line for each file."""
    data.write("captures/claude.json", [screen("a", "idle"), screen("b", "idle")])
    data.write("screens/claude.json", [screen("c", "idle")])
    assert 0 == data.run()
    lines = capsys.readouterr().out.splitlines()
    assert ["captures/claude.json: 2 right, 0 wrong", "screens/claude.json: 1 right, 0 wrong"] == lines[:2]


def test_blocked_capture_misread_fails_even_when_known(data: Data, capsys: pytest.CaptureFixture[str]) -> None:
    """A recorded screen that needs a person is never excused."""
    data.write("captures/claude.json", [screen("a", "idle"), screen("asks", "blocked")])
    data.excuse("captures/claude.json", "asks")
    assert 1 == data.run()
    out = capsys.readouterr().out
    assert "captures/claude.json: 1 right, 1 wrong: asks\n" in out
    assert "1 blocked capture(s) misread" in out


def test_unknown_wrong_case_fails(data: Data, capsys: pytest.CaptureFixture[str]) -> None:
    """A wrong case that no list names fails the run; a capture and a drawn screen alike."""
    data.write("captures/claude.json", [screen("busy", "working")])
    data.write("screens/claude.json", [screen("asks", "blocked")])
    assert 1 == data.run("--verbose")
    out = capsys.readouterr().out
    assert "captures/claude.json: 0 right, 1 wrong: busy\n" in out
    assert "screens/claude.json: 0 right, 1 wrong: asks\n" in out
    assert "    busy: idle by " in out


def test_known_wrong_case_passes(data: Data, capsys: pytest.CaptureFixture[str]) -> None:
    """A wrong case with its reason in the list passes, and is named as known."""
    data.write("screens/claude.json", [screen("a", "idle"), screen("asks", "blocked")])
    data.excuse("screens/claude.json", "asks")
    assert 0 == data.run()
    assert "screens/claude.json: 1 right, 1 wrong: asks; known: asks\n" in capsys.readouterr().out


def test_known_case_of_another_file_is_not_this_one(data: Data) -> None:
    """An id is excused in its own file only."""
    data.write("screens/claude.json", [screen("asks", "blocked")])
    data.excuse("screens/codex.json", "asks")
    assert 1 == data.run()


def test_stale_known_case_is_reported(data: Data, capsys: pytest.CaptureFixture[str]) -> None:
    """A listed case that is right now is named as stale; one that is not in the folder is not."""
    data.write("screens/claude.json", [screen("a", "idle")])
    data.excuse("screens/claude.json", "a", "elsewhere")
    assert 0 == data.run()
    assert "1 right, 0 wrong; stale in the list of known ones: a\n" in capsys.readouterr().out


def test_rule_ids_count_where_they_are_no_fallback(data: Data) -> None:
    """A named rule must be the one that decided; an expected fall-back may be any rule of that state."""
    for rule, code in (("claude.spinner", 1), ("fallback.noRuleMatched", 0), ("legacy.detector", 0)):
        data.write("screens/claude.json", [{**EMPTY, "id": "a", "expect": {"state": "idle", "rule": rule}}])
        assert code == data.run()


@pytest.mark.parametrize(
    ("name", "content", "said"),
    [
        ("screens/claude.json", "[{", "cannot be read"),
        ("screens/claude.json", {"a": 1}, "is not a list of screens"),
        ("screens/claude.json", [{"agent": "claude"}], "case 0 has no id"),
        ("screens/claude.json", ["x"], "case 0 has no id"),
        ("screens/claude.json", [{**EMPTY, "id": "a"}], "a: expect.state is not one of"),
        ("screens/claude.json", [{**EMPTY, "id": "a", "expect": 7}], "a: expect.state is not one of"),
        ("screens/claude.json", [{**screen("a", "idle"), "screen": 7}], "a: screen is neither"),
        ("screens/claude.json", [{**screen("a", "idle"), "agent": "nobody"}], "no agent is called 'nobody'"),
        ("bug-screens.json", "", "cannot be read"),
        ("processes.json", [], "is not an object"),
        ("processes.json", {"names": [{"id": "a"}]}, "a: has no name"),
        ("processes.json", {"jobs": [{"id": "a", "expect": {}}]}, "a: is not a job"),
        ("processes.json", {"jobs": [{"id": "a"}]}, "a: has no expect"),
        ("machine.json", {}, "has no traces"),
        ("machine.json", {"traces": [{"id": "a", "steps": [{"at": 1}]}]}, "a: is not a trace"),
        (
            "machine.json",
            {"traces": [{"id": "a", "steps": [{"at": 1, "event": {"nod": 1}, "expect": {}}]}]},
            "a: is not",
        ),
        ("osc7501-cases.json", [], "has no cases"),
        ("osc7501-cases.json", {"cases": [{"id": "a"}]}, "a: is not a case"),
        ("providers/manifest.json", {"cases": [{"id": "a", "kind": "new"}]}, "a: no kind is called 'new'"),
        ("providers/manifest.json", {"cases": [{"id": "a", "kind": "osc9"}]}, "a: has no table"),
        (
            "providers/manifest.json",
            {"cases": [{"id": "a", "kind": "machine.sequence", "file": "machine/gone.json"}]},
            "a: gone.json is not there",
        ),
    ],
)
def test_malformed_files_are_reported(
    data: Data, capsys: pytest.CaptureFixture[str], name: str, content: object, said: str
) -> None:
    """A file that is not what it should be fails the run with the place of its fault, and the others still run."""
    data.write(name, content)
    data.write("captures/claude.json", [screen("a", "idle")])
    assert 1 == data.run()
    lines = capsys.readouterr().out.splitlines()
    assert "captures/claude.json: 1 right, 0 wrong" in lines
    line = next(line for line in lines if line.startswith(f"{name}: "))
    assert line.startswith(f"{name}: malformed: ")
    assert said in line


def test_folder_without_cases(data: Data, capsys: pytest.CaptureFixture[str]) -> None:
    """A folder without case files, or that is not there, is an error of its own."""
    assert 2 == data.run()
    data.root.mkdir()
    (data.root / "notes.json").write_text("{")
    assert 2 == data.run()
    assert "no case files in" in capsys.readouterr().err


@pytest.mark.parametrize("content", ["[", "[]", '{"f": []}', '{"f": {"a": ""}}', '{"f": {"a": 1}}'])
def test_bad_list_of_known_cases(data: Data, capsys: pytest.CaptureFixture[str], content: str) -> None:
    """A list of known cases that is malformed, or names no reason, excuses nothing."""
    data.write("screens/claude.json", [screen("a", "idle")])
    data.known.write_text(content)
    assert 2 == data.run()
    assert "list of known cases" in capsys.readouterr().err


def test_part_that_is_not_built(tmp_path: Path) -> None:
    """A file whose part does not exist says which; a file that has some such cases counts them."""

    def missing(path: Path) -> Iterator[Outcome]:
        return judged([{"id": "a"}, {"id": "b"}], lambda case: part("prowl_svc.nothing").answer)

    def some(path: Path) -> Iterator[Outcome]:
        yield from judged([{"id": "a"}], lambda case: None)
        yield from missing(path)

    assert "x.json: not built yet: prowl_svc.nothing" == run_file("x.json", tmp_path, missing, {}).line()
    assert (
        "x.json: 1 right, 0 wrong; 2 not built yet: prowl_svc.nothing" == run_file("x.json", tmp_path, some, {}).line()
    )
    assert not run_file("x.json", tmp_path, missing, {}).failed


def test_error_inside_a_part_is_not_a_missing_part(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A module that is there and cannot import what it needs is a fault, not a part that is not built."""
    (tmp_path / "halfbuilt.py").write_text("import no_such_module_at_all\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    with pytest.raises(ModuleNotFoundError):
        part("halfbuilt")
    with pytest.raises(NotBuiltError):
        part("no_such_module_at_all.inner")


def test_exception_of_a_part_is_a_wrong_answer(tmp_path: Path) -> None:
    """A part that raises is wrong about that case, and the next cases still run."""

    def judge(case: dict[str, Any]) -> str | None:
        return str(1 // case["n"]) if case["n"] == 0 else None

    report = run_file("x.json", tmp_path, lambda path: judged([{"id": "a", "n": 0}, {"id": "b", "n": 1}], judge), {})
    assert "x.json: 1 right, 1 wrong: a" == report.line()
    assert report.failed


def altered(value: Any) -> Any:
    """Return another value of the same kind."""
    match value:
        case bool() | None:
            return not value
        case str():
            return "other"
        case int() | float():
            return value + 1
        case list():
            return [*value, "other"]
        case _:
            return {**value, "other": 1}


def _expectations(node: Any) -> Iterator[Callable[[], None]]:
    """Yield a way to falsify each case of a file, one at a time."""
    for case in node:
        for key in ("agent", "expected_events", "expected", "expect", "table", "steps"):
            if key in case:
                yield partial(_falsify, case, key)
                break


def _falsify(case: dict[str, Any], key: str) -> None:
    value = case[key]
    match key:
        case "table":
            row = value[-1]
            last = next(name for name in ("display", "result", "id", "dir") if name in row)
            row[last] = altered(row[last])
        case "steps":
            value[-1]["expect"] = altered(value[-1]["expect"])
        case "expect" if "steps" not in case:
            value[next(iter(value))] = altered(next(iter(value.values())))
        case "expect":
            value["records"] = [*value["records"], {"id": "other"}]
        case _:
            case[key] = altered(value)


@pytest.mark.parametrize(
    ("name", "lists"),
    [
        ("processes.json", ["names", "jobs"]),
        ("machine.json", ["traces"]),
        ("osc7501-cases.json", ["cases"]),
        ("providers/manifest.json", ["cases"]),
    ],
)
def test_every_expectation_counts(tmp_path: Path, name: str, lists: list[str]) -> None:
    """When all expectations of a file are falsified, every case that runs is wrong."""
    shutil.copytree(CORPUS / "providers", tmp_path / "providers")
    path = tmp_path / name
    content = json.loads((CORPUS / name).read_text())
    for key in lists:
        content[key] = [case for case in content[key] if case.get("kind") != "machine.sequence"]
        for falsify in _expectations(content[key]):
            falsify()
    path.write_text(json.dumps(content))
    run = next(run for found, _, run in case_files(tmp_path) if found == name)
    report = run_file(name, path, run, {})
    assert None is report.fault
    assert [] == [one.id for one in report.run if one.wrong is None]
    assert len(report.run) > 20


def test_sequences_of_providers_count(tmp_path: Path) -> None:
    """A falsified step of a sequence file makes its manifest entry wrong."""
    shutil.copytree(CORPUS / "providers", tmp_path / "providers")
    path = tmp_path / "providers" / "machine" / "native_basic.json"
    trace = json.loads(path.read_text())
    trace["steps"][-1]["expect"]["state"] = "working"
    path.write_text(json.dumps(trace))
    (report,) = run_folder(tmp_path, {})
    assert ["machine.native_basic"] == [one.id for one in report.wrong]


@pytest.fixture(scope="module")
def own() -> list[Report]:
    """Return the reports of the project's own case files."""
    return list(run_folder(CORPUS, read_known()))


def test_own_cases(own: list[Report]) -> None:
    """The project's own case files are right, but for the listed ones, and the list is up to date."""
    assert [] == [report.line() for report in own if report.failed or report.stale]
    assert len(own) > 30
