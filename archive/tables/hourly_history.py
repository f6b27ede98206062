"""Values of neighbouring hours from the table `hourly`: the one before a chunk, and the chunks after it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from archive.tables.archive_tables import Snapshot
from archive.tables.arrow import Table, pa
from archive.tables.chunk_decoder import hours_of, one_array
from archive.tables.data_file import DataFile
from archive.tables.parquet_files import read_table
from archive.tables.sample_columns import Floats, Int32s, Int64s
from archive.tables.schema import HOUR_MS, HOURLY, HOURLY_SCHEMA, LOOKBACK_HOURS, day_name
from archive.tables.storage import Storage

_COLUMNS: Final = ("series", "hour", "last")
# About 100 MB. A scan covers at most a day before or after.
_ROWS_HELD: Final = 5_000_000


@dataclass(frozen=True, slots=True)
class LastValues:
    """The last value of each series of one hour; series are sorted."""

    series: Int32s
    last: Floats

    def __len__(self) -> int:
        return len(self.series)

    def of(self, wanted: Int32s) -> Floats:
        """NaN for a series without a value."""
        if len(self.series) == 0:
            return np.full(len(wanted), np.nan)
        place = np.minimum(np.searchsorted(self.series, wanted), len(self.series) - 1)
        return np.where(self.series[place] == wanted, self.last[place], np.nan)


class HourlyHistory:
    """The published hours, overlaid with those of the current publication."""

    def __init__(self, storage: Storage, snapshot: Snapshot) -> None:
        self._storage = storage
        self._snapshot = snapshot
        self._fresh: dict[int, list[Table]] = {}
        self._tables: dict[str, Table] = {}  # oldest first, like the next
        self._hours: dict[int, LastValues] = {}

    def add(self, hour: int, rows: Table) -> None:
        """Adds rows of HOURLY_SCHEMA that replace the published rows of their series in this hour."""
        self._fresh.setdefault(hour, []).append(rows)
        self._hours.pop(hour, None)

    def fresh(self) -> dict[int, Table]:
        return {hour: pa.concat_tables(parts) for hour, parts in sorted(self._fresh.items())}

    def differing(self, fresh: Mapping[int, Table]) -> dict[int, Table]:
        """The rows that are not published like this already."""
        found = {}
        for hour, rows in fresh.items():
            files = self._files_of(hour)
            published = pa.concat_tables(
                [
                    HOURLY_SCHEMA.empty_table(),
                    *(read_table(self._storage, each.path) for each in files),
                ]
            )
            known = {_plain(row) for row in published.to_pylist()}
            new = [_plain(row) not in known for row in rows.to_pylist()]
            if any(new):
                found[hour] = rows.filter(pa.array(new))
        return found

    def fresh_series(self, hour: int) -> Int32s:
        parts = [one_array(rows, "series").to_numpy() for rows in self._fresh.get(hour, ())]
        return np.concatenate(parts) if parts else np.empty(0, np.int32)

    def hour(self, hour: int) -> LastValues:
        if hour not in self._hours:
            self._hours[hour] = self._last_values(hour)
            _evict(self._hours)
        return self._hours[hour]

    def _last_values(self, hour: int) -> LastValues:
        published = [self._read(file.path, hour) for file in self._files_of(hour)]
        # Later rows win: a new row replaces the published one.
        table = pa.concat_tables(
            [HOURLY_SCHEMA.empty_table().select(_COLUMNS), *published]
            + [each.select(_COLUMNS) for each in self._fresh.get(hour, ())]
        )
        return _last_values(table)

    def before(self, hour: int, series: Int32s) -> Floats:
        """The newest value of each series in the hours before; NaN without one."""
        found = np.full(len(series), np.nan)
        for earlier in range(hour - HOUR_MS, hour - (LOOKBACK_HOURS + 1) * HOUR_MS, -HOUR_MS):
            missing = np.flatnonzero(np.isnan(found))
            if len(missing) == 0:
                break
            if self._has(earlier):
                found[missing] = self.hour(earlier).of(series[missing])
        return found

    def followers(self, hour: int, series: Int32s) -> dict[int, Int32s]:
        """For each later hour, the series whose next value after `hour` is in it."""
        found: dict[int, Int32s] = {}
        for later in range(hour + HOUR_MS, hour + (LOOKBACK_HOURS + 1) * HOUR_MS, HOUR_MS):
            if len(series) == 0:
                break
            if self._has(later):
                here = ~np.isnan(self.hour(later).of(series))
                if here.any():
                    found[later] = series[here]
                series = series[~here]
        return found

    def _has(self, hour: int) -> bool:
        return hour in self._fresh or bool(self._files_of(hour))

    def _files_of(self, hour: int) -> list[DataFile]:
        files = self._snapshot.of_day(HOURLY, day_name(hour))
        return [file for file in files if file.may_hold(hour)]

    def _read(self, path: str, hour: int) -> Table:
        if path not in self._tables:
            self._tables[path] = read_table(self._storage, path, _COLUMNS)
            _evict(self._tables)
        table = self._tables[path]
        return table.filter(pa.array(hours_of(one_array(table, "hour")) == hour))


def _plain(row: Mapping[str, object]) -> tuple[str, ...]:
    """Comparable: a NaN equals itself."""
    return tuple(map(repr, row.values()))


def _evict(held: dict[Any, Any]) -> None:
    """Evicts the oldest entries, but never the newest."""
    while len(held) > 1 and sum(map(len, held.values())) > _ROWS_HELD:
        del held[next(iter(held))]


def _last_values(table: Table) -> LastValues:
    """Skips chunks without a value, since the search must go on behind them."""
    series = one_array(table, "series").to_numpy()
    last = one_array(table, "last").fill_null(np.nan).to_numpy(zero_copy_only=False)
    order = np.argsort(series, kind="stable")
    newest: Int64s = order[np.append(series[order][1:] != series[order][:-1], True)[: len(order)]]
    numbers = ~np.isnan(last[newest])
    return LastValues(series[newest][numbers], last[newest][numbers])
