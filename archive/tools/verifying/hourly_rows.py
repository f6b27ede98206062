"""Verifies rows of `hourly` against their samples."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from archive.maintenance.merge import row_keys
from archive.tables.arrow import Table, pa
from archive.tables.chunk_decoder import hours_of, one_array, value_lists
from archive.tables.chunk_statistics import ChunkStatistics
from archive.tables.hourly_history import HourlyHistory
from archive.tables.hourly_statistics import statistics
from archive.tables.id_column import IdColumn
from archive.tables.sample_columns import Floats, Int64s
from archive.tables.schema import HOURLY_SCHEMA, STATISTICS


class ExpectedStatistics:
    """The stored statistics of a day, by series and hour."""

    def __init__(self, tables: Sequence[Table], history: HourlyHistory, ranks: IdColumn) -> None:
        stored = pa.concat_tables([HOURLY_SCHEMA.empty_table(), *tables])
        keys = row_keys(stored, ranks)
        order = np.argsort(keys, kind="stable")
        self._keys = keys[order]
        self._columns = {name: _floats(stored, name)[order] for name in STATISTICS}
        self._seen = np.zeros(len(keys), np.bool_)
        self._history, self._ranks = history, ranks

    def compare(self, samples: Table) -> Iterator[str]:
        """Compares with valid rows of `samples`."""
        place = self._places(row_keys(samples, self._ranks))
        missing = int(np.count_nonzero(place < 0))
        if missing:
            yield f"{missing} rows have no hourly statistics"
        expected = self._expected(samples)
        found = place >= 0
        self._seen[place[found]] = True
        for name in STATISTICS:
            wanted = getattr(expected, name).astype(np.float64)
            if name not in ("count", "resets"):
                wanted = np.where(expected.count > 0, wanted, np.nan)
            stored = self._columns[name][place[found]]
            wrong = ~_same(stored, wanted[found])
            if wrong.any():
                yield f"hourly {name} is wrong in {int(np.count_nonzero(wrong))} rows"

    def leftover(self) -> Iterator[str]:
        alone = int(np.count_nonzero(~self._seen))
        if alone:
            yield f"{alone} rows have no samples"

    def _expected(self, samples: Table) -> ChunkStatistics:
        values, counts = value_lists(samples)
        series = one_array(samples, "series").to_numpy()
        hours = hours_of(one_array(samples, "hour"))
        before = np.full(len(series), np.nan)
        for hour in np.unique(hours).tolist():
            here = hours == hour
            before[here] = self._history.before(hour, series[here])
        return statistics(values, counts, before)

    def _places(self, keys: Int64s) -> Int64s:
        if len(self._keys) == 0:
            return np.full(len(keys), -1, np.int64)
        place = np.minimum(np.searchsorted(self._keys, keys), len(self._keys) - 1)
        return np.where(self._keys[place] == keys, place, -1)


def _floats(table: Table, name: str) -> Floats:
    column = one_array(table, name).cast("float64").fill_null(np.nan)
    values: Floats = column.to_numpy(zero_copy_only=False)
    return values


def _same(stored: Floats, wanted: Floats) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
    """Allows rounding: another machine may add in another order."""
    close: np.ndarray[tuple[int], np.dtype[np.bool_]] = np.isclose(
        stored, wanted, rtol=1e-9, atol=0.0, equal_nan=True
    )
    return close
