"""Writable open files of a process on macOS, by the process info calls (providers.md §2.1)."""

import ctypes
import ctypes.util
import os
from collections.abc import Callable
from functools import cache

from prowl_svc.evidence.open_files import MAX_DESCRIPTORS, OpenFiles

__all__ = ["list_writable"]

_PIDLISTFDS = 1
_FDTYPE_VNODE = 1
_VNODEPATHINFO = 2
_FWRITE = 0x0002
_PATH_AT = 24 + 152  # struct proc_fileinfo, then struct vnode_info, then the path
_PATH_MAX = 1024
_SIZE = _PATH_AT + _PATH_MAX


class _Descriptor(ctypes.Structure):
    _fields_ = (("fd", ctypes.c_int32), ("type", ctypes.c_uint32))


@cache
def _library() -> ctypes.CDLL:
    library = ctypes.CDLL(ctypes.util.find_library("proc") or "libproc.dylib", use_errno=True)
    library.proc_pidinfo.argtypes = [ctypes.c_int, ctypes.c_int, ctypes.c_uint64, ctypes.c_void_p, ctypes.c_int]
    library.proc_pidfdinfo.argtypes = [ctypes.c_int, ctypes.c_int, ctypes.c_int, ctypes.c_void_p, ctypes.c_int]
    return library


def list_writable(pid: int, wanted: Callable[[str], bool]) -> OpenFiles:
    """Return the wanted files that a process holds open for writing; incomplete when any cannot be resolved."""
    library = _library()
    descriptors = (_Descriptor * MAX_DESCRIPTORS)()
    size = library.proc_pidinfo(pid, _PIDLISTFDS, 0, descriptors, ctypes.sizeof(descriptors))
    if size <= 0 or size >= ctypes.sizeof(descriptors):
        return OpenFiles((), complete=False)
    paths: dict[str, None] = {}
    buffer = ctypes.create_string_buffer(_SIZE)
    for descriptor in descriptors[: size // ctypes.sizeof(_Descriptor)]:
        if descriptor.type != _FDTYPE_VNODE:
            continue
        if library.proc_pidfdinfo(pid, descriptor.fd, _VNODEPATHINFO, buffer, _SIZE) < _SIZE:
            return OpenFiles((), complete=False)
        flags = int.from_bytes(buffer.raw[:4], "little")
        path = os.fsdecode(buffer.raw[_PATH_AT:].split(b"\0", 1)[0])
        if flags & _FWRITE and path and wanted(path):
            paths[path] = None
    return OpenFiles(tuple(paths))
