"""The scalars that row rules ask about: kinds of a row's first scalar and classes of what it contains.

One home for both implementations of the row scan. ``Kind`` is one letter a row, so that a screen's kinds are one
string that can be searched; ``Glyph`` is a bit set, so that a rule whose glyph is nowhere on screen costs one ``and``.
"""

from typing import Final

__all__ = ["ANIMATED", "BLANKS", "FRAMES", "GLYPHS", "KINDS", "Glyph", "Kind"]

#: Horizontal blank space that "trim" removes: tab and category Zs (detection.md §2.0).
BLANKS: Final = "\t \u00a0\u1680" + "".join(map(chr, range(0x2000, 0x200B))) + "\u202f\u205f\u3000"

#: The animated glyph set, 45 scalars (detection.md §2.0).
ANIMATED: Final = (
    "·"
    + "".join(map(chr, range(0x2731, 0x2744)))
    + "".join(map(chr, range(0x2747, 0x274C)))
    + "".join(map(chr, range(0x2722, 0x2729)))
    + "⊛⊕⊙◉◎◍⁂⁕※⍟☼★☆"
)

#: What ``squeeze`` drops beside blank space: box drawing and block elements, so that frames and scrollbars vanish.
FRAMES: Final = "".join(map(chr, range(0x2500, 0x25A0)))

_BRAILLE: Final = "".join(map(chr, range(0x2800, 0x2900)))
_BOX: Final = "".join(map(chr, range(0x2500, 0x2580)))
_MOONS: Final = "🌑🌒🌓🌔🌕🌖🌗🌘"


class Kind:
    """The letter that stands for a row's first non-blank scalar in ``Frame.kinds``."""

    BLANK: Final = " "
    LETTER: Final = "a"
    DIGIT: Final = "0"
    #: the whole row is a horizontal rule of at least 3 of ``─ - ━ ═ ╌ ▔ ▁ ▀ ▄``
    RULE: Final = "="
    #: starts with a rule scalar but holds more
    DASH: Final = "-"
    ANIMATED: Final = "s"
    BRAILLE: Final = "b"
    SIDE: Final = "|"
    TOP: Final = "t"
    BOTTOM: Final = "u"
    MOON: Final = "m"
    HEXAGON: Final = "h"
    OTHER: Final = "."


class Glyph:
    """Bits for "this row contains such a scalar" (``Frame.masks`` by row, ``Frame.glyphs`` for all rows)."""

    BRAILLE: Final = 1 << 0
    ANIMATED: Final = 1 << 1
    BOX: Final = 1 << 2
    CHEVRON: Final = 1 << 3  # ❯
    ANGLE: Final = 1 << 4  # ›
    ELLIPSIS: Final = 1 << 5  # …
    BULLET: Final = 1 << 6  # • ◦ ● ○ ⏺ ◯
    MOON: Final = 1 << 7
    HEXAGON: Final = 1 << 8
    ARROW: Final = 1 << 9  # ← ↑ → ↓ ↔ ↕ ↵ ⇄ ⇆ ⏎ ↩ ⌃
    CIRCLE: Final = 1 << 10  # ∙ ∘ ○ ◎ ◉ ● ◌ ◐ ◑ ◒ ◓
    TRIANGLE: Final = 1 << 11  # △ ▲ ▶ ▸ ▷ ▹ ► ▼ ▽ ▾ ‣ ⚠
    BRACKET: Final = 1 << 12  # ⟦ ⟧ ⟨ ⟩
    WAVE: Final = 1 << 13  # ∼ ≈ ≋
    SQUARE: Final = 1 << 14  # ■ □ ▣ ▢ ◻ ◼ ◆ ◇ ☐ ☑ ☒ ✓ ✔ ✗ ✘ ⬝
    HOOK: Final = 1 << 15  # ⎿ └ ⎋ and Nerd Font's escape key U+F12B7
    LENS: Final = 1 << 16  # ⌕
    BLOCK: Final = 1 << 17  # block elements, as logos and scrollbars have
    DOWN: Final = 1 << 18  # ↓, which is an ARROW too
    EDGE: Final = 1 << 19  # ▔, which is a BLOCK too
    WARNING: Final = 1 << 20  # ⚠, which is a TRIANGLE too


#: Scalars of every glyph class; a scalar may be in several.
GLYPHS: Final[dict[int, str]] = {
    Glyph.BRAILLE: _BRAILLE,
    Glyph.ANIMATED: ANIMATED,
    Glyph.BOX: _BOX,
    Glyph.CHEVRON: "❯",
    Glyph.ANGLE: "›",
    Glyph.ELLIPSIS: "…",
    Glyph.BULLET: "•◦●○⏺◯",
    Glyph.MOON: _MOONS,
    Glyph.HEXAGON: "⬡⬢",
    Glyph.ARROW: "←↑→↓↔↕↵⇄⇆⏎↩⌃",
    Glyph.CIRCLE: "∙∘○◎◉●◌◐◑◒◓",
    Glyph.TRIANGLE: "△▲▶▸▷▹►▼▽▾‣⚠",
    Glyph.BRACKET: "⟦⟧⟨⟩",
    Glyph.WAVE: "∼≈≋",
    Glyph.SQUARE: "■□▣▢◻◼◆◇☐☑☒✓✔✗✘⬝",
    Glyph.HOOK: "⎿└⎋\U000f12b7",
    Glyph.LENS: "⌕",
    Glyph.BLOCK: "".join(map(chr, range(0x2580, 0x25A0))),
    Glyph.DOWN: "↓",
    Glyph.EDGE: "▔",
    Glyph.WARNING: "⚠",
}

#: Scalars of every kind that is told by its first scalar alone.
KINDS: Final[dict[str, str]] = {
    Kind.DIGIT: "0123456789",
    Kind.DASH: "─-━═╌▔▁▀▄",
    Kind.ANIMATED: ANIMATED,
    Kind.BRAILLE: _BRAILLE,
    Kind.SIDE: "│┃║|",
    Kind.TOP: "╭┌┏╔",
    Kind.BOTTOM: "╰└┗╚",
    Kind.MOON: _MOONS,
    Kind.HEXAGON: "⬡⬢",
}
