"""Handing a task to a running agent: text, idle precondition, input area."""

import re
from dataclasses import replace

import pytest

from prowl_svc.model.errors import Code
from prowl_svc.model.state import NO_RULE_MATCHED
from prowl_svc.signals.delivery import (
    Composer,
    IdleMachine,
    InputArea,
    Ready,
    Refused,
    input_area_reason,
    launch_prompt,
    typed_prompt,
)
from tests.signals.world import PANE, World, hook_record


class Precondition:
    """The idle precondition on a world's pane, asked by hand."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.machine = IdleMachine(world.seconds)

    def ask(self, at: float | None = None) -> Ready | Refused | float:
        if at is not None:
            self.world.seconds = at
        return self.machine.step(self.world.records.read(PANE), self.world.seconds, 0)

    def code(self, at: float | None = None) -> Code | None:
        answer = self.ask(at)
        return answer.code if isinstance(answer, Refused) else None


def with_agent(status: str, **more: object) -> World:
    world = World()
    world.process()
    world.detect(status, **more)
    return world


def test_prompts_carry_the_protocol() -> None:
    """User text, blank line, rule, protocol; a typed prompt says who types, and no control character is added."""
    text = typed_prompt("Do it.\nNow.")
    assert text.startswith("[Prowl] Do it.\nNow.\n\n---\nProwl dispatch completion protocol v1\n")
    assert launch_prompt("x", "/opt/prowl").count("/opt/prowl agents dispatch-complete --outcome") == 2
    assert all(ch == "\n" or ch >= " " for ch in text)


def test_corroborated_level_is_ready_at_once() -> None:
    """A turn-ended level with an idle detector lets the task in without a pause."""
    world = with_agent("working")
    world.signal("turn-ended")
    world.detect("done")
    assert isinstance(Precondition(world).ask(), Ready)


def test_idle_screen_settles_for_two_seconds() -> None:
    """Without a level an idle screen has to last two seconds."""
    check = Precondition(with_agent("idle"))
    assert check.ask() == 2.0
    assert isinstance(check.ask(1.9), float)
    answer = check.ask(2.0)
    assert answer == Ready(2.0)


def test_level_whose_screen_has_not_caught_up_settles_then_is_busy() -> None:
    """A turn-ended level over a working screen is given five seconds."""
    world = with_agent("working")
    world.signal("turn-ended")
    world.seconds = 0.0
    check = Precondition(world)
    assert check.ask() == 5.0
    assert isinstance(check.ask(4.9), float)
    assert check.code(5.0) is Code.DISPATCH_TARGET_BUSY


def test_screen_that_catches_up_is_ready() -> None:
    """The same level becomes ready once the detector agrees."""
    world = with_agent("working")
    world.signal("turn-ended")
    check = Precondition(world)
    check.ask()
    world.detect("idle")
    assert isinstance(check.ask(1.0), Ready)


@pytest.mark.parametrize("status", ["working", "blocked"])
def test_busy_agents_are_refused_at_once(status: str) -> None:
    """Working and blocked are refused without waiting, and the message names the state."""
    answer = Precondition(with_agent(status)).ask()
    assert isinstance(answer, Refused)
    assert (Code.DISPATCH_TARGET_BUSY, status) == (answer.code, getattr(answer.observation, "status", None))
    assert status in answer.message


def test_needs_input_level_is_busy_and_named() -> None:
    """A needs-input level of a verified channel refuses although the screen is idle."""
    world = World()
    world.records.begin_launch(PANE, hook_record())
    world.process()
    world.hook("PermissionRequest", "S1")
    world.detect("idle")
    answer = Precondition(world).ask()
    assert isinstance(answer, Refused)
    assert "needs-input" in answer.message


def test_blocked_screen_beats_a_turn_ended_level() -> None:
    """A turn-ended level does not settle over a blocked screen."""
    world = with_agent("blocked")
    world.signal("turn-ended")
    assert Precondition(world).code() is Code.DISPATCH_TARGET_BUSY


def test_outstanding_work_is_busy() -> None:
    """Known open work refuses at once, whatever level and screen say."""
    world = with_agent("idle", outstanding=True)
    world.signal("turn-ended")
    assert Precondition(world).code() is Code.DISPATCH_TARGET_BUSY


def test_unmatched_screen_is_busy() -> None:
    """An idle status without a matched rule is no idle evidence."""
    world = with_agent("idle", screen_reason=NO_RULE_MATCHED, detection_reason=NO_RULE_MATCHED)
    assert Precondition(world).code() is Code.DISPATCH_TARGET_BUSY


def test_without_agent_or_pane() -> None:
    """There is no appearance grace: no agent is AGENT_NOT_FOUND, a closed pane AGENT_GONE."""
    world = World()
    assert Precondition(world).code() is Code.AGENT_NOT_FOUND
    world.records.close(PANE)
    assert Precondition(world).code() is Code.AGENT_GONE


CLEAR = InputArea(Composer.EMPTY, "> ")


def test_clear_input_area_takes_text() -> None:
    """An empty composer, or one of an agent of which nothing is known, may be typed into."""
    assert input_area_reason(CLEAR) is None
    assert input_area_reason(replace(CLEAR, composer=Composer.UNCLASSIFIED)) is None


@pytest.mark.parametrize(
    "change",
    [
        {"composer": Composer.DRAFT},
        {"composer": Composer.UNRECOGNISED},
        {"unsubmitted": True},
        {"composing": True},
        {"bracketed_paste": False},
        {"launch_alive": False},
        {"text": "> [Image #1]"},
        {"text": "Starting MCP servers (1/3)"},
        {"text": "Shutting down..."},
    ],
)
def test_protected_input_area(change: dict[str, object]) -> None:
    """Anything that a paste would be merged into or lost in is refused: why and what to do, without screen text."""
    reason = input_area_reason(replace(CLEAR, **change))  # type: ignore[arg-type]
    assert reason is not None
    assert "[" not in reason
    assert re.fullmatch(r"[^;]+; .*(?:dispatch|start the agent) again", reason)
