"""A program that paints what it is told to, under an agent's name: a line names a screen or holds raw output."""

import json
import os
import sys
import termios
import tty


def main() -> None:
    """Paint the screens of a JSON file by their names; ``!text`` writes the text with its escapes, ``q`` ends."""
    with open(sys.argv[1], encoding="utf-8") as file:
        screens = json.load(file)
    tty.setcbreak(0)
    attributes = termios.tcgetattr(0)
    attributes[3] &= ~termios.ECHO
    termios.tcsetattr(0, termios.TCSANOW, attributes)
    os.write(1, b"\x1b[2J\x1b[Hready")
    for line in sys.stdin:
        word = line.strip("\r\n")
        if word == "q":
            return
        if word.startswith("!"):
            os.write(1, word[1:].encode().decode("unicode_escape").encode("latin-1"))
            continue
        painted = "\x1b[2J\x1b[H" + "\r\n".join(screens[word])
        os.write(1, b"\x1b[?2026h" + painted.encode() + b"\x1b[?2026l")


main()
