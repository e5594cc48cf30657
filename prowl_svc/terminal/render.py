"""Show the screen of a recording at a time: as text, or as a picture for bug reports and the docs."""

import io
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from prowl_svc.terminal.cast import Cast
from prowl_svc.terminal.factory import new_screen
from prowl_svc.terminal.screen import Screen

if TYPE_CHECKING:
    from PIL.ImageDraw import ImageDraw

__all__ = ["RenderError", "render_png", "render_text", "replay", "screen_at"]

_FONTS = (
    "/usr/share/fonts/truetype/dejavu/DejaVuSansMono.ttf",
    "/usr/share/fonts/TTF/DejaVuSansMono.ttf",
    "/usr/share/fonts/truetype/liberation/LiberationMono-Regular.ttf",
    "/System/Library/Fonts/Menlo.ttc",
)
_BACKGROUND, _FOREGROUND, _DIM = (0x18, 0x18, 0x18), (0xD8, 0xD8, 0xD8), (0x80, 0x80, 0x80)
_MARGIN = 8
# Light, heavy, double and rounded box lines: which of left, up, right and down leave the middle of the cell.
_BOX = {
    **dict.fromkeys("─━═╌┄┈", "lr"), **dict.fromkeys("│┃║╎┆┊", "ud"),
    **dict.fromkeys("┌┏╔╭", "rd"), **dict.fromkeys("┐┓╗╮", "ld"), **dict.fromkeys("└┗╚╰", "ru"),
    **dict.fromkeys("┘┛╝╯", "lu"), **dict.fromkeys("├┣╠", "udr"), **dict.fromkeys("┤┫╣", "udl"),
    **dict.fromkeys("┬┳╦", "lrd"), **dict.fromkeys("┴┻╩", "lru"), **dict.fromkeys("┼╋╬", "lrud"),
}  # fmt: skip


class RenderError(RuntimeError):
    """A picture that cannot be drawn here; the message says what is missing."""


def replay(cast: Cast, screen: Screen, until: float | None = None) -> Iterator[float]:
    """Play a recording into a screen; yield the time of each output or resize, up to and including ``until``."""
    for event in cast.events:
        if until is not None and event.time > until:
            return
        if event.kind == "o":
            screen.feed(event.raw)
        elif event.kind == "r":
            screen.resize(*event.size)
        else:
            continue
        screen.take_answers()
        yield event.time


def screen_at(cast: Cast, at: float | None = None) -> Screen:
    """Return the screen ``at`` seconds into a recording, its end if None; an update still open is shown as it is."""
    screen = new_screen(cast.columns, cast.rows)
    for _ in replay(cast, screen, at):
        pass
    screen.flush()
    return screen


def render_text(cast: Cast, at: float | None = None) -> str:
    """Return the rows of the screen at a time, joined by newlines, one at the end."""
    return screen_at(cast, at).text() + "\n"


def render_png(cast: Cast, at: float | None = None, *, font_size: int = 16) -> bytes:
    """Draw the screen at a time; RenderError without Pillow (``prowl[png]``) or without the compiled engine."""
    try:
        from PIL import Image, ImageDraw, ImageFont  # noqa: PLC0415 - optional
    except ImportError:
        raise RenderError("drawing needs Pillow: install prowl[png]") from None
    screen = screen_at(cast, at)
    row_cells = getattr(screen, "row_cells", None)
    if row_cells is None:
        raise RenderError("drawing needs the compiled terminal engine")
    path = next((path for path in _FONTS if Path(path).exists()), None)
    font: Any = ImageFont.truetype(path, font_size) if path else ImageFont.load_default(font_size)
    width = max(1, round(font.getlength("M")))
    height = round(font_size * 1.25)
    size = (screen.columns * width + 2 * _MARGIN, screen.rows * height + 2 * _MARGIN)
    image = Image.new("RGB", size, _BACKGROUND)
    draw = ImageDraw.Draw(image)
    for row in range(screen.rows):
        for column, text, _, dim in row_cells(row):
            color = _DIM if dim else _FOREGROUND
            corner = (_MARGIN + column * width, _MARGIN + row * height)
            if text in _BOX:
                _draw_box(draw, corner, (width, height), _BOX[text], color)
            else:
                draw.text(corner, text, font=font, fill=color)
    cursor = screen.cursor
    if cursor.visible:
        left, top = _MARGIN + cursor.column * width, _MARGIN + cursor.row * height
        draw.rectangle((left, top, left + width - 1, top + height - 1), outline=_FOREGROUND)
    buffer = io.BytesIO()
    image.save(buffer, "PNG", optimize=True)
    return buffer.getvalue()


def _draw_box(
    draw: "ImageDraw", corner: tuple[int, int], size: tuple[int, int], sides: str, color: tuple[int, int, int]
) -> None:
    """Draw a box line through the middle of its cell, so that lines meet whatever the font."""
    left, top = corner
    right, bottom = left + size[0], top + size[1]
    x, y = (left + right) // 2, (top + bottom) // 2
    ends = {"l": (left, y), "r": (right, y), "u": (x, top), "d": (x, bottom)}
    for side in sides:
        draw.line((x, y, *ends[side]), fill=color)
