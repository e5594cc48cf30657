"""What an attached terminal sends is taken apart: typed bytes, focus, the detach key, and unasked answers."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from prowl_cli.keys import Answer, Detach, Focus, InputFilter, detach_patterns

CTRL = detach_patterns("ctrl-\\")


def taken(*chunks, key=CTRL):
    """Return all events of a stream in chunks, adjacent bytes joined."""
    keys = InputFilter(key)
    events = [event for chunk in chunks for event in keys.feed(chunk)] + keys.flush()
    out = []
    for event in events:
        if isinstance(event, bytes) and out and isinstance(out[-1], bytes):
            out[-1] += event
        else:
            out.append(event)
    return out


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        (b"hello\r", [b"hello\r"]),
        (b"a\x1b[Ib\x1b[Oc", [b"a", Focus(True), b"b", Focus(False), b"c"]),
        (b"\x1bOA\x1b[A\x1b[1;5C\x1b[3~", [b"\x1bOA\x1b[A\x1b[1;5C\x1b[3~"]),
        (b"x\x1cy", [b"x", Detach(), b"y"]),
        (b"\x1b[92;5u", [Detach()]),
        (b"\x1b[27;5;92~", [Detach()]),
        (b"\x1b[200~a\x1c\x1b[Ib\x1b[201~c", [b"\x1b[200~a\x1c\x1b[Ib\x1b[201~c"]),
        (b"a\x1b[?62;4cb", [b"a", Answer(b"\x1b[?62;4c"), b"b"]),
        (b"a\x1b]7501;?\x07b", [b"a", Answer(b"\x1b]7501;?\x07"), b"b"]),
        (b"a\x1b]7501;?states=idle\x1b\\b", [b"a", Answer(b"\x1b]7501;?states=idle\x1b\\"), b"b"]),
        (b"a\x1b[>0;276;0cb", [b"ab"]),
        (b"a\x1b[24;80Rb", [b"ab"]),
        (b"\x1b[1;2R", [b"\x1b[1;2R"]),
        (b"a\x1b[?2026;2$yb", [b"ab"]),
        (b"a\x1b[?1ub", [b"ab"]),
        (b"\x1b[97;5u", [b"\x1b[97;5u"]),
        (b"a\x1b]11;rgb:0000/0000/0000\x1b\\b", [b"ab"]),
        (b"a\x1b]10;rgb:ff/ff/ff\x07b", [b"ab"]),
        (b"a\x1bP>|term 1.0\x1b\\b", [b"ab"]),
        (b"\x1b", [b"\x1b"]),
        (b"\x1b\x1b[A", [b"\x1b\x1b[A"]),
        (b"\x1b[<0;10;5M", [b"\x1b[<0;10;5M"]),
        ("é漢".encode(), ["é漢".encode()]),
    ],
)
def test_each_kind_of_input(data, expected):
    """Keys pass as they are; focus, the detach key in all its forms, and answers of the terminal do not."""
    assert expected == taken(data)


@pytest.mark.parametrize(
    "data", [b"a\x1b[Ib\x1b[24;80Rc\x1b[200~x\x1b[I\x1b[201~y\x1b]11;rgb:0/0/0\x1b\\z\x1b[92;5u", b"\x1b[O\x1b[A\x1bOP"]
)
def test_any_split_gives_the_same(data):
    """Where the reads fall does not matter, as long as no pause ends a sequence."""
    assert [taken(data)] * len(data) == [taken(data[:at], data[at:]) for at in range(len(data))]


@given(st.lists(st.binary(max_size=40), max_size=10))
def test_nothing_that_is_typed_raises_or_is_kept(chunks):
    """Any bytes are taken, and after a pause nothing is held back."""
    keys = InputFilter(CTRL)
    for chunk in chunks:
        keys.feed(chunk)
    keys.flush()

    assert not keys.holding


@given(st.text(st.characters(min_codepoint=32, max_codepoint=126)))
def test_plain_text_passes_unchanged(text):
    """Printable text arrives as it was typed."""
    assert text.encode() == b"".join(taken(text.encode()))


def test_an_unfinished_sequence_is_held_until_the_pause():
    """A lone Escape waits for what may follow, and is the key when nothing does."""
    keys = InputFilter(CTRL)

    assert [] == keys.feed(b"\x1b")
    assert keys.holding
    assert [b"\x1b"] == keys.flush()


@pytest.mark.parametrize(
    ("held", "answer"),
    [(b"\x1b", False), (b"\x1b[", False), (b"\x1b]", False), (b"\x1b]7501;?", True), (b"\x1b[?62", True)],
)
def test_the_start_of_an_answer_is_told_from_a_key(held, answer):
    """What no key begins like may be waited for longer than a key."""
    keys = InputFilter(CTRL)

    assert ([], True, answer) == (keys.feed(held), keys.holding, keys.answering)


def test_an_endless_answer_is_not_held_forever():
    """What looks like an answer but does not end is passed on after a bound."""
    keys = InputFilter(CTRL)

    events = keys.feed(b"\x1b]11;" + b"x" * 10_000)

    assert 10_000 < sum(len(event) for event in events)


@pytest.mark.parametrize(
    ("key", "byte"), [("ctrl-a", b"\x01"), ("CTRL-]", b"\x1d"), ("^\\", b"\x1c"), ("ctrl-_", b"\x1f")]
)
def test_detach_keys_by_name(key, byte):
    """A detach key is ctrl and a letter or sign."""
    assert byte == detach_patterns(key)[0]


@pytest.mark.parametrize("key", ["", "a", "f1", "ctrl-", "ctrl-ab", "ctrl-1"])
def test_other_keys_cannot_detach(key):
    """A key that a program may need as text cannot be the detach key."""
    with pytest.raises(ValueError, match="ctrl-"):
        detach_patterns(key)
