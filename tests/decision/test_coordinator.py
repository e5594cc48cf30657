"""The coordinator keeps observations in order and evidence with its process."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from hypothesis import given, settings
from hypothesis import strategies as st

from prowl_svc.decision.coordinator import Binding, Coordinator, Observation
from prowl_svc.model.agents import Agent
from prowl_svc.model.facts import (
    ChildStarted,
    InventoryFact,
    NativeFact,
    ProgramSummary,
    ProviderFact,
    TurnEnded,
    TurnStarted,
)
from prowl_svc.model.process import Generation
from prowl_svc.model.state import Detection, RawState

ONE, TWO = Generation(10, 100), Generation(11, 200)
IDLE = Detection(RawState.IDLE, "demo.rest")
ASK = Detection(RawState.BLOCKED, "demo.ask")
OPEN = [InventoryFact(frozenset({"r"})), TurnStarted("r", "t")]


@dataclass
class FakeProvider:
    """Gives what the test queued; waits for ``gate`` when there is one."""

    samples: list[Sequence[ProviderFact]]
    gate: asyncio.Event | None = None
    entered: asyncio.Event = field(default_factory=asyncio.Event)

    closed: int = 0
    noted: str | None = None
    same: bool = False

    def unchanged(self, now: float) -> bool:
        return self.same

    def close(self) -> None:
        self.closed += 1

    async def sample(self, now: float) -> Sequence[ProviderFact]:
        self.entered.set()
        if self.gate:
            await self.gate.wait()
        return self.samples.pop(0) if self.samples else []


class Pane:
    """A coordinator with a hand-set clock, providers and program evidence."""

    def __init__(self, *samples: Sequence[ProviderFact], gate: asyncio.Event | None = None) -> None:
        self.now = 0.0
        self.program: ProgramSummary | None = None
        self.acquired: list[Binding] = []
        self.provider = FakeProvider(list(samples), gate)
        self.coordinator = Coordinator(self._acquire, lambda _: self.program, lambda: self.now)

    def _acquire(self, binding: Binding) -> FakeProvider:
        self.acquired.append(binding)
        return self.provider

    async def see(
        self,
        detection: Detection,
        at: float | None = None,
        *,
        agent: Agent = Agent.CODEX,
        generation: Generation | None = ONE,
        root: str | None = None,
        content: str | None = None,
    ) -> tuple[str, str] | None:
        self.now = max(self.now, at or 0.0)
        seen = Observation(at if at is not None else self.now, Binding(agent, generation, root), detection, content)
        decision = await self.coordinator.observe(seen)
        return None if decision is None else (decision.state.value, decision.reason)


async def test_file_evidence_follows_the_screen():
    """One observation takes the screen first and then the provider's facts."""
    pane = Pane([*OPEN, TurnEnded("r", "t")])

    assert ("idle", "log.turnEnded") == await pane.see(ASK, 1.0, content="q")
    assert pane.coordinator.machine.fence is not None


async def test_older_capture_changes_nothing():
    """An observation captured earlier returns the current decision and does not even rebind."""
    pane = Pane(OPEN)
    await pane.see(IDLE, 2.0)

    assert ("working", "log.openWork") == await pane.see(ASK, 1.0, generation=TWO)
    assert [Binding(Agent.CODEX, ONE)] == pane.acquired


async def test_observations_wait_their_turn():
    """A second observation starts only when the first is through."""
    gate = asyncio.Event()
    pane = Pane(OPEN, gate=gate)
    first = asyncio.create_task(pane.see(IDLE, 1.0))
    await pane.provider.entered.wait()
    second = asyncio.create_task(pane.see(ASK, 2.0))
    await asyncio.sleep(0)
    assert "demo.rest" == pane.coordinator.machine.screen.reason
    gate.set()

    assert [("working", "log.openWork"), ("blocked", "demo.ask")] == await asyncio.gather(first, second)


async def test_key_during_the_read_lifts_the_fence():
    """A key press while files are read is applied after their facts, so that it is never lost."""
    gate = asyncio.Event()
    pane = Pane([*OPEN, TurnEnded("r", "t")], gate=gate)
    task = asyncio.create_task(pane.see(ASK, 1.0))
    await pane.provider.entered.wait()
    pane.coordinator.interact()
    gate.set()

    assert ("blocked", "demo.ask") == await task


async def test_invalidation_discards_what_is_under_way():
    """A pane that is closed or released gives no decision for observations that began before."""
    gate = asyncio.Event()
    pane = Pane(OPEN, gate=gate)
    running = asyncio.create_task(pane.see(IDLE, 1.0))
    waiting = asyncio.create_task(pane.see(IDLE, 2.0))
    await pane.provider.entered.wait()
    pane.coordinator.invalidate()
    gate.set()

    assert [None, None] == await asyncio.gather(running, waiting)
    assert RawState.UNKNOWN is pane.coordinator.decision.state


