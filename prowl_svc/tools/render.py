"""``prowl render``: the screen of a recording at a moment, without a service."""

import argparse
import sys
from pathlib import Path
from typing import Any

from prowl_svc.terminal.cast import Cast
from prowl_svc.terminal.render import RenderError, render_png, screen_at
from prowl_svc.tools.outcome import Outcome, ToolError, load_cast

__all__ = ["COMMAND", "Render"]


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
        cast = load_cast(Path(args.cast))
        screen = screen_at(cast, args.at)
        data: dict[str, Any] = {
            "file": args.cast,
            "at": round(cast.duration if args.at is None else min(args.at, cast.duration), 3),
            "columns": screen.columns,
            "rows": screen.rows,
            "title": screen.title,
            "revision": screen.revision,
        }
        if args.png is None:
            return Outcome(data | {"text": screen.text()}, screen.text())
        image = _image(cast, args.at)
        if args.png == "-":
            sys.stdout.buffer.write(image)
            return Outcome(data, "")
        try:
            Path(args.png).write_bytes(image)
        except OSError as error:
            raise ToolError("INVALID_ARGUMENT", f"{args.png} cannot be written: {error.strerror}") from None
        return Outcome(data | {"image": args.png}, f"Wrote {args.png}.")


COMMAND = Render()


def _image(cast: Cast, at: float | None) -> bytes:
    try:
        return render_png(cast, at)
    except RenderError as error:
        raise ToolError("NOT_IMPLEMENTED", str(error)) from None


def _seconds(text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = -1.0
    if not 0 <= value < 1e9:
        raise argparse.ArgumentTypeError(f"use a number of seconds, not {text!r}")
    return value
