"""The split of a byte stream into text, controls and sequences."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from prowl_svc.terminal.osc import MAX_OSC
from prowl_svc.terminal.scanner import Control, ControlSequence, Escape, Scanner, String, Text, Token

ST = b"\x1b\\"


def joined(tokens: list[Token]) -> list[Token]:
    """The tokens with neighbouring text joined, since text may come in pieces."""
    result: list[Token] = []
    for token in tokens:
        if isinstance(token, Text) and result and isinstance(result[-1], Text):
            result[-1] = Text(result[-1].text + token.text)
        else:
            result.append(token)
    return result


def whole(data: bytes) -> list[Token]:
    return joined(Scanner().feed(data))


def bytewise(data: bytes) -> list[Token]:
    scanner = Scanner()
    return joined([token for byte in data for token in scanner.feed(bytes([byte]))])


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        (b"ab\r\n", [Text("ab"), Control(3, 13), Control(4, 10)]),
        (b"\x1b7\x1b(0", [Escape(2, b"", b"7"), Escape(5, b"(", b"0")]),
        (b"\x1b[H", [ControlSequence(0, 3, b"", (), b"", b"H")]),
        (b"\x1b[?1049h", [ControlSequence(0, 8, b"?", (1049,), b"", b"h")]),
        (b"\x1b[1;;3m", [ControlSequence(0, 7, b"", (1, 0, 3), b"", b"m")]),
        (b"\x1b[4:3;2m", [ControlSequence(0, 8, b"", (-1, 2), b"", b"m")]),
        (b"\x1b[?2026$p", [ControlSequence(0, 9, b"?", (2026,), b"$", b"p")]),
        (b"\x1b[99999999m", [ControlSequence(0, 11, b"", (65535,), b"", b"m")]),
        (b"\x1b[1\r2H", [Control(4, 13), ControlSequence(0, 6, b"", (12,), b"", b"H")]),
        (b"\x1b[1\x1b[2H", [ControlSequence(3, 7, b"", (2,), b"", b"H")]),
        (b"\x1b[1\x18H", [Text("H")]),
        (b"\x1b[1?2Hx", [Text("x")]),
        (b"\x1b[1 2Hx", [Text("x")]),
        (b"\x1b[1\xe2\x9c\xb3", [Text("✳")]),
        (b"\x1b\xe2\x9c\xb3", [Text("✳")]),
        (b"\x1b]0;t\x07x", [String(0, 6, b"]", b"0;t", b"\x07"), Text("x")]),
        (b"\x1b]0;\xe2\x9c\xb3" + ST, [String(0, 9, b"]", b"0;\xe2\x9c\xb3", ST)]),
        (b"\x1b]0;t\x1b[H", [ControlSequence(5, 8, b"", (), b"", b"H")]),
        (b"\x1b]7501;state=idle\x18\x07", [Control(19, 7)]),
        (b"\x1bP+q4d73" + ST, [String(0, 10, b"P", b"+q4d73", ST)]),
        (b"\x1bPtmux;\x1b\x1b]0;t\x07" + ST, [String(0, 16, b"P", b"tmux;\x1b]0;t\x07", ST)]),
        (b"\x1b_Ga=q\x07" + ST, [String(0, 9, b"_", b"Ga=q\x07", ST)]),
        (b"\x1bXsos" + ST + b"\x1b^pm" + ST + b"y", [Text("y")]),
        (b"\x9d0;t\x9c", [Text("\ufffd0;t\ufffd")]),
        (b"\xe2\x9c\x1b[H", [Text("\ufffd"), ControlSequence(2, 5, b"", (), b"", b"H")]),
        (b"a\x7fb", [Text("ab")]),
    ],
)
def test_tokens(data: bytes, expected: list[Token]) -> None:
    """Each form of sequence is recognised whole and byte by byte, and what is malformed leaves no text."""
    assert expected == whole(data)
    assert expected == bytewise(data)


@pytest.mark.parametrize("kind", [b"]", b"P", b"_"])
def test_strings_are_capped(kind: bytes) -> None:
    """A string of the limit is kept and one byte more is swallowed without a token or a trace."""
    body = b"x" * MAX_OSC
    assert [String(0, MAX_OSC + 4, kind, body, ST)] == whole(b"\x1b" + kind + body + ST)
    assert [Text("y")] == whole(b"\x1b" + kind + body + b"x" + ST + b"y")


def test_long_sequences_are_ignored() -> None:
    """Too many parameter bytes make a sequence void, many parameters are cut."""
    assert [Text("x")] == whole(b"\x1b[" + b"1" * 300 + b"mx")
    (token,) = whole(b"\x1b[" + b"1;" * 100 + b"m")
    assert isinstance(token, ControlSequence)
    assert (1,) * 32 == token.params


def test_ground() -> None:
    """The scanner knows whether it stands between sequences and characters."""
    for data in (b"\x1b", b"\x1b[1", b"\x1b]0;x", b"\x1b]0;x\x1b", b"\xe2\x9c"):
        scanner = Scanner()
        assert scanner.ground
        scanner.feed(data)
        assert not scanner.ground
    scanner = Scanner()
    scanner.feed(b"\x1b]0;x\x07ab\x1b[H")
    assert scanner.ground


PIECES = st.one_of(
    st.binary(max_size=6),
    st.sampled_from(
        [
            b"\x1b[",
            b"\x1b]",
            b"\x1bP",
            b"\x1b_",
            b"\x1b^",
            ST,
            b"\x07",
            b"\x18",
            b"\x1b",
            b"7501;?",
            b"?1049h",
            b"1;2",
            b"m",
        ]
    ),
    st.text(max_size=4).map(str.encode),
)


@settings(max_examples=300, deadline=None)
@given(st.lists(PIECES, max_size=30).map(b"".join), st.data())
def test_any_split(data: bytes, draw: st.DataObject) -> None:
    """Whatever the bytes and wherever they are cut, the tokens are those of the whole, and offsets never go back."""
    expected = whole(data)
    scanner = Scanner()
    tokens: list[Token] = []
    position = 0
    while position < len(data):
        step = draw.draw(st.integers(1, 7))
        tokens += scanner.feed(data[position : position + step])
        position += step
    assert expected == joined(tokens)
    ends = [token.end for token in tokens if not isinstance(token, Text)]
    assert sorted(ends) == ends
    assert len(data) == scanner.offset
