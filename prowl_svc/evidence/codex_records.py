"""Decode the lifecycle records of a Codex session log (providers.md §2.4)."""

import json
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from prowl_svc._fast.codexlog import lifecycle
from prowl_svc.evidence.codex_header import JSON_ERROR, ContinuityError
from prowl_svc.model.facts import ChildEnded, ChildScheduled, ChildStarted, ProviderFact, TurnEnded, TurnStarted

__all__ = ["MAX_FOLLOWUPS", "Decoder", "Session"]

MAX_FOLLOWUPS = 128
_COMPLETED = "subagent-completed-"


@dataclass(frozen=True, slots=True)
class Session:
    """Whose log it is: its own id and the root it belongs to; a main session is its own root."""

    id: str
    root: str


@dataclass(slots=True)
class Decoder:
    """Decoder of one log: ``live`` is False within copied history; ``followups`` are calls not yet answered."""

    live: bool
    followups: dict[str, None] = field(default_factory=dict)

    def copy(self) -> "Decoder":
        """Return an equal decoder that shares nothing."""
        return Decoder(self.live, dict(self.followups))

    def decode(self, data: bytes, session: Session) -> list[ProviderFact]:
        """Return the facts of the complete lines of ``data``, in order; raises ContinuityError on a bad line.

        Every line must be a JSON object with a string ``type`` and an object ``payload``, whatever it says.
        """
        lines, fault = lifecycle(data)
        facts: list[ProviderFact] = []
        for line in lines:
            kind, payload = _envelope(line)
            if kind == "event_msg":
                fact = self._event(payload, session)
                if fact is not None:
                    facts.append(fact)
            elif kind == "response_item" and self.live:
                self._call(payload)
        if fault:
            raise ContinuityError(JSON_ERROR if fault == "json" else "invalidRecord")
        return facts

    def _event(self, payload: dict[str, Any], session: Session) -> ProviderFact | None:
        name = payload.get("type")
        if name == "thread_settings_applied" and payload.get("thread_id") == session.id:
            self.live = True
            return None
        if not self.live or not isinstance(name, str):
            return None
        handler = _EVENTS.get(name)
        return handler(self, payload, session) if handler else None

    def _started(self, payload: dict[str, Any], session: Session) -> ProviderFact:
        turn = _required(payload, "turn_id")
        if session.id == session.root:
            return TurnStarted(session.root, turn)
        return ChildStarted(session.root, session.id, turn)

    def _ended(self, payload: dict[str, Any], session: Session) -> ProviderFact:
        turn = _required(payload, "turn_id")
        if session.id == session.root:
            return TurnEnded(session.root, turn)
        return ChildEnded(session.root, session.id, turn)

    def _item(self, payload: dict[str, Any], session: Session) -> ProviderFact | None:
        item = payload.get("item")
        if not isinstance(item, dict) or item.get("type") != "SubAgentActivity":
            return None
        kind, child, identity = (_required(item, key) for key in ("kind", "agent_thread_id", "id"))
        match kind:
            case "started":
                return ChildScheduled(session.root, child, f"pending:{identity}")
            case "interacted":
                if identity not in self.followups:
                    return None  # a message to a child that does not work for it
                del self.followups[identity]
                return ChildScheduled(session.root, child, f"pending:{identity}")
            case "completed" if identity.startswith(_COMPLETED) and identity != _COMPLETED:
                return ChildEnded(session.root, child, identity.removeprefix(_COMPLETED))
            case "interrupted":
                return None  # a request; the child's own turn_aborted ends its work
            case _:
                raise ContinuityError("invalidRecord")

    def _call(self, payload: dict[str, Any]) -> None:
        if (
            payload.get("type") == "function_call"
            and payload.get("namespace") == "collaboration"
            and payload.get("name") == "followup_task"
        ):
            call = payload.get("call_id")
            if isinstance(call, str) and call:
                self.followups[call] = None
                if len(self.followups) > MAX_FOLLOWUPS:
                    raise ContinuityError("invalidRecord")


def _envelope(line: bytes) -> tuple[str, dict[str, Any]]:
    try:
        record: Any = json.loads(line)
    except (ValueError, RecursionError):
        raise ContinuityError(JSON_ERROR) from None
    if isinstance(record, dict):
        kind, payload = record.get("type"), record.get("payload")
        if isinstance(kind, str) and isinstance(payload, dict):
            return kind, payload
    raise ContinuityError("invalidRecord")


def _required(record: dict[str, Any], key: str) -> str:
    value = record.get(key)
    if not isinstance(value, str) or not value:
        raise ContinuityError("invalidRecord")
    return value


_EVENTS: dict[str, Callable[[Decoder, dict[str, Any], Session], ProviderFact | None]] = {
    "task_started": Decoder._started,
    "task_complete": Decoder._ended,
    "turn_aborted": Decoder._ended,
    "item_completed": Decoder._item,
}
