"""``prowl doctor``: what is well, what is slow, and what is broken."""

import argparse
import platform
import sys
from pathlib import Path

from prowl_cli import connect, parser, plugins, text
from prowl_cli.envelope import CliError, Reply

__all__ = ["register", "run"]

Check = dict[str, str]


def register(commands: parser.Commands) -> None:
    """Add the command."""
    parser.add(
        commands,
        "doctor",
        "check the installation, the socket, the service and the configuration",
        run,
        examples="prowl doctor\nprowl doctor --json",
        start=False,
    )


def run(args: argparse.Namespace) -> Reply:
    """Check everything; only a fault makes the command fail, a slow installation does not."""
    checks = [
        _check("python", "ok", f"{platform.python_implementation()} {platform.python_version()} at {sys.executable}"),
        _check("platform", "ok", platform.platform()),
    ]
    path = connect.socket_of(args)
    try:
        checks += [dict(item) for item in plugins.load_part("checks")(str(path) if args.socket else None)]
    except CliError as error:
        checks.append(_check("service code", "fault", error.message))
    checks += _service(path)
    faults = sum(check["status"] == "fault" for check in checks)
    data = {"faults": faults, "checks": checks}
    rows = [(check["status"], check["name"], check["detail"]) for check in checks]
    shown = text.table(("STATUS", "CHECK", "DETAIL"), rows, colour=text.use_colour(sys.stdout))
    if faults and not args.json:
        return Reply(data, shown, status=1)
    if faults:
        raise CliError("UNHEALTHY", f"{faults} of {len(checks)} checks found a fault.", data)
    return Reply(data, shown)


def _check(name: str, status: str, detail: str) -> Check:
    return {"name": name, "status": status, "detail": detail}


def _service(path: Path) -> list[Check]:
    from prowl_client import address
    from prowl_client.errors import ProwlError
    from prowl_client.sync import Client

    found = address.diagnose(path)
    if found == "absent":
        return [
            _check("socket", "ok", f"{path} (free)"),
            _check("service", "ok", "not running; it starts when a command needs it"),
        ]
    if found is not None:
        reason = address.denial(path) if found == "denied" else "is not the socket of a service"
        return [_check("socket", "fault", f"{path} {reason}")]
    checks = [_check("socket", "ok", str(path))]
    try:
        with Client(path, timeout=5) as client:
            info = client.get_info()
    except ProwlError as error:
        return [*checks, _check("service", "fault", str(error))]
    detail = f"{info.version}, pid {info.pid}, {info.panes} panes, {info.observers} observers, on {info.platform}"
    checks.append(_check("service", "ok", detail))
    slow = [item.name for item in info.hot_paths if not item.compiled]
    if slow:
        checks.append(_check("service hot paths", "warning", "interpreted: " + ", ".join(slow)))
    return checks
