"""Commands about agents: what they send, what they print, and their envelopes."""

import io
import json
import sys

import grpc
import pytest
from prowl.v1 import agents_pb2, common_pb2, dispatch_pb2, errors_pb2

from tests.cli import samples
from tests.client.service import Refusal


def test_agents_are_sorted_for_triage(cli):
    """Blocked comes first, then working, done and idle; within a state the order of detection stays."""
    states = ["IDLE", "DONE", "WORKING", "BLOCKED", "WORKING"]
    rows = [samples.agent(state, "IDLE", handle=f"p{n}") for n, state in enumerate(states)]
    cli.service.answer("ListAgents", agents_pb2.ListAgentsResponse(agents=rows))

    data = cli.data("agents")

    assert [("blocked", "p3"), ("working", "p2"), ("working", "p4"), ("done", "p1"), ("idle", "p0")] == [
        (row["status"], row["pane"]["handle"]) for row in data["agents"]
    ]


def test_a_row_has_everything_that_is_known_and_nothing_that_is_not(cli):
    """Optional members are left out, a transcript path that is unknown is null, times are UTC with milliseconds."""
    full = samples.agent(session=samples.session())
    full.signals.CopyFrom(samples.signals())
    cli.service.answer("ListAgents", agents_pb2.ListAgentsResponse(agents=[full, samples.agent()]))

    first, second = cli.data("agents")["agents"]

    assert samples.AT_TEXT == first["last_changed_at"]
    assert {"id": "s-1", "path": None, "confidence": "medium", "source": "recent_file"} == first["session"]
    assert ["needs-input", "turn-ended"] == first["signals"]["channels"][0]["events"]
    assert ("progress", 75, "current") == (
        first["signals"]["last"]["event"],
        first["signals"]["last"]["progress"],
        first["signals"]["last_binding"],
    )
    assert not {"session", "signals"} & set(second)


def test_agents_for_people_is_a_table_without_colour_in_a_pipe(cli):
    """The table names state, pane, agent, project and the rule that decided."""
    cli.service.answer("ListAgents", agents_pb2.ListAgentsResponse(agents=[samples.agent()]))

    _, out, _ = cli.run("agents")

    assert ["blocked", "p1", "claude"] == out.splitlines()[1].split()[:3]
    assert "app (main)" in out
    assert "\x1b" not in out


@pytest.mark.parametrize(
    ("detection", "screen", "shown"),
    [
        ("log.openWork", "claude.spinner", "log.openWork"),
        ("screen.noLiveTurn", "claude.spinner", "claude.spinner"),
        ("screen.noLiveTurn", "", "screen.noLiveTurn"),
    ],
)
def test_people_read_the_rule_of_the_screen_where_the_screen_decided(cli, detection, screen, shown):
    """That the screen decided is no news to a person; which of its rules did is."""
    row = samples.agent()
    row.entry.detection_reason, row.entry.screen_reason = detection, screen
    cli.service.answer("ListAgents", agents_pb2.ListAgentsResponse(agents=[row]))

    _, out, _ = cli.run("agents")

    assert shown == out.splitlines()[1].split()[6]


def test_watching_prints_the_roster_after_every_change(cli):
    """Each roster of the stream is one envelope, until the stream ends."""
    rosters = [agents_pb2.WatchAgentsResponse(agents=[samples.agent(s)]) for s in ("WORKING", "BLOCKED")]
    cli.service.answer("WatchAgents", lambda _: rosters)

    seen = cli.json("agents", "--watch")

    assert ["working", "blocked"] == [item["data"]["agents"][0]["status"] for item in seen]


