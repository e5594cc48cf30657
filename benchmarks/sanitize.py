"""Builds the compiled parts with address and undefined-behaviour sanitizers in a copy, and runs their tests there.

Run it as ``python -m benchmarks.sanitize [pytest arguments]``; it needs gcc. The tree itself is not touched. The tests
are those of the terminal engine and the front door unless others are named; a short run of the former's fuzzer follows.
"""

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).parents[1]
FLAGS = "-fsanitize=address,undefined -fno-sanitize-recover=undefined"
TESTS = [
    "tests/terminal/test_engine_text.py",
    "tests/terminal/test_engine_sequences.py",
    "tests/terminal/test_engine_channels.py",
    "tests/terminal/test_engine_frames.py",
    "tests/terminal/test_engine_oracles.py",
    "tests/identity/test_frontdoor.py",
]
FUZZ = ["-m", "benchmarks.fuzz_terminal", "--count", "1000000"]


def library(name: str) -> str:
    """Return the path of one of the compiler's run-time libraries."""
    return subprocess.run(
        ["gcc", f"-print-file-name={name}"], check=True, capture_output=True, text=True
    ).stdout.strip()


def main() -> int:
    """Copy, build, test; return the first failing status."""
    with tempfile.TemporaryDirectory(prefix="prowl-sanitize-") as name:
        copy = Path(name)
        for part in ("prowl_svc", "tests", "benchmarks"):
            shutil.copytree(ROOT / part, copy / part, ignore=shutil.ignore_patterns("*.so", "*.c", "__pycache__"))
        for part in ("pyproject.toml", "setup.py"):
            shutil.copy(ROOT / part, copy / part)
        build = dict(os.environ, CFLAGS=f"-O1 -g -fno-omit-frame-pointer {FLAGS}", LDFLAGS=FLAGS)
        sources = sorted(str(path.relative_to(copy)) for path in (copy / "prowl_svc" / "_fast").glob("*.pyx"))
        cythonize = str(Path(sys.executable).with_name("cythonize"))
        subprocess.run([cythonize, "-q", "-i", "-3", *sources], cwd=copy, env=build, check=True)
        run = dict(
            os.environ,
            LD_PRELOAD=f"{library('libasan.so')} {library('libubsan.so')}",
            ASAN_OPTIONS="detect_leaks=0",  # the interpreter keeps memory to the end; the fuzzer watches growth
            PYTHONMALLOC="malloc",
        )
        tests = ["-m", "pytest", "-q", "-p", "no:cacheprovider", *(sys.argv[1:] or TESTS)]
        for arguments in (tests, FUZZ):
            status = subprocess.run([sys.executable, *arguments], cwd=copy, env=run, check=False).returncode
            # Growth within the sanitizer's quarantine is no failure of the fuzzer: only a crash is.
            if status not in ((0,) if arguments is tests else (0, 1)):
                return status or 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
