"""The ``prowl`` command: find the subcommand, run it, print its answer."""

import argparse
import os
import sys
from collections.abc import Sequence
from importlib import import_module
from typing import Any

from prowl_cli import plugins
from prowl_cli.envelope import DETAILED, EXIT_ERROR, EXIT_USAGE, Reply, dumps, failure, success
from prowl_cli.parser import Parser, common

__all__ = ["build_parser", "main"]

_MODULES = (
    "run",
    "create",
    "attach",
    "list",
    "agents",
    "observe",
    "read",
    "send",
    "key",
    "close",
    "focus",
    "profiles",
    "serve",
    "config",
    "doctor",
    "schema",
    "completion",
)
_EXAMPLES = """\
examples:
  prowl run -- claude            start an agent in a pane and attach to it
  prowl agents --watch           see which agents work, need you, or are done
  prowl attach p1                go to a pane; leave it with ctrl-\\
  prowl detect --agent codex saved-screen.txt

Every command explains itself: prowl COMMAND --help"""


def build_parser() -> Parser:
    """Return the parser of all commands."""
    parser = Parser(
        prog="prowl",
        description="Tells which coding agent runs in which terminal pane, and whether it needs you.",
        epilog=_EXAMPLES,
    )
    parser.add_argument("--version", action="store_true", help="print the version")
    common(parser, "common options, before or after the command", json=True, service=True, start=True)
    commands = parser.add_subparsers(metavar="COMMAND", parser_class=Parser)
    for name in _MODULES:
        import_module(f"prowl_cli.commands.{name}").register(commands)
    for name, summary in (
        ("detect", "classify saved screens, or replay a recording, without a service"),
        ("render", "show the screen of a recording at a moment, without a service"),
    ):
        commands.add_parser(name, help=summary, add_help=False)
    return parser


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command; returns the exit status: 0, 1 on an error, 64 on wrong usage (signals.md §3.8)."""
    # gRPC reads these when it is imported: this process never forks, and its own log is noise to people.
    os.environ.setdefault("GRPC_ENABLE_FORK_SUPPORT", "0")
    os.environ.setdefault("GRPC_VERBOSITY", "NONE")
    _open_closed()
    argv = list(sys.argv[1:] if argv is None else argv)
    args = argparse.Namespace()
    try:
        args = _parse(argv)
        return _print(args, args.run(args))
    except SystemExit as end:
        return end.code if isinstance(end.code, int) else EXIT_USAGE
    except BrokenPipeError:
        _silence()  # the reader has what it wanted
        return EXIT_ERROR
    except KeyboardInterrupt:
        return 130
    except OSError as error:
        if hasattr(error, "code"):
            return _fail(args, error)
        print(f"prowl: {error}", file=sys.stderr)  # such as a full disk below standard output
        _silence()
        return EXIT_ERROR
    except Exception as error:
        return _fail(args, error)


def _silence() -> None:
    """Let go of what standard output did not take; it must not complain at exit."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _open_closed() -> None:
    """Let what is written to a closed standard stream vanish, and let a closed input be empty."""
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, mode, encoding="utf-8"))  # noqa: SIM115  # for the process's life


def _parse(argv: list[str]) -> argparse.Namespace:
    argv = _command_first(argv)
    if argv and (argv[0] in plugins.COMMANDS or _added(argv[0])):
        return _parse_plugin(argv[0], argv[1:])
    tail: list[str] | None = None
    if argv[:1] and argv[0] in ("run", "create") and "--" in argv:
        cut = argv.index("--")
        argv, tail = argv[:cut], argv[cut + 1 :]
    parser = build_parser()
    try:
        "".join([*argv, *(tail or ())]).encode()
    except UnicodeEncodeError:
        parser.error("arguments must be UTF-8")
    args: argparse.Namespace
    args, rest = parser.parse_known_args(argv, argparse.Namespace(json=False, socket=None, no_start=False))
    if rest:
        getattr(args, "parser", parser).error(f"unrecognized arguments: {' '.join(rest)}")
    if args.version:
        from importlib.metadata import PackageNotFoundError, version

        try:
            print(f"prowl {version('prowl')}")
        except PackageNotFoundError:
            print("prowl 0+source")
        parser.exit(0)
    if not hasattr(args, "run"):
        parser.print_help(sys.stderr)
        parser.exit(EXIT_USAGE)
    if tail is not None:
        args.argv = [*args.argv, *tail]
    return args


def _command_first(argv: list[str]) -> list[str]:
    """Put common options that stand before the command behind its name, where it takes or refuses them."""
    place = 0
    while argv[place : place + 1] and argv[place].partition("=")[0] in ("--json", "--no-start", "--socket"):
        place += 2 if argv[place] == "--socket" else 1
    return [*argv[place : place + 1], *argv[:place], *argv[place + 1 :]]


def _added(name: str) -> bool:
    """Tell whether another distribution adds a command of this name; asked only for names that are not ours."""
    return not name.startswith("-") and name not in _MODULES and name in plugins.other_commands()


def _parse_plugin(name: str, argv: list[str]) -> argparse.Namespace:
    command = plugins.load_command(name)
    parser = Parser(prog=f"prowl {name}", description=command.summary, epilog=command.examples)
    parser.set_defaults(run=command.run, command=name, parser=parser)
    parser.add_argument("--json", action="store_true", help="print one JSON envelope instead of text")
    command.configure(parser)
    return parser.parse_args(argv)


def _print(args: argparse.Namespace, reply: Reply | Any | None) -> int:
    """Print what a command returned; a command that prints by itself returns None or its exit status."""
    if reply is None or isinstance(reply, int):
        sys.stdout.flush()
        return reply or 0
    if args.json:
        print(dumps(success(args.command, reply.data)))
    else:
        for warning in reply.warnings:
            print(f"warning: {warning}", file=sys.stderr)
        if reply.text:
            print(reply.text)
    sys.stdout.flush()
    return int(reply.status)


def _fail(args: argparse.Namespace, error: Exception) -> int:
    """Print a failure that has a stable code in the form that was asked for; any other exception goes on."""
    code = getattr(error, "code", None)
    message = getattr(error, "message", None)
    if not isinstance(code, str) or not isinstance(message, str):
        raise error
    if getattr(args, "json", False):
        print(dumps(failure(args.command, code, message, _details(args.command, error))))
        sys.stdout.flush()
    else:
        print(f"prowl: {message} [{code}]", file=sys.stderr)
        details = _details(getattr(args, "command", ""), error) or {}
        seen = details.get("observation")
        if seen:
            print(f"last seen {seen['status']} ({seen['source']}, {seen['confidence']})", file=sys.stderr)
        why = args.why(args, details) if hasattr(args, "why") else None
        if why:
            print(why, file=sys.stderr)
    return EXIT_ERROR


def _details(command: str, error: Exception) -> dict[str, Any] | None:
    found = getattr(error, "details", None)
    if found is None or isinstance(found, dict) or command not in DETAILED:
        return found if isinstance(found, dict) else None
    from prowl_cli import encode

    return encode.details(found)


if __name__ == "__main__":
    sys.exit(main())