def test_observe_prints_one_event_a_line_and_tells_of_gaps(cli):
    """Every kind of event is one envelope; a bridged overflow is an event of its own."""
    event = agents_pb2.ObserveEvent
    overflow = errors_pb2.OverflowDetails(first_lost_revision=5, current_revision=6)
    refusal = Refusal("BUFFER_OVERFLOW", "Slow.", grpc.StatusCode.RESOURCE_EXHAUSTED, overflow)
    first = [
        event(revision=0, snapshot=agents_pb2.ObservedSnapshot()),
        event(revision=1, changed=samples.entry()),
        event(revision=2, signal=agents_pb2.ObservedSignal(signal=samples.signal(), binding="SIGNAL_BINDING_UNBOUND")),
    ]
    second = [
        event(
            revision=6,
            snapshot=agents_pb2.ObservedSnapshot(
                agent=samples.entry(), latest_signal=samples.signal(), latest_binding="SIGNAL_BINDING_STALE"
            ),
        ),
        event(revision=7, removed=agents_pb2.ObservedRemoval()),
        event(revision=7, surface_closed=agents_pb2.ObservedClosure()),
    ]
    rounds = [[agents_pb2.ObserveResponse(events=first), refusal], [agents_pb2.ObserveResponse(events=second)]]
    cli.service.answer("Observe", lambda _: rounds[(len(cli.service.requests) - 1) % 2])

    seen = [item["data"] for item in cli.json("observe", "p1")]
    _, text, _ = cli.run("observe", "p1")

    names = ["snapshot", "changed", "signal", "gap", "snapshot", "removed", "surface_closed"]
    assert names == [item["event"] for item in seen]
    assert (None, None) == (seen[0]["agent"], seen[0]["latest_signal"])
    assert ("unbound", "stale") == (seen[2]["binding"], seen[4]["latest_binding"])
    assert {"event": "gap", "first_lost_revision": 5, "current_revision": 6} == seen[3]
    assert len(names) == len(text.splitlines())


def test_observing_a_pane_that_is_not_there_says_so_to_people(cli):
    """The stream of an unknown pane is an empty snapshot and its end, which reads as if there had been a pane."""
    event = agents_pb2.ObserveEvent
    events = [
        event(revision=0, snapshot=agents_pb2.ObservedSnapshot()),
        event(revision=0, surface_closed=agents_pb2.ObservedClosure()),
    ]
    cli.service.answer("Observe", lambda _: [agents_pb2.ObserveResponse(events=events)])

    status, out, err = cli.run("observe", "p9")

    assert (0, 2, "There is no pane p9; it may have been closed.\n") == (status, len(out.splitlines()), err)


def test_a_stream_that_breaks_off_ends_with_an_error_envelope(cli):
    """Events before a failure are printed, the failure is the last line."""
    gone = Refusal("SHUTTING_DOWN", "The service stops.", grpc.StatusCode.UNAVAILABLE)
    one = agents_pb2.ObserveEvent(revision=0, snapshot=agents_pb2.ObservedSnapshot())
    cli.service.answer("Observe", lambda _: [agents_pb2.ObserveResponse(events=[one]), gone])

    first, last = cli.json("observe", "p1")

    assert (True, "SHUTTING_DOWN") == (first["ok"], last["error"]["code"])


def test_signal_sends_what_was_given_and_warns_of_an_unbound_one(cli):
    """The answer names the pane that the kernel attributed; an unbound signal is a warning and still a success."""
    warning = agents_pb2.SignalWarning(code="signal_unbound", message="No agent runs here.")
    cli.service.answer(
        "Signal",
        agents_pb2.SignalResponse(
            pane_id=samples.PANE,
            worktree_id="/home/u/app",
            signal=samples.signal("PROGRESS", progress=75),
            binding="SIGNAL_BINDING_UNBOUND",
            warnings=[warning],
        ),
    )
    argv = ["agents", "signal", "progress", "--progress", "75", "--session", "s", "--detail", "d", "--origin", "o"]

    data = cli.data(*argv)
    status, out, err = cli.run(*argv)

    request = cli.service.last()
    assert (75, "s", "d", "o") == (request.progress, request.session_id, request.detail, request.claimed_origin)
    assert ("unbound", "signal_unbound") == (data["signal"]["binding"], data["warnings"][0]["code"])
    assert (0, f"Signaled progress=75 for pane {samples.PANE}.\n") == (status, out)
    assert "warning: [signal_unbound] No agent runs here.\n" == err


def wait_answer(**more):
    """Return an answered wait."""
    return agents_pb2.WaitResponse(waited_ms=5, target=samples.target(), signals=samples.signals(), **more)


def test_wait_for_a_condition(cli):
    """Condition, confidence, timeout and screen travel; the answer says what answered."""
    cli.service.answer("Wait", wait_answer(observation=samples.observation(), screen=samples.screen()))

    data = cli.data("agents", "wait", "p1", "--until", "idle", "--timeout", "9", "--include-screen", "5")

    request = cli.service.last()
    assert ("p1", agents_pb2.WAIT_CONDITION_IDLE, agents_pb2.MIN_CONFIDENCE_AUTO, 9, 5) == (
        request.condition.pane,
        request.condition.until,
        request.condition.min_confidence,
        request.timeout_seconds,
        request.include_screen_lines,
    )
    assert ("condition", "idle", 5) == (data["mode"], data["condition"], data["waited_ms"])
    assert ("detection", "heuristic", 7) == tuple(data["observation"][k] for k in ("source", "confidence", "revision"))
    assert ("captured", "a\nb") == (data["screen"]["status"], data["screen"]["text"])


