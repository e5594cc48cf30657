"""All benchmarks, one after the other: ``python -m benchmarks [NAME …] [options]``; each prints a line a figure."""

import subprocess
import sys
from pathlib import Path

FOLDER = Path(__file__).parent


def names() -> list[str]:
    """Return the benchmarks by name: the modules ``bench_<name>``."""
    return sorted(path.stem.removeprefix("bench_") for path in FOLDER.glob("bench_*.py"))


def main() -> int:
    """Run the named benchmarks, all without a name; options go to each. Returns 1 when one of them failed."""
    known = names()
    wanted = [word for word in sys.argv[1:] if word in known] or known
    options = [word for word in sys.argv[1:] if word not in known]
    failed = 0
    for name in wanted:
        print(f"# {name}", flush=True)
        failed |= subprocess.run([sys.executable, "-m", f"benchmarks.bench_{name}", *options], check=False).returncode
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
