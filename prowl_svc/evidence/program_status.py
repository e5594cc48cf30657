"""OSC 7501 records of one pane: the tree, its lifetimes, and what it says of the agent (program-status.md §3-6)."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from prowl_svc.evidence.program_report import Report, parse_report
from prowl_svc.model.agents import Agent
from prowl_svc.model.facts import ProgramSummary
from prowl_svc.model.process import Generation
from prowl_svc.model.state import RawState
from prowl_svc.model.terminal import ProgramStatus, PromptMark, Reset, SideEvent, StatusQuery

__all__ = [
    "CAPACITY",
    "PRODUCERS",
    "Record",
    "RecordStore",
    "aggregate",
    "effective_app",
    "plain_text",
    "reply_for_query",
    "summarize",
]

CAPACITY = 256
PRODUCERS = {Agent.CLAUDE: "claude-code", Agent.PI: "pi", Agent.CODEX: "codex"}
"""The declared names of the verified producers; records of any other program are shown, never decisive."""

_TRANSIENT = ("working", "blocked")
# Bidirectional and invisible format characters; joiners (200C, 200D) stay, scripts and emoji need them.
_INVISIBLE = dict.fromkeys(
    [0x061C, 0x200B, 0x200E, 0x200F, *range(0x2028, 0x202F), *range(0x2060, 0x2065), *range(0x2066, 0x2070), 0xFEFF]
)


@dataclass(frozen=True, slots=True)
class Record:
    """One stored record: the report, when it arrived (seconds on the caller's clock), and its place in the order.

    ``order`` grows with every report, also with one that repeats the record.
    """

    report: Report
    arrived: float
    order: int


def reply_for_query(query: StatusQuery) -> bytes:
    """Return the echo that says that reports are consumed, with the terminator that the program used (§2)."""
    return b"\x1b]7501;?" + query.terminator


def plain_text(text: str) -> str:
    """Return a record's text as it may be shown outside the grid: no bidirectional or invisible characters (§6)."""
    return text.translate(_INVISIBLE)


def effective_app(reports: dict[str, Report], path: str) -> str | None:
    """Return the app of a record: its own, else that of the nearest stored ancestor that has one, the root last."""
    while True:
        report = reports.get(path)
        if report is not None and report.app is not None:
            return report.app
        if not path:
            return None
        path = path.rpartition("/")[0]


class RecordStore:
    """The records of one terminal, fed with its side events in stream order; bounded by ``CAPACITY``.

    ``revision`` moves only on a visible change.
    """

    def __init__(self) -> None:
        self._records: dict[str, Record] = {}  # least recently updated first
        self._order = 0
        self._ended_at: int | None = None
        self._generation: Generation | None = None
        self.revision = 0

    @property
    def records(self) -> Sequence[Record]:
        """The records, least recently updated first."""
        return tuple(self._records.values())

    @property
    def reports(self) -> dict[str, Report]:
        """The records' reports by path, least recently updated first."""
        return {path: record.report for path, record in self._records.items()}

    def apply(self, event: SideEvent, now: float) -> bool:
        """Take a side event that arrived at ``now``; tell whether anything visible changed (§3, §4)."""
        match event:
            case ProgramStatus(body=body):
                report = parse_report(body)
                return report is not None and self._report(report, now)
            case PromptMark(mark="A"):
                return self._drop_transient(self._order)
            case PromptMark(mark="D"):
                self._ended_at = self._order
                return False
            case Reset(hard=True):
                return self._drop(self._records)
            case _:
                return False

    def exited(self) -> bool:
        """The terminal's process ended: as a prompt, working and blocked records go."""
        return self._drop_transient(self._order)

    def owner_gone(self) -> bool:
        """The agent's process is gone: working and blocked records that existed at the last 133 D go, else all."""
        return self._drop_transient(self._order if self._ended_at is None else self._ended_at)

    def bind(self, generation: Generation | None, started: float | None) -> bool:
        """Bind the records to the foreground agent's process (§6): another known one drops what came before its start.

        ``started`` is that process's start on the clock of ``apply``; unknown, all records go. A generation of None, a
        probe gap, changes nothing.
        """
        if generation is None or generation == self._generation:
            return False
        first, self._generation = self._generation is None, generation
        if first:
            return False
        return self._drop([path for path, r in self._records.items() if started is None or r.arrived < started])

    def _report(self, report: Report, now: float) -> bool:
        if report.state == "clear":
            prefix = f"{report.id}/" if report.id else ""
            return self._drop([path for path in self._records if path == report.id or path.startswith(prefix)])
        self._order += 1
        old = self._records.pop(report.id, None)
        if old is None and len(self._records) >= CAPACITY:
            del self._records[next(iter(self._records))]
        self._records[report.id] = Record(report, now, self._order)
        changed = old is None or old.report != report
        self.revision += changed
        return changed

    def _drop_transient(self, order: int) -> bool:
        return self._drop(
            [
                path
                for path, record in self._records.items()
                if record.report.state in _TRANSIENT and record.order <= order
            ]
        )

    def _drop(self, paths: Iterable[str]) -> bool:
        gone = list(paths)
        for path in gone:
            del self._records[path]
        self.revision += bool(gone)
        return bool(gone)


def aggregate(records: Sequence[Record]) -> str | None:
    """Return the one state that a set of records shows: blocked, working, else the root's, else the newest's (§5)."""
    states = {record.report.id: record.report.state for record in records}
    for state in _TRANSIENT[::-1]:
        if state in states.values():
            return state
    return states.get("", next(reversed(states.values()), None))


def summarize(store: RecordStore, agent: Agent, started: float | None) -> ProgramSummary | None:
    """Return what the records say of ``agent``, or None when none of them is evidence (providers.md §4).

    ``started`` is the agent's process start on the clock of ``apply``; unknown, nothing is evidence. Only records count
    whose app, after inheritance, is the agent's declared name and which arrived since that start; without such a root
    there is no evidence.
    """
    name = PRODUCERS.get(agent)
    if name is None or started is None:
        return None
    reports = store.reports
    eligible = {
        record.report.id: record.report
        for record in store.records
        if record.arrived >= started and effective_app(reports, record.report.id) == name
    }
    root = eligible.pop("", None)
    if root is None:
        return None
    newest = list(reversed(eligible.values()))
    if root.state == "blocked":
        return ProgramSummary(RawState.BLOCKED, f"osc.blocked.{root.kind or 'unspecified'}", store.revision)
    blocked = next((child for child in newest if child.state == "blocked"), None)
    if blocked is not None:
        return ProgramSummary(RawState.BLOCKED, f"osc.childBlocked.{blocked.kind or 'unspecified'}", store.revision)
    if root.state == "working":
        return ProgramSummary(RawState.WORKING, "osc.working", store.revision)
    if any(child.state == "working" for child in newest):
        return ProgramSummary(RawState.WORKING, "osc.childWorking", store.revision)
    return ProgramSummary(RawState.IDLE, f"osc.{root.state}", store.revision, completed=root.state != "idle")