def test_wait_for_a_receipt(cli):
    """A dispatch wait answers with the receipt; a screen that cannot be had is told as such."""
    cli.service.answer("Wait", wait_answer(receipt=samples.completed(), screen=samples.screen(captured=False)))

    data = cli.data("agents", "wait", "--dispatch", "d-1")

    assert "d-1" == cli.service.last().dispatch.dispatch_id
    assert ("dispatch", "succeeded", "done") == (data["mode"], data["receipt"]["outcome"], data["receipt"]["summary"])
    assert "unavailable" == data["screen"]["status"]


GONE = {"gone_at": samples.AT, "gone_reason": "GONE_REASON_SESSION_END"}
ABANDONED = {"abandoned_at": samples.AT, "reason": "r"}


@pytest.mark.parametrize(
    "details",
    [
        errors_pb2.WaitErrorDetails(
            mode="condition",
            condition="WAIT_CONDITION_BLOCKED",
            waited_ms=600_000,
            target=samples.target(),
            observation=samples.observation("DONE", "GONE"),
            signals=samples.signals(),
            screen=samples.screen(),
        ),
        errors_pb2.WaitErrorDetails(mode="condition", condition="WAIT_CONDITION_EXIT", target=samples.target()),
        errors_pb2.WaitErrorDetails(mode="dispatch", target=samples.target(), record=samples.record()),
        errors_pb2.WaitErrorDetails(mode="dispatch", target=samples.target(), record=samples.record("GONE", **GONE)),
        errors_pb2.WaitErrorDetails(mode="dispatch", target=samples.target(), record=samples.completed("FAILED")),
        errors_pb2.WaitErrorDetails(
            mode="dispatch", target=samples.target(), record=samples.record("ABANDONED", **ABANDONED)
        ),
    ],
)
def test_a_failed_wait_carries_its_details(cli, details):
    """The details of a failed wait are those of its mode, with the record as a strict tagged union."""
    cli.service.answer("Wait", Refusal("WAIT_TIMEOUT", "No.", grpc.StatusCode.DEADLINE_EXCEEDED, details))

    error = cli.error("agents", "wait", "p1", "--until", "idle")

    assert ("WAIT_TIMEOUT", details.mode) == (error["code"], error["details"]["mode"])


def test_a_wait_that_runs_out_says_what_was_seen_last(cli):
    """People see the last view too, of which the message speaks."""
    details = errors_pb2.WaitErrorDetails(
        mode="condition",
        condition="WAIT_CONDITION_IDLE",
        target=samples.target(),
        observation=agents_pb2.WaitObservation(
            status="AGENT_STATUS_WORKING", source="detection", confidence="CONFIDENCE_HEURISTIC"
        ),
    )
    cli.service.answer("Wait", Refusal("WAIT_TIMEOUT", "No.", grpc.StatusCode.DEADLINE_EXCEEDED, details))

    status, out, err = cli.run("agents", "wait", "p1", "--until", "idle")

    assert (1, "", "prowl: No. [WAIT_TIMEOUT]\nlast seen working (detection, heuristic)\n") == (status, out, err)


def test_a_wait_for_a_receipt_that_runs_out_says_what_is_missing(cli):
    """A task that the agent did not report on is still pending."""
    details = errors_pb2.WaitErrorDetails(mode="dispatch", target=samples.target(), record=samples.record())
    cli.service.answer("Wait", Refusal("WAIT_TIMEOUT", "No.", grpc.StatusCode.DEADLINE_EXCEEDED, details))

    _, _, err = cli.run("agents", "wait", "--dispatch", "d-1")

    assert "still pending: the agent did not run `prowl agents dispatch-complete` yet" in err


