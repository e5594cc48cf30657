"""Lists the agents, reports progress of its own pane, watches that pane, and waits for it: run it in a pane."""

import sys
import threading

from prowl.v1 import agents_pb2, common_pb2
from prowl_client.errors import ProwlError
from prowl_client.events import Gap
from prowl_client.sync import Client


def watch(client: Client, pane: str, seen: threading.Event) -> None:
    """Print every event of the pane until a signal came; the client subscribes again by itself after an overflow."""
    for event in client.observe(pane):
        if isinstance(event, Gap):
            print(f"gap: events from revision {event.first_lost_revision} on were lost")
            continue
        print(f"event {event.WhichOneof('event')} at revision {event.revision}", flush=True)
        if event.HasField("signal"):
            seen.set()
            return


def main() -> None:
    """Do it."""
    with Client() as client:
        for agent in client.list_agents().agents:
            status = common_pb2.AgentStatus.Name(agent.entry.status).removeprefix("AGENT_STATUS_").lower()
            print(f"{agent.target.pane.handle} {agent.entry.type} {status}")
        panes = client.list_panes()
        if not panes.HasField("caller"):
            sys.exit("run this in a pane: prowl run -- python agents.py")
        pane = panes.caller.pane_id

        seen = threading.Event()
        threading.Thread(target=watch, args=(client, pane, seen), daemon=True).start()
        while not seen.wait(0.2):
            answer = client.signal(agents_pb2.SignalRequest(kind=common_pb2.SIGNAL_KIND_PROGRESS, progress=50))
            print(f"signalled: {common_pb2.SignalBinding.Name(answer.binding)}", flush=True)

        condition = agents_pb2.ConditionWait(pane=pane, until=agents_pb2.WAIT_CONDITION_IDLE)
        try:
            answer = client.wait(agents_pb2.WaitRequest(condition=condition, timeout_seconds=1))
            print(f"idle after {answer.waited_ms} ms")
        except ProwlError as error:
            print(f"wait: {error.code}")
    print("done", flush=True)


if __name__ == "__main__":
    main()
