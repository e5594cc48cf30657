"""Which of several transcripts is the one on the screen: text fingerprints (providers.md §8.3)."""

import json
import os
import re
from collections import OrderedDict
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from prowl_svc.evidence.regular import regular

__all__ = ["Fragments", "best_match", "fragments_of", "normalize", "score"]

MIN_LENGTH = 12
MAX_SESSIONS = 12
MAX_FILES = 2
_TAIL = 128 << 10
_LINES = 80
_SUFFIX = 80
_ENOUGH = 40
_AHEAD = 20
_MAX_DEPTH = 64
_KEYS = frozenset({"content", "text", "message", "result", "prompt", "last_assistant_message"})
_CSI = re.compile(r"\x1b\[[0-?]*[ -/]*[@-~]")
_CACHE_ENTRIES = 128
_CACHE_CHARACTERS = 8 << 20


def normalize(text: str) -> str:
    """Return text as it is compared: no control sequences, lower case, white space as single spaces."""
    if "\x1b" in text:
        text = _CSI.sub("", text)
    return " ".join(text.lower().split())


def score(fragments: Iterable[str], screen: str) -> int:
    """Return how well the normalized fragments of a transcript fit a normalized screen."""
    best = 0
    for fragment in fragments:
        if fragment in screen:
            best = max(best, min(200, len(fragment) + 80))
        elif len(fragment) > _SUFFIX and fragment[-_SUFFIX:] in screen:
            best = max(best, 80)
    return best


def best_match(candidates: Mapping[str, Sequence[str]], screen: str) -> str | None:
    """Return the session whose fragments fit the screen clearly best.

    ``candidates`` maps sessions to their normalized fragments. A session without any voids the match: it could be the
    one.
    """
    text = normalize(screen)
    if len(text) < MIN_LENGTH or not candidates or len(candidates) > MAX_SESSIONS:
        return None
    if not all(candidates.values()):
        return None
    ranked = sorted(((score(fragments, text), session) for session, fragments in candidates.items()), reverse=True)
    (winner, session), second = ranked[0], ranked[1][0] if len(ranked) > 1 else 0
    return session if winner >= _ENOUGH and winner - second >= _AHEAD else None


def fragments_of(tail: bytes) -> list[str]:
    """Return the normalized texts of a transcript's last lines."""
    found: dict[str, None] = {}
    for line in tail.split(b"\n")[-_LINES - 1 :]:
        try:
            record = json.loads(line)
        except (ValueError, RecursionError):
            continue  # the first line of a tail is cut, the last one may be half written
        for text in _texts(record, False, 0):
            fragment = normalize(text)
            if len(fragment) >= MIN_LENGTH:
                found[fragment] = None
    return list(found)


def _texts(value: Any, wanted: bool, depth: int) -> Iterable[str]:
    if depth > _MAX_DEPTH:
        return
    if isinstance(value, str):
        if wanted:
            yield value
    elif isinstance(value, dict):
        for key, inner in value.items():
            yield from _texts(inner, key in _KEYS, depth + 1)
    elif isinstance(value, list):
        for inner in value:
            yield from _texts(inner, wanted, depth + 1)


class Fragments:
    """The fragments of transcripts, kept while their files do not change, and bounded; failures are not kept."""

    def __init__(self) -> None:
        self._kept: OrderedDict[tuple[str, int], list[str]] = OrderedDict()
        self._size = 0

    def of(self, paths: Sequence[str]) -> list[str]:
        """Return the fragments of a session's files, the newest two given first."""
        found: dict[str, None] = {}
        for path in paths[:MAX_FILES]:
            found.update(dict.fromkeys(self._of_file(path)))
        return list(found)

    def _of_file(self, path: str) -> list[str]:
        try:
            with open(path, "rb", opener=regular) as file:
                status = os.fstat(file.fileno())
                key = (path, status.st_mtime_ns)
                if key in self._kept:
                    self._kept.move_to_end(key)
                    return self._kept[key]
                file.seek(max(0, status.st_size - _TAIL))
                fragments = fragments_of(file.read(_TAIL))
        except OSError:
            return []
        self._kept[key] = fragments
        self._size += sum(map(len, fragments))
        while self._kept and (len(self._kept) > _CACHE_ENTRIES or self._size > _CACHE_CHARACTERS):
            _, gone = self._kept.popitem(last=False)
            self._size -= sum(map(len, gone))
        return fragments