@pytest.mark.parametrize(
    ("options", "channels", "why"),
    [
        (
            (),
            [],
            "no rule recognised the screen as idle, or not for 2 s, and no --min-confidence takes a mere fallback; ",
        ),
        (("--min-confidence", "heuristic"), samples.signals().channels, "no rule recognised the screen as idle"),
        ((), samples.signals().channels, "auto waits for hook_claude to report it; the detector's word needs "),
        (("--min-confidence", "high"), [], "high takes signals only; the detector's word needs --min-confidence heur"),
    ],
)
def test_a_wait_whose_state_was_seen_says_why_it_was_not_taken(cli, options, channels, why):
    """Confidence that is too low, a channel that must speak, or a state that is a mere fallback."""
    details = errors_pb2.WaitErrorDetails(
        mode="condition",
        condition="WAIT_CONDITION_IDLE",
        target=samples.target(),
        observation=samples.observation(),
        signals=common_pb2.Signals(channels=channels),
    )
    cli.service.answer("Wait", Refusal("WAIT_TIMEOUT", "No.", grpc.StatusCode.DEADLINE_EXCEEDED, details))

    _, _, err = cli.run("agents", "wait", "p1", "--until", "idle", *options)

    head, seen, last = err.splitlines()
    assert ("prowl: No. [WAIT_TIMEOUT]", "last seen idle (detection, heuristic)") == (head, seen)
    assert why in last


def prompt(monkeypatch, data):
    """Give ``data`` on standard input."""
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(data)))


def test_dispatch_takes_the_task_from_standard_input(cli, monkeypatch):
    """Line ends are made plain and trailing ones dropped; the pending record comes back."""
    prompt(monkeypatch, b"one\r\ntwo\r\n\n")
    cli.service.answer("Dispatch", dispatch_pb2.DispatchResponse(target=samples.target(), dispatch=samples.record()))

    data = cli.data("agents", "dispatch", "p1", "--prompt", "-")

    assert ("p1", "one\ntwo") == (cli.service.last().pane, cli.service.last().prompt)
    assert {"id": "d-1", "state": "pending", "created_at": samples.AT_TEXT} == data["dispatch"]


@pytest.mark.parametrize(
    ("given", "code"),
    [(b"\n\n", "EMPTY_INPUT"), (b"\xff", "INVALID_ARGUMENT"), (b"x" * (256 * 1024 + 1), "INVALID_ARGUMENT")],
)
def test_a_task_that_cannot_be_one_is_refused(cli, monkeypatch, given, code):
    """An empty task, bytes that are not UTF-8, and more than 256 KiB are refused before anything is sent."""
    prompt(monkeypatch, given)

    assert code == cli.error("agents", "dispatch", "p1", "--prompt", "-")["code"]
    assert [] == cli.service.requests


def test_a_refused_dispatch_names_what_stands_in_the_way(cli, monkeypatch):
    """The record in the way, the detector's view and the signals come along."""
    prompt(monkeypatch, b"do it")
    details = errors_pb2.DispatchErrorDetails(
        target=samples.target(),
        record=samples.record(),
        observation=samples.observation("WORKING", "WORKING"),
        signals=samples.signals(),
    )
    refusal = Refusal("DISPATCH_PENDING", "One is pending.", grpc.StatusCode.FAILED_PRECONDITION, details)
    cli.service.answer("Dispatch", refusal)

    error = cli.error("agents", "dispatch", "p1", "--prompt", "-")

    assert ("pending", "working") == (error["details"]["record"]["state"], error["details"]["observation"]["status"])


def test_completion_names_the_dispatch_that_the_environment_names(cli, monkeypatch):
    """PROWL_DISPATCH_ID is forwarded; both outcomes are successes of the command."""
    monkeypatch.setenv("PROWL_DISPATCH_ID", "d-1")
    cli.service.answer(
        "CompleteDispatch",
        dispatch_pb2.CompleteDispatchResponse(
            target=samples.target(), receipt=samples.completed("FAILED"), replayed=True
        ),
    )

    data = cli.data("agents", "dispatch-complete", "--outcome", "failed", "--summary", "done")

    request = cli.service.last()
    assert ("d-1", dispatch_pb2.DISPATCH_OUTCOME_FAILED) == (request.dispatch_id, request.outcome)
    assert ("failed", True) == (data["receipt"]["outcome"], data["replayed"])


def test_abandoning_names_id_and_reason(cli):
    """The record comes back abandoned."""
    cli.service.answer(
        "AbandonDispatch",
        dispatch_pb2.AbandonDispatchResponse(target=samples.target(), record=samples.record("ABANDONED", **ABANDONED)),
    )

    data = cli.data("agents", "dispatch-abandon", "--dispatch", "d-1", "--reason", "r")

    assert ("d-1", "r") == (cli.service.last().dispatch_id, cli.service.last().reason)
    assert ("abandoned", False) == (data["record"]["state"], data["replayed"])


