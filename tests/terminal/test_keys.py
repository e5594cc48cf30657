"""Key tokens and text as the bytes that programs read."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from prowl_svc.model.errors import Code, ProwlError
from prowl_svc.terminal.keys import encode_key, encode_paste, encode_text, normal_key


@pytest.mark.parametrize(
    ("token", "expected"),
    [
        ("enter", b"\r"),
        ("Return", b"\r"),
        ("tab", b"\t"),
        ("shift-tab", b"\x1b[Z"),
        ("escape", b"\x1b"),
        ("esc", b"\x1b"),
        ("backspace", b"\x7f"),
        ("ctrl-backspace", b"\x08"),
        ("delete", b"\x1b[3~"),
        ("insert", b"\x1b[2~"),
        ("space", b" "),
        ("ctrl-space", b"\x00"),
        ("up", b"\x1b[A"),
        ("down", b"\x1b[B"),
        ("right", b"\x1b[C"),
        ("left", b"\x1b[D"),
        ("home", b"\x1b[H"),
        ("end", b"\x1b[F"),
        ("pgup", b"\x1b[5~"),
        ("pagedown", b"\x1b[6~"),
        ("f1", b"\x1bOP"),
        ("f4", b"\x1bOS"),
        ("f5", b"\x1b[15~"),
        ("f12", b"\x1b[24~"),
        ("shift-f3", b"\x1b[1;2R"),
        ("ctrl-up", b"\x1b[1;5A"),
        ("alt-shift-left", b"\x1b[1;4D"),
        ("ctrl-pgup", b"\x1b[5;5~"),
        ("ctrl-a", b"\x01"),
        ("ctrl-z", b"\x1a"),
        ("C-c", b"\x03"),
        ("ctrl-C", b"\x03"),
        ("ctrl-\\", b"\x1c"),
        ("ctrl-_", b"\x1f"),
        ("alt-x", b"\x1bx"),
        ("alt-enter", b"\x1b\r"),
        ("ctrl-alt-d", b"\x1b\x04"),
        ("y", b"y"),
        ("Y", b"Y"),
        ("shift-y", b"Y"),
        ("1", b"1"),
        ("-", b"-"),
        ("alt--", b"\x1b-"),
        ("é", "é".encode()),
    ],
)
def test_legacy(token: str, expected: bytes) -> None:
    """Each key sends what xterm sends for it."""
    assert expected == encode_key(token)


@pytest.mark.parametrize("token", ["up", "down", "left", "right", "home", "end"])
def test_application_cursor(token: str) -> None:
    """In application mode cursor keys come with SS3, unless a modifier is held."""
    assert encode_key(token).replace(b"[", b"O") == encode_key(token, application_cursor=True)
    assert encode_key(f"ctrl-{token}") == encode_key(f"ctrl-{token}", application_cursor=True)


@pytest.mark.parametrize(
    ("token", "flags", "expected"),
    [
        ("escape", 1, b"\x1b[27u"),
        ("enter", 1, b"\r"),
        ("tab", 1, b"\t"),
        ("backspace", 1, b"\x7f"),
        ("shift-enter", 1, b"\x1b[13;2u"),
        ("shift-tab", 1, b"\x1b[9;2u"),
        ("ctrl-c", 1, b"\x1b[99;5u"),
        ("alt-x", 5, b"\x1b[120;3u"),
        ("x", 1, b"x"),
        ("X", 1, b"X"),
        ("f3", 1, b"\x1b[13~"),
        ("up", 1, b"\x1b[A"),
        ("ctrl-up", 7, b"\x1b[1;5A"),
        ("enter", 8, b"\x1b[13u"),
        ("ctrl-c", 2, b"\x03"),
    ],
)
def test_kitty(token: str, flags: int, expected: bytes) -> None:
    """Keys that are ambiguous are sent as kitty sends them to a program that asked for it."""
    assert expected == encode_key(token, kitty_flags=flags)


@pytest.mark.parametrize(
    ("token", "expected"),
    [
        ("Return", "enter"),
        ("C-c", "ctrl-c"),
        ("shift-ctrl-left", "ctrl-shift-left"),
        ("BackTab", "shift-tab"),
        ("meta-X", "alt-X"),
        ("Page-Up", "pgup"),
    ],
)
def test_normal_form(token: str, expected: str) -> None:
    """A token has one normal form, which names the same key."""
    assert expected == normal_key(token)
    assert encode_key(token) == encode_key(expected)


@pytest.mark.parametrize(
    "token", ["", "f13", "hyper-x", "ctrl-", "ctrl-ctrl-c", "entre", "ab", "\n", "ctrl-é", "x" * 9999]
)
def test_unknown(token: str) -> None:
    """An unknown token is refused with a message that lists the tokens and stays short."""
    with pytest.raises(ProwlError) as refusal:
        encode_key(token)
    assert Code.UNSUPPORTED_KEY is refusal.value.code
    assert "shift-tab" in refusal.value.message
    assert len(refusal.value.message) < 500


@given(st.text(max_size=12))
def test_any_token(token: str) -> None:
    """Any token gives bytes or the one refusal, and a normal form is its own."""
    try:
        normal = normal_key(token)
    except ProwlError:
        return
    assert normal == normal_key(normal)
    assert encode_key(token)


def test_text() -> None:
    """Line ends of any kind are typed as Enter, and lone surrogates do not raise."""
    assert b"a\rb\rc\rd" == encode_text("a\nb\r\nc\rd")
    assert b"?" == encode_text("\ud800")


@given(st.text(st.sampled_from("\x1b[201~\x9b\n\ta"), max_size=40))
def test_paste_cannot_end_early(text: str) -> None:
    """Whatever is pasted, the program sees one paste that ends where it should."""
    pasted = encode_paste(text, bracketed=True)
    assert pasted.startswith(b"\x1b[200~")
    assert pasted.endswith(b"\x1b[201~")
    assert 2 == pasted.count(b"\x1b")
    assert b"\xc2\x9b" not in pasted


def test_paste() -> None:
    """A paste is bracketed only for a program that asked, and the marks in it are removed."""
    assert b"a\rb" == encode_paste("a\nb", bracketed=False)
    assert b"\x1b[200~a\tb\rc\x1b[201~" == encode_paste("a\tb\nc\x1b[201~", bracketed=True)
