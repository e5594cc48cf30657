"""A program that names itself as title setters do: short name by prctl, arguments by overwriting their memory."""

import ctypes
import sys
from pathlib import Path


def main(name: str, title: str) -> None:
    libc = ctypes.CDLL(None)
    libc.prctl(15, ctypes.c_char_p(name.encode()), 0, 0, 0)  # PR_SET_NAME
    fields = Path("/proc/self/stat").read_text().rpartition(")")[2].split()
    begin, end = int(fields[45]), int(fields[46])  # arg_start and arg_end, fields 48 and 49
    ctypes.memset(begin, 0, end - begin)
    data = title.encode()[: end - begin - 1]
    ctypes.memmove(begin, data, len(data))
    print("ready", flush=True)
    sys.stdin.readline()


main(sys.argv[1], sys.argv[2])