async def test_new_process_starts_afresh():
    """Another generation, config root or agent resets the machine and takes a new provider."""
    pane = Pane(OPEN, [], [], [])
    await pane.see(IDLE, 1.0)
    assert ("idle", "demo.rest") == await pane.see(IDLE, 2.0, generation=TWO)
    await pane.see(IDLE, 3.0, generation=TWO, root="/r")
    await pane.see(IDLE, 4.0, generation=TWO, agent=Agent.CLAUDE)

    expected = [
        Binding(Agent.CODEX, ONE),
        Binding(Agent.CODEX, TWO),
        Binding(Agent.CODEX, TWO, "/r"),
        Binding(Agent.CLAUDE, TWO),
    ]
    assert expected == pane.acquired
    assert pane.coordinator.noted is None
    assert 3 == pane.provider.closed


async def test_probe_gap_keeps_the_process():
    """Without an identified process the old generation stays and its files are still read."""
    pane = Pane(OPEN, [ChildStarted("r", "c", "w"), TurnEnded("r", "t")])
    await pane.see(IDLE, 1.0)

    assert ("working", "log.openWork") == await pane.see(IDLE, 2.0, generation=None)
    assert ONE == pane.coordinator.binding.generation


async def test_no_generation_is_screen_only():
    """An agent whose process is not known acquires no provider; the first known one does, without a reset."""
    pane = Pane(OPEN)
    assert ("idle", "demo.rest") == await pane.see(IDLE, 1.0, generation=None)
    assert [] == pane.acquired
    assert ("working", "log.openWork") == await pane.see(IDLE, 2.0)


async def test_other_agents_never_acquire_files():
    """Only Codex and Claude have file providers, and other agents keep their machine over a new process."""
    pane = Pane()
    await pane.see(Detection(RawState.WORKING, "demo.busy"), 1.0, agent=Agent.PI)
    viewer = Detection(RawState.UNKNOWN, "demo.viewer")

    assert ("working", "demo.viewer") == await pane.see(viewer, 2.0, agent=Agent.PI, generation=TWO)
    assert [] == pane.acquired


async def test_provider_that_breaks_is_a_suspension():
    """An unforeseen error of a provider leaves the screen in charge."""
    pane = Pane()

    async def fail(now: float) -> Sequence[ProviderFact]:
        raise RuntimeError

    pane.provider.sample = fail
    assert ("idle", "screen.logUnavailable") == await pane.see(IDLE, 1.0)


async def test_content_counts_only_for_blocked_screens():
    """A changing spinner frame does not lift a fence, a changed dialog does."""
    done = [NativeFact("s", RawState.WORKING, 1), NativeFact("s", RawState.IDLE, 2)]
    pane = Pane(done)
    busy = Detection(RawState.WORKING, "demo.busy")
    await pane.see(busy, 1.0, agent=Agent.CLAUDE, content="frame 1")
    await pane.see(busy, 2.0, agent=Agent.CLAUDE, content="frame 2")
    assert pane.coordinator.machine.fence is not None
    await pane.see(ASK, 3.0, agent=Agent.CLAUDE, content="q")
    assert pane.coordinator.machine.fence is None


async def test_pushed_evidence_decides_at_once():
    """A changed program record decides without an observation."""
    pane = Pane()
    await pane.see(IDLE, 1.0, agent=Agent.PI)
    pane.program = ProgramSummary(RawState.WORKING, "osc.working", 1)

    assert "osc.working" == pane.coordinator.program_changed().reason
    assert pane.coordinator.pushed


async def test_withdrawal_waits_for_a_later_capture():
    """After withdrawal an observation captured before it changes nothing; the next one decides."""
    pane = Pane()
    await pane.see(IDLE, 1.0, agent=Agent.PI)
    pane.program = ProgramSummary(RawState.WORKING, "osc.working", 1)
    pane.coordinator.program_changed()
    pane.program, pane.now = None, 5.0

    assert "osc.working" == pane.coordinator.program_changed().reason
    assert not pane.coordinator.pushed
    assert ("working", "osc.working") == await pane.see(IDLE, 4.0, agent=Agent.PI)
    assert ("idle", "demo.rest") == await pane.see(IDLE, 6.0, agent=Agent.PI)


async def test_program_evidence_survives_a_rebinding_that_it_fits():
    """After a reset the evidence is read again for the new process."""
    pane = Pane([], [])
    await pane.see(IDLE, 1.0)
    pane.program = ProgramSummary(RawState.WORKING, "osc.working", 1)

    assert ("working", "osc.working") == await pane.see(IDLE, 2.0, generation=TWO)


