"""Live series under a clock that jumps: no series is refused because of one that is gone."""

import numpy as np
import pytest

from archive.series.live import LiveSeries
from archive.series.table import SeriesTable

HOUR = 3_600_000
DAY = 24 * HOUR
NOON = 1_794_830_400_000


def add(live: LiveSeries, table: SeriesTable, count: int, now: int) -> None:
    assert live.allowance(now, count) >= count
    first = len(table)
    ids = [table.identify((("__name__", f"s{first + each}"),)) for each in range(count)]
    live.mark(np.array(ids, np.int64), now)


@pytest.mark.parametrize("jump", [-400 * DAY, -HOUR, 3 * HOUR, 400 * DAY])
def test_a_count_under_another_clock_is_not_used_again(jump: int) -> None:
    table = SeriesTable()
    live = LiveSeries(table, 10)
    add(live, table, 10, NOON + jump)
    assert live.allowance(NOON + jump + 1) == 0
    live.mark(np.arange(4), NOON)
    assert live.allowance(NOON + 1) == (0 if jump == -HOUR else 6)


@pytest.mark.parametrize("jump", [-400 * DAY, 3 * HOUR, 400 * DAY])
def test_a_series_seen_under_another_clock_alone_is_not_alive(jump: int) -> None:
    table = SeriesTable()
    live = LiveSeries(table, 10)
    add(live, table, 3, NOON + jump)
    live.mark(np.array([1]), NOON - HOUR)
    assert live.count(NOON) == 1
    assert live.are_alive(np.arange(3), NOON).tolist() == [False, True, False]
