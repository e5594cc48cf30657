"""How long one sample takes after an append: ``python -m benchmarks.bench_codex_logs [MiB] [--json]``.

The records are those of real sessions by kind and size: short events, long messages and tool output, now and then a
turn. The best of several rounds is printed, since other programs share the machine.
"""

import argparse
import json
import tempfile
import time
from pathlib import Path

from benchmarks.figures import show, under
from prowl_svc._fast import codexlog
from prowl_svc.evidence.codex_logs import LogState, read_logs

ROUNDS = 9
ROOT = "01a00000-0000-7000-8000-00000000000a"


def record(kind: str, **payload: object) -> bytes:
    return json.dumps({"timestamp": "2026-09-12T09:00:00.000Z", "type": kind, "payload": payload}).encode() + b"\n"


def turn(number: int) -> bytes:
    name = f"turn-{number}"
    steps = [
        record("event_msg", type="task_started", turn_id=name),
        record("turn_context", turn_id=name, cwd="/home/u/project", model="example"),
        record("event_msg", type="user_message", message="please run the tests " * 4),
    ]
    for step in range(8):
        steps += [
            record("response_item", type="function_call", name="shell", arguments='{"cmd": "make test"}' * 4),
            record("response_item", type="function_call_output", output="tests/test_a.py ....\n" * 60),
            record("event_msg", type="token_count", info={"total": step, "last": {"input": 1, "output": 2}}),
            record("event_msg", type="agent_message", message="The tests pass; next I look at the parser. " * 6),
        ]
    steps.append(record("event_msg", type="task_complete", turn_id=name, last_agent_message="ok"))
    return b"".join(steps)


TARGET_MS = 20.0


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("mebibytes", nargs="?", type=float, default=2.0, help="size of the append (2)")
    parser.add_argument("--json", action="store_true", help="print one JSON object a line")
    options = parser.parse_args()
    size = int(options.mebibytes * (1 << 20))
    data, number = b"", 0
    while len(data) + len(turn(number)) <= size:
        data += turn(number)
        number += 1
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, f"rollout-{ROOT}.jsonl")
        times = []
        for _ in range(ROUNDS):
            path.write_bytes(record("session_meta", id=ROOT, source="cli"))
            state, _, _ = read_logs(LogState(), [str(path)], 0.0)
            with path.open("ab") as file:
                file.write(data)
            began = time.perf_counter()
            _, facts, failure = read_logs(state, [str(path)], 0.0)
            times.append(time.perf_counter() - began)
            assert failure is None
    how = "compiled" if codexlog.COMPILED else "interpreted"
    name = f"append of {len(data) / (1 << 20):.2f} MiB to a Codex log, {len(facts)} facts, {how}"
    show(under(f"{name}, best", min(times) * 1e3, "ms", TARGET_MS), options.json)
    show(under(f"{name}, median", sorted(times)[ROUNDS // 2] * 1e3, "ms", TARGET_MS), options.json)


if __name__ == "__main__":
    main()
