"""Decode operating system commands into side-channel events (terminal.md §1.1, providers.md §6).

Pure: bytes in, one event or None out. Both terminal engines call it, so there is one reading of every payload.
"""

import base64
import binascii
import re
from collections.abc import Callable

from prowl_svc.model.terminal import (
    Notification,
    ProgramStatus,
    Progress,
    ProgressState,
    PromptMark,
    SideEvent,
    StatusQuery,
    TabStatus,
    Title,
    WorkingDirectory,
)

__all__ = ["MAX_OSC", "MAX_TITLE", "NotificationChunks", "clean_text", "decode_osc"]

MAX_OSC = 8192
"""Bytes of one OSC body that an engine keeps; a longer one is swallowed whole."""
MAX_TITLE = 1024
"""Characters of a title that are kept."""

_MAX_STATUS_SEQUENCE = 4096  # from ESC ] through the terminator (program-status.md §1)
_MAX_OPEN_NOTIFICATIONS = 8
_MAX_NOTIFICATION = 4096
_CONTROLS = dict.fromkeys([*range(0x20), *range(0x7F, 0xA0)])
_PROGRESS = re.compile(rb"4;([0-4])(?:;(.*))?", re.DOTALL)
_PERCENT = re.compile(rb"(-?)([0-9]{1,9})(?:;|\Z)")
_PROGRESS_STATES = {
    b"0": ProgressState.REMOVE,
    b"1": ProgressState.SET,
    b"2": ProgressState.ERROR,
    b"3": ProgressState.INDETERMINATE,
    b"4": ProgressState.PAUSE,
}
_MARK = re.compile(rb"([ABCD])(?:;(.*))?", re.DOTALL)
_EXIT_CODE = re.compile(rb"-?[0-9]{1,10}")


def clean_text(raw: bytes) -> str:
    """Decode UTF-8 with replacement and drop every C0, DEL and C1 control."""
    text = raw.decode("utf-8", "replace")
    return text if text.isprintable() else text.translate(_CONTROLS)


class NotificationChunks:
    """Open chunks of kitty notifications (OSC 99), kept until the one that says it is the last.

    At most 8 notifications are open and each text holds at most 4,096 bytes; the oldest open one gives way.
    """

    def __init__(self) -> None:
        self._open: dict[bytes, tuple[bytearray, bytearray]] = {}

    def clear(self) -> None:
        """Forget every open notification."""
        self._open.clear()

    def take(self, metadata: bytes, payload: bytes, offset: int) -> Notification | None:
        """Add one OSC 99; return the notification when it is complete and says something."""
        keys = dict(pair.partition(b"=")[::2] for pair in metadata.split(b":") if b"=" in pair)
        kind = keys.get(b"p", b"title")
        if kind == b"?" or kind in (b"close", b"alive"):
            return None
        if keys.get(b"e") == b"1":
            try:
                payload = base64.b64decode(payload + b"=" * (-len(payload) % 4), validate=True)
            except (binascii.Error, ValueError):
                payload = b""
        name = keys.get(b"i", b"")[:128]
        title, body = self._open.pop(name, (bytearray(), bytearray()))
        target = {b"title": title, b"body": body}.get(kind)
        if target is not None:
            target += payload[: _MAX_NOTIFICATION - len(target)]
        if keys.get(b"d", b"1") == b"0":
            self._open[name] = (title, body)
            if len(self._open) > _MAX_OPEN_NOTIFICATIONS:
                del self._open[next(iter(self._open))]
            return None
        if not title and not body:
            return None
        return Notification(offset, "99", clean_text(bytes(title)), clean_text(bytes(body)))


def decode_osc(
    body: bytes, terminator: bytes, offset: int, chunks: NotificationChunks | None = None
) -> SideEvent | None:
    r"""Return the event that an OSC means, or None when it means nothing to us.

    ``body`` is what stands between ``ESC ]`` and the terminator, ``terminator`` is ``b"\x07"`` or ``b"\x1b\\"``,
    ``offset`` the stream position just after it. Without ``chunks`` an OSC 99 must be complete in itself.
    """
    number, semicolon, rest = body.partition(b";")
    if not semicolon:
        return None
    if number == b"7501":
        return _status(body, rest, terminator, offset)
    if number == b"99":
        metadata, _, payload = rest.partition(b";")
        return (chunks or NotificationChunks()).take(metadata, payload, offset)
    decode = _DECODERS.get(number)
    return decode(rest, offset) if decode else None


def _title(rest: bytes, offset: int) -> SideEvent:
    return Title(offset, clean_text(rest)[:MAX_TITLE])


def _directory(rest: bytes, offset: int) -> SideEvent | None:
    value = clean_text(rest)
    return WorkingDirectory(offset, value) if value else None


def _osc9(rest: bytes, offset: int) -> SideEvent | None:
    if match := _PROGRESS.fullmatch(rest):
        return _progress(_PROGRESS_STATES[match[1]], match[2] or b"", offset)
    if rest.startswith(b"9;"):
        return _directory(rest[2:], offset)
    text = clean_text(rest)
    return Notification(offset, "9", "", text) if text.strip() else None


def _progress(state: ProgressState, rest: bytes, offset: int) -> Progress:
    percent = None
    if match := _PERCENT.match(rest):
        percent = 0 if match[1] else min(int(match[2]), 100)
    if state is ProgressState.SET:
        percent = percent or 0
    elif state in (ProgressState.REMOVE, ProgressState.INDETERMINATE):
        percent = None
    return Progress(offset, state, percent)


def _prompt(rest: bytes, offset: int) -> SideEvent | None:
    match = _MARK.fullmatch(rest)
    if match is None:
        return None
    code = None
    if match[1] == b"D" and match[2]:
        first = match[2].split(b";", 1)[0]
        code = int(first) if _EXIT_CODE.fullmatch(first) else None
    return PromptMark(offset, match[1].decode(), code)


def _osc777(rest: bytes, offset: int) -> SideEvent | None:
    kind, _, text = rest.partition(b";")
    if kind != b"notify":
        return None
    title, body = (clean_text(part) for part in text.partition(b";")[::2])
    return Notification(offset, "777", title, body) if title.strip() or body.strip() else None


def _osc1337(rest: bytes, offset: int) -> SideEvent | None:
    key, _, value = rest.partition(b"=")
    return _directory(value, offset) if key == b"CurrentDir" else None


def _tab_status(rest: bytes, offset: int) -> SideEvent:
    return TabStatus(offset, clean_text(rest))


def _status(body: bytes, rest: bytes, terminator: bytes, offset: int) -> SideEvent | None:
    if rest == b"?":
        return StatusQuery(offset, terminator)
    if len(body) + len(terminator) + 2 > _MAX_STATUS_SEQUENCE:
        return None
    return ProgramStatus(offset, rest)


_DECODERS: dict[bytes, Callable[[bytes, int], SideEvent | None]] = {
    b"0": _title,
    b"2": _title,
    b"7": _directory,
    b"9": _osc9,
    b"133": _prompt,
    b"633": _prompt,
    b"777": _osc777,
    b"1337": _osc1337,
    b"21337": _tab_status,
}
