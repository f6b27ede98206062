"""The time that the data proves: set forward, the clock of the host alone makes nothing old."""

from __future__ import annotations

import logging
from collections.abc import Sequence

from archive.tables.schema import DAY_MS, day_time
from streamgauge.serving.logs import StateLog

logger = logging.getLogger(__name__)


class DataClock:
    """Compares the clock of the host with the days that have data. Times in milliseconds."""

    def __init__(self) -> None:
        self.ahead = 0
        """The clock of the host; negative when it is before the newest day."""
        self._states = StateLog(logger)

    @property
    def is_trusted(self) -> bool:
        return self.ahead <= DAY_MS

    def compare(self, days: Sequence[str], now: int) -> int:
        """`now`, or the time that the data proves if that is earlier. `days` are sorted."""
        if not days:
            return now
        proven = _proven_time(days)
        behind = max(day_time(days[-1]) - now, 0)
        self.ahead = -behind or max(now - proven, 0)
        self._report()
        return min(now, proven)

    def _report(self) -> None:
        level, message = logging.WARNING, "clock of the host is behind the data"
        if not self.is_trusted:
            message = "clock of the host is ahead of the data, nothing is deleted by age"
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
