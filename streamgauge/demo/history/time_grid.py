"""The timestamps of the history, with daily and weekly cycles, growth and noise.

Events are days before the end, so a shorter history is the end of the longer one.
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
    """The scrapes: from midnight to midnight (UTC), every `step` seconds."""

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
        """The index of the first timestamp that is `ago` days before the end or later."""
        return int(np.searchsorted(-self.ago, -ago))


def make_grid(until: date, days: int, step: int) -> Grid:
    """`until` is the last whole day."""
    midnight = datetime(until.year, until.month, until.day, tzinfo=UTC) + timedelta(days=1)
    end = midnight.timestamp()
    times = np.arange(end - days * DAY, end, step)
    return Grid(step, times, (end - times) / DAY)


def season(grid: Grid, weekend: float, night: float) -> Floats:
    """The load by hour and weekday: 1 on a weekday afternoon, these shares at night and weekends."""
    hour = grid.times % DAY / 3600
    wave = 0.5 - 0.5 * np.cos((hour - _QUIETEST_HOUR) * np.pi / 12)
    weekday = (grid.times // DAY + _MONDAY) % 7
    return (night + (1 - night) * wave) * np.where(weekday >= _SATURDAY, weekend, 1.0)


def growth(grid: Grid, per_day: float) -> Floats:
    """1 at the end, exponentially less before it."""
    return np.exp(-per_day * grid.ago)


def chance(name: str) -> np.random.Generator:
    """A random generator seeded by the name."""
    return np.random.default_rng(zlib.crc32(name.encode()))


def wobble(name: str, size: int, spread: float) -> Floats:
    """Factors around 1."""
    return chance(name).lognormal(-spread * spread / 2, spread, size)


def since_exporter_start(grid: Grid, cumulative: Floats) -> Floats:
    """A counter that restarts from zero with the exporter."""
    counted: Floats = cumulative - cumulative[0]
    for ago in EXPORTER_STARTS:
        place = grid.place(ago)
        if 0 < place < len(grid):
            counted[place:] = cumulative[place:] - cumulative[place]
    return counted


def steps_at(grid: Grid, *events: float | None) -> Floats:
    """How many of the events (days before the end) have happened so far; None never does."""
    happened = np.zeros(len(grid))
    for ago in events:
        if ago is not None and ago < grid.ago[0]:
            happened += grid.since(ago)
    return happened
