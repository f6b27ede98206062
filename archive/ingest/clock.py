"""The archive's clock: the time of the host, but never behind the time that has passed.

When the clock of the host is set back, current samples must not look like samples of the future:
they would be refused for good.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from typing import Final

from streamgauge.serving.rate_limit import RateLimitedLog

logger = logging.getLogger(__name__)

_MILLISECOND: Final = 1_000_000
_LOGGED: Final = 10_000_000_000  # nanoseconds: a smaller step changes nothing


class Clock:
    def __init__(
        self,
        wall: Callable[[], int] = time.time_ns,
        steady: Callable[[], int] = time.monotonic_ns,
    ) -> None:
        """Both in nanoseconds; `steady` is never set."""
        self._wall = wall
        self._steady = steady
        self._offset = wall() - steady()
        self._log = RateLimitedLog(logger)

    def now(self) -> int:
        """In milliseconds."""
        wall, passed = self._wall(), self._offset + self._steady()
        if passed - wall > _LOGGED:
            self._log.log("set back", logging.WARNING, "clock of the host was set back",
                          seconds=(passed - wall) // 1_000_000_000)  # fmt: skip
        return max(wall, passed) // _MILLISECOND
