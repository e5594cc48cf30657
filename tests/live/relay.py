"""Runs its command on a terminal of its own and passes everything on, but for status reports where told so.

``relay.py swallow STATE[,STATE…] COMMAND…`` drops OSC 7501 reports of these states, or of ``any``;
``relay.py note FILE COMMAND…`` passes them and writes to the file, a line each, the monotonic time right before the
report is written to the terminal outside, and its body.
"""

import fcntl
import os
import pty
import re
import select
import signal
import sys
import termios
import time
import tty

_REPORT = re.compile(rb"\x1b\]7501;([^\x07\x1b]*)(?:\x07|\x1b\\)")


def main(mode: str, what: str, *command: str) -> int:
    """Relay until the command ends; returns its exit status."""
    notes = open(what, "wb", buffering=0) if mode == "note" else None  # noqa: SIM115 - for the whole life
    dropped = re.compile(b"state=" + (b"" if what == "any" else b"(?:" + what.replace(",", "|").encode() + b")"))
    child, inner = pty.fork()
    if not child:
        os.execvp(command[0], command)

    def resize(*_: object) -> None:
        fcntl.ioctl(inner, termios.TIOCSWINSZ, fcntl.ioctl(0, termios.TIOCGWINSZ, b"\0" * 8))

    resize()
    signal.signal(signal.SIGWINCH, resize)
    tty.setraw(0)
    held = b""
    while True:
        ready = select.select([0, inner], [], [])[0]
        if 0 in ready:
            if not (typed := os.read(0, 65536)):
                break
            os.write(inner, typed)
        if inner in ready:
            try:
                data = held + os.read(inner, 65536)
            except OSError:
                break
            # A report that was cut waits for its end.
            begun = data.rfind(b"\x1b]7501;")
            cut = len(data) if begun < 0 or _REPORT.match(data, begun) or len(data) - begun > 4096 else begun
            data, held = data[:cut], data[cut:]
            if notes is None:
                data = _REPORT.sub(lambda report: b"" if dropped.search(report[1]) else report[0], data)
            else:
                now = time.monotonic()
                for report in _REPORT.finditer(data):  # and the query, which says no state
                    notes.write(b"%.6f %s\n" % (now, report[1]))
            _write(data)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def _write(data: bytes) -> None:
    while data:
        data = data[os.write(1, data) :]


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
