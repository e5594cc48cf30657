"""Limits of what callers may say, and the signals payload."""

from collections.abc import Callable

import pytest

from prowl_svc.model.errors import Code, ProwlError
from prowl_svc.model.observation import Binding, SignalKind
from prowl_svc.signals import limits
from prowl_svc.signals.payload import diagnostic, roster
from tests.signals.world import CLAUDE_TABLE, World

PROGRESS, ENDED = SignalKind.PROGRESS, SignalKind.TURN_ENDED
HOOK = {
    "token": "t",
    "runtime": "claude",
    "native_event": "Stop",
    "cwd": "/src/app",
    "session_id": "S",
    "detail": None,
}


@pytest.mark.parametrize(
    "call",
    [
        lambda: limits.check_signal(ENDED, None, "", None, None),
        lambda: limits.check_signal(ENDED, None, "s" * 257, None, None),
        lambda: limits.check_signal(ENDED, None, "é" * 129, None, None),
        lambda: limits.check_signal(ENDED, None, "a\nb", None, None),
        lambda: limits.check_signal(ENDED, None, None, "", None),
        lambda: limits.check_signal(ENDED, None, None, "d" * 32_769, None),
        lambda: limits.check_signal(ENDED, None, None, "\x9b", None),
        lambda: limits.check_signal(ENDED, None, None, None, "o\x7f"),
        lambda: limits.check_signal(ENDED, 5, None, None, None),
        lambda: limits.check_signal(PROGRESS, 101, None, None, None),
        lambda: limits.check_signal(PROGRESS, -1, None, None, None),
        lambda: limits.check_hook(**{**HOOK, "token": "x" * 257}),
        lambda: limits.check_hook(**{**HOOK, "token": ""}),
        lambda: limits.check_hook(**{**HOOK, "cwd": "src"}),
        lambda: limits.check_hook(**{**HOOK, "cwd": "/" + "w" * 4_096}),
        lambda: limits.check_hook(**{**HOOK, "session_id": ""}),
        lambda: limits.check_hook(**{**HOOK, "detail": "\0"}),
        lambda: limits.check_launch_events({}),
        lambda: limits.check_launch_events({str(number): ENDED for number in range(33)}),
        lambda: limits.check_launch_events({"a\tb": ENDED}),
        lambda: limits.check_wait_timeout(601),
        lambda: limits.check_wait_timeout(-1),
        lambda: limits.check_screen_lines(201),
        lambda: limits.check_screen_lines(-1),
        lambda: limits.check_dispatch_id(""),
        lambda: limits.check_dispatch_id("d" * 257),
        lambda: limits.check_summary("two\nlines"),
        lambda: limits.check_summary("two\u2028lines"),
        lambda: limits.check_reason(""),
        lambda: limits.check_prompt(""),
        lambda: limits.check_prompt("\n\t\n"),
        lambda: limits.check_prompt("x" * (256 * 1024 + 1)),
        lambda: limits.check_prompt("a\x1b[201~b"),
        lambda: limits.check_prompt("a\rb"),
        lambda: limits.check_prompt("\ud800"),
    ],
)
def test_out_of_limits(call: Callable[[], None]) -> None:
    """Each is refused with INVALID_ARGUMENT and a message that names no input."""
    with pytest.raises(ProwlError) as error:
        call()
    assert Code.INVALID_ARGUMENT is error.value.code


def test_within_limits() -> None:
    """The limits themselves are allowed, in bytes of UTF-8."""
    limits.check_signal(PROGRESS, 0, "é" * 128, "d" * 32_768, "o" * 256)
    limits.check_signal(PROGRESS, 100, None, None, None)
    limits.check_signal(PROGRESS, None, None, None, None)
    limits.check_hook(**HOOK)
    limits.check_launch_events(CLAUDE_TABLE)
    limits.check_screen_lines(200)
    limits.check_dispatch_id("d" * 256)
    limits.check_summary("ok “quoted”")
    limits.check_prompt("x" * (256 * 1024))
    limits.check_prompt("two\n\tlines")
    assert (600, 1, 600) == tuple(limits.check_wait_timeout(seconds) for seconds in (0, 1, 600))


def test_payload_sorts_channels_and_events() -> None:
    """Channels are sorted by source, events by wire name, and the last signal comes with its binding."""
    world = World()
    world.process()
    world.signal("turn-ended", "S")
    world.signal("progress")
    signals = diagnostic(world.record)
    assert [("cooperative_cli", "observed", ("progress", "turn-ended"), "S")] == [
        (channel.source, channel.state, channel.events, channel.session_id) for channel in signals.channels
    ]
    assert (world.record.latest_signal, Binding.CURRENT) == (signals.last, signals.last_binding)


def test_rosters_hide_what_is_not_current() -> None:
    """A roster row shows the last signal only while it is current; the diagnostic form always does."""
    world = World()
    assert roster(world.record) is None
    world.signal("turn-ended")
    assert roster(world.record) is None
    assert Binding.UNBOUND is diagnostic(world.record).last_binding
    world.process()
    world.signal("turn-ended")
    shown = roster(world.record)
    assert shown is not None
    assert Binding.CURRENT is shown.last_binding
    world.process(11)
    assert roster(world.record) is None
    assert Binding.STALE is diagnostic(world.record).last_binding
    assert () == diagnostic(None).channels
