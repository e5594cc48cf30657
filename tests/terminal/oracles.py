"""Other terminals that the engine is compared with, and the recordings (development only)."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from prowl_svc.terminal.cast import Cast, read_cast

CASTS = sorted((Path(__file__).parents[1] / "corpus" / "casts").glob("*.cast.gz"))


def cast_id(path: Path) -> str:
    return path.name.removesuffix(".cast.gz")


class Ghostty:
    """libghostty-vt."""

    def __init__(self, columns: int, rows: int) -> None:
        pyghostty = pytest.importorskip("pyghostty")
        self._terminal: Any = pyghostty.Terminal(columns, rows, 1000)
        self._rows = rows

    def feed(self, data: bytes) -> None:
        self._terminal.feed(data)

    def resize(self, columns: int, rows: int) -> None:
        self._terminal.resize(columns, rows)
        self._rows = rows

    def rows(self) -> list[str]:
        rows = [row.rstrip(" ") for row in self._terminal.text().split("\n")]
        return rows + [""] * (self._rows - len(rows))

    @property
    def position(self) -> tuple[int, int]:
        column, row = self._terminal.cursor
        return row, column


class Avt:
    """asciinema's terminal; it takes text, not bytes."""

    def __init__(self, columns: int, rows: int) -> None:
        avt = pytest.importorskip("avt")
        self._terminal: Any = avt.Vt(columns, rows)

    def feed(self, text: str) -> None:
        self._terminal.feed_str(text)

    def resize(self, columns: int, rows: int) -> None:
        self._terminal.resize(columns, rows)

    def rows(self) -> list[str]:
        return [line.text.rstrip(" ") for line in self._terminal.view()]


def recordings() -> Iterator[tuple[str, Cast]]:
    for path in CASTS:
        yield cast_id(path), read_cast(path)
