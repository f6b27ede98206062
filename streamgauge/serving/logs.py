"""Logging to stderr: configuration, events with fields, and logging of state changes."""

from __future__ import annotations

import logging
import sys
from collections.abc import Hashable
from enum import StrEnum
from typing import TextIO

from streamgauge.serving.log_format import JsonFormatter, TextFormatter

_QUIETED = {"nats": logging.WARNING, "asyncio": logging.WARNING, "aiohttp": logging.WARNING}


class LogFormat(StrEnum):
    TEXT = "text"
    JSON = "json"


class LogLevel(StrEnum):
    DEBUG = "debug"
    INFO = "info"
    WARNING = "warning"
    ERROR = "error"


class StreamgaugeHandler(logging.StreamHandler[TextIO]):
    """A class of its own, so that a reconfiguration replaces only our handler."""

    dropped = 0  # lines that could not be written, of all handlers

    def handleError(self, record: logging.LogRecord) -> None:  # noqa: N802  a method of logging
        """A full disk or a closed pipe; anything else is a bug and is printed as usual."""
        if isinstance(sys.exc_info()[1], OSError):
            StreamgaugeHandler.dropped += 1
        else:
            super().handleError(record)


def configure_logs(
    format: LogFormat | str = LogFormat.TEXT,  # noqa: A002 - the name of the setting
    level: LogLevel | str = LogLevel.INFO,
    *,
    stream: TextIO | None = None,
) -> None:
    """Sends every record to stderr as one line. A reload may call it again."""
    severity = logging.getLevelNamesMapping()[LogLevel(level).name]
    make = JsonFormatter if LogFormat(format) is LogFormat.JSON else TextFormatter
    handler = StreamgaugeHandler(stream or sys.stderr)
    handler.setFormatter(make(tracebacks=severity <= logging.DEBUG))
    root = logging.getLogger()
    for old in [each for each in root.handlers if isinstance(each, StreamgaugeHandler)]:
        root.removeHandler(old)
    root.addHandler(handler)
    root.setLevel(severity)
    for name, least in _QUIETED.items():
        logging.getLogger(name).setLevel(max(least, severity))
    # Prometheus records every scrape itself.
    logging.getLogger("aiohttp.access").disabled = True


def event(
    logger: logging.Logger,
    level: int,
    message: str,
    /,
    **fields: object,
) -> None:
    """Logs a message with fields. Pass an exception as the field `error`."""
    # As an argument: the message may contain a percent sign.
    logger.log(level, "%s", message, extra={"fields": fields})


class StateLog:
    """Logs a state only when it changes."""

    def __init__(self, logger: logging.Logger) -> None:
        self._logger = logger
        self._states: dict[Hashable, Hashable] = {}

    def report(
        self, key: Hashable, state: Hashable, level: int, message: str, /, **fields: object
    ) -> bool:
        """Logs if the state of `key` is new or changed; returns whether it logged."""
        if key in self._states and self._states[key] == state:
            return False
        self._states[key] = state
        event(self._logger, level, message, **fields)
        return True

    def forget(self, key: Hashable) -> None:
        """Drops the state of a key that no longer exists."""
        self._states.pop(key, None)
