"""Regenerates the Python code of the contract: ``python proto/generate.py [--check]``.

With ``--check`` nothing is written; exits 1 and names the files that are stale.
"""

import filecmp
import os
import sys
import tempfile
from importlib.resources import files
from pathlib import Path

from grpc_tools import protoc

PROTO = Path(__file__).resolve().parent
OUT = PROTO.parent / "clients" / "prowl_client" / "gen"


def generate(out: Path) -> None:
    """Write all generated modules and stubs below ``out``."""
    # protoc looks its plugins up on the PATH; they are installed beside this interpreter, activated or not.
    os.environ["PATH"] = os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", os.defpath)])
    sources = sorted(str(path.relative_to(PROTO)) for path in PROTO.rglob("*.proto"))
    code = protoc.main(
        [
            "protoc",
            f"-I{PROTO}",
            f"-I{files('grpc_tools') / '_proto'}",
            f"--python_out={out}",
            f"--grpc_python_out={out}",
            f"--mypy_out=quiet,readable_stubs:{out}",
            f"--mypy_grpc_out=quiet:{out}",
            *sources,
        ]
    )
    if code:
        sys.exit(f"protoc failed with {code}")
    for package in (out / "prowl", out / "prowl" / "v1"):
        (package / "__init__.py").write_text('"""Generated from the public contract; see proto/."""\n')
        (package / "py.typed").write_text("")


def main() -> None:
    """Generate, or check that what is committed is what would be generated."""
    if "--check" not in sys.argv:
        generate(OUT)
        return
    with tempfile.TemporaryDirectory() as folder:
        fresh = Path(folder)
        generate(fresh)
        names = {p.relative_to(fresh) for p in fresh.rglob("*") if p.is_file()}
        names |= {p.relative_to(OUT) for p in OUT.rglob("*") if p.is_file() and "__pycache__" not in p.parts}
        stale = [
            str(name)
            for name in sorted(names)
            if not (fresh / name).exists()
            or not (OUT / name).exists()
            or not filecmp.cmp(fresh / name, OUT / name, shallow=False)
        ]
    if stale:
        sys.exit("stale generated code, run `make proto`: " + ", ".join(stale))


if __name__ == "__main__":
    main()
