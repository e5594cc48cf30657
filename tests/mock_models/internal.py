"""What single CLIs ask of their own back ends before they work: account and thread questions of Amp's client."""

from typing import Any

from tests.mock_models.wire import HttpRequest

__all__ = ["answer"]

_USER = {
    "id": "user_01MOCK",
    "username": "mock",
    "email": "mock@example.com",
    "emailVerified": True,
    "features": [],
    "team": None,
    "siteAdmin": False,
    "mysteriousMessage": None,
}
_RESULTS: dict[str, Any] = {
    "getUserInfo": _USER,
    "getUserFreeTierStatus": {"canUseAmpFree": False, "isDailyGrantEnabled": False},
    "userDisplayBalanceInfo": {"displayText": "$10"},
    "getThreadLinkInfo": {"creatorUserID": "user_01MOCK"},
    "listThreads": {"threads": [], "hasMore": False},
}


def answer(request: HttpRequest) -> dict[str, Any] | None:
    """Return the answer to a request under ``/api/``, None for any other."""
    if not request.path.startswith("/api/"):
        return None
    method = request.json().get("method")
    return {"ok": True, "result": _RESULTS.get(method, {}) if isinstance(method, str) else {}}
