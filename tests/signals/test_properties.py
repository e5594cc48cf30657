"""Random interleavings of launches, exits, reused pids, session changes and signals: no false evidence, ever."""

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from prowl_svc.model.errors import ProwlError
from prowl_svc.model.observation import Binding, Signal
from prowl_svc.model.process import Generation
from prowl_svc.signals.surface import Ancestry, Facts
from prowl_svc.signals.waits import Condition, Failed, Matched, MinConfidence, WaitMachine
from tests.signals.world import CLAUDE_TABLE, PANE, SECOND, World, cooperative, hook_record, payload

SESSIONS = st.sampled_from([None, "A", "B", "C"])
KINDS = st.sampled_from(["turn-ended", "needs-input", "session-start", "session-end", "progress"])
OUTSIDER = Generation(999, 1)


class Evidence(RuleBasedStateMachine):
    """One pane in a machine with three pids; every signal's sender is remembered by its time of receipt."""

    def __init__(self) -> None:
        super().__init__()
        self.world = World()
        self.clock = 0
        self.born: list[Generation] = [OUTSIDER]
        self.senders: dict[int, Ancestry] = {}
        self.waits: list[tuple[WaitMachine, int | None]] = []

    def tick(self) -> int:
        self.clock += 1
        self.world.seconds = self.clock / 10
        return int(self.world.seconds * SECOND)

    @rule(pid=st.integers(10, 12), session=SESSIONS)
    def process_starts(self, pid: int, session: str | None) -> None:
        """A process takes the pane; its pid may have been another's."""
        self.tick()
        generation = Generation(pid, self.clock)
        self.born.append(generation)
        self.world.facts = Facts(generation, session)

    @rule()
    def process_ends(self) -> None:
        """The pane's process exits."""
        self.world.facts = Facts()

    @precondition(lambda self: self.world.facts.generation is not None)
    @rule(session=SESSIONS)
    def detector_names_session(self, session: str | None) -> None:
        """The detector attributes a session, or none, to the running process."""
        self.world.facts = Facts(self.world.facts.generation, session)

    @rule(status=st.sampled_from(["working", "idle", "done", "blocked"]))
    def detector_reports(self, status: str) -> None:
        """The detector publishes a state."""
        self.tick()
        self.world.detect(status, last_changed_at=self.clock)

    @rule()
    def agent_leaves(self) -> None:
        """The detector loses the agent."""
        self.world.records.remove(PANE)

    @rule(managed=st.booleans())
    def launch(self, managed: bool) -> None:
        """A launch begins an epoch in the pane."""
        self.tick()
        self.world.records.begin_launch(PANE, hook_record() if managed else None)

    def ancestry(self, data: st.DataObject) -> Ancestry:
        chain = data.draw(st.lists(st.sampled_from([*self.born[-4:], OUTSIDER]), max_size=2))
        return tuple(chain)

    @rule(kind=KINDS, session=SESSIONS, data=st.data())
    def signal(self, kind: str, session: str | None, data: st.DataObject) -> None:
        """Some process, of whatever life, sends a cooperative signal."""
        at, ancestry = self.tick(), self.ancestry(data)
        self.senders[at] = ancestry
        binding = self.world.records.signal(PANE, cooperative(kind, at, session), ancestry)
        if self.world.facts.generation not in ancestry and self.world.record.hook is None:
            assert Binding.UNBOUND is binding

    @rule(
        event=st.sampled_from(sorted(CLAUDE_TABLE)),
        session=st.sampled_from(["A", "B"]),
        token=st.sampled_from(["t0ken", "t0ken", "wrong"]),
        data=st.data(),
    )
    def hook(self, event: str, session: str, token: str, data: st.DataObject) -> None:
        """Some process sends a native event with the right token or a wrong one."""
        at, ancestry = self.tick(), self.ancestry(data)
        self.senders[at] = ancestry
        before = self.world.record
        try:
            self.world.records.hook_signal(PANE, payload(event, session, at, token=token), ancestry)
        except ProwlError:
            assert before == self.world.record
        else:
            assert token == "t0ken"
            assert before.hook is not None

    @rule(condition=st.sampled_from(Condition), minimum=st.sampled_from(MinConfidence))
    def arm(self, condition: Condition, minimum: MinConfidence) -> None:
        """Somebody begins to wait."""
        record = self.world.record
        level = record.active_terminal
        machine = WaitMachine(condition, minimum, 600.0, self.world.seconds)
        if not isinstance(machine.step(record, self.world.seconds, 0), Matched | Failed):
            self.waits.append((machine, level.at if level else None))

    def proved(self, held: Signal) -> None:
        """Assert that a piece of evidence is the present process's and of the present session."""
        record = self.world.record
        assert record.generation is not None
        assert record.generation in self.senders[held.at]
        assert held.session_id in (None, record.session)
        assert held.session_id is not None or record.sessionless_ok

    @invariant()
    def evidence_is_of_the_present(self) -> None:
        """Levels, current signals and channels come from the present process alone."""
        record = self.world.record
        facts = self.world.facts
        assert record.generation == facts.generation or (record.hook is not None and facts.generation is None)
        for held in (record.active_terminal, record.latest_current):
            if held is not None:
                self.proved(held)
        for channel in record.channels.values():
            assert record.generation in self.senders[channel.last_seen]
        for source, channel in record.channels.items():
            assert ("verified_live" == channel.state) == source.startswith("hook_")
            assert record.hook is not None or channel.state == "observed"
        if record.latest_binding is not Binding.CURRENT:
            assert record.latest_current is None or record.latest_current != record.latest_signal

    @invariant()
    def nothing_false_answers_a_wait(self) -> None:
        """A wait that a signal answers was answered by proved evidence, and by an old level only with corroboration."""
        record = self.world.record
        going: list[tuple[WaitMachine, int | None]] = []
        for machine, armed in self.waits:
            answer = machine.step(record, self.world.seconds, 0)
            if isinstance(answer, Matched) and answer.observation.source not in ("detection", "surface"):
                assert Binding.CURRENT is record.latest_binding or record.latest_current is not None
                assert record.generation in self.senders[answer.observation.at]
                if armed == answer.observation.at and answer.observation.status in ("working",):
                    assert record.active_terminal is not None
                    assert record.active_terminal.kind == "session-end"
            elif not isinstance(answer, Matched | Failed):
                going.append((machine, armed))
        self.waits = going

    @invariant()
    def revisions_have_no_gap(self) -> None:
        """The events that were published carry consecutive revisions."""
        revisions = [event.revision for event in self.world.published]
        assert list(range(len(revisions))) == revisions


Evidence.TestCase.settings = settings(max_examples=120, stateful_step_count=40, deadline=None)
TestEvidence = Evidence.TestCase
