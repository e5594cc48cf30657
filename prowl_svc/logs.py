"""Structured logs on standard error: an event, and fields that never hold screen text."""

import json
import logging
import sys
import time

__all__ = ["configure"]


class _Formatter(logging.Formatter):
    def __init__(self, *, as_json: bool) -> None:
        super().__init__()
        self._json = as_json

    def format(self, record: logging.LogRecord) -> str:
        moment = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(record.created)) + f".{int(record.msecs):03d}Z"
        fields = dict(getattr(record, "fields", None) or {})
        if record.exc_info and record.exc_info[2] is not None:
            # Where it failed, never what the exception says.
            frame = record.exc_info[2]
            while frame.tb_next is not None:
                frame = frame.tb_next
            fields["at"] = f"{frame.tb_frame.f_code.co_filename.rsplit('/', 1)[-1]}:{frame.tb_lineno}"
        head = {"time": moment, "level": record.levelname.lower(), "logger": record.name, "event": record.getMessage()}
        if self._json:
            return json.dumps(head | fields, ensure_ascii=False, default=str)
        tail = "".join(f" {key}={json.dumps(value, ensure_ascii=False, default=str)}" for key, value in fields.items())
        return f"{moment} {head['level']} {record.name}: {head['event']}{tail}"


def _told(record: logging.LogRecord) -> bool:
    """Drop what the library says of a client that leaves while something is sent to it, which is no error."""
    return not str(record.msg).startswith("ExecuteBatchError")


def configure(level: str, form: str) -> None:
    """Send the service's log of at least ``level`` to standard error, as ``text`` or ``json`` lines."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(_Formatter(as_json=form == "json"))
    handler.addFilter(_told)
    root = logging.getLogger()
    root.handlers[:] = [handler]
    root.setLevel(logging.WARNING)
    logging.getLogger("prowl").setLevel(level.upper())
