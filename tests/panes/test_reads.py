"""Reading of floods, compiled and interpreted."""

import os
import pty
from collections.abc import Callable, Iterator

import pytest

from prowl_svc._fast import _reads_py, reads

IMPLEMENTATIONS = {"interpreted": _reads_py.read_many, "in use": reads.read_many}


@pytest.fixture(params=list(IMPLEMENTATIONS))
def read_many(request: pytest.FixtureRequest) -> Callable[[int, int], tuple[bytes, str]]:
    """Each implementation."""
    return IMPLEMENTATIONS[request.param]


@pytest.fixture
def pipe() -> Iterator[tuple[int, int]]:
    """A pipe whose reading end does not block."""
    reading, writing = os.pipe()
    os.set_blocking(reading, False)
    yield reading, writing
    os.close(reading)


def test_all_that_is_there(read_many: Callable[[int, int], tuple[bytes, str]], pipe: tuple[int, int]) -> None:
    """What was written comes in order; then there is nothing yet, and after a close the end."""
    reading, writing = pipe
    assert (b"", "nothing") == read_many(reading, 100)
    os.write(writing, b"one ")
    os.write(writing, b"two")
    assert (b"one two", "nothing") == read_many(reading, 100)
    os.write(writing, b"last")
    os.close(writing)
    assert (b"last", "end") == read_many(reading, 100)


def test_no_more_than_the_limit(read_many: Callable[[int, int], tuple[bytes, str]], pipe: tuple[int, int]) -> None:
    """At the limit it stops, and what is left stays to be read."""
    reading, writing = pipe
    os.write(writing, b"abcdef")
    assert (b"abcd", "data") == read_many(reading, 4)
    assert (b"ef", "nothing") == read_many(reading, 4)
    os.close(writing)
    with pytest.raises(ValueError, match="limit"):
        read_many(reading, 0)


def test_a_terminal_in_pieces_and_its_end(read_many: Callable[[int, int], tuple[bytes, str]]) -> None:
    """A terminal gives its output in pieces of a few KiB; they are put together, and its last close is the end."""
    master, slave = pty.openpty()
    try:
        os.set_blocking(master, False)
        os.set_blocking(slave, False)
        sent = got = b""
        while len(sent) < 40_000:
            sent += b"x" * os.write(slave, b"x" * 3_000) if len(got) == len(sent) else b""
            got += read_many(master, 1 << 18)[0]
        os.close(slave)
        while len(got) < len(sent):
            got += read_many(master, 1 << 18)[0]
        assert sent == got
        assert (b"", "end") == read_many(master, 10)
    finally:
        os.close(master)


def test_a_closed_descriptor_is_an_end(read_many: Callable[[int, int], tuple[bytes, str]]) -> None:
    """An error of any other kind reads as the end."""
    assert (b"", "end") == read_many(-1, 10)
