"""``prowl render``: the screen of a recording at a moment, without a service."""

import argparse
from pathlib import Path
from typing import Any

from prowl_svc.terminal.factory import new_screen
from prowl_svc.terminal.screen import Screen
from prowl_svc.tools.cast import open_cast
from prowl_svc.tools.outcome import Outcome, ToolError
from prowl_svc.tools.replay import encode

__all__ = ["COMMAND", "Render"]

_FONTS = (
    "/usr/share/fonts/truetype/dejavu/DejaVuSansMono.ttf",
    "/usr/share/fonts/dejavu-sans-mono-fonts/DejaVuSansMono.ttf",
    "/System/Library/Fonts/Menlo.ttc",
)
_CELL = (9, 18)


class Render:
    """The command, as the CLI wants it."""

    summary = "Show the screen of a recording at a moment, without a service."
    examples = """examples:
  prowl render --cast session.cast                   the last screen
  prowl render --cast session.cast --at 12.5         the screen after 12.5 seconds
  prowl render --cast session.cast --png > shot.png  as an image; needs Pillow"""

    def configure(self, parser: argparse.ArgumentParser) -> None:
        """Add the arguments."""
        parser.add_argument("--cast", metavar="FILE", required=True, help="the recording, an asciicast")
        parser.add_argument("--at", metavar="SECONDS", type=_seconds, help="the moment (default: the end)")
        parser.add_argument("--png", metavar="OUT", nargs="?", const="-", help="as an image, to standard output or OUT")

    def run(self, args: argparse.Namespace) -> Outcome:
        """Play the recording up to the moment."""
        if args.json and args.png == "-":
            args.parser.error("--png needs a file beside --json")
        cast = open_cast(Path(args.cast))
        screen = new_screen(cast.columns, cast.rows)
        at = 0.0
        for event in cast.events():
            if args.at is not None and event.at > args.at:
                at = args.at
                break
            at = event.at
            if event.kind == "o":
                screen.feed(encode(event))
                screen.take_answers()
            elif event.kind == "r" and (size := event.size()) is not None:
                screen.resize(*size)
        screen.flush()
        data: dict[str, Any] = {
            "file": args.cast,
            "at": round(at, 3),
            "columns": screen.columns,
            "rows": screen.rows,
            "title": screen.title,
            "revision": screen.revision,
        }
        if args.png is None:
            return Outcome(data | {"text": screen.text()}, screen.text())
        image = _image(screen)
        if args.png == "-":
            import sys  # noqa: PLC0415

            image.save(sys.stdout.buffer, "PNG")
            return Outcome(data, "")
        image.save(args.png, "PNG")
        return Outcome(data | {"image": args.png}, f"Wrote {args.png}.")


COMMAND = Render()


def _seconds(text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = -1.0
    if not 0 <= value < 1e9:
        raise argparse.ArgumentTypeError(f"use a number of seconds, not {text!r}")
    return value


def _image(screen: Screen) -> Any:
    """Draw the text in one colour; an engine tells text, not colours."""
    try:
        from PIL import Image, ImageDraw, ImageFont  # noqa: PLC0415
    except ImportError:
        raise ToolError("NOT_IMPLEMENTED", "Drawing needs Pillow: pip install pillow") from None
    width, height = _CELL
    image = Image.new("RGB", (screen.columns * width, screen.rows * height), (16, 18, 22))
    draw = ImageDraw.Draw(image)
    path = next((font for font in _FONTS if Path(font).exists()), None)
    font = ImageFont.truetype(path, 15) if path else ImageFont.load_default(15)
    for y, row in enumerate(screen.active_rows()):
        for x, char in enumerate(row):
            if char != " ":
                draw.text((x * width, y * height), char, fill=(220, 223, 228), font=font)
    return image
