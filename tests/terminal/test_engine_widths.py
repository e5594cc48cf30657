"""The width of every character, compared with libghostty-vt."""

import pytest

pytest.importorskip("prowl_svc.terminal.engine_screen", exc_type=ImportError)
pytest.importorskip("pyghostty")
from prowl_svc._fast._engine import char_columns
from tests.terminal.oracles import Ghostty

BATCH = 64
# Characters of Unicode versions newer than the oracle's, and code points that have none yet.
NEWER = {*range(0xD7C7, 0xD7CB), *range(0xD7FC, 0xD800)}
CONTROLS = {*range(0x20), *range(0x7F, 0xA0)}


def test_agrees_with_ghostty_on_every_code_point() -> None:
    """Each code point takes the columns that ghostty gives it; the exceptions are named."""
    points = [
        point for point in range(0x110000) if not 0xD800 <= point < 0xE000 and point not in CONTROLS
    ]  # fmt: skip
    wrong: list[str] = []
    other = Ghostty(4 * BATCH, 2)
    for start in range(0, len(points), BATCH):
        batch = points[start : start + BATCH]
        if measured(other, batch) != sum(char_columns(chr(point)) for point in batch):
            wrong += [
                f"{point:04X}" for point in batch
                if point not in NEWER and measured(other, [point]) != char_columns(chr(point))
            ]  # fmt: skip
    assert [] == wrong


def measured(other: Ghostty, points: list[int]) -> int:
    other.feed(b"\x1b[H" + "".join(f"a{chr(point)}" for point in points).encode())
    return other.position[1] - len(points)