@settings(max_examples=60)
@given(
    st.lists(
        st.tuples(st.integers(0, 8), st.sampled_from(list(RawState)), st.sampled_from(["see", "key", "push", "pull"])),
        max_size=12,
    ),
    st.randoms(use_true_random=False),
)
def test_no_decision_from_an_older_capture(steps, random):
    """However observations, keys and pushes interleave, the screen that counts is the newest captured one."""

    async def play() -> None:
        pane = Pane()
        newest = -1.0

        async def slow(now: float) -> Sequence[ProviderFact]:
            for _ in range(random.randrange(3)):
                await asyncio.sleep(0)
            return random.choice([[], OPEN, [NativeFact("s", RawState.IDLE, 1)]])

        pane.provider.sample = slow
        tasks = []
        for number, (at, state, what) in enumerate(steps):
            match what:
                case "see":
                    detection = Detection(state, f"demo.{at}")
                    binding = Binding(Agent.CODEX, ONE)
                    tasks.append(
                        asyncio.create_task(pane.coordinator.observe(Observation(float(at), binding, detection)))
                    )
                case "key":
                    pane.coordinator.interact()
                case "push":
                    pane.program = ProgramSummary(RawState.WORKING, "osc.working", number)
                    pane.coordinator.program_changed()
                case "pull":
                    pane.program = None
                    pane.coordinator.program_changed()
            await asyncio.sleep(0)
            reason = pane.coordinator.decision.screen_reason
            if reason.startswith("demo."):
                assert newest <= float(reason[5:])
                newest = float(reason[5:])
        for decision in await asyncio.gather(*tasks):
            assert decision is not None
        reason = pane.coordinator.decision.screen_reason
        assert not reason.startswith("demo.") or newest <= float(reason[5:])

    asyncio.run(play())


async def test_binding_is_replaced_not_mutated():
    """Bindings are values: a later observation does not change an earlier one."""
    pane = Pane([], [])
    await pane.see(IDLE, 1.0, generation=None)
    first = pane.coordinator.binding
    await pane.see(IDLE, 2.0)

    assert (replace(first, generation=ONE), None) == (pane.coordinator.binding, first.generation)


async def test_a_pane_at_rest_is_quiet_until_its_provider_has_news():
    """Without a provider only the screen can change anything; with one, it says whether it has something new."""
    screen_only = Pane()
    await screen_only.see(IDLE, agent=Agent.GEMINI)
    assert screen_only.coordinator.quiet()
    pane = Pane([InventoryFact(frozenset())])
    await pane.see(IDLE)
    assert not pane.coordinator.quiet()
    pane.provider.same = True
    assert pane.coordinator.quiet()


async def test_a_pane_without_its_provider_yet_asks_again():
    """Where there is no provider yet, the pane is not quiet, and each observation asks for it until it is there."""
    pane = Pane()
    provider, pane.provider = pane.provider, None
    await pane.see(IDLE)
    assert not pane.coordinator.quiet()
    pane.provider = provider
    provider.same = True
    await pane.see(IDLE)
    assert 2 == len(pane.acquired)
    assert pane.coordinator.quiet()


async def test_the_end_of_a_quiet_logs_selection_is_not_quiet():
    """A log without open work stops deciding 120 s after its last activity, although nothing was written."""
    pane = Pane([*OPEN, TurnEnded("r", "t")])
    await pane.see(IDLE, 1.0)
    assert "log.turnEnded" == pane.coordinator.decision.reason
    pane.provider.same = True
    pane.now = 120.9
    assert pane.coordinator.quiet()
    pane.now = 121.0
    assert not pane.coordinator.quiet()
    assert ("idle", "screen.retainedCompletion") == await pane.see(IDLE, 121.0)
    assert pane.coordinator.quiet()


async def test_a_held_decision_is_not_quiet():
    """After program evidence went, the next screen must be looked at, whether or not it changed."""
    pane = Pane()
    pane.program = ProgramSummary(RawState.WORKING, "osc.working", 1)
    await pane.see(IDLE, 1.0, agent=Agent.PI)
    assert pane.coordinator.quiet()
    pane.program = None
    pane.coordinator.program_changed()
    assert not pane.coordinator.quiet()
    await pane.see(IDLE, 2.0, agent=Agent.PI)
    assert pane.coordinator.quiet()


async def test_an_observation_under_way_is_not_quiet():
    """While a provider is being read nothing is known to be unchanged."""
    gate = asyncio.Event()
    pane = Pane([], gate=gate)
    pane.provider.same = True
    seeing = asyncio.create_task(pane.see(IDLE))
    await pane.provider.entered.wait()
    assert not pane.coordinator.quiet()
    gate.set()
    await seeing
    assert pane.coordinator.quiet()
