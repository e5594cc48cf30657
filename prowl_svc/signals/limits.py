"""Limits of what callers may say; every refusal is INVALID_ARGUMENT and names the field (signals.md §2.3, §4, §7.3)."""

from prowl_svc.identity.tokens import well_formed_token
from prowl_svc.model.errors import Code, ProwlError
from prowl_svc.model.observation import SignalKind

__all__ = [
    "DEFAULT_WAIT_S",
    "MAX_NAME",
    "MAX_PROMPT",
    "MAX_TEXT",
    "check_dispatch_id",
    "check_hook",
    "check_launch_events",
    "check_progress",
    "check_prompt",
    "check_reason",
    "check_screen_lines",
    "check_signal",
    "check_summary",
    "check_text",
    "check_wait_timeout",
]

MAX_NAME = 256
MAX_TEXT = 32_768
MAX_PATH = 4_096
MAX_PROMPT = 256 * 1024
MAX_SCREEN_LINES = 200
MAX_WAIT_S = 600
DEFAULT_WAIT_S = MAX_WAIT_S
MAX_LAUNCH_EVENTS = 32

_LINE_BREAKS = "\u2028\u2029"


def _invalid(message: str) -> ProwlError:
    return ProwlError(Code.INVALID_ARGUMENT, message)


def _control(ch: str) -> bool:
    return ch < " " or "\x7f" <= ch <= "\x9f"


def check_text(field: str, text: str, limit: int, *, allow: str = "") -> None:
    """Refuse text that is empty, longer than ``limit`` UTF-8 bytes, or has control characters other than ``allow``."""
    if not text:
        raise _invalid(f"{field} must not be empty")
    try:
        size = len(text.encode())
    except UnicodeEncodeError:
        raise _invalid(f"{field} must be valid Unicode") from None
    if size > limit:
        raise _invalid(f"{field} must be at most {limit} bytes of UTF-8")
    if any(_control(ch) and ch not in allow for ch in text):
        raise _invalid(f"{field} must not contain control characters")


def check_progress(kind: SignalKind, progress: int | None) -> None:
    """Refuse a percentage outside 0 to 100 or on any event but progress."""
    if progress is None:
        return
    if kind is not SignalKind.PROGRESS:
        raise _invalid("progress goes with the progress event only")
    if not 0 <= progress <= 100:
        raise _invalid("progress must be 0 to 100")


def check_signal(
    kind: SignalKind, progress: int | None, session_id: str | None, detail: str | None, claimed_origin: str | None
) -> None:
    """Refuse a cooperative signal with a field outside its limits (signals.md §2.3)."""
    check_progress(kind, progress)
    if session_id is not None:
        check_text("session", session_id, MAX_NAME)
    if detail is not None:
        check_text("detail", detail, MAX_TEXT)
    if claimed_origin is not None:
        check_text("origin", claimed_origin, MAX_NAME)


def check_hook(*, token: str, runtime: str, native_event: str, cwd: str, session_id: str, detail: str | None) -> None:
    """Refuse a malformed native hook envelope, with one message for all its fields (signals.md §5.1, §5.4)."""
    try:
        check_text("runtime", runtime, MAX_NAME)
        check_text("event", native_event, MAX_NAME)
        check_text("cwd", cwd, MAX_PATH)
        check_text("session", session_id, MAX_NAME)
        if detail is not None:
            check_text("detail", detail, MAX_TEXT)
    except ProwlError:
        well_formed = False
    else:
        well_formed = well_formed_token(token) and cwd.startswith("/")
    if not well_formed:
        raise _invalid("Managed agent hook signal rejected.")


def check_launch_events(events: "dict[str, SignalKind]") -> None:
    """Refuse a launch binding that declares no event, too many, or names out of limits."""
    if not 0 < len(events) <= MAX_LAUNCH_EVENTS:
        raise _invalid(f"declared events must be 1 to {MAX_LAUNCH_EVENTS}")
    for name in events:
        check_text("declared event", name, MAX_NAME)


def check_wait_timeout(seconds: int) -> int:
    """Return the timeout of a wait in seconds, 1 to 600; 0 stands for the default, which is 600."""
    if seconds == 0:
        return DEFAULT_WAIT_S
    if not 1 <= seconds <= MAX_WAIT_S:
        raise _invalid(f"timeout must be 1 to {MAX_WAIT_S} seconds")
    return seconds


def check_screen_lines(lines: int) -> None:
    """Refuse a number of screen lines outside 1 to 200; 0 stands for none."""
    if not 0 <= lines <= MAX_SCREEN_LINES:
        raise _invalid(f"screen lines must be 1 to {MAX_SCREEN_LINES}")


def check_dispatch_id(dispatch_id: str) -> None:
    """Refuse a dispatch id that is not 1 to 256 bytes without control characters."""
    check_text("dispatch", dispatch_id, MAX_NAME)


def check_summary(summary: str) -> None:
    """Refuse a summary that is not one line without control characters of at most 32,768 bytes (§4.5)."""
    check_text("summary", summary, MAX_TEXT)
    if any(ch in _LINE_BREAKS for ch in summary):
        raise _invalid("summary must be a single line")


def check_reason(reason: str) -> None:
    """Refuse a reason that is empty, has control characters or is longer than 32 KiB (§4.7)."""
    check_text("reason", reason, MAX_TEXT)


def check_prompt(prompt: str) -> None:
    """Refuse a prompt that is empty, over 256 KiB or has control characters besides newline and tab (§4.4)."""
    check_text("prompt", prompt, MAX_PROMPT, allow="\n\t")
    if not prompt.strip():
        raise _invalid("prompt must not be empty")
