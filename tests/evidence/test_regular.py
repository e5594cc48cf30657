"""Only regular files are opened, and nothing is waited for."""

import os

import pytest

from prowl_svc.evidence.regular import regular


def test_a_file_is_read(tmp_path):
    """A regular file opens as by itself, through a link too."""
    (tmp_path / "file").write_bytes(b"text")
    (tmp_path / "link").symlink_to("file")

    for name in ("file", "link"):
        with open(tmp_path / name, "rb", opener=regular) as file:
            assert b"text" == file.read()


@pytest.mark.parametrize("kind", ["fifo", "folder", "device", "missing"])
def test_anything_else_is_an_error(tmp_path, kind):
    """A FIFO without a writer would block, a device may; no descriptor stays open."""
    path = tmp_path / "it"
    if kind == "fifo":
        os.mkfifo(path)
    elif kind == "folder":
        path.mkdir()
    elif kind == "device":
        path.symlink_to("/dev/null")
    before = len(os.listdir("/proc/self/fd"))

    with pytest.raises(OSError):  # noqa: PT011 - the kind of the error is the system's
        open(path, "rb", opener=regular)  # noqa: SIM115 - it does not open
    assert before == len(os.listdir("/proc/self/fd"))
