"""What the service answers fits into what clients take, however long the texts in it are."""

from hypothesis import given
from hypothesis import strategies as st
from prowl.v1 import common_pb2, dispatch_pb2, errors_pb2

from prowl_svc.model.errors import Code, ProwlError
from prowl_svc.rpc.errors import ROOM, status_of
from prowl_svc.rpc.reading import last_fitting

LONG = st.integers(0, 40_000).flatmap(lambda size: st.sampled_from(["x" * size, "é\n" * size, "😀" * (size // 4)]))


@given(message=LONG, panes=st.integers(0, 300), summary=LONG, title=LONG, screen=LONG)
def test_a_status_fits_whatever_it_holds(message: str, panes: int, summary: str, title: str, screen: str) -> None:
    """The code survives, the details keep their kind, and the screen tells how many rows are left of it."""
    details = errors_pb2.WaitErrorDetails(
        mode="dispatch",
        target=common_pb2.Target(pane=common_pb2.Pane(title=title)),
        record=dispatch_pb2.DispatchRecord(id="d", summary=summary),
        screen=common_pb2.ScreenCapture(captured=True, text=screen, line_count=len(screen.split("\n"))),
    )
    error = ProwlError(Code.DISPATCH_FAILED, message, {"panes": ["0" * 36] * panes, "wait": details})
    status = status_of(error)
    assert 8192 > status.ByteSize() + 3 * len(status.message.encode())
    assert ["google.rpc.ErrorInfo", "prowl.v1.WaitErrorDetails"] == [d.TypeName() for d in status.details]
    kept = errors_pb2.WaitErrorDetails()
    assert status.details[1].Unpack(kept)
    assert ("dispatch", "d") == (kept.mode, kept.record.id)
    if kept.screen.text != screen:
        assert screen.endswith(kept.screen.text)
        assert kept.screen.line_count in (len(kept.screen.text.split("\n")), 0)
    whole = status_of(error, room=1 << 20).details[1]
    assert whole.Unpack(kept)
    assert details == kept
    assert ROOM < 8192


def test_rows_beyond_one_response_are_left_out_from_the_top() -> None:
    """The last rows are kept, as many as fit."""
    rows = [f"{number:05} " + "😀" * 250 for number in range(5000)]
    kept = last_fitting(rows)
    assert rows[-len(kept) :] == kept
    assert (3 << 20) - 2000 < sum(len(row.encode()) + 1 for row in kept) <= 3 << 20
    assert rows[:3] == last_fitting(rows[:3])
