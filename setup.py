"""Builds the compiled hot paths; without a C compiler the interpreted twins are used.

``PROWL_NO_EXTENSIONS=1`` skips compilation, ``PROWL_DEBUG=1`` builds with bounds checks and C assertions.
"""

import os
import sys
from pathlib import Path

from setuptools import setup

FAST = Path("prowl_svc") / "_fast"
LINUX_ONLY = {"_flows"}  # waits on epoll


def extensions() -> list[object]:
    if os.environ.get("PROWL_NO_EXTENSIONS") == "1":
        return []
    try:
        from Cython.Build import cythonize
    except ImportError:
        print("prowl: Cython is missing, installing interpreted", file=sys.stderr)
        return []
    from setuptools import Extension

    debug = os.environ.get("PROWL_DEBUG") == "1"
    sources = sorted(path for path in FAST.glob("*.pyx") if sys.platform == "linux" or path.stem not in LINUX_ONLY)
    if not sources:
        return []
    modules = cythonize(
        [
            Extension(
                f"prowl_svc._fast.{source.stem}",
                [str(source)],
                extra_compile_args=["-O1", "-g", "-UNDEBUG"] if debug else ["-O3"],
            )
            for source in sources
        ],
        compiler_directives={
            "language_level": 3,
            "boundscheck": debug,
            "wraparound": False,
            "cdivision": True,
            "initializedcheck": debug,
            "embedsignature": True,
        },
        build_dir="build/cython",
    )
    for module in modules:
        module.optional = True  # cythonize drops the flag, so it is set on its results
    return modules


setup(ext_modules=extensions())