RESULT = agents_pb2.AgentResult(state="RESULT_STATE_COMPLETE", text="The answer.\n")


def read_answer(result=RESULT, **more):
    """Return an agent that was read."""
    return agents_pb2.ReadAgentResponse(
        target=samples.target(), agent=samples.entry(session=samples.session()), result=result, **more
    )


def test_reading_an_agent_gives_status_blocker_and_result(cli):
    """The blocker is there while the agent is blocked; the session has no path."""
    cli.service.answer("ReadAgent", read_answer(blocker="Allow?"))

    data = cli.data("agents", "read", "p1")

    assert ({"text": "Allow?"}, {"state": "complete", "text": "The answer.\n"}) == (data["blocker"], data["result"])
    assert {"id": "s-1", "confidence": "medium", "source": "recent_file"} == data["agent"]["session"]


def test_people_are_told_why_there_is_no_result(cli):
    """The service's reason, not only the name of the state."""
    result = agents_pb2.AgentResult(
        state="RESULT_STATE_UNAVAILABLE", error_code="SESSION_UNRESOLVED", error_message="The session is unknown."
    )
    cli.service.answer("ReadAgent", read_answer(result))

    _, out, _ = cli.run("agents", "read", "p1")

    assert out.endswith("\n\nNo result: The session is unknown.\n")


def test_the_result_alone_is_its_exact_bytes(cli, monkeypatch):
    """With --result-only nothing is added to the result, not even a newline."""
    raw = io.BytesIO()
    monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(raw))
    from prowl_cli.main import main

    cli.service.answer("ReadAgent", read_answer())

    assert 0 == main(["agents", "read", "p1", "--result-only"])
    assert b"The answer.\n" == raw.getvalue()


@pytest.mark.parametrize(
    ("state", "code"),
    [
        ("PENDING", "RESULT_NOT_FOUND"),
        ("UNAVAILABLE", "SESSION_UNRESOLVED"),
        ("MISSING", "RESULT_NOT_FOUND"),
        ("INCOMPLETE", "RESULT_INCOMPLETE"),
        ("TOO_LARGE", "RESULT_TOO_LARGE"),
    ],
)
def test_a_result_that_is_not_whole_is_never_printed(cli, state, code):
    """Without a complete result the command fails with the code that says why."""
    cli.service.answer("ReadAgent", read_answer(agents_pb2.AgentResult(state=f"RESULT_STATE_{state}")))

    status, out, err = cli.run("agents", "read", "p1", "--result-only")

    assert (1, "") == (status, out)
    assert code in err


def test_an_explanation_names_candidates_rules_and_evidence(cli):
    """Regions and rules are told by id and row numbers; the text only when the service sends it."""
    cli.service.answer(
        "ExplainAgent",
        agents_pb2.ExplainAgentResponse(
            target=samples.target(),
            agent=samples.entry(),
            foreground_group=10,
            candidates=[
                agents_pb2.ProbeCandidate(agent="claude", matched_name="claude", source="argv0", score=40, pid=10)
            ],
            launch_pid=10,
            regions=[agents_pb2.ScreenRegion(name="tail", first_row=3, end_row=9)],
            rules=[
                agents_pb2.RuleTrial(rule="claude.permission", state="RAW_STATE_BLOCKED", matched=True, why="row 4")
            ],
            screen_state="RAW_STATE_BLOCKED",
            screen_reason="claude.permission",
            evidence=["screen: blocked"],
        ),
    )

    data = cli.data("agents", "explain", "p1")
    _, out, _ = cli.run("agents", "explain", "p1")

    assert ("blocked", [True]) == (data["screen"]["state"], [rule["matched"] for rule in data["screen"]["rules"]])
    assert "text" not in data["screen"]
    assert "claude.permission" in out


def test_json_keeps_text_as_it_is(cli):
    """Titles travel unchanged in JSON, where they can do no harm."""
    row = samples.agent()
    row.target.pane.title = "⠋ über\u202e"
    cli.service.answer("ListAgents", agents_pb2.ListAgentsResponse(agents=[row]))

    assert "⠋ über\u202e" == cli.data("agents")["agents"][0]["pane"]["title"]
    assert json.dumps("⠋ über", ensure_ascii=False)[1:-1] in cli.run("agents", "--json")[1]
