"""A program under an agent's name that takes one task: it looks idle, reads one paste and Enter, and may complete it.

``worker.py SCREEN complete`` completes what it was handed, and says in the summary whether it came as one paste;
``worker.py SCREEN keep`` leaves it pending.
"""

import json
import os
import sys
import tty


def main() -> None:
    """Paint the screen, take the task, and live on."""
    with open(sys.argv[1], encoding="utf-8") as file:
        rows = json.load(file)
    tty.setraw(0)
    os.write(1, b"\x1b[?2004h\x1b[2J\x1b[H" + "\r\n".join(rows).encode())
    while True:
        typed = b""
        while not typed.endswith(b"\r"):
            typed += os.read(0, 1 << 16)
        if sys.argv[2] == "complete":
            one = (
                typed.startswith(b"\x1b[200~[Prowl] ") and typed.endswith(b"\x1b[201~\r") and typed.count(b"\x1b") == 2
            )
            _complete("one paste" if one else f"not one paste: {typed[:20]!r}")


def _complete(summary: str) -> None:
    import grpc
    from prowl.v1 import dispatch_pb2, dispatch_pb2_grpc

    options = [("grpc.default_authority", "localhost")]
    with grpc.insecure_channel("unix:" + os.environ["PROWL_SOCKET"], options=options) as channel:
        dispatch_pb2_grpc.DispatchServiceStub(channel).CompleteDispatch(
            dispatch_pb2.CompleteDispatchRequest(outcome=dispatch_pb2.DISPATCH_OUTCOME_SUCCEEDED, summary=summary),
            timeout=20,
        )


main()
