"""The moments of the invented past, and what time does to everything: weeks, nights, outages.

Events are told in days before the end, so a shorter history is the end of the long one.
"""

from __future__ import annotations

import zlib
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from typing import Final

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Mask = NDArray[np.bool_]

DAY: Final = 86_400
_MONDAY: Final = 3  # 1970 began on a Thursday
_SATURDAY: Final = 5
_QUIETEST_HOUR: Final = 3

# The exporter's machine was off for two whole days; later it was restarted for an upgrade.
MISSING: Final = (24.0, 22.0)
EXPORTER_STARTS: Final = (MISSING[1], 9.5)


@dataclass(frozen=True, slots=True)
class Grid:
    """When the exporter was asked: from midnight to midnight (UTC), every `step` seconds."""

    step: int
    times: Floats  # seconds since 1970
    ago: Floats  # days until the end of the history

    def __len__(self) -> int:
        return len(self.times)

    def during(self, first: float, last: float) -> Mask:
        """From `first` days before the end until `last` days before it."""
        return (self.ago <= first) & (self.ago > last)

    def since(self, first: float) -> Mask:
        return self.ago <= first

    @property
    def visible(self) -> Mask:
        return ~self.during(*MISSING)

    def place(self, ago: float) -> int:
        """The first moment of `ago` days before the end or later."""
        return int(np.searchsorted(-self.ago, -ago))


def make_grid(until: date, days: int, step: int) -> Grid:
    """`until` is the last whole day."""
    midnight = datetime(until.year, until.month, until.day, tzinfo=UTC) + timedelta(days=1)
    end = midnight.timestamp()
    times = np.arange(end - days * DAY, end, step)
    return Grid(step, times, (end - times) / DAY)


def season(grid: Grid, weekend: float, night: float) -> Floats:
    """Work by day and week: 1 on a weekday's afternoon, the shares at night and on weekends."""
    hour = grid.times % DAY / 3600
    wave = 0.5 - 0.5 * np.cos((hour - _QUIETEST_HOUR) * np.pi / 12)
    weekday = (grid.times // DAY + _MONDAY) % 7
    return (night + (1 - night) * wave) * np.where(weekday >= _SATURDAY, weekend, 1.0)


def growth(grid: Grid, per_day: float) -> Floats:
    """1 at the end, and so much less for each day before it."""
    return np.exp(-per_day * grid.ago)


def chance(name: str) -> np.random.Generator:
    """The same dice for the same name, whatever else was thrown."""
    return np.random.default_rng(zlib.crc32(name.encode()))


def wobble(name: str, size: int, spread: float) -> Floats:
    """Factors around 1."""
    return chance(name).lognormal(-spread * spread / 2, spread, size)


def since_exporter_start(grid: Grid, cumulative: Floats) -> Floats:
    """What an exporter counts that knows nothing of the time before its own start."""
    counted: Floats = cumulative - cumulative[0]
    for ago in EXPORTER_STARTS:
        place = grid.place(ago)
        if 0 < place < len(grid):
            counted[place:] = cumulative[place:] - cumulative[place]
    return counted


def steps_at(grid: Grid, *events: float | None) -> Floats:
    """How many of the events, in days before the end, have happened so far; None never does."""
    happened = np.zeros(len(grid))
    for ago in events:
        if ago is not None and ago < grid.ago[0]:
            happened += grid.since(ago)
    return happened
