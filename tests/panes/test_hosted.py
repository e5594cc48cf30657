"""Hosted panes with real programs on real terminals."""

import asyncio
import hashlib
import os
import signal

import pytest

from prowl_svc.model.errors import Code, ProwlError
from prowl_svc.model.terminal import Bell, ModeChange, ProgramStatus, Title
from prowl_svc.panes import hosted
from prowl_svc.panes.hosted import HostedPane
from prowl_svc.panes.tap import Attachment, Lost
from tests.panes.conftest import LIMIT, Lab

RAW = "import sys,os,tty,time;tty.setraw(0);out=lambda b:(sys.stdout.buffer.write(b),sys.stdout.buffer.flush());"
ECHO_HEX = RAW + "out(b'ready')\nwhile (d:=os.read(0,4096))!=b'q': out(b'\\r\\n'+d.hex().encode())"
BURSTS = (
    RAW
    + r"""
out(b'\x1b[?2004hready')
typed, last = b'', 0.0
while d := os.read(0, 4096):
    quick, last = time.monotonic() - last < 0.12, time.monotonic()
    if d == b'\r' and not quick: out(b'\r\nsubmitted ' + typed)
    typed += d"""
)


async def test_text_and_exit_status(lab: Lab) -> None:
    """What a program writes just before it ends is on the screen when the end is told, with its exit code."""
    pane = lab.start("sh", "-c", "seq 1 500; printf last; exit 7")
    statuses: list[tuple[int, bool]] = []
    pane.on_exit = lambda status: statuses.append((status, "last" in pane.screen.text()))
    assert 7 == await pane.wait()
    assert [(7, True)] == statuses
    assert "482" == pane.screen.scrollback_rows()[-1] or pane.screen.active_rows()[-1] == "last"
    assert (None, None, False, 7) == (pane.master, pane.child, pane.running, pane.exit_status)


async def test_death_by_signal(lab: Lab) -> None:
    """A program that a signal ends has 128 plus its number as status."""
    pane = lab.start("sh", "-c", "kill -9 $$")
    assert 137 == await pane.wait()


async def test_no_zombie_is_left(lab: Lab) -> None:
    """An ended program is reaped."""
    pane = lab.start("true")
    pid = pane.child
    assert pid is not None
    assert 0 == await pane.wait()
    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)


async def test_events_and_revision(lab: Lab) -> None:
    """Side channels arrive in stream order, and the revision moves with the text only."""
    pane = lab.python(
        RAW + "out(b'a\\x1b]0;t\\x07\\x07\\x1b[?2004h\\x1b]7501;state=idle\\x07')\n"
        "os.read(0,9);out(b'\\x1b[31m');os.read(0,9);out(b'b')"
    )
    seen: list[int] = []
    note = pane.on_output
    pane.on_output = lambda events, revision: (seen.append(revision), note(events, revision))[1]
    await lab.until(lambda: len(lab.events.get(pane.id, [])) == 4)
    title, bell, mode, status = lab.events[pane.id]
    assert (Title(7, "t"), Bell(8), ModeChange(16, 2004, True)) == (title, bell, mode)
    assert isinstance(status, ProgramStatus)
    count, revision = len(seen), pane.screen.revision
    pane.write(b"x")
    await lab.until(lambda: len(seen) > count)
    assert revision == pane.screen.revision
    pane.write(b"x")
    await lab.shows(pane, "ab")
    assert revision < pane.screen.revision


async def test_queries_are_answered_in_order(lab: Lab) -> None:
    """A program that asks what it is in gets every answer at once and in order, the program status query none."""
    ask = b"\\x1b]11;?\\x07\\x1b[c\\x1b]7501;?\\x07\\x1b[6n\\x1b[?2026$p\\x1b[c"
    pane = lab.python(
        RAW + f"out(b'{ask.decode()}');d=b''\nwhile d.count(b'c')<2: d+=os.read(0,999)\n"
        "out(b'\\r\\n'+d.hex().encode());os.read(0,1)",
        columns=200,
    )
    expected = b"\x1b]11;rgb:1818/1818/1818\x07\x1b[?62;22c\x1b[1;1R\x1b[?2026;2$y\x1b[?62;22c"
    await lab.shows(pane, expected.hex())


async def test_focus(lab: Lab) -> None:
    """A program that asks for focus reports hears that nobody looks, then of every change, once."""
    pane = lab.python(ECHO_HEX.replace("out(b'ready')", "out(b'\\x1b[?1004hready')"))
    await lab.shows(pane, b"\x1b[O".hex())
    pane.focus(True)
    pane.focus(True)
    await lab.shows(pane, b"\x1b[I".hex())
    pane.focus(False)
    await lab.until(lambda: pane.screen.text().count(b"\x1b[O".hex()) == 2)
    assert 1 == pane.screen.text().count(b"\x1b[I".hex())


