"""The choice of the engine."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PROGRAM = (
    "from prowl_svc.terminal.factory import *; s = new_screen(9, 2); s.feed(b'hi'); print(COMPILED, s.text().strip())"
)


@pytest.mark.parametrize("pure", ["0", "1"])
def test_interpreted_engine_can_be_forced(pure: str) -> None:
    """PROWL_PURE=1 chooses the interpreted screen, otherwise the compiled one is used where it is built."""
    built = any((ROOT / "prowl_svc" / "_fast").glob("_engine.*.so"))
    command = [sys.executable, "-c", PROGRAM]
    environment = {**os.environ, "PROWL_PURE": pure, "PYTHONPATH": str(ROOT)}
    result = subprocess.run(command, env=environment, cwd=ROOT, capture_output=True, text=True, check=True)
    assert f"{built and pure == '0'} hi" == result.stdout.strip()
