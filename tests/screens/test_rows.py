"""The compiled and the interpreted row scan find the same facts, and those are the right ones."""

from types import ModuleType

import pytest
from hypothesis import given
from hypothesis import strategies as st

from prowl_svc._fast import _rows_py
from prowl_svc._fast.rows_glyphs import ANIMATED, BLANKS, GLYPHS, KINDS, Glyph
from tests.screens import corpus

try:
    from prowl_svc._fast import _rows
except ImportError:  # pragma: no cover - an interpreted install
    _rows = None  # type: ignore[assignment]

IMPLEMENTATIONS: list[ModuleType] = [_rows_py] if _rows is None else [_rows_py, _rows]
compiled = pytest.mark.skipif(_rows is None, reason="the compiled row scan is not built")

SPECIAL = "".join([*GLYPHS.values(), *KINDS.values()]) + BLANKS + "aZéß漢1.\n\u2028\x00\ud800𝒳\U0010ffff"
ROWS = st.lists(st.text(st.sampled_from(SPECIAL) | st.characters(), max_size=30), max_size=12)


@compiled
@given(rows=ROWS, budget=st.integers(-1, 8))
def test_scan_agrees(rows: list[str], budget: int) -> None:
    """Both implementations find the same facts on any rows."""
    assert _rows_py.scan(rows, budget) == _rows.scan(rows, budget)


@compiled
@given(text=st.text(st.sampled_from(SPECIAL) | st.characters()))
def test_texts_agree(text: str) -> None:
    """Both implementations lower and squeeze any text alike."""
    assert (_rows_py.lower(text), _rows_py.squeeze(text)) == (_rows.lower(text), _rows.squeeze(text))


@compiled
@given(rows=ROWS, count=st.integers(-1, 9))
def test_last_rows_agree(rows: list[str], count: int) -> None:
    """Both implementations squeeze the last non-blank rows alike."""
    _, trimmed, _, _, _, _, nonblank, _ = _rows_py.scan(rows, 0)
    assert _rows_py.squeeze_rows(trimmed, nonblank, count) == _rows.squeeze_rows(trimmed, nonblank, count)


@compiled
@given(rows=ROWS, data=st.data())
def test_logical_agrees(rows: list[str], data: st.DataObject) -> None:
    """Both implementations join wrapped rows alike."""
    _, trimmed, _, _, indents, _, _, _ = _rows_py.scan(rows, 0)
    start = data.draw(st.integers(0, len(rows)))
    stop = data.draw(st.integers(start, len(rows)))
    starts = frozenset("●❯─")
    assert _rows_py.logical(trimmed, indents, start, stop, starts) == _rows.logical(
        trimmed, indents, start, stop, starts
    )


@compiled
@pytest.mark.parametrize("name", corpus.files())
def test_scan_agrees_on_the_corpus(name: str) -> None:
    """Both implementations find the same facts on every recorded and drawn screen."""
    for case in corpus.load(name):
        rows = list(case.rows)
        for budget in (0, 24):
            assert _rows_py.scan(rows, budget) == _rows.scan(rows, budget)
        text = "\n".join(rows)
        assert _rows_py.squeeze(text) == _rows.squeeze(text)


@pytest.mark.parametrize("rows", IMPLEMENTATIONS)
def test_scan_names_what_it_sees(rows: ModuleType) -> None:
    """Heads, kinds, indents, masks and the tail's start are told for each row."""
    screen = ["gone", "  ❯ hi…", "", "─────", "── x", "⠹ Work", "12. yes", "│ a", "╭──╮", "╰──╯", "\u00a0é"]
    start, trimmed, heads, kinds, indents, masks, nonblank, glyphs = rows.scan(screen, 9)
    assert start == 1
    assert trimmed == ["❯ hi…", "", "─────", "── x", "⠹ Work", "12. yes", "│ a", "╭──╮", "╰──╯", "é"]
    assert heads == "❯ ──⠹1│╭╰é"
    assert kinds == ". =-b0|tua"
    assert list(indents) == [2, 0, 0, 0, 0, 0, 0, 0, 0, 0]
    assert masks[0] == Glyph.CHEVRON | Glyph.ELLIPSIS
    assert masks[4] == Glyph.BRAILLE
    assert nonblank == [0, 2, 3, 4, 5, 6, 7, 8, 9]
    assert glyphs == Glyph.CHEVRON | Glyph.ELLIPSIS | Glyph.BRAILLE | Glyph.BOX


@pytest.mark.parametrize("rows", IMPLEMENTATIONS)
def test_lower_keeps_positions(rows: ModuleType) -> None:
    """Only A to Z are lowered, so that positions stay those of the text."""
    assert "\u0130\u212a abcé漢" == rows.lower("\u0130\u212a ABCé漢")


@pytest.mark.parametrize("rows", IMPLEMENTATIONS)
def test_squeeze_forgets_wrapping(rows: ModuleType) -> None:
    """Blank space, newlines and frames vanish, so that split words are whole again."""
    assert rows.squeeze("│ Esc to can │\n│ cel █") == "esctocancel"


@pytest.mark.parametrize("rows", IMPLEMENTATIONS)
def test_scan_refuses_what_is_no_row(rows: ModuleType) -> None:
    """A row that is no string is an error of the caller's."""
    with pytest.raises((TypeError, AttributeError)):
        rows.scan([b"bytes"], 0)


def test_the_animated_set_has_its_45_scalars() -> None:
    """The animated glyph set is the specification's, without duplicates (detection.md §2.0)."""
    assert (45, 45) == (len(ANIMATED), len(set(ANIMATED)))
    assert not set("●○◯⏺•◦*∗❄❅❆⠋") & set(ANIMATED)
