"""Start a program in a new session on a new pseudo-terminal (terminal.md §3.1).

The child is started by posix_spawn: nothing of this process runs in it, whatever threads and memory there are here.
"""

import contextlib
import fcntl
import os
import shutil
import signal
import struct
import subprocess
import sys
import termios
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from prowl_svc.model.errors import Code, ProwlError

__all__ = ["Child", "child_environment", "resolve_program", "set_size", "spawn"]

_LINUX = sys.platform.startswith("linux")
_TIOCGPTN = 0x80045430
_TIOCSPTLCK = 0x40045431
_ENTER = 'cd -- "$0" && unset OLDPWD && exec "$@"'

# What a terminal or an agent around this service told its own children is not true of a pane.
_DROPPED = frozenset(
    {
        *("TMUX", "TMUX_PANE", "TMUX_TMPDIR", "STY", "WINDOW", "TERMCAP", "ZELLIJ", "ZELLIJ_PANE_ID"),
        *("ZELLIJ_SESSION_NAME", "TERM_PROGRAM", "TERM_PROGRAM_VERSION", "TERM_SESSION_ID", "TERM_FEATURES"),
        *("VTE_VERSION", "KONSOLE_VERSION", "WT_SESSION", "WT_PROFILE_ID", "WINDOWID", "COLORFGBG", "COLUMNS", "LINES"),
        *("CLAUDECODE", "AI_AGENT", "CODEX_THREAD_ID", "CODEX_SANDBOX", "CODEX_SANDBOX_NETWORK_DISABLED", "OPENCODE"),
        *("NOTIFY_SOCKET", "LISTEN_FDS", "LISTEN_PID", "LISTEN_FDNAMES", "INVOCATION_ID", "JOURNAL_STREAM"),
        *("WATCHDOG_PID", "WATCHDOG_USEC", "OLDPWD", "GRPC_ENABLE_FORK_SUPPORT", "PROWL_PANE_ID", "PROWL_PURE"),
    }
)
_DROPPED_PREFIXES = (
    *("KITTY_", "WEZTERM_", "ITERM_", "GHOSTTY_", "ALACRITTY_", "KONSOLE_DBUS_", "VSCODE_"),
    "CLAUDE_CODE_",
)
_DEFAULT_SIGNALS = (
    signal.SIGPIPE,
    signal.SIGINT,
    signal.SIGQUIT,
    signal.SIGHUP,
    signal.SIGTERM,
    signal.SIGTSTP,
    signal.SIGTTIN,
    signal.SIGTTOU,
    signal.SIGCHLD,
    signal.SIGUSR1,
    signal.SIGUSR2,
)


@dataclass(frozen=True, slots=True)
class Child:
    """A started program: its pid, which is also its session and first process group, and the terminal's master side.

    The descriptor is non-blocking and close-on-exec; the caller owns it, and reaps the pid.
    """

    pid: int
    master: int


def child_environment(base: Mapping[str, str], extra: Mapping[str, str], pane_id: str) -> dict[str, str]:
    """Return what a pane's program gets: ``base`` cleaned, then the terminal's own values, then ``extra``."""
    result = {
        name: value for name, value in base.items() if name not in _DROPPED and not name.startswith(_DROPPED_PREFIXES)
    }
    result |= {"TERM": "xterm-256color", "COLORTERM": "truecolor"}
    result |= extra
    result["PROWL_PANE_ID"] = pane_id
    return result


def resolve_program(name: str, cwd: str, path: str) -> str:
    """Return the absolute path of a program as a shell in ``cwd`` would find it; raises CREATE_FAILED."""
    if "/" in name:
        found = os.path.join(cwd, name)
        if not Path(found).is_file():
            raise ProwlError(Code.CREATE_FAILED, f"There is no program {found}.")
        if not os.access(found, os.X_OK):
            raise ProwlError(Code.CREATE_FAILED, f"{found} is not executable.")
        return found
    # A relative or empty entry of PATH means a folder under cwd, not under ours.
    folders = [os.path.join(cwd, folder) for folder in path.split(os.pathsep)]
    found_in_path = shutil.which(name, path=os.pathsep.join(folders))
    if found_in_path is None:
        raise ProwlError(Code.CREATE_FAILED, f"There is no program {name!r} on the PATH; give its full path.")
    return found_in_path


