"""Starting programs on terminals of their own."""

import fcntl
import os
import resource
import signal
from pathlib import Path

import pytest

from prowl_svc.model.errors import Code, ProwlError
from prowl_svc.panes.spawn import child_environment, spawn
from tests.panes.conftest import Lab


def refused(argv: list[str], cwd: str, **env: str) -> str:
    with pytest.raises(ProwlError) as refusal:
        spawn(argv, cwd=cwd, env={"PATH": "/usr/bin:/bin"} | env, columns=80, rows=24)
    assert Code.CREATE_FAILED is refusal.value.code
    return refusal.value.message


def test_refusals_say_what_is_wrong(tmp_path: Path) -> None:
    """A program or folder that cannot be used is refused before anything is started, with the reason."""
    script = tmp_path / "script"
    script.write_text("echo hi")
    here = str(tmp_path)
    descriptors = len(os.listdir("/proc/self/fd"))
    assert "no program 'no-such-program'" in refused(["no-such-program"], here)
    assert "no program" in refused(["./missing"], here)
    assert "not executable" in refused(["./script"], here)
    assert "no folder" in refused(["true"], here + "/missing")
    assert "no folder" in refused(["true"], "relative")
    assert "Give a program" in refused([], here)
    assert "Give a program" in refused([""], here)
    assert "NUL" in refused(["echo", "a\0b"], here)
    assert "NUL" in refused(["true"], here, **{"A=B": "c"})
    assert descriptors == len(os.listdir("/proc/self/fd"))


def test_environment_is_clean() -> None:
    """What another terminal or agent told its children is dropped, ours is set, and what was asked for wins."""
    base = {"HOME": "/h", "TMUX": "x", "TERM": "dumb", "TERM_PROGRAM": "kitty", "KITTY_PID": "1", "CLAUDECODE": "1"}
    base |= {"CLAUDE_CODE_ENTRYPOINT": "cli", "CLAUDE_CONFIG_DIR": "/c", "VTE_VERSION": "1", "PROWL_PANE_ID": "outer"}
    assert {
        "HOME": "/h",
        "CLAUDE_CONFIG_DIR": "/c",
        "TERM": "xterm-256color",
        "COLORTERM": "no",
        "X": "y",
        "PROWL_PANE_ID": "inner",
    } == child_environment(base, {"X": "y", "COLORTERM": "no"}, "inner")


async def test_program_has_its_own_terminal(lab: Lab) -> None:
    """The program leads a session whose controlling terminal is the pane's, at the given size, in its folder."""
    code = (
        "import os,sys;t=os.open('/dev/tty',os.O_RDWR);"
        "print(os.getsid(0)==os.getpid()==os.tcgetpgrp(t),tuple(os.get_terminal_size()),os.getcwd()==os.environ['PWD']);"
        "print(sorted(os.listdir('/proc/self/fd')),os.environ['TERM'],os.environ['PROWL_PANE_ID']);input()"
    )
    pane = lab.python(code, columns=100, rows=30)
    await lab.shows(pane, "pane-0")
    rows = pane.screen.active_rows()
    assert "True (100, 30) True" == rows[0]
    # 3 is /dev/tty, 4 the listing's own.
    assert "['0', '1', '2', '3', '4'] xterm-256color pane-0" == rows[1]


async def test_inherited_descriptors_are_not_passed_on(lab: Lab) -> None:
    """A descriptor that this process got without close-on-exec does not reach a pane's program, whatever its number."""
    reading, first = os.pipe()
    writing = fcntl.fcntl(first, fcntl.F_DUPFD, 900)
    os.close(first)
    os.set_inheritable(writing, True)
    limits = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (800, limits[1]))
    try:
        pane = lab.start("sh", "-c", f"ls /proc/$$/fd; test ! -e /proc/$$/fd/{writing}")
        assert 0 == await pane.wait()
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, limits)
        os.close(reading)
        os.close(writing)


async def test_name_and_arguments_are_kept(lab: Lab) -> None:
    """The program sees argv as given, odd characters and all, found by a relative path or on PATH."""
    tool = lab.folder / "my tool"
    tool.write_text('#!/bin/sh\nprintf "%s|" "$0" "$@"; pwd; read x')
    tool.chmod(0o755)
    (lab.folder / "sub").mkdir()
    first = lab.start("./my tool", "a b", "$HOME", "", "*", "é", "-n", columns=300)
    await lab.shows(first, f"|{lab.folder}\n")
    assert first.screen.text().startswith("./my tool|a b|$HOME||*|é|-n|")
    second = lab.start("bash", "-c", "read -r -d '' name < /proc/$$/cmdline; echo name=$name; read x")
    await lab.shows(second, "name=bash")


async def test_signals_are_default(lab: Lab) -> None:
    """Signals that this process ignores or blocks are neither ignored nor blocked in the program."""
    old = signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGHUP])
    try:
        pane = lab.start("grep", "-E", "^Sig(Blk|Ign)", "/proc/self/status")
    finally:
        signal.signal(signal.SIGINT, old)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, [signal.SIGHUP])
    await pane.wait()
    fields = dict(row.split(":") for row in pane.screen.active_rows() if row)
    mask = sum(1 << number - 1 for number in (signal.SIGINT, signal.SIGHUP, signal.SIGPIPE, signal.SIGTTOU))
    assert [0, 0] == [int(value, 16) & mask for value in fields.values()]
    assert {"SigBlk", "SigIgn"} == set(fields)


async def test_interrupt_reaches_the_foreground(lab: Lab) -> None:
    """Ctrl-C is a signal to the foreground program, by the terminal."""
    pane = lab.start("sh", "-c", "trap 'echo caught; exit 3' INT; echo ready; while :; do sleep 0.05; done")
    await lab.shows(pane, "ready")
    pane.send_key("ctrl-c")
    assert 3 == await pane.wait()
    assert "caught" in pane.screen.text()


async def test_start_without_setsid(lab: Lab, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where posix_spawn cannot make sessions, the program still gets its own session and controlling terminal."""

    def refuse(*_: object, **__: object) -> int:
        raise NotImplementedError

    monkeypatch.setattr(os, "posix_spawn", refuse)
    code = (
        "import os;t=os.open('/dev/tty',os.O_RDWR);"
        "print(os.getsid(0)==os.getpid()==os.tcgetpgrp(t),os.get_terminal_size().columns,os.getcwd()==os.environ['PWD'])"
    )
    pane = lab.python(code, columns=90)
    assert 0 == await pane.wait()
    assert "True 90 True" == pane.screen.active_rows()[0]


async def test_exit_without_pidfd(lab: Lab, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where the kernel has no process descriptors, the end of a program is still told, with its status."""

    def refuse(*_: object) -> int:
        raise OSError

    monkeypatch.setattr(os, "pidfd_open", refuse)
    pane = lab.start("sh", "-c", "echo bye; exit 5")
    assert 5 == await pane.wait()
    assert "bye" == pane.screen.active_rows()[0]
