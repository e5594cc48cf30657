"""``prowl send PANE [TEXT]``: type text into a pane."""

import argparse
import sys
from typing import Any

from prowl_cli import connect, parser
from prowl_cli.envelope import CliError, Reply

__all__ = ["register", "run"]

MAX_TEXT_BYTES = 256 * 1024


def register(commands: parser.Commands) -> None:
    """Add the command."""
    command = parser.add(
        commands,
        "send",
        "type text into a pane, followed by Enter",
        run,
        examples='prowl send p1 "make test" --capture\n'
        'prowl send p2 --no-wait "fix the failing test"\n'
        "prowl send p2 --no-wait --paste < task.txt",
    )
    command.intermixed = True
    command.add_argument("pane", help="pane: pN, UUID, or anything that names one pane")
    command.add_argument("text", nargs="?", help="the text; standard input when it is left out")
    command.add_argument("--no-enter", action="store_true", help="do not press Enter")
    command.add_argument("--no-wait", action="store_true", help="do not wait for the end of the command in a shell")
    command.add_argument("--capture", action="store_true", help="return what the command printed")
    command.add_argument("--paste", action="store_true", help="as one paste, when the program takes pastes")
    command.add_argument("--timeout", metavar="S", type=parser.between(1, 300), help="longest wait (30)")


def run(args: argparse.Namespace) -> Reply:
    """Type the text; a shell that reports the end of commands is waited for unless told otherwise."""
    from prowl.v1 import panes_pb2

    from prowl_cli import encode

    wait = not (args.no_wait or args.no_enter)
    if args.capture and not wait:
        args.parser.error("--capture needs Enter and the wait for the command's end")
    typed = args.text if args.text is not None else _standard_input()
    with connect.client(args) as client:
        answer = client.send_text(
            panes_pb2.SendTextRequest(
                pane=args.pane,
                text=typed,
                enter=not args.no_enter,
                wait=wait,
                capture=args.capture,
                timeout_seconds=args.timeout or 0,
                paste=args.paste,
            )
        )
    data: dict[str, Any] = {
        "target": encode.target(answer.target),
        "input": {
            "source": "argv" if args.text is not None else "stdin",
            "characters": answer.characters,
            "bytes": answer.bytes,
            "trailing_enter_sent": answer.trailing_enter_sent,
        },
        "created_tab": False,
        "wait": None,
    }
    shown = f"Sent {answer.characters} characters to {answer.target.pane.handle}."
    if answer.HasField("wait"):
        data["wait"] = {"duration_ms": answer.wait.duration_ms}
        if answer.wait.HasField("exit_code"):
            data["wait"]["exit_code"] = answer.wait.exit_code
            shown += f" The command ended with {answer.wait.exit_code}."
    elif wait:
        shown += " Nothing is waited for: the program there does not report where commands end."
    if answer.HasField("capture"):
        capture = answer.capture
        data["capture"] = {
            "text": capture.text,
            "line_count": capture.line_count,
            "source": "screen_diff",
            "truncated": capture.truncated,
        }
        shown = capture.text
    return Reply(data, shown)


def _standard_input() -> str:
    if sys.stdin.isatty():
        raise CliError("EMPTY_INPUT", "Give the text as an argument or on standard input.")
    data = sys.stdin.buffer.read(MAX_TEXT_BYTES + 1)
    if len(data) > MAX_TEXT_BYTES:
        raise CliError("INVALID_ARGUMENT", f"The text is longer than {MAX_TEXT_BYTES} bytes.")
    try:
        typed = data.decode().removesuffix("\n")
    except UnicodeDecodeError:
        raise CliError("INVALID_ARGUMENT", "The text is not UTF-8.") from None
    if not typed:
        raise CliError("EMPTY_INPUT", "There is nothing to type.")
    return typed
