"""Explanations of the probe."""

from prowl_svc.probe.explain import explain
from tests.probe.jobs import job, process

JOB = job(
    process(4, ["node", "app.js", "--model", "grok"], ppid=3),
    process(3, ["codex", "exec", "secret prompt"], ppid=2),
    process(2, ["bash", "-c", "claude; codex exec 'secret prompt'"]),
)


def test_winner_runner_up_and_refused() -> None:
    """An explanation names the process, the candidate and its score, the best other one, and what was refused."""
    answer = explain(JOB)
    assert (3, "codex", 80, 2) == (
        answer.found and answer.found.process.pid,
        answer.found and answer.found.matched_name,
        answer.found and answer.found.score,
        answer.found and answer.found.launch.pid,
    )
    assert (2, "token", 40) == (
        answer.runner_up and answer.runner_up.process.pid,
        answer.runner_up and answer.runner_up.source,
        answer.runner_up and answer.runner_up.score,
    )
    assert ["grok"] == [no.name for no in answer.refused]


def test_lines_hold_no_arguments() -> None:
    """What people read never shows what was typed after a program's name."""
    text = "\n".join(explain(JOB).lines())
    assert "pid 3 (codex) by argv0 'codex', score 80" in text
    assert "runner-up codex: pid 2 (bash) by token 'codex', score 40" in text
    assert "secret" not in text


def test_nobody() -> None:
    """A job without an agent and a pane without a job say so."""
    assert ["no foreground job"] == explain(None).lines()
    assert "no process has a name" in explain(job(process(2, ["vim"]))).lines()[1]
