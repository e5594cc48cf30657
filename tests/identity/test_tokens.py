"""Launch tokens and directories."""

from pathlib import Path

import pytest

from prowl_svc.identity.tokens import mint_token, resolve_directory, same_token, well_formed_token


def test_tokens_are_fresh_and_well_formed() -> None:
    """Each token is 32 random bytes as URL-safe text."""
    tokens = {mint_token() for _ in range(100)}
    assert 100 == len(tokens)
    assert all(len(token) == 43 and well_formed_token(token) for token in tokens)
    assert set("".join(tokens)) <= set("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_")


@pytest.mark.parametrize("token", ["", "a" * 257, "é" * 129, "a\n", "a\x7f", "a\x00", "a\x85", "\ud800"])
def test_malformed_tokens(token: str) -> None:
    """Empty, oversized, control characters or broken Unicode: not a token."""
    assert not well_formed_token(token)


def test_same_token() -> None:
    """Only the very token equals, and broken Unicode equals nothing."""
    assert same_token("abc", "abc")
    assert not same_token("abc", "abd")
    assert not same_token("abc", "")
    assert not same_token("\ud800", "\ud800")


def test_directories_compare_resolved(tmp_path: Path) -> None:
    """A symlinked directory with a trailing slash is the directory; a relative path is none."""
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "real")
    assert resolve_directory(f"{tmp_path}/real") == resolve_directory(f"{tmp_path}/link/")
    assert resolve_directory("real") is None
    assert resolve_directory("/a\0b") is None
    assert resolve_directory("/\ud800") is None
