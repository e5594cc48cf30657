"""Key tokens and text to the bytes that a program in a terminal reads (signals.md §7.3).

Pure: what the program asked for (application cursor keys, kitty keyboard flags, bracketed paste) is passed in.
"""

import re
from dataclasses import dataclass

from prowl_svc.model.errors import Code, ProwlError

__all__ = ["KEY_HELP", "encode_key", "encode_paste", "encode_text", "normal_key"]

_SHIFT, _ALT, _CTRL = 1, 2, 4
_MODIFIERS = {"shift": _SHIFT, "alt": _ALT, "ctrl": _CTRL}
_MODIFIER_ALIASES = {"s": "shift", "m": "alt", "option": "alt", "meta": "alt", "c": "ctrl", "control": "ctrl"}
_ALIASES = {
    "return": "enter",
    "cr": "enter",
    "esc": "escape",
    "bs": "backspace",
    "bspace": "backspace",
    "del": "delete",
    "ins": "insert",
    "pageup": "pgup",
    "page-up": "pgup",
    "pagedown": "pgdn",
    "page-down": "pgdn",
    "pgdown": "pgdn",
    "backtab": "shift-tab",
    "btab": "shift-tab",
    " ": "space",
}
_CURSOR = {"up": "A", "down": "B", "right": "C", "left": "D", "end": "F", "home": "H"}
_TILDE = {
    "insert": 2,
    "delete": 3,
    "pgup": 5,
    "pgdn": 6,
    "f5": 15,
    "f6": 17,
    "f7": 18,
    "f8": 19,
    "f9": 20,
    "f10": 21,
    "f11": 23,
    "f12": 24,
}
_SS3 = {"f1": "P", "f2": "Q", "f3": "R", "f4": "S"}
_CODES = {"escape": 27, "enter": 13, "tab": 9, "backspace": 127, "space": 32}
_LEGACY = {"escape": b"\x1b", "enter": b"\r", "tab": b"\t", "backspace": b"\x7f", "space": b" "}
_DISAMBIGUATE, _ALL_AS_ESCAPES = 1, 8  # kitty keyboard flags

KEY_HELP = (
    "enter, tab, shift-tab, escape, backspace, delete, insert, space, up, down, left, right, home, end, pgup, pgdn, "
    "f1 to f12, or one character; with ctrl-, alt- or shift- before it, such as ctrl-c, alt-enter or ctrl-shift-left"
)
"""The tokens, for messages and help."""


@dataclass(frozen=True, slots=True)
class _Key:
    name: str
    modifiers: int

    @property
    def token(self) -> str:
        return "".join(f"{word}-" for word in ("ctrl", "alt", "shift") if self.modifiers & _MODIFIERS[word]) + self.name


def _parse(token: str) -> _Key:
    modifiers, rest = 0, token
    if len(token) > 1:
        rest = _ALIASES.get(token.lower(), token)
        while "-" in rest[1:-1] or (rest[-1:] == "-" and len(rest) > 2):
            word, _, after = rest.partition("-")
            modifier = _MODIFIERS.get(_MODIFIER_ALIASES.get(word.lower(), word.lower()))
            if modifier is None or not after or modifiers & modifier:
                break
            modifiers |= modifier
            rest = after
    name = _ALIASES.get(rest.lower(), rest.lower())
    if name == "shift-tab":
        name, modifiers = "tab", modifiers | _SHIFT
    if name in _CURSOR or name in _TILDE or name in _SS3 or name in _CODES:
        return _Key(name, modifiers)
    if len(rest) == 1 and rest.isprintable() and rest.isascii():
        if rest.isupper() and modifiers & (_CTRL | _ALT) == 0:
            return _Key(rest, modifiers & ~_SHIFT)
        if modifiers == _SHIFT and rest.isalpha():
            return _Key(rest.upper(), 0)
        return _Key(rest.lower() if modifiers & _CTRL else rest, modifiers)
    if len(rest) == 1 and rest.isprintable() and not modifiers:
        return _Key(rest, 0)
    raise ProwlError(Code.UNSUPPORTED_KEY, f"{token[:64]!r} is not a key. Keys are: {KEY_HELP}.")


