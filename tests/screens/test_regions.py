"""Shared regions and row tests choose what they say they choose."""

import pytest

from prowl_svc.model.state import Style
from prowl_svc.screens import regions
from prowl_svc.screens.frame import Frame


def lines(text: str) -> Frame:
    return Frame(text.strip("\n").split("\n"))


def test_a_tail_starts_at_the_budgeted_row_and_keeps_blank_ones() -> None:
    """The tail begins with the budgeted non-blank row from the bottom; blank rows cost nothing."""
    frame = Frame(["a", "b", "", "c", "", ""], 2)
    assert (1, ["b", "", "c", "", ""]) == (frame.start, frame.rows)


def test_a_short_screen_is_its_own_tail() -> None:
    """Fewer rows than the budget are all kept."""
    assert 0 == Frame(["", "a"], 24).start


@pytest.mark.parametrize("row", ["1. Yes", "12. x", "3."])
def test_numbered_choices(row: str) -> None:
    """Digits and one dot make a numbered choice."""
    assert regions.is_numbered(row)


@pytest.mark.parametrize("row", ["1) Yes", "1.5 x", "1.Yes", "a. x", "1.. x", ""])
def test_other_rows_are_not_numbered(row: str) -> None:
    """Anything else does not."""
    assert not regions.is_numbered(row)


def test_selected_choice_needs_cursor_and_number() -> None:
    """A cursor glyph before a numbered choice selects it."""
    assert ("2. No", None, None) == tuple(map(regions.selected_choice, ["❯ 2. No", "❯ No", "2. No"]))
    assert (2, 2, None) == tuple(map(regions.choice_number, ["› 2. No", "2. No", "No"]))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("do you want this? yes", True),
        ("would you like it ❯", True),
        ("yes. do you want this?", False),
        ("would you like soup, yes. do you want bread", False),
    ],
)
def test_confirmation_vocabulary(text: str, expected: bool) -> None:
    """An answer must follow the first question phrase, and do you want comes first (detection.md §2.0)."""
    assert expected == regions.asks_to_confirm(text)


@pytest.mark.parametrize(
    ("row", "expected"),
    [
        ("✻ Kneading…", True),
        ("✨\ufe0f Loading…", False),
        ("✻ Kneading...", False),
        ("✻ 40% … 60%", False),
        ("✻Kneading…", False),
        ("● Kneading…", False),
        ("· 漢字…", True),
    ],
)
def test_spinner_rows(row: str, expected: bool) -> None:
    """Animated glyph, space, ellipsis and a letter make a spinner row."""
    assert expected == regions.is_spinner_row(row)


def test_braille_rows() -> None:
    """A braille-led row needs a letter; its label follows one space."""
    assert [True, False, False] == list(map(regions.is_braille_row, ["⠹Working", "⠹ 12", "Working"]))
    assert ["Up", None, None] == list(map(regions.labelled_braille, ["⠹  Up ", "⠹Up", "⠹ 12"]))


def test_interrupt_pattern() -> None:
    """esc and interrupt in any order, or the control key."""
    assert regions.interrupts("interrupt with esc")
    assert regions.interrupts("ctrl+c to interrupt")
    assert not regions.interrupts("interrupted")


def test_boxes_are_found_from_the_bottom_up() -> None:
    """Whole boxes are yielded lowest first; one with a foreign row or without a top is none."""
    frame = lines("╭─╮\n│a│\n╰─╯\ntext\n╭─╮\nx\n╰─╯\n┌─┐\n│b│\n└─┘")
    assert [range(7, 10), range(3)] == list(regions.boxes(frame))
    assert range(7, 10) == regions.last_box(frame)
    assert range(3) == regions.box_above(frame, 3)
    assert range(0) == regions.box_above(frame, 7)


def test_composers_are_found_by_their_frame() -> None:
    """A boxed and a ruled composer are told by frame and prompt glyph, the lowest first."""
    frame = lines("╭──╮\n│ > hi │\n╰──╯\n─────\n❯ a\nb\n─────\nfoot")
    assert range(3) == regions.boxed_composer(">")(frame)
    assert range(3, 7) == regions.ruled_composer("❯")(frame)
    assert range(0) == regions.ruled_composer("›")(frame)


def test_logical_rows_join_deeper_rows() -> None:
    """Deeper rows continue a head, unless they start a row of their own or a blank row stands between."""
    frame = lines("● Sorting\n  the jars\n    again\n  ⎿ Tip\n\n  more")
    starts = frozenset("●⎿")
    assert [(0, "● Sorting the jars again"), (3, "⎿ Tip"), (5, "more")] == regions.logical_rows(
        frame, regions.screen(frame), starts
    )
    assert [5, 3, 0] == [row for row, _ in regions.rows_upwards(frame, frame.end, starts)]


@pytest.mark.parametrize(
    ("glyph", "style"),
    [
        ("⠹", Style.BRAILLE),
        ("⬡", Style.HEXAGON),
        ("🌓", Style.MOON),
        ("•", Style.BULLET),
        ("∘", Style.DOT_CYCLE),
        ("✻", Style.SYMBOL_CYCLE),
        ("x", None),
    ],
)
def test_style_of_a_glyph(glyph: str, style: Style | None) -> None:
    """Each glyph family has its style (detection.md §3.1)."""
    assert style == regions.style_of(glyph)


def test_frame_facts() -> None:
    """Texts, the foot and the nearest rows are told with their row numbers."""
    frame = lines("One\n\n ❯ Two …\nThree")
    assert 2 == frame.row_of(frame.text.index("Two"))
    assert "one\n\n❯ two …\nthree" == frame.lower
    assert "one❯two…three" == frame.foot
    assert [2, 0] == frame.above(3, 2)
    assert [2, 3] == frame.below(0)
    assert range(2, 4) == frame.last(2)
    assert range(4) == frame.last(9)
    assert range(2, 2) == Frame(["", ""]).last(3)


def test_the_box_that_ends_the_screen() -> None:
    """The last box counts whole or without its top, and only with as many rows under it as are allowed."""
    assert range(1, 4) == regions.final_box(lines("a\n╭──╮\n│ b│\n╰──╯\n\n"))
    assert range(2) == regions.final_box(lines("│ b│\n╰──╯"))
    under = lines("╭──╮\n│ b│\n╰──╯\nnote")
    assert (range(0), range(3)) == (regions.final_box(under), regions.final_box(under, 1))
    assert range(0) == regions.final_box(lines("a\n│ b│\nc\n╰──╯"))


def test_rows_and_rules_above_a_row() -> None:
    """The rows directly above end at a blank one; a rule above is one that is drawn with the given scalars."""
    frame = lines("────\na\n\n----\nb\nc")
    assert range(3, 5) == regions.run_above(frame, 5)
    assert (3, 0, -1) == tuple(regions.rule_above(frame, 5, scalars) for scalars in ("─-", "─", "═"))
