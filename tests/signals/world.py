"""A small world for the tests of this room: one pane, its detector facts, a clock, and what was published."""

from dataclasses import dataclass, field, replace

from prowl_svc.model.agents import Agent
from prowl_svc.model.observation import AgentEntry, Confidence, ObserveEvent, Signal, SignalKind
from prowl_svc.model.process import Generation
from prowl_svc.model.state import DisplayState, RawState
from prowl_svc.observe.hub import Hub
from prowl_svc.signals.records import Records
from prowl_svc.signals.surface import COOPERATIVE, Facts, HookPayload, HookRecord, SurfaceRecord

PANE = "pane"
SECOND = 10**9

CLAUDE_TABLE = {
    "SessionStart": SignalKind.SESSION_START,
    "Stop": SignalKind.TURN_ENDED,
    "StopFailure": SignalKind.TURN_ENDED,
    "PermissionRequest": SignalKind.NEEDS_INPUT,
    "SessionEnd": SignalKind.SESSION_END,
}
CODEX_TABLE = {"agent-turn-complete": SignalKind.TURN_ENDED}


def entry(status: str = "working", **more: object) -> AgentEntry:
    """A roster row in this display status, its raw state the matching one."""
    raw = "idle" if status == "done" else status
    base = AgentEntry(Agent.CLAUDE, DisplayState(status), RawState(raw), last_changed_at=1)
    return replace(base, **more)  # type: ignore[arg-type]


def cooperative(kind: str = "turn-ended", at: int = 1, session: str | None = None) -> Signal:
    """A cooperative signal as the service records it."""
    return Signal(SignalKind(kind), COOPERATIVE, Confidence.EXACT, at, session_id=session)


def hook_record(runtime: str = "claude", **more: object) -> HookRecord:
    """A registered launch of a runtime."""
    table = CODEX_TABLE if runtime == "codex" else CLAUDE_TABLE
    base = HookRecord(token="t0ken", runtime=runtime, cwd="/src/app", table=table)
    return replace(base, **more)  # type: ignore[arg-type]


def payload(event: str = "SessionStart", session: str = "S1", at: int = 1, **more: object) -> HookPayload:
    """A native event of the registered launch."""
    kind = {**CLAUDE_TABLE, **CODEX_TABLE}.get(event, SignalKind.PROGRESS)
    runtime = "codex" if event in CODEX_TABLE else "claude"
    base = HookPayload("t0ken", runtime, event, kind, "/src/app", session, at)
    return replace(base, **more)  # type: ignore[arg-type]


@dataclass
class Ids:
    """Epoch ids e1, e2, …"""

    count: int = 0

    def __call__(self) -> str:
        self.count += 1
        return f"e{self.count}"


@dataclass
class Sink:
    """Remembers what the dispatch store would be told."""

    told: list[tuple[str, ...]] = field(default_factory=list)

    def evidence(self, surface: str, epoch: str, kind: SignalKind) -> None:
        self.told.append(("evidence", surface, epoch, kind.value))

    def activity(self, surface: str, epoch: str) -> None:
        self.told.append(("activity", surface, epoch))

    def surface_closed(self, surface: str) -> None:
        self.told.append(("closed", surface))


class World:
    """Records around one open pane, with times in whole seconds and raw start times in hundredths."""

    def __init__(self, sink: object | None = None) -> None:
        self.seconds = 0.0
        self.facts = Facts()
        self.published: list[ObserveEvent] = []
        self.retired: list[str] = []
        self.sink = sink if sink is not None else Sink()
        self.hub = Hub(self._encode)
        self.records = Records(
            self.hub,
            lambda surface: self.facts,
            now_ns=lambda: int(self.seconds * SECOND),
            process_clock=lambda: int(self.seconds * 100),
            units_per_second=100,
            sink=self.sink,  # type: ignore[arg-type]
            retire_file=self.retired.append,
            new_epoch=Ids(),
        )
        self.records.open(PANE)
        self.observer = self.records.observe(PANE)

    def _encode(self, event: ObserveEvent) -> bytes:
        self.published.append(event)
        return b"x"

    @property
    def record(self) -> SurfaceRecord:
        """The pane's record, its epoch up to date."""
        record = self.records.read(PANE)
        assert record is not None
        return record

    def process(self, pid: int | None = 10, start: int = 0, session: str | None = None) -> Generation | None:
        """Let the detector see this launch process and trusted session; return the generation."""
        generation = None if pid is None else Generation(pid, start)
        self.facts = Facts(generation, session)
        return generation

    def detect(self, status: str = "working", **more: object) -> None:
        """Publish a detector entry."""
        self.records.change(PANE, entry(status, **more))

    def signal(self, kind: str = "turn-ended", session: str | None = None, *ancestry: Generation) -> str:
        """Signal as a process of the present generation (or of the given ancestry); return the binding."""
        chain = ancestry or ((self.facts.generation,) if self.facts.generation else ())
        self.seconds += 0.001
        incoming = cooperative(kind, int(self.seconds * SECOND), session)
        return self.records.signal(PANE, incoming, tuple(chain)).value

    def hook(self, event: str = "SessionStart", session: str = "S1", *ancestry: Generation, **more: object) -> Signal:
        """Send a native event as a child of the present generation (or of the given ancestry)."""
        chain = ancestry or ((self.facts.generation,) if self.facts.generation else ())
        self.seconds += 0.001
        return self.records.hook_signal(PANE, payload(event, session, int(self.seconds * SECOND), **more), tuple(chain))
