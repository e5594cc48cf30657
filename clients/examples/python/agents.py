"""List agents, observe a pane, wait for it, signal: a program of its own, with gRPC and the contract and no more.

usage: agents.py list
       agents.py observe PANE
       agents.py wait PANE idle|blocked|changed|exit [SECONDS]
       agents.py signal turn-ended|needs-input|session-start|session-end|progress
"""

import os
import sys

import grpc
from google.rpc import error_details_pb2
from grpc_status import rpc_status
from prowl.v1 import agents_pb2, agents_pb2_grpc, common_pb2, errors_pb2


def address():
    """Return where the service listens; the authority of a Unix socket is set by hand, below."""
    runtime = os.environ.get("XDG_RUNTIME_DIR")
    folder = f"{runtime}/prowl" if runtime else f"/tmp/prowl-{os.getuid()}"
    return f"unix:{os.environ.get('PROWL_SOCKET') or f'{folder}/prowl.sock'}"


def failure(error):
    """Return the stable code of a failed call, and the details that came with it by their type."""
    status = rpc_status.from_call(error)
    found = {}
    for packed in status.details if status else ():
        for kind in (error_details_pb2.ErrorInfo, errors_pb2.OverflowDetails, errors_pb2.WaitErrorDetails):
            if packed.Is(kind.DESCRIPTOR):
                found[kind] = kind.FromString(packed.value)
    info = found.get(error_details_pb2.ErrorInfo)
    return (info.reason if info else error.code().name), found


def word(enum, value):
    """Return AGENT_STATUS_WORKING as working, SIGNAL_KIND_TURN_ENDED as turn-ended."""
    prefix = enum.Name(0).removesuffix("UNSPECIFIED")
    return enum.Name(value).removeprefix(prefix).lower().replace("_", "-")


def described(agent):
    """Return an agent and its state."""
    return f"{agent.type} {word(common_pb2.AgentStatus, agent.status)}"


def line(event):
    """Return one event of a pane as a line."""
    match event.WhichOneof("event"):
        case "snapshot":
            what = f"snapshot {described(event.snapshot.agent) if event.snapshot.HasField('agent') else 'none'}"
        case "changed":
            what = f"changed {described(event.changed)}"
        case "signal":
            kind = word(common_pb2.SignalKind, event.signal.signal.kind)
            what = f"signal {kind} {word(common_pb2.SignalBinding, event.signal.binding)}"
        case "removed":
            what = "removed"
        case "surface_closed":
            what = "closed"
        case _:  # of a newer service
            what = "unknown"
    return f"{event.revision} {what}"


def list_agents(service):
    """Print every agent with the pane it runs in."""
    for agent in service.ListAgents(agents_pb2.ListAgentsRequest(), timeout=10).agents:
        print(agent.id, described(agent.entry))


def observe(service, pane):
    """Print the events of a pane until it closes; an overflow is bridged by a new subscription."""
    while True:
        try:
            for batch in service.Observe(agents_pb2.ObserveRequest(pane=pane)):
                for event in batch.events:
                    print(line(event), flush=True)
            return
        except grpc.RpcError as error:
            code, details = failure(error)
            if code != "BUFFER_OVERFLOW":
                raise
            lost = details[errors_pb2.OverflowDetails]
            print(f"gap from {lost.first_lost_revision} to {lost.current_revision}", flush=True)


def wait(service, pane, until, seconds="600"):
    """Print what answered the wait. The deadline of the call is longer: the service's own answer says more."""
    condition = agents_pb2.ConditionWait(
        pane=pane, until=agents_pb2.WaitCondition.Value(f"WAIT_CONDITION_{until.upper()}")
    )
    request = agents_pb2.WaitRequest(condition=condition, timeout_seconds=int(seconds))
    found = service.Wait(request, timeout=int(seconds) + 10).observation
    print(word(common_pb2.AgentStatus, found.status), "by", found.source)


def signal(service, kind):
    """Report an event of the pane that this very process runs in, and print whether it counts."""
    value = common_pb2.SignalKind.Value(f"SIGNAL_KIND_{kind.upper().replace('-', '_')}")
    answer = service.Signal(agents_pb2.SignalRequest(kind=value), timeout=10)
    print(answer.pane_id, word(common_pb2.SignalBinding, answer.binding))


def main(command="", *arguments):
    """Run one command; return the exit status."""
    commands = {"list": list_agents, "observe": observe, "wait": wait, "signal": signal}
    if command not in commands:
        print(__doc__, file=sys.stderr)
        return 64
    with grpc.insecure_channel(address(), options=[("grpc.default_authority", "localhost")]) as channel:
        try:
            commands[command](agents_pb2_grpc.AgentServiceStub(channel), *arguments)
        except grpc.RpcError as error:
            code, details = failure(error)
            print(f"{code}: {error.details()}", file=sys.stderr)
            seen = details.get(errors_pb2.WaitErrorDetails)
            if seen is not None and seen.HasField("observation"):
                print(f"last seen {word(common_pb2.AgentStatus, seen.observation.status)}", file=sys.stderr)
            return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
