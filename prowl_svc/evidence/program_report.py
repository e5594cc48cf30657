"""Parse one OSC 7501 report: forgiving per pair, strict per report (program-status.md §1)."""

import base64
import binascii
import re
from dataclasses import dataclass

__all__ = ["KINDS", "STATES", "Report", "parse_report"]

STATES = ("idle", "working", "done", "blocked", "error", "clear")
KINDS = ("permission", "question", "auth")

_MAX_BODY = 4096
_MAX_KEY = 16
_MAX_ID = 128
_MAX_LEVELS = 8
_MAX_NAME = 32
_TEXT_LIMITS = {"title": (256, 192), "msg": (2732, 2048)}
_BLANKS = " \t"
_KEY = re.compile(r"[a-z]+")
_VALUE = re.compile(r"[A-Za-z0-9_.,+/=-]*")
_NAME = re.compile(r"[A-Za-z0-9_.+-]{1,32}")
_DIGITS = re.compile(r"[0-9]+")
_CONTROL = re.compile("[\x00-\x1f\x7f-\x9f]")


@dataclass(frozen=True, slots=True)
class Report:
    """One accepted report: the whole record as the program said it, or the command ``clear``.

    ``id`` is the record's path, empty for the root. ``kind`` is set only with blocked, ``progress`` (0 to 100) only
    with working and blocked. ``app``, ``title`` and ``msg`` are untrusted text of the program.
    """

    state: str
    id: str = ""
    app: str | None = None
    kind: str | None = None
    progress: int | None = None
    title: str | None = None
    msg: str | None = None


class _DiscardError(Exception):
    """The report breaks a rule that drops it whole."""


def parse_report(body: bytes) -> Report | None:
    """Return what a body, the bytes after ``7501;``, reports, or None when the report is to be ignored."""
    if len(body) > _MAX_BODY:
        return None
    try:
        values = _pairs(body.decode("latin-1"))
    except _DiscardError:
        return None
    state = values.get("state")
    if state not in STATES:
        return None
    app = values.get("app")
    return Report(
        state=state,
        id=values.get("id", ""),
        app=app if app and _NAME.fullmatch(app) else None,
        kind=values.get("kind") if state == "blocked" and values.get("kind") in KINDS else None,
        progress=_progress(values.get("progress")) if state in ("working", "blocked") else None,
        title=values.get("title") or None,
        msg=values.get("msg") or None,
    )


def _pairs(body: str) -> dict[str, str]:
    """Return the last value of each key that passes, with texts decoded; limits hold for every occurrence."""
    values: dict[str, str] = {}
    for pair in body.split(":"):
        key, equals, value = pair.partition("=")
        key, value = key.strip(_BLANKS), value.strip(_BLANKS)
        if not equals:
            if key == "id":
                raise _DiscardError  # a damaged id must not make the report one of the root
            continue
        if len(key) > _MAX_KEY:
            raise _DiscardError
        if not _KEY.fullmatch(key):
            continue
        if key == "id":
            values[key] = _id(value)
            continue
        if (key == "app" and len(value) > _MAX_NAME) or (key in _TEXT_LIMITS and len(value) > _TEXT_LIMITS[key][0]):
            raise _DiscardError
        if _VALUE.fullmatch(value):
            values[key] = _text(value, _TEXT_LIMITS[key][1]) if key in _TEXT_LIMITS else value
    return values


def _id(value: str) -> str:
    names = value.split("/")
    if len(value) > _MAX_ID or len(names) > _MAX_LEVELS or not all(_NAME.fullmatch(name) for name in names):
        raise _DiscardError
    return value


def _progress(value: str | None) -> int | None:
    if not value or not _DIGITS.fullmatch(value):
        return None
    significant = value.lstrip("0") or "0"
    return int(significant) if len(significant) <= 3 and int(significant) <= 100 else None


def _text(value: str, limit: int) -> str:
    """Decode canonical standard base64 of UTF-8 without controls; padding may be absent but not half there."""
    if "=" not in value:
        value += "=" * (-len(value) % 4)
    try:
        raw = base64.b64decode(value, validate=True)
        text = raw.decode("utf-8")
    except (binascii.Error, ValueError):
        raise _DiscardError from None
    if len(raw) > limit or base64.b64encode(raw).decode() != value or _CONTROL.search(text):
        raise _DiscardError
    return text
