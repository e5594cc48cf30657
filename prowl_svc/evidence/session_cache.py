"""When a session is looked for again, when a guess is believed, and how long an answer is kept (providers.md §8.4)."""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, replace

from prowl_svc.evidence.host import Host
from prowl_svc.evidence.session import Attribution, SessionQuery
from prowl_svc.model.agents import Agent
from prowl_svc.model.observation import SessionConfidence, SessionRef
from prowl_svc.model.process import Generation

__all__ = ["Resolution", "Retained", "SessionResolver", "retain"]

RESOLVED_FOR = 5.0
BASE = 1.0
BASE_AFTER_WIDE_SCAN = 8.0
MAX_DOUBLINGS = 4
CAP = 15.0
_SIFT_EVERY = 10.0
"""Seconds between two looks for processes that are gone."""
DROPPED_AT = 3


@dataclass(frozen=True, slots=True)
class Resolution:
    """An answer about a process; ``fresh`` is False for a replay of an earlier one."""

    session: SessionRef | None
    fresh: bool


@dataclass(frozen=True, slots=True)
class Retained:
    """The session that a pane shows, the process it is of, and how often it was not found since."""

    session: SessionRef | None = None
    pid: int | None = None
    streak: int = 0


def retain(before: Retained, pid: int | None, resolution: Resolution | None) -> Retained:
    """Return what to show after a look; ``pid`` is the identified process, None in a probe gap.

    A session that was found replaces; another process drops; the same process keeps it until it was not found three
    times in a row.
    """
    session = resolution.session if resolution is not None else None
    if session is not None:
        return Retained(session, pid if pid is not None else before.pid)
    if pid is None:
        return before
    if before.session is None or before.pid != pid:
        return Retained(None, pid)
    if resolution is None or not resolution.fresh:
        return before
    if before.streak + 1 >= DROPPED_AT:
        return Retained(None, pid)
    return replace(before, streak=before.streak + 1)


@dataclass(slots=True)
class _Known:
    """The last answer about one process, when the next look is due, and a guess that waits to be confirmed."""

    session: SessionRef | None = None
    due: float = float("-inf")
    streak: int = 0
    guess: str | None = None
    noted: str | None = None


class SessionResolver:
    """Resolves the sessions of all processes; one for the whole service.

    ``attribute`` looks (in a worker thread, one look at a time); a medium answer counts only when two looks in a row
    give it and no other live process is in that session.
    """

    def __init__(self, attribute: Callable[[SessionQuery], Attribution], host: Host) -> None:
        self._attribute = attribute
        self._host = host
        self._turn = asyncio.Lock()
        self._known: dict[tuple[Agent, Generation], _Known] = {}
        self._sifted = float("-inf")

    def kept(self, agent: Agent, generation: Generation, noted: str | None, now: float) -> Resolution | None:
        """Return the last answer about a process while that lasts, else None: then ``resolve`` looks again."""
        known = self._known.get((agent, generation))
        if known is None or now >= known.due or noted != known.noted:
            return None
        return Resolution(known.session, fresh=False)

    def look_again(self, agent: Agent, generation: Generation) -> None:
        """Let the next look find what the last ones did not, however long it was to be waited for."""
        known = self._known.get((agent, generation))
        if known is not None and known.session is None:
            known.due = float("-inf")

    async def resolve(self, query: SessionQuery, now: float) -> Resolution:
        """Return the session of a process at ``now`` (monotonic seconds), from the cache while that lasts."""
        key = (query.agent, query.generation)
        kept = self.kept(query.agent, query.generation, query.noted, now)
        if kept is not None:
            return kept
        async with self._turn:
            if now - self._sifted >= _SIFT_EVERY:
                self._sifted = now
                self._forget_dead()
            attribution = await asyncio.to_thread(self._attribute, query)
        return self._take(key, attribution, query.noted, now)

    def _take(
        self, key: tuple[Agent, Generation], attribution: Attribution, noted: str | None, now: float
    ) -> Resolution:
        known = self._known.setdefault(key, _Known())
        known.noted = noted
        session, provisional = attribution.session, False
        if session is not None and session.confidence is SessionConfidence.MEDIUM:
            provisional = known.guess != session.id and (known.session is None or known.session.id != session.id)
            known.guess = session.id
            if provisional or self._claimed(key, session.id):
                session = None
        else:
            known.guess = None
        known.session = session
        if session is not None:
            known.streak = 0
            known.due = now + RESOLVED_FOR
        else:
            base = BASE_AFTER_WIDE_SCAN if attribution.wide else BASE
            wait = base if provisional else base * 2 ** min(known.streak, MAX_DOUBLINGS)
            known.due = now + min(wait, CAP)
            known.streak += not provisional
        return Resolution(session, fresh=True)

    def _claimed(self, key: tuple[Agent, Generation], session: str) -> bool:
        return any(
            other != key
            and other[0] is key[0]
            and known.session is not None
            and known.session.id == session
            and self._host.alive(other[1])
            for other, known in self._known.items()
        )

    def _forget_dead(self) -> None:
        for key in [key for key in self._known if not self._host.alive(key[1])]:
            del self._known[key]
