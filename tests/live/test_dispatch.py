"""A task handed to a real agent, whose last tool call is the receipt."""

import os
import shlex
import sys

import pytest
from prowl.v1 import agents_pb2, dispatch_pb2

from tests.live.service import PATHS
from tests.live.walk import walking

pytestmark = pytest.mark.live

_SUMMARY = "the button is red now"
_COMPLETE = shlex.join(
    [sys.executable, "-m", "prowl_cli.main", "agents", "dispatch-complete", "--outcome", "succeeded", "--summary"]
)


async def test_claude_completes_the_task_that_it_was_handed() -> None:
    """The coordinator's wait returns the receipt that the agent's own command made, and no other way leads there."""
    async with walking("claude", {"PYTHONPATH": os.pathsep.join(map(str, PATHS))}) as walk:
        await walk.session.start()
        client = walk.service.client
        task = f"Make the button red. [[slow 2 ++ bash {_COMPLETE} {shlex.quote(_SUMMARY)}]]"
        handed = await client.dispatch(dispatch_pb2.DispatchRequest(pane=walk.pane.ident, prompt=task))
        assert dispatch_pb2.DISPATCH_STATE_PENDING == handed.dispatch.state
        await walk.session.asked()
        await walk.session.press(*walk.recipe.approve)
        awaited = agents_pb2.DispatchWait(dispatch_id=handed.dispatch.id)
        answer = await client.wait(agents_pb2.WaitRequest(dispatch=awaited, timeout_seconds=30))
        assert handed.dispatch.id == answer.receipt.id
        assert dispatch_pb2.DISPATCH_OUTCOME_SUCCEEDED == answer.receipt.outcome
        assert _SUMMARY == answer.receipt.summary
