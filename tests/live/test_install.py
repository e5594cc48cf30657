"""Installing the agent CLIs, with a package manager of the test's own."""

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from tests.live.install import InstallFailed, RegistryUnreachable, install
from tests.live.packages import PACKAGES, Package, package, packages

_NPM = """#!/bin/sh
echo "$@" >> {log}
{failure}
mkdir -p "$3/node_modules/.bin"
sleep 0.2
echo installed > "$3/node_modules/.bin/tool"
"""
TOOL = Package("tool", "@scope/tool@1.2.3", "node_modules/.bin/tool")


@pytest.fixture
def npm(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A package manager that notes how it was called; returns its log."""
    monkeypatch.setenv("PROWL_LIVE_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    behave(tmp_path, "")
    return tmp_path / "log"


def behave(folder: Path, failure: str) -> None:
    script = folder / "npm"
    script.write_text(_NPM.format(log=folder / "log", failure=failure))
    script.chmod(0o755)


def calls(log: Path) -> list[str]:
    return log.read_text().splitlines()


def test_a_package_is_installed_once(npm: Path) -> None:
    """The second time nothing is asked of the package manager, and the same executable is named."""
    first, second = install(TOOL), install(TOOL)
    assert first == second
    assert "installed\n" == first.executable.read_text()
    assert 1 == len(calls(npm))
    assert calls(npm)[0].endswith("@scope/tool@1.2.3")


def test_two_at_once_install_once(npm: Path) -> None:
    """Whoever comes second waits for the first and uses what that one installed."""
    with ThreadPoolExecutor(2) as pool:
        one, other = pool.map(install, (TOOL, TOOL))
    assert one == other
    assert 1 == len(calls(npm))


@pytest.mark.parametrize(
    ("said", "expected"),
    [
        ("npm error code EAI_AGAIN", RegistryUnreachable),
        ("npm error code ETARGET No matching version found", InstallFailed),
    ],
)
def test_only_an_unreachable_registry_is_told_apart(
    npm: Path, tmp_path: Path, said: str, expected: type[InstallFailed]
) -> None:
    """A network without a way to the registry is one thing, a package that cannot be installed another."""
    behave(tmp_path, f"echo '{said}' >&2; exit 1")
    with pytest.raises(InstallFailed) as caught:
        install(TOOL)
    assert expected is type(caught.value)
    assert [] == [path for path in (tmp_path / "cache").iterdir() if path.is_dir()]


def test_without_a_package_manager_it_fails(npm: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A machine without npm is no reason to skip."""
    monkeypatch.setenv("PATH", str(tmp_path / "nothing"))
    with pytest.raises(InstallFailed, match="npm is needed"):
        install(TOOL)


def test_packages_are_pinned_and_found_by_version() -> None:
    """Every package names one exact version; another version of an agent comes from its current package."""
    assert [] == [item.spec for item in PACKAGES if not item.version[:1].isdigit()]
    assert packages("claude")[0] is package("claude")
    assert "2.1.197" == package("claude", "2.1.197").version
    assert "@openai/codex@0.1.2" == package("codex", "0.1.2").spec
    with pytest.raises(KeyError):
        package("nobody")
