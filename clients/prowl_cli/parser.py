"""Pieces of the argument parser that commands share."""

import argparse
import re
import sys
from collections.abc import Callable
from typing import Any, NoReturn, Protocol

from prowl_cli.envelope import EXIT_USAGE

__all__ = ["Commands", "Parser", "add", "between", "common", "control_free", "environment", "size"]


class Parser(argparse.ArgumentParser):
    """A parser that exits with the usage status and keeps the layout of examples."""

    def __init__(self, *args: Any, **options: Any) -> None:
        options.setdefault("formatter_class", argparse.RawDescriptionHelpFormatter)
        options.setdefault("allow_abbrev", False)
        super().__init__(*args, **options)
        self.intermixed = False
        """Whether an argument that may be left out is also found after options."""

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> Any:
        """Parse as usual, or with options anywhere."""
        if not self.intermixed:
            return super().parse_known_args(args, namespace)
        self.intermixed = False  # the other way to parse calls this one
        try:
            return self.parse_known_intermixed_args(args, namespace)
        finally:
            self.intermixed = True

    def error(self, message: str) -> NoReturn:
        """Print usage and ``message`` as plain text, with ``--json`` too, and exit with 64 (signals.md §3.8)."""
        wrong = re.search(r"invalid choice: '(.*)' \(choose from (.*)\)", message)
        if wrong:
            import difflib

            near = difflib.get_close_matches(wrong[1], re.findall(r"[\w-]+", wrong[2]), 1)
            message += f"; did you mean {near[0]}?" if near else ""
        self.print_usage(sys.stderr)
        self.exit(EXIT_USAGE, f"{self.prog}: {message}\n")


class Commands(Protocol):
    """What ``add_subparsers`` returns."""

    def add_parser(self, name: str, **options: Any) -> Any:
        """Add a command and return its parser."""
        ...


def add(
    commands: Commands,
    name: str,
    summary: str,
    run: Callable[[argparse.Namespace], Any],
    *,
    command: str | None = None,
    examples: str = "",
    json: bool = True,
    service: bool = True,
    start: bool = True,
) -> Parser:
    """Add a command with the options that all commands of its kind have.

    ``command`` is its name in envelopes. ``json`` adds ``--json``, ``service`` adds ``--socket`` and, with ``start``,
    ``--no-start``; those given before the name of a command below this one hold for it too.
    """
    parser: Parser = commands.add_parser(
        name,
        help=summary,
        description=summary[0].upper() + summary[1:] + ".",
        epilog="examples:\n" + "\n".join(f"  {line}" for line in examples.strip().splitlines()) if examples else None,
    )
    parser.set_defaults(run=run, command=command or name, parser=parser)
    if not start:
        parser.set_defaults(no_start=True)
    common(parser, json=json, service=service, start=start)
    return parser


def common(
    parser: argparse.ArgumentParser, title: str = "common options", *, json: bool, service: bool, start: bool
) -> None:
    """Add the options that commands share; one that is not given leaves no mark, so that it may stand elsewhere."""
    shared = parser.add_argument_group(title)
    if json:
        shared.add_argument(
            "--json", action="store_true", default=argparse.SUPPRESS, help="print one JSON envelope instead of text"
        )
    if service:
        shared.add_argument(
            "--socket", metavar="PATH", default=argparse.SUPPRESS, help="socket of the service (default: PROWL_SOCKET)"
        )
    if service and start:
        shared.add_argument(
            "--no-start",
            action="store_true",
            default=argparse.SUPPRESS,
            help="fail when no service runs, start none",
        )


def between(low: int, high: int) -> Callable[[str], int]:
    """Return an argument type that takes whole numbers from ``low`` to ``high``."""

    def number(text: str) -> int:
        try:
            value = int(text)
        except ValueError:
            value = low - 1
        if not low <= value <= high:
            raise argparse.ArgumentTypeError(f"use a whole number from {low} to {high}, not {text!r}")
        return value

    return number


def control_free(limit: int) -> Callable[[str], str]:
    """Return an argument type that takes 1 to ``limit`` bytes of text without control characters (signals.md §2.3)."""

    def line(text: str) -> str:
        if not text:
            raise argparse.ArgumentTypeError("must not be empty")
        if any(ord(char) < 0x20 or 0x7F <= ord(char) <= 0x9F for char in text):
            raise argparse.ArgumentTypeError("must not contain control characters")
        try:
            length = len(text.encode())
        except UnicodeEncodeError:
            raise argparse.ArgumentTypeError("must be UTF-8") from None
        if length > limit:
            raise argparse.ArgumentTypeError(f"must not be longer than {limit} bytes")
        return text

    return line


def size(text: str) -> tuple[int, int]:
    """Argument type of a terminal size, ``COLUMNSxROWS``, each 1 to 1000."""
    columns, found, rows = text.lower().partition("x")
    if not (
        found and columns.isdecimal() and rows.isdecimal() and 1 <= int(columns) <= 1000 and 1 <= int(rows) <= 1000
    ):
        raise argparse.ArgumentTypeError(f"use COLUMNSxROWS such as 120x40, not {text!r}")
    return int(columns), int(rows)


def environment(text: str) -> tuple[str, str]:
    """Argument type of one variable, ``NAME=VALUE``."""
    name, found, value = text.partition("=")
    if not found or not name or "\0" in text:
        raise argparse.ArgumentTypeError(f"use NAME=VALUE, not {text!r}")
    return name, value
