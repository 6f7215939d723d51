"""The collector's own log: one JSON object a line on standard error, or plain text.

Separate so that nothing else decides how a record looks, and so that a value from telemetry can never forge a line: control characters are
escaped in both forms.

Rules:
- `log.info("what happened", extra={"fields": {...}})`: what happened is constant, what varies is a field;
- a field is a number, a text or a list of texts; never a secret, never content of telemetry.
"""

from __future__ import annotations

import json
import logging
import sys
from datetime import UTC, datetime
from typing import Any, TextIO

QUIET = ("uvicorn", "uvicorn.error", "watchfiles", "httpx", "httpcore", "asyncio", "grpc", "grpc._cython.cygrpc")
"""Libraries that tell of each connection: only their warnings are written."""


def configure(level: str, form: str, stream: TextIO | None = None) -> None:
    """Send every record of the process to `stream` (standard error) as `json` or `text`. Calling it again changes level and form."""
    handler = logging.StreamHandler(stream or sys.stderr)
    handler.setFormatter(JsonFormatter() if form == "json" else TextFormatter())
    root = logging.getLogger()
    root.handlers[:] = [handler]
    root.setLevel(level.upper())
    for name in QUIET:
        logging.getLogger(name).setLevel(max(logging.WARNING, root.level))
    logging.captureWarnings(True)


class JsonFormatter(logging.Formatter):
    """`{"time": ..., "level": ..., "logger": ..., "message": ..., <fields>}`, ASCII only."""

    def format(self, record: logging.LogRecord) -> str:
        """One line."""
        line: dict[str, Any] = {
            "time": _time(record),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": record.getMessage(),
        }
        for key, value in _fields(record).items():
            line.setdefault(key, value)
        if record.exc_info:
            line["exception"] = self.formatException(record.exc_info)
        return json.dumps(line, default=str)


class TextFormatter(logging.Formatter):
    """`time LEVEL message key=value ...`, control characters escaped."""

    def format(self, record: logging.LogRecord) -> str:
        """One line, and the lines of a traceback below it."""
        fields = "".join(f" {key}={_quoted(value)}" for key, value in _fields(record).items())
        text = f"{_time(record)} {record.levelname:7} {_printable(record.getMessage())}{fields}"
        return f"{text}\n{self.formatException(record.exc_info)}" if record.exc_info else text


def _time(record: logging.LogRecord) -> str:
    return datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def _fields(record: logging.LogRecord) -> dict[str, Any]:
    fields = getattr(record, "fields", None)
    return fields if isinstance(fields, dict) else {}


def _quoted(value: Any) -> str:
    text = _printable(str(value))
    return f'"{text}"' if " " in text or not text else text


def _printable(text: str) -> str:
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode("ascii") for c in text)
