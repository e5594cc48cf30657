"""Launch tokens: made here, kept in memory only, compared in constant time (signals.md §5.1, §5.3)."""

import base64
import hmac
import os
import secrets
from collections.abc import Callable

__all__ = ["TOKEN_BYTES", "mint_token", "resolve_directory", "same_token", "well_formed_token"]

TOKEN_BYTES = 32
_MAX_TOKEN = 256


def mint_token(random: Callable[[int], bytes] = secrets.token_bytes) -> str:
    """Return 32 fresh random bytes as URL-safe text without padding."""
    return base64.urlsafe_b64encode(random(TOKEN_BYTES)).rstrip(b"=").decode("ascii")


def well_formed_token(token: str) -> bool:
    """Tell whether a token may be looked at: 1 to 256 UTF-8 bytes without control characters."""
    try:
        size = len(token.encode())
    except UnicodeEncodeError:
        return False
    return 0 < size <= _MAX_TOKEN and not any(ch < " " or "\x7f" <= ch <= "\x9f" for ch in token)


def same_token(held: str, offered: str) -> bool:
    """Compare in constant time; unencodable text equals nothing."""
    try:
        return hmac.compare_digest(held.encode(), offered.encode())
    except UnicodeEncodeError:
        return False


def resolve_directory(path: str) -> str | None:
    """Return ``path`` with symlinks resolved and trailing slashes cut, or None if it is not absolute (§5.3 item 4).

    Both the launch directory and a payload's are put through this, since runtimes disagree on which form they report.
    """
    if not path.startswith("/") or "\0" in path:
        return None
    try:
        return os.path.realpath(path)
    except (OSError, ValueError):
        return None
