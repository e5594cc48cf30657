"""When a file was created, where the system tells (providers.md §2.3)."""

import ctypes
import os
import sys
from functools import cache

__all__ = ["birth_time"]

_AT_FDCWD = -100
_STATX_BTIME = 0x800
_MASK_AT = 0
_BTIME_AT = 80  # struct statx: stx_btime
_STATX_SIZE = 256


def birth_time(path: str) -> float | None:
    """Return a file's creation time in wall-clock seconds, or None where it is not known."""
    if sys.platform == "linux":
        return _linux(path)
    try:
        return getattr(os.stat(path), "st_birthtime", None)
    except OSError:
        return None


def _linux(path: str) -> float | None:
    call = _statx()
    if call is None:
        return None
    buffer = ctypes.create_string_buffer(_STATX_SIZE)
    if call(_AT_FDCWD, os.fsencode(path), 0, _STATX_BTIME, buffer) != 0:
        return None
    if not int.from_bytes(buffer.raw[_MASK_AT : _MASK_AT + 4], sys.byteorder) & _STATX_BTIME:
        return None
    seconds = int.from_bytes(buffer.raw[_BTIME_AT : _BTIME_AT + 8], sys.byteorder, signed=True)
    nanoseconds = int.from_bytes(buffer.raw[_BTIME_AT + 8 : _BTIME_AT + 12], sys.byteorder)
    return seconds + nanoseconds / 1e9


@cache
def _statx() -> "ctypes._NamedFuncPointer | None":
    try:
        call = ctypes.CDLL(None).statx
    except (OSError, AttributeError):
        return None  # a C library from before the call: files count as old, which is the safe direction
    call.argtypes = [ctypes.c_int, ctypes.c_char_p, ctypes.c_int, ctypes.c_uint, ctypes.c_void_p]
    return call
