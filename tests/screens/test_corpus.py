"""Every recorded and drawn screen is read rightly."""

import pytest

from tests.screens import corpus


@pytest.mark.parametrize("name", corpus.files())
def test_corpus_file(name: str) -> None:
    """Every case of a file gives its state, and its rule where one is named, except exactly the known ones."""
    cases = [case for case in corpus.load(name) if corpus.written(case.agent)]
    if not cases:
        pytest.skip("no agent of this file has rules yet")
    wrong = {case.id: message for case in cases if (message := case.wrong())}
    known = corpus.known().get(name, {})
    assert [] == [message for id, message in wrong.items() if id not in known]
    assert set() == set(known) - set(wrong), "these are right now and must leave known.json"


def test_no_blocked_capture_is_known_wrong() -> None:
    """A recorded screen that needs a person is never excused."""
    excused = {(name, id) for name, ids in corpus.known().items() if name.startswith("captures/") for id in ids}
    blocked = {(name, case.id) for name in corpus.files() for case in corpus.load(name) if case.state == "blocked"}
    assert set() == excused & blocked
