"""A log that writes each kind of event at most once a minute."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Hashable
from typing import Final

from streamgauge.serving.logs import event

_MINUTE: Final = 60.0
_MAX_KINDS: Final = 100


class RateLimitedLog:
    """A metric counts every request; the log shows one example of each kind."""

    def __init__(self, logger: logging.Logger, clock: Callable[[], float] = time.monotonic) -> None:
        self._logger = logger
        self._clock = clock
        self._minute = 0
        self._logged: set[Hashable] = set()

    def log(self, kind: Hashable, level: int, message: str, /, **fields: object) -> None:
        minute = int(self._clock() // _MINUTE)
        if minute != self._minute:
            self._minute = minute
            self._logged.clear()
        if kind in self._logged or len(self._logged) >= _MAX_KINDS:
            return
        self._logged.add(kind)
        event(self._logger, level, message, **fields)