def spawn(argv: Sequence[str], *, cwd: str, env: Mapping[str, str], columns: int, rows: int) -> Child:
    """Start ``argv`` on a new terminal of the given size; raises ProwlError CREATE_FAILED with what to do.

    ``cwd`` is an absolute existing folder and ``env`` the whole environment; the program is searched on its PATH.
    """
    if not argv or not argv[0]:
        raise ProwlError(Code.CREATE_FAILED, "Give a program to run.")
    if any("\0" in word for word in (*argv, cwd)) or any("\0" in n + v or "=" in n or not n for n, v in env.items()):
        raise ProwlError(Code.CREATE_FAILED, "Arguments, folder and environment must not hold NUL or odd names.")
    if not os.path.isabs(cwd) or not Path(cwd).is_dir():
        raise ProwlError(Code.CREATE_FAILED, f"There is no folder {cwd}.")
    if not os.access(cwd, os.X_OK):
        raise ProwlError(Code.CREATE_FAILED, f"The folder {cwd} cannot be entered.")
    program = resolve_program(argv[0], cwd, env.get("PATH", os.defpath))
    name = program if argv[0].startswith("-") else argv[0]
    # The shell changes the folder and becomes the program, which was looked up before: same pid, same argv[0].
    command = ["/bin/sh", "-c", _ENTER, cwd, name, *argv[1:]]
    try:
        return _start(command, {**env, "PWD": cwd}, columns, rows)
    except OSError as error:
        raise ProwlError(Code.CREATE_FAILED, f"{program} did not start: {error.strerror}.") from error


def set_size(descriptor: int, columns: int, rows: int) -> None:
    """Set a terminal's size; the kernel sends SIGWINCH to the foreground group when it differs."""
    fcntl.ioctl(descriptor, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))


def _open_terminal() -> tuple[int, int, str]:
    """Return master, slave and the slave's name; both descriptors are close-on-exec."""
    if not _LINUX:
        master, slave = os.openpty()
        return master, slave, os.ttyname(slave)
    master = os.open("/dev/ptmx", os.O_RDWR | os.O_NOCTTY | os.O_CLOEXEC)
    try:
        fcntl.ioctl(master, _TIOCSPTLCK, struct.pack("i", 0))
        (number,) = struct.unpack("i", fcntl.ioctl(master, _TIOCGPTN, struct.pack("i", 0)))
        name = f"/dev/pts/{number}"
        return master, os.open(name, os.O_RDWR | os.O_NOCTTY | os.O_CLOEXEC), name
    except BaseException:
        os.close(master)
        raise


def _keep_inherited() -> None:
    """Keep to ourselves what this process was started with beside the standard descriptors; what it opens is anyway."""
    for name in os.listdir("/dev/fd"):
        with contextlib.suppress(OSError):
            if int(name) > 2:
                os.set_inheritable(int(name), False)


def _start(command: list[str], env: Mapping[str, str], columns: int, rows: int) -> Child:
    master, slave, name = _open_terminal()
    try:
        _keep_inherited()
        os.set_blocking(master, False)
        set_size(slave, columns, rows)
        # Our slave stays open until the child has its own, so that the master never sees a terminal without one.
        try:
            pid = os.posix_spawn(
                command[0],
                command,
                env,
                # The first terminal that a session's leader opens is its controlling terminal.
                file_actions=[
                    (os.POSIX_SPAWN_OPEN, 0, name, os.O_RDWR, 0),
                    (os.POSIX_SPAWN_DUP2, 0, 1),
                    (os.POSIX_SPAWN_DUP2, 0, 2),
                ],
                setsid=True,
                setsigmask=[],
                setsigdef=_DEFAULT_SIGNALS,
            )
        except NotImplementedError:  # macOS builds of Python without POSIX_SPAWN_SETSID
            pid = _start_by_shell(command, env, name, slave)
    except BaseException:
        os.close(master)
        raise
    finally:
        os.close(slave)
    return Child(pid, master)


def _start_by_shell(command: list[str], env: Mapping[str, str], name: str, slave: int) -> int:
    """Start without posix_spawn's setsid: a shell in the new session opens the terminal itself, to control it."""
    opening = ["/bin/sh", "-c", 'exec <>"$0" >&0 2>&0 && exec "$@"', name, *command]
    process = subprocess.Popen(opening, env=env, start_new_session=True, stdin=slave, stdout=slave, stderr=slave)
    process.returncode = 0  # the caller reaps the pid
    return process.pid
