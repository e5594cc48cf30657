"""Reading of floods, interpreted."""

import os

__all__ = ["read_many"]


def read_many(descriptor: int, limit: int) -> tuple[bytes, str]:
    """Read from a non-blocking descriptor, and tell what is to be found after the bytes.

    At most ``limit`` bytes are read, then it is "data" that may follow; else it is "nothing" yet, or the "end": an
    end of file, or an error, as of a terminal that its last program closed. Raises ValueError for a limit below 1.
    """
    if limit <= 0:
        raise ValueError("limit must be positive")
    pieces: list[bytes] = []
    size = 0
    while size < limit:
        try:
            data = os.read(descriptor, limit - size)
        except (BlockingIOError, InterruptedError):
            return b"".join(pieces), "nothing"
        except OSError:
            data = b""
        if not data:
            return b"".join(pieces), "end"
        pieces.append(data)
        size += len(data)
    return b"".join(pieces), "data"
