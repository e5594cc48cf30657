"""Opens files that others name: opening a FIFO or a device by mistake would wait for ever."""

import os
import stat

__all__ = ["regular"]


def regular(path: str, flags: int) -> int:
    """The ``opener`` of ``open`` for regular files; raises OSError for anything else, and never waits."""
    descriptor = os.open(path, flags | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC)
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise OSError(f"not a regular file: {os.path.basename(path)}")
    return descriptor
