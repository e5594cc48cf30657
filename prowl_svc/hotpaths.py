"""Which hot paths run compiled, and why not when they do not."""

import importlib.util
import os
import sys
import sysconfig
from dataclasses import dataclass

__all__ = ["HOT_PATHS", "HotPath", "hot_paths"]

HOT_PATHS = ("rows", "proctable", "engine", "codexlog", "flows", "reads")


@dataclass(frozen=True, slots=True)
class HotPath:
    """One compiled module: its name, whether it is in use, and the reason when it is not."""

    name: str
    compiled: bool
    reason: str | None = None


def hot_paths() -> tuple[HotPath, ...]:
    """Return the state of every hot path of this installation."""
    return tuple(_state(name) for name in HOT_PATHS)


def _state(name: str) -> HotPath:
    if os.environ.get("PROWL_PURE") == "1":
        return HotPath(name, False, "PROWL_PURE=1 is set")
    module = f"prowl_svc._fast._{name}"
    if name == "flows" and sys.platform != "linux":
        return HotPath(name, False, "waits on epoll, which only Linux has")
    if importlib.util.find_spec(module) is None:
        tag = sysconfig.get_config_var("SOABI") or "this interpreter"
        return HotPath(name, False, f"not built for {tag}; install with a C compiler to have it")
    try:
        importlib.import_module(module)
    except ImportError as error:
        return HotPath(name, False, f"cannot be loaded: {error}")
    return HotPath(name, True)
