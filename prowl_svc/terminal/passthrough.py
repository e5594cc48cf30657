"""Program output for an attached terminal, without the queries that the service has answered already.

A query that reached a second terminal would be answered twice, and the second answer would be typed into the program.
"""

from prowl_svc.terminal.answers import apc_answer, csi_answer, dcs_answer, osc_answer
from prowl_svc.terminal.scanner import ControlSequence, Scanner, String

__all__ = ["QueryFilter", "incomplete_tail"]

_MAX_HELD = 16384


class _AnyState:
    columns = rows = 1
    report_position = (1, 1)
    kitty_flags = 0

    def mode(self, number: int) -> bool:
        return False

    def ansi_mode(self, number: int) -> bool | None:
        return None


_ANY = _AnyState()


class QueryFilter:
    """Takes output in any split and gives it back without queries; unfinished sequences are held back, bounded.

    ``begun`` is the unfinished sequence that the output before ended in.
    """

    def __init__(self, begun: bytes = b"") -> None:
        self._scanner = Scanner()
        self._held = b""
        self.feed(begun)

    def feed(self, data: bytes) -> bytes:
        """Return what can be shown now."""
        raw = self._held + data
        base = self._scanner.offset - len(self._held)
        tokens = self._scanner.feed(data)
        kept: list[bytes] = []
        position = 0
        for token in tokens:
            if isinstance(token, ControlSequence | String) and token.start >= base and _is_query(token):
                kept.append(raw[position : token.start - base])
                position = token.end - base
        begun = self._scanner.begun
        cut = len(raw) if begun is None else max(begun - base, position)
        if len(raw) - cut > _MAX_HELD:
            cut = len(raw)
        kept.append(raw[position:cut])
        self._held = raw[cut:]
        return b"".join(kept)


def incomplete_tail(data: bytes) -> bytes:
    """Return the unfinished sequence that ``data`` ends in, or nothing."""
    start = data.rfind(b"\x1b")
    if start < 0:
        return b""
    scanner = Scanner()
    scanner.feed(data[start:])
    return data[start:] if scanner.begun is not None else b""


def _is_query(token: ControlSequence | String) -> bool:
    if isinstance(token, ControlSequence):
        return bool(csi_answer(token.prefix, token.params, token.intermediates, token.final, _ANY))
    if token.kind == b"P":
        return bool(dcs_answer(token.body))
    if token.kind == b"_":
        return bool(apc_answer(token.body))
    number, _, rest = token.body.partition(b";")
    if number == b"7501":
        return rest.startswith(b"?")
    if number in (b"52", b"1337", b"99"):
        return rest.endswith(b";?") or rest == b"Capabilities" or b"p=?" in rest.partition(b";")[0]
    return bool(osc_answer(token.body, token.terminator))
