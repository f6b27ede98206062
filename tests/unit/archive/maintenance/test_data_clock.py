"""When the clock of the host may be believed, and which time the data proves."""

from __future__ import annotations

from archive.maintenance.data_clock import DataClock
from archive.tables.schema import DAY_MS, day_time

GAPPY = ["2026-11-16", "2026-11-18", "2026-11-20"]
NOON = day_time(GAPPY[-1]) + DAY_MS // 2


class SteadyClock:
    """In seconds, set by hand."""

    def __init__(self) -> None:
        self.now = 1_000.0

    def __call__(self) -> float:
        return self.now


def test_data_with_gaps_proves_the_oldest_of_its_newest_days() -> None:
    clock = DataClock(SteadyClock())
    assert clock.compare(GAPPY, NOON) == day_time(GAPPY[0]) + DAY_MS
    assert clock.compare(["2026-11-18", "2026-11-19", "2026-11-20"], NOON) == NOON


def test_a_clock_without_a_jump_is_believed_after_that_time() -> None:
    """Senders that come every second day must not stop vacuum for good."""
    steady = SteadyClock()
    clock = DataClock(steady)
    clock.compare(GAPPY, NOON)
    assert not clock.measures(DAY_MS)
    steady.now += DAY_MS / 1000
    clock.compare(GAPPY, NOON + DAY_MS)
    assert clock.measures(DAY_MS)


def test_a_jump_begins_that_time_anew() -> None:
    steady = SteadyClock()
    clock = DataClock(steady)
    clock.compare(GAPPY, NOON)
    steady.now += DAY_MS / 1000
    clock.compare(GAPPY, NOON + 400 * DAY_MS)
    assert not clock.measures(DAY_MS)
    steady.now += DAY_MS / 1000
    clock.compare(GAPPY, NOON + 401 * DAY_MS)
    assert clock.measures(DAY_MS)
