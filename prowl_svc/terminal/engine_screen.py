"""The compiled screen: the engine does text and sequences, this reads its records (terminal.md §1).

Events come in stream order. Modes that are part of drawing every frame (7, 12, 25, 2026) give no event: ask ``mode`` or
``synchronizing``, and see the revision move when a frame is complete.
"""

from collections.abc import Callable

from prowl_svc._fast.engine import Engine, EventKind, Query
from prowl_svc.model.terminal import Bell, CursorPosition, ModeChange, Reset, SideEvent, StatusQuery, Title
from prowl_svc.terminal.answers import apc_answer, csi_answer, dcs_answer, osc_answer
from prowl_svc.terminal.osc import MAX_TITLE, NotificationChunks, clean_text, decode_osc

__all__ = ["EngineScreen"]

_OSC = EventKind.OSC
_TITLE = (b"0;", b"2;")
_MAX_ANSWERS = 1 << 16
_MAX_TITLES = 10
_TERMINATORS = (b"\x07", b"\x1b\\")
_MARKERS = {0: b"", ord("?"): b"?", ord(">"): b">", ord("="): b"="}


class EngineScreen(Engine):
    """A :class:`prowl_svc.terminal.screen.Screen` on the compiled engine.

    ``answer_status_query`` echoes ``OSC 7501;?``: only for a host that consumes the records.
    """

    def __init__(self, columns: int, rows: int, *, scrollback: int = 1000, answer_status_query: bool = False) -> None:
        self._answer_status_query = answer_status_query
        self._chunks = NotificationChunks()
        self._title = ""
        self._titles: list[str] = []
        self._answers = bytearray()

    @property
    def title(self) -> str:
        """The last title."""
        return self._title

    @property
    def cursor(self) -> CursorPosition:
        """Where the cursor is; where it was while a synchronized update is open."""
        return CursorPosition(*self.position)

    def feed(self, data: bytes) -> list[SideEvent]:
        """Take bytes, return the events that completed in them."""
        events: list[SideEvent] = []
        for kind, offset, a, b, c, payload in self.feed_records(data):
            if payload is not None:
                if kind == _OSC:
                    self._osc(payload, _TERMINATORS[a], offset, events)
                elif kind == EventKind.DCS:
                    self._answer(dcs_answer(payload))
                elif b"a=q" in payload:
                    self._answer(apc_answer(payload))
            elif kind == EventKind.MODE:
                events.append(ModeChange(offset, a, bool(b)))
            elif kind == EventKind.QUERY:
                self._answer(_ANSWERS[a](self, b, c))
            elif kind == EventKind.BELL:
                events.append(Bell(offset))
            elif kind == EventKind.RESET:
                if a:
                    self._titles.clear()
                    self._chunks.clear()
                events.append(Reset(offset, bool(a)))
            elif a:
                self._titles.append(self._title)
                del self._titles[:-_MAX_TITLES]
            elif self._titles:
                self._title = self._titles.pop()
                events.append(Title(offset, self._title))
        return events

    def take_answers(self) -> bytes:
        """Return and clear the bytes to write back."""
        answers = bytes(self._answers)
        self._answers.clear()
        return answers

    def _answer(self, data: bytes) -> None:
        if len(self._answers) + len(data) <= _MAX_ANSWERS:
            self._answers += data

    def _osc(self, payload: bytes, terminator: bytes, offset: int, events: list[SideEvent]) -> None:
        if payload[:2] in _TITLE:  # a spinner in the title comes many times a second
            self._title = clean_text(payload[2:])[:MAX_TITLE]
            events.append(Title(offset, self._title))
            return
        event = decode_osc(payload, terminator, offset, self._chunks)
        if event is None:
            self._answer(osc_answer(payload, terminator))
            return
        if isinstance(event, StatusQuery) and self._answer_status_query:
            self._answer(b"\x1b]7501;?" + event.terminator)
        events.append(event)


class _Then:
    """The state of the terminal when a query came, as its answer needs it."""

    def __init__(self, screen: EngineScreen, b: int, c: int) -> None:
        self.columns, self.rows = screen.columns, screen.rows
        self.report_position = b, c
        self.kitty_flags = b
        self._value = c

    def mode(self, number: int) -> bool:
        return self._value == 1

    def ansi_mode(self, number: int) -> bool | None:
        return {0: None, 1: True, 2: False}[self._value]


_ANSWERS: dict[int, Callable[[EngineScreen, int, int], bytes]] = {
    Query.DEVICE: lambda screen, b, c: csi_answer(_MARKERS.get(b, b"<"), (c,), b"", b"c", _Then(screen, b, c)),
    Query.VERSION: lambda screen, b, c: csi_answer(b">", (0,), b"", b"q", _Then(screen, b, c)),
    Query.STATUS: lambda screen, b, c: csi_answer(_MARKERS.get(c, b"<"), (b,), b"", b"n", _Then(screen, b, c)),
    Query.CURSOR: lambda screen, b, c: csi_answer(b"", (6,), b"", b"n", _Then(screen, b, c)),
    Query.CURSOR_EXTENDED: lambda screen, b, c: csi_answer(b"?", (6,), b"", b"n", _Then(screen, b, c)),
    Query.KEYBOARD: lambda screen, b, c: csi_answer(b"?", (), b"", b"u", _Then(screen, b, c)),
    Query.MODE: lambda screen, b, c: csi_answer(b"?", (b,), b"$", b"p", _Then(screen, b, c)),
    Query.ANSI_MODE: lambda screen, b, c: csi_answer(b"", (b,), b"$", b"p", _Then(screen, b, c)),
    Query.SIZE: lambda screen, b, c: csi_answer(b"", (b,), b"", b"t", _Then(screen, b, c)),
    Query.KEY_FORMAT: lambda *_: b"",
}