async def test_keys_follow_what_the_program_asked(lab: Lab) -> None:
    """Cursor keys, keyboard flags and pastes are sent as the program set its terminal."""
    modes = "\\x1b[?1h\\x1b[?2004h\\x1b[>1u"
    pane = lab.python(ECHO_HEX.replace("out(b'ready')", f"out(b'{modes}ready')"))
    await lab.shows(pane, "ready")
    for send, expected in [
        (lambda: pane.send_key("up", 2), b"\x1bOA\x1bOA"),
        (lambda: pane.send_key("ctrl-c"), b"\x1b[99;5u"),
        (lambda: pane.send_text("a\nb", paste=True), b"\x1b[200~a\rb\x1b[201~"),
        (lambda: pane.send_text("c\nd"), b"c\rd"),
    ]:
        send()
        await lab.shows(pane, expected.hex())


async def test_submitted_text_and_enter_come_apart(lab: Lab) -> None:
    """Enter after sent text arrives in a read of its own, so that it is not taken for a part of a paste."""
    pane = lab.python(ECHO_HEX)
    await lab.shows(pane, "ready")
    assert 5 == await pane.submit_text("hello")
    await lab.shows(pane, b"hello".hex() + "\n" + b"\r".hex())


async def test_enter_is_no_part_of_what_looks_pasted(lab: Lab) -> None:
    """A program that takes pastes gets Enter after typed text so late that it cannot seem to be a line of a paste."""
    pane = lab.python(BURSTS)
    await lab.shows(pane, "ready")
    await pane.submit_text("hello")
    await lab.shows(pane, "submitted hello")


async def test_refused_keys(lab: Lab) -> None:
    """Bad keys and repeats are refused before anything is sent, and so is input to a pane that ended."""
    pane = lab.start("cat")
    for token, repeat, code in [
        ("nokey", 1, Code.UNSUPPORTED_KEY),
        ("up", 0, Code.INVALID_REPEAT),
        ("up", 101, Code.INVALID_REPEAT),
    ]:
        with pytest.raises(ProwlError) as refusal:
            pane.send_key(token, repeat)
        assert code is refusal.value.code
    await pane.close(0)
    with pytest.raises(ProwlError) as refusal:
        pane.send_key("up")
    assert Code.KEY_DELIVERY_FAILED is refusal.value.code
    with pytest.raises(ProwlError) as refusal:
        pane.send_text("x")
    assert Code.SEND_FAILED is refusal.value.code


async def test_large_input_arrives_whole(lab: Lab) -> None:
    """Input larger than the terminal holds is delivered in order as the program reads, and more than 1 MiB refused."""
    pane = lab.python(
        RAW + "import hashlib;out(b'ready');h=hashlib.md5();n=0\n"
        "while n<500000: d=os.read(0,9999);h.update(d);n+=len(d)\n"
        "out(b'\\r\\n'+h.hexdigest().encode());os.read(0,1)"
    )
    await lab.shows(pane, "ready")
    os.kill(pane.child or 0, signal.SIGSTOP)
    data = b"".join(b"%08d" % number for number in range(62500))
    pane.write(data)
    with pytest.raises(ProwlError) as refusal:
        pane.write(bytes(1 << 20))
    assert Code.SEND_FAILED is refusal.value.code
    os.kill(pane.child or 0, signal.SIGCONT)
    await asyncio.wait_for(pane.drained(), LIMIT)
    await lab.shows(pane, hashlib.md5(data).hexdigest())


async def test_answers_to_a_deaf_program_are_dropped(lab: Lab) -> None:
    """A program that asks for ever and never reads neither blocks itself nor fills memory."""
    pane = lab.python(RAW + "out(b'\\x1b[c'*30000+b'done');time.sleep(60)")
    await lab.shows(pane, "done")
    assert pane._writer.queued <= 1 << 16
    assert pane._writer.dropped_answers > 0


SIZES = (
    RAW + "import signal;size=lambda *_:out(b'size %d %d.'%os.get_terminal_size())\n"
    "signal.signal(signal.SIGWINCH,size);out(b'ready')\nwhile 1: time.sleep(9)"
)


async def test_resize(lab: Lab) -> None:
    """A new size reaches program and screen, clamped to what is allowed."""
    pane = lab.python(SIZES)
    await lab.shows(pane, "ready")
    pane.resize(100, 30)
    await lab.shows(pane, "size 100 30.")
    assert (100, 30, 30) == (pane.screen.columns, pane.screen.rows, len(pane.screen.active_rows()))
    pane.resize(5000, 0)
    await lab.shows(pane, "size 1000 1.")


async def test_repaint(lab: Lab) -> None:
    """A program can be made to draw again, and the size is as before."""
    pane = lab.python(SIZES)
    await lab.shows(pane, "ready")
    await pane.repaint()
    await lab.shows(pane, "size 79 24.")
    await lab.shows(pane, "size 80 24.")


async def test_close_hangs_up(lab: Lab) -> None:
    """Closing hangs up shell and foreground job, also a stopped one, and gives their status."""
    pane = lab.start("bash", "--norc", "-i")
    await lab.shows(pane, "$")
    pane.send_text("sleep 1000 | cat\r")
    await lab.shows(pane, "| cat")
    assert 129 == await pane.close(LIMIT)


