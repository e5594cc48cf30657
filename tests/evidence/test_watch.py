"""A changed file wakes who follows it."""

import asyncio
import sys
from pathlib import Path

import pytest

from prowl_svc.evidence.watch import InotifyWatch, NoWatch, open_watch

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="inotify is of Linux")


class Follower:
    """Counts its wakes; ``woken`` waits for the next one."""

    def __init__(self) -> None:
        self.count = 0
        self._event = asyncio.Event()

    def wake(self) -> None:
        self.count += 1
        self._event.set()

    async def woken(self) -> None:
        await asyncio.wait_for(self._event.wait(), 5)
        self._event.clear()


@pytest.fixture
async def watch():
    watch = open_watch()
    assert isinstance(watch, InotifyWatch)
    yield watch
    watch.close()


async def test_wakes_on_every_kind_of_change(watch, tmp_path: Path):
    """Creation, appending, replacement and removal of the file wake its follower."""
    path, follower = tmp_path / "a.json", Follower()
    watch.follow("pane", [str(path)], follower.wake)
    path.write_text("1")
    await follower.woken()
    with path.open("a") as file:
        file.write("2")
    await follower.woken()
    other = tmp_path / "b"
    other.write_text("3")
    other.rename(path)
    await follower.woken()
    path.unlink()
    await follower.woken()


async def test_only_followers_of_the_file_wake(watch, tmp_path: Path):
    """A change of a neighbour wakes its own followers only, all of them."""
    one, two, three = Follower(), Follower(), Follower()
    watch.follow("one", [str(tmp_path / "a")], one.wake)
    watch.follow("two", [str(tmp_path / "b"), str(tmp_path / "c")], two.wake)
    watch.follow("three", [str(tmp_path / "c")], three.wake)
    (tmp_path / "c").write_text("x")
    await two.woken()
    await three.woken()

    assert 0 == one.count


async def test_following_nothing_ends_it(watch, tmp_path: Path):
    """After a follower leaves, others of the same folder still wake."""
    gone, here = Follower(), Follower()
    watch.follow("gone", [str(tmp_path / "a")], gone.wake)
    watch.follow("here", [str(tmp_path / "a")], here.wake)
    watch.follow("gone", [], gone.wake)
    (tmp_path / "a").write_text("x")
    await here.woken()
    watch.follow("here", [], here.wake)
    (tmp_path / "a").write_text("y")
    last = Follower()
    watch.follow("last", [str(tmp_path / "b")], last.wake)
    (tmp_path / "b").write_text("y")
    await last.woken()

    assert 0 == gone.count


async def test_missing_folder_is_watched_when_it_is_there(watch, tmp_path: Path):
    """A folder that appears later, or is made anew, is followed from the next time it is named."""
    folder = tmp_path / "later"
    follower = Follower()
    watch.follow("pane", [str(folder / "a")], follower.wake)
    folder.mkdir()
    watch.follow("pane", [str(folder / "a")], follower.wake)
    (folder / "a").write_text("x")
    await follower.woken()
    (folder / "a").unlink()
    folder.rmdir()
    await follower.woken()
    folder.mkdir()
    await asyncio.sleep(0)
    watch.follow("pane", [str(folder / "a")], follower.wake)
    (folder / "a").write_text("x")
    await follower.woken()


async def test_without_inotify_nothing_breaks():
    """The fallback takes the same calls."""
    watch = NoWatch()
    watch.follow("pane", ["/nowhere/a"], lambda: None)
    watch.close()