def normal_key(token: str) -> str:
    """Return the normal form of a key token; raises ProwlError UNSUPPORTED_KEY for an unknown one."""
    return _parse(token).token


def encode_key(token: str, *, application_cursor: bool = False, kitty_flags: int = 0) -> bytes:
    """Return the bytes of one press of a key.

    ``application_cursor`` is DEC mode 1, ``kitty_flags`` what the program pushed. Raises ProwlError UNSUPPORTED_KEY.
    """
    key = _parse(token)
    name, modifiers = key.name, key.modifiers
    parameter = 1 + modifiers
    if name in _CURSOR or name in _SS3:
        final = _CURSOR.get(name) or _SS3[name]
        if modifiers:
            return f"\x1b[1;{parameter}{final}".encode()
        if kitty_flags & _DISAMBIGUATE and name == "f3":
            return b"\x1b[13~"
        plain = "O" if name in _SS3 or application_cursor else "["
        return f"\x1b{plain}{final}".encode()
    if name in _TILDE:
        return f"\x1b[{_TILDE[name]};{parameter}~".encode() if modifiers else f"\x1b[{_TILDE[name]}~".encode()
    if kitty_flags & (_DISAMBIGUATE | _ALL_AS_ESCAPES) and (code := _kitty_code(name, modifiers, kitty_flags)):
        return f"\x1b[{code};{parameter}u".encode() if modifiers else f"\x1b[{code}u".encode()
    return _legacy(name, modifiers)


def _kitty_code(name: str, modifiers: int, flags: int) -> int | None:
    """Return the number that a key is reported by, None where its legacy form stays in use."""
    if name in _CODES:
        unchanged = name in ("enter", "tab", "backspace", "space") and not modifiers
        return None if unchanged and not flags & _ALL_AS_ESCAPES else _CODES[name]
    return ord(name) if modifiers & (_CTRL | _ALT) else None


def _legacy(name: str, modifiers: int) -> bytes:
    if name == "tab" and modifiers & _SHIFT:
        data = b"\x1b[Z"
    elif name in _CODES:
        data = _LEGACY[name]
        if modifiers & _CTRL:
            data = {"backspace": b"\x08", "space": b"\x00"}.get(name, data)
    elif modifiers & _CTRL:
        data = _control(name)
    else:
        data = name.upper().encode() if modifiers & _SHIFT else name.encode()
    return b"\x1b" + data if modifiers & _ALT else data


def _control(char: str) -> bytes:
    """Return the control byte of a character; one that has none is sent as it is, as terminals do."""
    if "a" <= char <= "z" or char in "@[\\]^_":
        return bytes([ord(char.upper()) & 0x1F])
    special = {"2": 0, "3": 27, "4": 28, "5": 29, "6": 30, "7": 31, "8": 127, "/": 31, "?": 127, "-": 31}
    return bytes([special[char]]) if char in special else char.encode()


_LINE_END = re.compile(r"\r\n?|\n")
_PASTE_MARK = re.compile(r"\x1b\[20[01]~")
_CONTROLS = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f]")


def encode_text(text: str) -> bytes:
    """Return what typing the text sends: line ends become Enter, everything else goes as it is."""
    return _LINE_END.sub("\r", text).encode("utf-8", "replace")


def encode_paste(text: str, *, bracketed: bool) -> bytes:
    """Return what pasting the text sends.

    Inside the brackets of DEC mode 2004 every control but tab and line end is taken out, so that nothing in the text
    can end the paste early or act as a key.
    """
    if not bracketed:
        return encode_text(text)
    return b"\x1b[200~" + encode_text(_CONTROLS.sub("", _PASTE_MARK.sub("", text))) + b"\x1b[201~"
