"""The time that the data proves: set forward, the clock of the host alone makes nothing old."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Sequence
from typing import Final

from archive.tables.schema import DAY_MS, HOUR_MS, day_time
from streamgauge.serving.logs import StateLog

logger = logging.getLogger(__name__)


# A clock that is corrected slowly moves less between two looks.
_JUMP_MS: Final = HOUR_MS


class DataClock:
    """Compares the clock of the host with the days that have data. Times in milliseconds."""

    def __init__(self, steady: Callable[[], float] = time.monotonic) -> None:
        self.ahead = 0
        """The clock of the host; negative when it is before the newest day."""
        self._steady = steady
        self._offset: float | None = None
        self._since = 0.0  # the last jump, on the steady clock
        self._states = StateLog(logger)

    def measures(self, span: int) -> bool:
        """Whether times of files that are this far apart are: by the data, or without a jump."""
        return self.ahead <= DAY_MS or self._steady() * 1000 - self._since >= span

    def compare(self, days: Sequence[str], now: int) -> int:
        """`now`, or the time that the data proves if that is earlier. `days` are sorted."""
        steady = self._steady() * 1000
        if self._offset is None or abs(now - steady - self._offset) > _JUMP_MS:
            self._since = steady
        self._offset = now - steady
        if not days:
            return now
        proven = _proven_time(days)
        behind = max(day_time(days[-1]) - now, 0)
        self.ahead = -behind or max(now - proven, 0)
        self._report()
        return min(now, proven)

    def _report(self) -> None:
        level, message = logging.WARNING, "clock of the host is behind the data"
        if self.ahead > DAY_MS:
            message = "clock of the host is ahead of the data, age counts from the data"
        elif self.ahead >= -DAY_MS:
            level, message = logging.INFO, "clock of the host agrees with the data"
        self._states.report("clock", message, level, message, seconds=self.ahead // 1000)


def _proven_time(days: Sequence[str]) -> int:
    """The end of the newest day, if the newest three with data are in a row.

    Otherwise of the oldest of the newest three: a sender may have the clock of the host.
    """
    newest = days[-3:]
    in_a_row = day_time(newest[-1]) - day_time(newest[0]) == (len(newest) - 1) * DAY_MS
    return day_time(newest[-1 if in_a_row else 0]) + DAY_MS