async def test_close_kills_the_stubborn(lab: Lab) -> None:
    """A program that ignores the hang-up is killed after the grace."""
    pane = lab.start("sh", "-c", "trap '' HUP; echo ready; while :; do sleep 0.05; done")
    await lab.shows(pane, "ready")
    assert 137 == await pane.close(0.05)
    assert 137 == await pane.close(0.05)


async def test_background_program_does_not_hold_the_pane(lab: Lab, monkeypatch: pytest.MonkeyPatch) -> None:
    """A pane ends with its first process although another still has the terminal open."""
    monkeypatch.setattr(hosted, "LAST_OUTPUT", 0.02)
    pane = lab.start("bash", "-c", "(trap '' HUP; sleep 5) & echo started; exit 4")
    assert 4 == await pane.wait()
    assert "started" in pane.screen.text()


async def test_open_frame_is_shown_in_time(lab: Lab) -> None:
    """A synchronized update that never ends is shown after its time, and one that ends is shown whole."""
    pane = lab.python(
        RAW + "out(b'\\x1b[?2026hhalf');os.read(0,1);out(b'\\x1b[?2026h\\x1b[2J\\x1b[Hwhole\\x1b[?2026l');os.read(0,1)"
    )
    await lab.until(lambda: pane.screen.synchronizing)
    assert "half" not in pane.screen.text()
    await lab.shows(pane, "half")
    pane.write(b"x")
    await lab.shows(pane, "whole")
    assert "half" not in pane.screen.text()


async def collect(attachment: Attachment, end: bytes) -> bytes:
    data = b""
    async with asyncio.timeout(LIMIT):
        async for item in attachment:
            assert isinstance(item, bytes)
            data += item
            if end in data:
                break
    return data


async def test_attach(lab: Lab) -> None:
    """An attached terminal gets the screen as it is, then everything that follows but the queries."""
    pane = lab.python(
        RAW + "out(b'before\\x1b[?2004h\\x1b]0;name\\x07');os.read(0,1)\n"
        "out(b'\\x1b[cafter\\x1b[1m!\\x1b]11;?\\x07\\x1b[6n.');time.sleep(60)"
    )
    await lab.shows(pane, "before")
    attachment = pane.attach()
    first = await anext(attachment)
    assert isinstance(first, bytes)
    assert b"\x1b[1;1Hbefore" in first
    assert b"\x1b[?2004h" in first
    assert b"\x1b]2;name\x1b\\" in first
    assert first.endswith(b"\x1b[1;7H\x1b[?25h")
    pane.write(b"x")
    assert b"after\x1b[1m!." == await collect(attachment, b"!.")
    await pane.close(0)
    with pytest.raises(StopAsyncIteration):
        await anext(attachment)
    assert 0 == pane.attached


async def test_slow_attachment_loses_alone(lab: Lab) -> None:
    """A terminal that does not keep up is told how much it lost and gets a redraw; another one lost nothing."""
    pane = lab.python(
        RAW + "out(b'ready');os.read(0,1)\nfor n in range(400): out(b'%d\\r\\n'%n+b'x'*500+b'\\r\\n')\n"
        "out(b'END');os.read(0,1);out(b'more');os.read(0,1)"
    )
    await lab.shows(pane, "ready")
    slow, quick = pane.attach(100_000), pane.attach()
    reading = asyncio.create_task(collect(quick, b"END"))
    pane.write(b"x")
    everything = await reading
    assert all(b"\n%d\r\n" % number in everything for number in (1, 199, 399))
    lost = await anext(slow)
    assert isinstance(lost, Lost)
    assert lost.count > 100_000
    assert b"END" in await collect(slow, b"END")
    pane.write(b"x")
    assert b"more" == await collect(slow, b"more")
    slow.close()
    quick.close()
    assert 0 == pane.attached


async def test_flood_delays_nobody(lab: Lab) -> None:
    """While one pane floods, another pane's output is handled within few turns, and the flood is still read."""
    flood = lab.start("cat", "/dev/urandom")
    quiet = lab.python(ECHO_HEX)
    await lab.shows(quiet, "ready")
    for number in range(20):
        pane_bytes = flood._fed
        quiet.write(b"%02d" % number)
        await lab.shows(quiet, (b"%02d" % number).hex())
        await lab.until(lambda before=pane_bytes: flood._fed > before)
    assert flood.running


async def test_failing_listener_stops_nothing(lab: Lab) -> None:
    """A listener that raises is reported to the loop and neither its pane nor others stop being read."""
    reports: list[object] = []
    asyncio.get_running_loop().set_exception_handler(lambda _, context: reports.append(context["message"]))
    bad, good = lab.python(ECHO_HEX), lab.python(ECHO_HEX)

    def fail(*_: object) -> None:
        lab.happened(bad, ())
        raise RuntimeError("listener")

    bad.on_output = fail
    await lab.shows(good, "ready")
    good.write(b"z")
    await lab.shows(good, b"z".hex())
    await lab.until(lambda: "ready" in bad.screen.text())
    assert reports
    assert isinstance(bad, HostedPane)
