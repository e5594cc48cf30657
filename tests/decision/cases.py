"""Readers of the two event notations that the recorded decision traces use."""

import json
from pathlib import Path
from typing import Any

from prowl_svc.model.facts import (
    ChildEnded,
    ChildScheduled,
    ChildStarted,
    Fact,
    Interaction,
    InventoryFact,
    NativeFact,
    ScreenFact,
    Suspended,
    Tick,
    TurnEnded,
    TurnStarted,
    Unavailable,
)
from prowl_svc.model.state import Decision, Detection, RawState

CORPUS = Path(__file__).parents[1] / "corpus"

_NAMED = {
    "turnStarted": TurnStarted,
    "turnEnded": TurnEnded,
    "childStarted": ChildStarted,
    "childScheduled": ChildScheduled,
    "childEnded": ChildEnded,
    "suspended": Suspended,
    "unavailable": Unavailable,
    "interaction": Interaction,
    "tick": Tick,
}


def fact_of_object(event: dict[str, Any]) -> Fact:
    """Read ``{kind: payload}``."""
    ((kind, payload),) = event.items()
    if kind == "screen":
        return ScreenFact(Detection(RawState(payload["state"]), payload["rule"]), payload.get("content"))
    if kind == "native":
        return NativeFact(payload["session"], RawState(payload["state"]), payload["updated"])
    if kind == "inventory":
        return InventoryFact(frozenset(payload))
    return _NAMED[kind](*payload) if isinstance(payload, list) else _NAMED[kind]()


def fact_of_list(event: list[Any]) -> Fact:
    """Read ``[kind, args…]``."""
    kind, *args = event
    if kind == "screen":
        return ScreenFact(Detection(RawState(args[0]), args[1]), str(args[2]) if len(args) > 2 else None)
    if kind == "native":
        return NativeFact(args[0], RawState(args[1]), args[2])
    if kind == "inventory":
        return InventoryFact(frozenset(args[0]))
    return _NAMED[kind](*args)


def shown(decision: Decision, keys: Any) -> dict[str, Any]:
    """Return the named parts of a decision as the traces write them."""
    parts = {
        "state": decision.state.value,
        "reason": decision.reason,
        "screen_reason": decision.screen_reason,
        "session": decision.session,
        "outstanding": decision.outstanding,
    }
    return {key: parts[key] for key in keys}


def traces() -> list[Any]:
    """Return all traces as (id, [(now, fact, expect)])."""
    found = []
    for trace in json.loads((CORPUS / "machine.json").read_text())["traces"]:
        steps = [(step["at"], fact_of_object(step["event"]), step["expect"]) for step in trace["steps"]]
        found.append((trace["id"], steps))
    for path in sorted((CORPUS / "providers" / "machine").glob("*.json")):
        trace = json.loads(path.read_text())
        steps = [(step["now"], fact_of_list(step["event"]), step["expect"]) for step in trace["steps"]]
        found.append((trace["id"], steps))
    return found
