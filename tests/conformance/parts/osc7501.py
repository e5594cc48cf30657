"""Program status (``osc7501-cases.json``): bytes through the terminal into the record store, and the replies."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tests.conformance.cases import CaseError, Outcome, judged, part, read_json

_REPLY = re.compile(r"\x1b\]7501;\?[^\x07\x1b]*(?:\x07|\x1b\\)")
_FIELDS = ("id", "state", "app", "kind", "progress", "title", "msg")


def run(path: Path) -> Iterator[Outcome]:
    """Run the cases of a file."""
    data = read_json(path)
    cases = data.get("cases") if isinstance(data, dict) else None
    if not isinstance(cases, list):
        raise CaseError("has no cases")
    return judged(cases, _judge)


def _judge(case: dict[str, Any]) -> str | None:
    status = part("prowl_svc.evidence.program_status")
    screen = part("prowl_svc.terminal.factory").new_screen(80, 24, answer_status_query=True)
    store, replies, now = status.RecordStore(), [], 0.0
    try:
        steps, expect = list(case["steps"]), dict(case["expect"])
        streams = [str(step.get("out", "")).encode("latin-1") for step in steps]
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise CaseError(f"is not a case: {error!r}") from None
    for step, stream in zip(steps, streams, strict=True):
        for event in screen.feed(stream):
            store.apply(event, now)
        if answer := screen.take_answers():
            mine = _REPLY.findall(answer.decode("latin-1"))
            if not answer.decode("latin-1").startswith("".join(mine)) and stream.find(b"[c") > stream.find(b"7501;?"):
                return f"{case['id']}: another answer goes out before the reply"
            replies += mine
        match step.get("event"):
            case None:
                pass
            case "process_exit":
                store.exited()
            case "advance_clock":
                now += step.get("seconds", 0)
            case other:
                raise CaseError(f"no event is called {other!r}")
    seen = {
        "records": [_shown(store, report, path, status) for path, report in store.reports.items()],
        "replies": replies,
        "aggregate": status.aggregate(store.records),
    }
    seen = {key: seen.get(key) for key in expect}
    return None if seen == expect else f"{case['id']}: {seen}, not {expect}"


def _shown(store: Any, report: Any, path: str, status: Any) -> dict[str, Any]:
    record = {name: getattr(report, name) for name in _FIELDS}
    record["effective_app"] = status.effective_app(store.reports, path)
    return {key: value for key, value in record.items() if value is not None}
