"""``prowl create``: start a program in a new pane, and leave it there."""

import argparse
import os
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from prowl_cli import connect, parser
from prowl_cli.envelope import CliError, Reply

if TYPE_CHECKING:
    from prowl.v1 import panes_pb2

__all__ = ["add_pane_options", "own_environment", "register", "request", "run"]

MAX_PROMPT_BYTES = 256 * 1024

# What another terminal says of itself must not reach a program that runs in ours.
_FOREIGN = (
    "PROWL_",
    "TMUX",
    "KITTY_",
    "ITERM_",
    "WEZTERM_",
    "GHOSTTY_",
    "ALACRITTY_",
    "VTE_",
    "ZELLIJ",
    "VSCODE_",
    "KONSOLE_",
    "TERM_",
    "LC_TERMINAL",
)
_FOREIGN_NAMES = frozenset(
    [
        "TERM",
        "COLORTERM",
        "TERMCAP",
        "COLUMNS",
        "LINES",
        "STY",
        "WINDOW",
        "WINDOWID",
        "SHLVL",
        "_",
        "NVIM",
        "INSIDE_EMACS",
    ]
)


def register(commands: parser.Commands) -> None:
    """Add the command."""
    command = parser.add(
        commands,
        "create",
        "start a program in a new pane without attaching to it",
        run,
        examples="prowl create -- claude\n"
        "prowl create tab --cwd ~/project --title review -- codex\n"
        "prowl create pane --group p1 -- bash",
    )
    command.add_argument(
        "resource", nargs="?", choices=("tab", "pane"), help="tab: a new group; pane: beside others, needs --group"
    )
    add_pane_options(command)
    command.add_argument(
        "--profile",
        metavar="NAME",
        help="launch this profile instead of a command (not offered by version 0.1 of the service)",
    )
    command.add_argument("--prompt", choices=("-",), help="with --profile: hand over the task on standard input")
    command.add_argument("--background", action="store_true", help="leave the focus where it is")
    command.set_defaults(argv=[])


def add_pane_options(command: argparse.ArgumentParser) -> None:
    """Add the options that say how a pane is made."""
    command.add_argument("--group", metavar="TARGET", default="", help="tab to put the pane beside: tN, pN or UUID")
    command.add_argument("--cwd", metavar="DIR", help="working directory (default: the current one)")
    command.add_argument(
        "--env", metavar="NAME=VALUE", type=parser.environment, action="append", default=[], help="set a variable"
    )
    command.add_argument("--size", metavar="COLSxROWS", type=parser.size, help="size of the terminal")
    command.add_argument("--title", default="", help="title of a new tab")


def own_environment(environ: Mapping[str, str]) -> dict[str, str]:
    """Return this process's environment without what its terminal says of itself."""
    return {
        name: value
        for name, value in environ.items()
        if name not in _FOREIGN_NAMES and not name.startswith(_FOREIGN) and _sendable(name) and _sendable(value)
    }


def _sendable(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def request(args: argparse.Namespace) -> "panes_pb2.CreatePaneRequest":
    """Return the request of the pane that the options describe."""
    from prowl.v1 import common_pb2, panes_pb2

    return panes_pb2.CreatePaneRequest(
        argv=args.argv,
        cwd=_folder(args),
        env=own_environment(os.environ) | dict(args.env),
        size=common_pb2.Size(columns=args.size[0], rows=args.size[1]) if args.size else None,
        group=args.group,
        title=args.title,
    )


def _folder(args: argparse.Namespace) -> str:
    try:
        return str(Path(args.cwd).expanduser().absolute()) if args.cwd else os.getcwd()
    except FileNotFoundError:
        raise CliError("CREATE_FAILED", "The current folder was deleted; name another with --cwd.") from None


def run(args: argparse.Namespace) -> Reply:
    """Start the program, or launch the profile."""
    if args.resource == "pane" and not args.group:
        args.parser.error("a pane goes beside others: name them with --group, or create a tab")
    if args.resource == "tab" and args.group:
        args.parser.error("a tab has no --group; create a pane")
    if args.prompt and not args.profile:
        args.parser.error("--prompt needs --profile")
    if args.profile:
        if args.argv or args.env:
            args.parser.error("a profile brings its own command and environment")
        return _launch(args)
    from prowl_cli import encode

    with connect.client(args) as client:
        made = client.create_pane(request(args))
    return Reply(
        {"resource": made.resource, "target": encode.target(made.target)},
        created(made),
    )


def created(made: "panes_pb2.CreatePaneResponse") -> str:
    """Tell what was made: a pane, and where it is."""
    target = made.target
    where = f"in the new tab {target.tab.handle}" if made.resource == "tab" else f"in tab {target.tab.handle}"
    return f"Created pane {target.pane.handle} {where} ({target.pane.id})."


def _launch(args: argparse.Namespace) -> Reply:
    from prowl.v1 import common_pb2, profiles_pb2

    from prowl_cli import encode

    prompt = read_prompt() if args.prompt else None
    with connect.client(args) as client:
        made = client.launch_profile(
            profiles_pb2.LaunchProfileRequest(
                profile=args.profile,
                cwd=_folder(args),
                prompt=prompt,
                group=args.group,
                background=args.background,
                size=common_pb2.Size(columns=args.size[0], rows=args.size[1]) if args.size else None,
            )
        )
    resource = "pane" if args.group else "tab"
    data: dict[str, Any] = {"resource": resource, "target": encode.target(made.target)}
    shown = f"Launched {args.profile} in {made.target.pane.handle} ({made.target.pane.id})."
    if prompt is not None and not made.HasField("dispatch"):
        raise CliError(
            "CREATE_FAILED", "The service started the pane without a dispatch; look at the pane, then close it.", data
        )
    if made.HasField("dispatch"):
        data["dispatch"] = encode.record(made.dispatch)
        shown += f"\nDispatched {made.dispatch.id}."
    if made.warnings:
        data["warnings"] = [
            {"code": item.code, "runtime": item.runtime, "message": item.message} for item in made.warnings
        ]
    return Reply(data, shown, tuple(f"[{item.code}] {item.message}" for item in made.warnings))


def read_prompt() -> str:
    """Read a task from standard input: UTF-8, line ends made plain, trailing ones dropped (signals.md §4.4)."""
    if sys.stdin.isatty():
        raise CliError("INVALID_ARGUMENT", "Give the task on standard input, from a file or a pipe.")
    data = sys.stdin.buffer.read(MAX_PROMPT_BYTES * 2 + 1)
    try:
        prompt = data.decode().replace("\r\n", "\n").rstrip("\n")
    except UnicodeDecodeError:
        raise CliError("INVALID_ARGUMENT", "The task is not UTF-8.") from None
    if not prompt:
        raise CliError("EMPTY_INPUT", "The task is empty.")
    if len(prompt.encode()) > MAX_PROMPT_BYTES:
        raise CliError("INVALID_ARGUMENT", f"The task is longer than {MAX_PROMPT_BYTES} bytes.")
    return prompt
