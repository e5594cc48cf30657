"""What is answered to the queries of terminal programs."""

from collections.abc import Sequence

import pytest

from prowl_svc.terminal.answers import KNOWN_MODES, KittyStack, apc_answer, csi_answer, dcs_answer, osc_answer

ST = b"\x1b\\"


class State:
    """A screen of 120 by 40 with the cursor at row 3, column 9."""

    columns = 120
    rows = 40
    report_position = (3, 9)
    kitty_flags = 5

    def mode(self, number: int) -> bool:
        return number in (25, 2026)

    def ansi_mode(self, number: int) -> bool | None:
        return {4: True, 20: False}.get(number)


def ask(prefix: bytes, params: Sequence[int], intermediates: bytes, final: bytes) -> bytes:
    return csi_answer(prefix, params, intermediates, final, State())


@pytest.mark.parametrize(
    ("prefix", "params", "intermediates", "final", "expected"),
    [
        (b"", [], b"", b"c", b"\x1b[?62;22c"),
        (b"", [0], b"", b"c", b"\x1b[?62;22c"),
        (b"", [1], b"", b"c", b""),
        (b">", [], b"", b"c", b"\x1b[>1;10;0c"),
        (b"=", [], b"", b"c", b""),
        (b">", [0], b"", b"q", b"\x1bP>|prowl(0.1)\x1b\\"),
        (b"", [5], b"", b"n", b"\x1b[0n"),
        (b"", [6], b"", b"n", b"\x1b[3;9R"),
        (b"?", [6], b"", b"n", b"\x1b[?3;9R"),
        (b"?", [996], b"", b"n", b"\x1b[?997;1n"),
        (b"?", [], b"", b"u", b"\x1b[?5u"),
        (b"?", [25], b"$", b"p", b"\x1b[?25;1$y"),
        (b"?", [1004], b"$", b"p", b"\x1b[?1004;2$y"),
        (b"?", [1016], b"$", b"p", b"\x1b[?1016;0$y"),
        (b"?", [2027], b"$", b"p", b"\x1b[?2027;0$y"),
        (b"", [4], b"$", b"p", b"\x1b[4;1$y"),
        (b"", [20], b"$", b"p", b"\x1b[20;2$y"),
        (b"", [12], b"$", b"p", b"\x1b[12;0$y"),
        (b"", [14], b"", b"t", b"\x1b[4;800;1200t"),
        (b"", [16], b"", b"t", b"\x1b[6;20;10t"),
        (b"", [18], b"", b"t", b"\x1b[8;40;120t"),
        (b"", [21], b"", b"t", b""),
        (b"", [22, 0], b"", b"t", b""),
        (b"", [31], b"", b"m", b""),
    ],
)
def test_control_sequences(
    prefix: bytes, params: list[int], intermediates: bytes, final: bytes, expected: bytes
) -> None:
    """Each query gets the answer of the table, and everything else gets silence."""
    assert expected == ask(prefix, params, intermediates, final)


def test_known_modes_have_a_value() -> None:
    """Every mode that agents probe at start is reported as set or reset."""
    assert {1, 6, 7, 25, 1000, 1002, 1003, 1004, 1006, 1049, 2004, 2026, 2031} <= KNOWN_MODES
    for mode in KNOWN_MODES:
        assert ask(b"?", [mode], b"$", b"p") in (b"\x1b[?%d;1$y" % mode, b"\x1b[?%d;2$y" % mode)


@pytest.mark.parametrize(
    ("body", "end", "expected"),
    [
        (b"11;?", b"\x07", b"\x1b]11;rgb:1818/1818/1818\x07"),
        (b"10;?", ST, b"\x1b]10;rgb:d8d8/d8d8/d8d8" + ST),
        (b"10;?;?", b"\x07", b"\x1b]10;rgb:d8d8/d8d8/d8d8\x07\x1b]11;rgb:1818/1818/1818\x07"),
        (b"4;196;?", b"\x07", b"\x1b]4;196;rgb:ffff/0000/0000\x07"),
        (b"4;232;?;255;?", b"\x07", b"\x1b]4;232;rgb:0808/0808/0808\x07\x1b]4;255;rgb:eeee/eeee/eeee\x07"),
        (b"4;1;red;0;?", b"\x07", b"\x1b]4;0;rgb:1818/1818/1818\x07"),
        (b"4;256;?", b"\x07", b""),
        (b"4;x;?", b"\x07", b""),
        (b"12;#eeeeee", b"\x07", b""),
        (b"13;?", b"\x07", b""),
        (b"52;c;?", b"\x07", b""),
        (b"0;title", b"\x07", b""),
    ],
)
def test_colours(body: bytes, end: bytes, expected: bytes) -> None:
    """Colour queries get the fixed palette with the terminator they used; the clipboard is never read."""
    assert expected == osc_answer(body, end)


def test_capabilities_are_unknown() -> None:
    """XTGETTCAP and DECRQSS are told that nothing is known, other device control strings nothing at all."""
    assert [b"\x1bP0+r" + ST, b"\x1bP0$r" + ST, b""] == [dcs_answer(p) for p in (b"+q4d73", b"$qm", b"tmux;x")]


@pytest.mark.parametrize(
    ("payload", "expected"),
    [
        (b"Gi=31,s=1,v=1,a=q,t=d,f=24;AAAA", b"\x1b_Gi=31;ENOTSUP:graphics are not supported" + ST),
        (b"Gi=31,a=q,q=2;AAAA", b""),
        (b"Ga=q;AAAA", b""),
        (b"Ga=d,d=i,i=1,q=2", b""),
        (b"Gi=x,a=q;", b""),
        (b"x", b""),
    ],
)
def test_graphics(payload: bytes, expected: bytes) -> None:
    """Only a graphics query that names its image is told that images are not supported."""
    assert expected == apc_answer(payload)


def test_kitty_stack() -> None:
    """Keyboard flags are pushed, popped, set, added and removed as kitty does, within bounds."""
    stack = KittyStack()
    stack.push(5)
    stack.assign(2, 2)
    assert 7 == stack.flags
    stack.assign(4, 3)
    assert 3 == stack.flags
    stack.assign(0xFFFF, 1)
    assert 31 == stack.flags
    stack.pop(0)
    assert 0 == stack.flags
    for flags in range(100):
        stack.push(flags % 8)
    stack.pop(16)
    assert 83 % 8 == stack.flags
    stack.pop(1)
    assert 0 == stack.flags
    stack.push(1)
    stack.reset()
    stack.pop(1)
    assert 0 == stack.flags
