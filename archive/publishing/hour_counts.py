"""Counts the content of the hours of a day while their rows are written."""

from __future__ import annotations

import numpy as np

from archive.tables.arrow import Table, pc
from archive.tables.chunk_decoder import hours_of, one_array
from archive.tables.manifest import HourEntry
from archive.tables.sample_columns import Int64s
from archive.tables.schema import HOUR_MS

MINUTES = 60
_HOURS = 24


class HourCounter:
    """Counts rows of `samples/` of one day; builds the manifest entries of their hours."""

    def __init__(self, day: int) -> None:
        self._day = day
        self._samples = np.zeros(_HOURS, np.int64)
        self._series = np.zeros(_HOURS, np.int64)
        self._minutes = np.zeros(_HOURS * MINUTES, np.bool_)

    def add(self, table: Table) -> None:
        hours = (hours_of(one_array(table, "hour")) - self._day) // HOUR_MS
        self._series += np.bincount(hours, minlength=_HOURS)
        for name in ("ts", "stale"):
            column = one_array(table, name)
            hour = hours[pc.list_parent_indices(column).to_numpy()]
            self._samples += np.bincount(hour, minlength=_HOURS)
            self._minutes[hour * MINUTES + _minute(column.flatten().to_numpy())] = True

    def entries(self, now: int) -> dict[int, HourEntry]:
        return {
            self._day + hour * HOUR_MS: HourEntry(
                samples=int(self._samples[hour]),
                series=int(self._series[hour]),
                minutes=_hexadecimal(self._minutes[hour * MINUTES : (hour + 1) * MINUTES]),
                published=now,
            )
            for hour in np.flatnonzero(self._series).tolist()
        }


def minutes_of(entry: HourEntry) -> list[bool]:
    """For each minute of the hour, whether it has a sample."""
    bits = int(entry.minutes, 16)
    return [bool(bits >> minute & 1) for minute in range(MINUTES)]


def _minute(offsets: Int64s) -> Int64s:
    return offsets // 60_000


def _hexadecimal(minutes: np.ndarray[tuple[int], np.dtype[np.bool_]]) -> str:
    bits = sum(1 << minute for minute in np.flatnonzero(minutes).tolist())
    return f"{bits:015x}"
