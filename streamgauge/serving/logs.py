"""Logs on stderr: how they are switched on, written with fields, and kept to state changes."""

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
    """A class of its own, so that configuring again replaces ours and nobody else's."""


def configure_logs(
    format: LogFormat | str = LogFormat.TEXT,  # noqa: A002 - the name of the setting
    level: LogLevel | str = LogLevel.INFO,
    *,
    stream: TextIO | None = None,
) -> None:
    """Send every record to stderr as one line. May be called again, for a reload."""
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
    # A line for each scrape says nothing that Prometheus does not know.
    logging.getLogger("aiohttp.access").disabled = True


def event(
    logger: logging.Logger,
    level: int,
    message: str,
    /,
    **fields: object,
) -> None:
    """Log a message with fields. An exception goes into the field `error`."""
    # The message is an argument, so that a percent sign in it is only a percent sign.
    logger.log(level, "%s", message, extra={"fields": fields})


class StateLog:
    """Says a thing when it changes, not each time it is seen."""

    def __init__(self, logger: logging.Logger) -> None:
        self._logger = logger
        self._states: dict[Hashable, Hashable] = {}

    def report(
        self, key: Hashable, state: Hashable, level: int, message: str, /, **fields: object
    ) -> bool:
        """Log if the state of `key` is new or another than last time; tell whether it was."""
        if key in self._states and self._states[key] == state:
            return False
        self._states[key] = state
        event(self._logger, level, message, **fields)
        return True

    def forget(self, key: Hashable) -> None:
        """Drop what no longer exists, so that the memory does not grow with it."""
        self._states.pop(key, None)
