"""Output for attached terminals, without queries."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from prowl_svc.terminal.passthrough import QueryFilter, incomplete_tail

QUERIES = [
    b"\x1b[c",
    b"\x1b[>c",
    b"\x1b[>0q",
    b"\x1b[6n",
    b"\x1b[?6n",
    b"\x1b[5n",
    b"\x1b[?996n",
    b"\x1b[?u",
    b"\x1b[?2026$p",
    b"\x1b[14t",
    b"\x1b]11;?\x07",
    b"\x1b]4;0;?;1;?\x1b\\",
    b"\x1b]7501;?\x1b\\",
    b"\x1b]52;c;?\x07",
    b"\x1b]99;i=1:p=?;\x1b\\",
    b"\x1b]1337;Capabilities\x07",
    b"\x1bP+q4d73\x1b\\",
    b"\x1bP$qm\x1b\\",
    b"\x1b_Gi=1,a=q;AAAA\x1b\\",
]
SHOWN = [
    b"text",
    "✳ é".encode(),
    b"\x1b[1;31m",
    b"\x1b[?2026h",
    b"\x1b[>5u",
    b"\x1b]0;title\x07",
    b"\x1b]11;#fff\x07",
    b"\x1b]52;c;aGk=\x07",
    b"\x1b]7501;state=idle\x1b\\",
    b"\x1b_Ga=T;AAAA\x1b\\",
    b"\x1bPq#0\x1b\\",
    b"\x1b[22;0t",
    b"\r\n",
    b"\x1b]0;cut\x1b[H",
]


@pytest.mark.parametrize("query", QUERIES)
def test_queries_are_taken_out(query: bytes) -> None:
    """A query that the service has answered is not passed on, whole or byte by byte; its neighbours are."""
    data = b"a" + query + b"b" + query + query + b"\x1b[mc"
    assert b"ab\x1b[mc" == QueryFilter().feed(data)
    query_filter = QueryFilter()
    assert b"ab\x1b[mc" == b"".join(query_filter.feed(bytes([byte])) for byte in data)


@given(st.lists(st.sampled_from([*QUERIES, *SHOWN]), max_size=12), st.data())
def test_everything_else_passes_unchanged(parts: list[bytes], draw: st.DataObject) -> None:
    """In any split, what comes out is what went in without the queries, in order."""
    data = b"".join(parts) + b"."
    query_filter, shown, position = QueryFilter(), b"", 0
    while position < len(data):
        step = draw.draw(st.integers(1, 9))
        shown += query_filter.feed(data[position : position + step])
        position += step
    assert b"".join(part for part in parts if part not in QUERIES) + b"." == shown


@given(st.lists(st.binary(max_size=20), max_size=8))
def test_any_bytes(pieces: list[bytes]) -> None:
    """Whatever the bytes, nothing raises and what is shown is no more than what came."""
    query_filter = QueryFilter()
    shown = b"".join(query_filter.feed(piece) for piece in pieces)
    assert len(shown) <= sum(map(len, pieces))


def test_long_strings_are_not_held_back_for_ever() -> None:
    """An image larger than what is held back passes, whole and in order."""
    image = b"\x1bPq" + b"x" * 50_000 + b"\x1b\\"
    query_filter = QueryFilter()
    shown = b"".join(query_filter.feed(image[start : start + 1000]) for start in range(0, len(image), 1000))
    assert image + b"after" == shown + query_filter.feed(b"after")


def test_starting_in_the_middle() -> None:
    """A filter that starts inside a query still knows it as one."""
    assert [b"", b"\x1b[", b"\x1b]11;"] == [
        incomplete_tail(data) for data in (b"a\x1b[m", b"a\x1b[", b"\x1b[ma\x1b]11;")
    ]
    assert b"x" == QueryFilter(b"\x1b]11;").feed(b"?\x07x")
    assert b"\x1b[mx" == QueryFilter(b"\x1b[").feed(b"mx")
