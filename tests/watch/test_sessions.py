"""When a pane's session is looked for, in a pane that nothing happens in any more."""

import asyncio
from dataclasses import dataclass, field

import pytest

from prowl_svc.clocks import Clocks
from prowl_svc.evidence.session import Attribution, SessionQuery
from prowl_svc.evidence.session_cache import SessionResolver
from prowl_svc.model.agents import Agent
from prowl_svc.model.observation import SessionConfidence, SessionRef
from prowl_svc.model.process import Process
from prowl_svc.watch.sessions import SessionLookup, SessionSource
from tests.evidence.fakes import FakeHost

PROCESS = Process(42, 1, 42, "codex", start=7)


@dataclass(frozen=True, slots=True)
class Stopped(Clocks):
    """A clock that the test moves."""

    at: list[float] = field(default_factory=list)

    def monotonic(self) -> float:
        return self.at[0]


class Pane:
    """A pane whose attribution the test sets."""

    def __init__(self) -> None:
        self.now = [100.0]
        self.found: SessionRef | None = None
        self.asked: list[SessionQuery] = []
        host = FakeHost()
        source = SessionSource(SessionResolver(self._attribute, host), host, Stopped(at=self.now))
        self.told = 0
        self.lookup = SessionLookup(source, self._tell)

    def _tell(self) -> None:
        self.told += 1

    def _attribute(self, query: SessionQuery) -> Attribution:
        self.asked.append(query)
        return Attribution(self.found)

    async def look(self, noted: str | None = None, *, news: bool = False) -> None:
        self.lookup.look(Agent.CODEX, PROCESS, None, noted, str, news=news)
        await self.settle()

    async def settle(self) -> None:
        """Let a lookup that is under way end."""
        for task in asyncio.all_tasks() - {asyncio.current_task()}:
            await task

    @property
    def shown(self) -> str | None:
        return self.lookup.session.id if self.lookup.session is not None else None

    def again(self, noted: str | None = None) -> float | None:
        return self.lookup.again_in(self.now[0], noted)


def session(confidence: SessionConfidence) -> SessionRef:
    return SessionRef("id", None, confidence, "process_log")


@pytest.fixture
def pane() -> Pane:
    return Pane()


async def test_nothing_is_looked_for_where_nothing_was(pane: Pane) -> None:
    """Before the first look, and without a source, there is nothing to repeat."""
    assert pane.again() is None
    assert SessionLookup(None, lambda: None).again_in(0.0, None) is None


async def test_what_is_written_late_is_looked_for_some_times(pane: Pane) -> None:
    """Each look waits twice as long as the one before, and then nothing is done until something happens."""
    await pane.look(news=True)
    waits = []
    while (wait := pane.again()) is not None:
        waits.append(wait)
        pane.now[0] += wait
        await pane.look()
    assert [1.0, 2.0, 4.0, 8.0, 16.0] == waits

    await pane.look(news=True)
    assert 1.0 == pane.again()


async def test_a_session_that_is_sure_is_not_looked_for_again(pane: Pane) -> None:
    """Once it is found, only an event or another note makes a look worthwhile."""
    pane.found = session(SessionConfidence.EXACT)
    await pane.look(news=True)
    assert ("id", None) == (pane.shown, pane.again())


async def test_a_note_that_comes_right_after_a_look_waits_its_turn(pane: Pane) -> None:
    """It is not forgotten because a look was just made."""
    pane.found = session(SessionConfidence.HIGH)
    await pane.look(news=True)
    pane.now[0] += 0.25
    await pane.look("noted", news=True)
    assert [None] == [query.noted for query in pane.asked]

    assert 0.75 == pane.again("noted")
    pane.now[0] += 0.75
    assert 0.0 == pane.again("noted")
    await pane.look("noted")
    assert [None, "noted"] == [query.noted for query in pane.asked]
    assert pane.again("noted") is None


async def test_a_guess_is_confirmed_without_an_event(pane: Pane) -> None:
    """The second look that a guess needs comes by itself."""
    pane.found = session(SessionConfidence.MEDIUM)
    await pane.look(news=True)
    assert (None, 0) == (pane.shown, pane.told)
    pane.now[0] += pane.again() or 0.0
    await pane.look()
    assert ("id", 1) == (pane.shown, pane.told)


async def test_a_look_under_way_is_waited_for(pane: Pane) -> None:
    """While one runs the next is at least a second away."""
    pane.lookup.look(Agent.CODEX, PROCESS, None, None, str)
    pane.now[0] += 5
    assert 1.0 == pane.again()
    await pane.settle()
    assert 0.0 == pane.again()


async def test_who_asks_does_not_wait_for_the_next_look(pane: Pane) -> None:
    """A session that was not found, so that looks have become rare, is looked for at once when it is asked for."""
    for _ in range(4):
        await pane.look()
        pane.now[0] += 2.0
    pane.found = session(SessionConfidence.EXACT)
    assert pane.shown is None
    asked = len(pane.asked)
    await pane.lookup.settle(Agent.CODEX, PROCESS, None, None, str)
    assert ("id", asked + 1) == (pane.shown, len(pane.asked))
    await pane.lookup.settle(Agent.CODEX, PROCESS, None, None, str)
    assert asked + 1 == len(pane.asked)


async def test_who_asks_again_and_again_looks_once_a_second(pane: Pane) -> None:
    """What is not there is not looked for more often than a session can appear."""
    for _ in range(5):
        await pane.lookup.settle(Agent.CODEX, PROCESS, None, None, str)
    assert (None, 1) == (pane.shown, len(pane.asked))
    pane.now[0] += 1.0
    await pane.lookup.settle(Agent.CODEX, PROCESS, None, None, str)
    assert 2 == len(pane.asked)
