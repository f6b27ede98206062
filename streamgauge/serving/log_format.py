"""Formats a log record as one line: text with logfmt fields, or JSON."""

from __future__ import annotations

import json
import logging
import math
import traceback
from collections.abc import Mapping
from datetime import UTC, datetime

from streamgauge.serving.log_escape import one_line

_LEVELS = {"WARNING": "WARN", "CRITICAL": "FATAL"}
_NEEDS_QUOTES = frozenset(' "=\\')


class TextFormatter(logging.Formatter):
    """`2026-11-16T07:29:44.123Z INFO  exporter.polling.loop  message key=value`"""

    def __init__(self, *, tracebacks: bool) -> None:
        super().__init__()
        self._tracebacks = tracebacks

    def format(self, record: logging.LogRecord) -> str:
        fields = _fields(record, tracebacks=self._tracebacks)
        head = f"{_time(record)} {_level(record):<5} {one_line(record.name)}"
        tail = "".join(f" {one_line(key)}={_logfmt(value)}" for key, value in fields.items())
        return f"{head}  {one_line(record.getMessage())}{tail}"


class JsonFormatter(logging.Formatter):
    """`{"ts": ..., "level": ..., "logger": ..., "msg": ..., "fields": {...}}`, ASCII only."""

    def __init__(self, *, tracebacks: bool) -> None:
        super().__init__()
        self._tracebacks = tracebacks

    def format(self, record: logging.LogRecord) -> str:
        fields = _fields(record, tracebacks=self._tracebacks)
        line: dict[str, object] = {
            "ts": _time(record),
            "level": _level(record),
            "logger": record.name,
            "msg": record.getMessage(),
        }
        if fields:
            line["fields"] = {key: _json_value(value) for key, value in fields.items()}
        return json.dumps(line)


def exception_text(error: BaseException) -> str:
    """Type and message; the type alone when there is no message."""
    message = str(error)
    name = type(error).__name__
    return f"{name}: {message}" if message else name


def _fields(record: logging.LogRecord, *, tracebacks: bool) -> dict[str, object]:
    given = getattr(record, "fields", None)
    fields = dict(given) if isinstance(given, Mapping) else {}
    if record.exc_info and record.exc_info[1] is not None:
        fields.setdefault("error", record.exc_info[1])
    error = fields.get("error")
    if tracebacks and isinstance(error, BaseException):
        fields["traceback"] = "".join(traceback.format_exception(error))
    return fields


def _time(record: logging.LogRecord) -> str:
    time = datetime.fromtimestamp(record.created, UTC)
    return time.isoformat(timespec="milliseconds").replace("+00:00", "Z")


def _level(record: logging.LogRecord) -> str:
    return _LEVELS.get(record.levelname, record.levelname)


def _text(value: object) -> str:
    if isinstance(value, BaseException):
        return exception_text(value)
    if value is None or isinstance(value, bool):
        return json.dumps(value)
    return str(value)


def _logfmt(value: object) -> str:
    text = _text(value)
    if text and text.isprintable() and _NEEDS_QUOTES.isdisjoint(text):
        return text
    # Backslashes first: those that `one_line` adds are the escapes themselves.
    return '"' + one_line(text.replace("\\", "\\\\").replace('"', '\\"')) + '"'


def _json_value(value: object) -> object:
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)  # JSON has no NaN
    if value is None or isinstance(value, str | bool | int | float):
        return value
    return _text(value)
