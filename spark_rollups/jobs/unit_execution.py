"""Executes a unit of work: reads the archive, aggregates, and writes tables."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final

import numpy as np

from archive.tables.chunk_statistics import quantiles, without_nan
from archive.tables.schema import DAY_MS, HOURLY, day_folder, day_time
from spark_rollups.datasource.day_samples import SampleFold
from spark_rollups.datasource.hourly_rows import (
    UnitSelection,
    chunk_rows,
    lasts_before,
    statistics_in,
)
from spark_rollups.datasource.parquet_reader import one_array, row_batches
from spark_rollups.filesystem import RollupError, root_at
from spark_rollups.jobs.unit import Job, Outcome, Unit
from spark_rollups.rollup.chunks import (
    TIME_COLUMNS,
    VALUE_COLUMNS,
    Chunks,
    chunks_of,
    timed_samples,
)
from spark_rollups.rollup.day_fold import DayFold
from spark_rollups.rollup.deduplication import with_steps_between_hours
from spark_rollups.rollup.identity_index import load_identities
from spark_rollups.rollup.rows import HourRows, Ranks
from spark_rollups.rollup.state_durations import state_shares
from spark_rollups.rollup.tables.writer import (
    daily_table,
    hourly_table,
    quantiles_table,
    shares_table,
    write_table,
)

QUANTILES: Final = (0.5, 0.95, 0.99)


def run_unit(job: Job, unit: Unit) -> Outcome:
    """Returns expected errors as an outcome."""
    try:
        return _UnitRun(job, unit).done()
    except RollupError as error:
        return Outcome(unit.day, error=str(error))


class _UnitRun:
    def __init__(self, job: Job, unit: Unit) -> None:
        self._job, self._unit = job, unit
        self._archive = root_at(job.archive)
        self._identities = load_identities(job.out, job.identities, unit.metrics)
        self._chosen = UnitSelection(unit, self._identities, self._identities.about(job.hourly))
        self._rows = self._hours = 0

    def done(self) -> Outcome:
        made = _MAKERS[self._unit.makes](self)
        out = root_at(self._job.out)
        files = {}
        for name, table in made.items():
            folder = day_folder(name, self._unit.day)
            path = f"{folder}/{self._job.stamp}-{self._unit.name}.parquet"
            # No file for an empty table.
            files[name] = (write_table(out, path, name, table),) if table.num_rows else ()
        return Outcome(self._unit.day, self._hours, self._rows, files)

    def days(self) -> dict[str, Any]:
        """The tables `daily` and `hourly`."""
        fold = DayFold(self._identities, self._chosen.p95, day_time(self._unit.day))
        source = self._stored if self._unit.source == HOURLY else self._computed
        for rows, series in source():
            self._rows += len(rows)
            fold.add(rows, series)
        days, hours = fold.finish()
        self._hours = fold.hours
        return {
            "daily": daily_table(days, self._identities, self._unit.day),
            "hourly": hourly_table(hours, self._identities),
        }

    def shares(self) -> dict[str, Any]:
        fold = SampleFold(self._identities)
        for table, rank in self._tables(TIME_COLUMNS):
            chunks = chunks_of(table)
            fold.add(chunks, rank, timed_samples(table, chunks))
        held = fold.finish()
        ranks = np.repeat(held.rank, held.counts)
        day_end = day_time(self._unit.day) + DAY_MS
        found = state_shares(ranks, held.times, held.values, day_end)
        return {"shares": shares_table(found, self._identities, self._unit.day)}

    def quantiles(self) -> dict[str, Any]:
        fold = SampleFold(self._identities)
        for table, rank in self._tables(VALUE_COLUMNS):
            fold.add(chunks_of(table), rank)
        held = fold.finish()
        values, counts = without_nan(held.values, held.counts)
        filled = counts > 0
        found = quantiles(values, counts[filled], QUANTILES)
        columns = held.rank[filled], counts[filled], found
        return {"quantiles": quantiles_table(*columns, self._identities, self._unit.day)}

    def _stored(self) -> Iterator[tuple[HourRows, Ranks]]:
        return statistics_in(self._archive, self._unit, self._chosen)

    def _computed(self) -> Iterator[tuple[HourRows, Ranks]]:
        """All hours at once: the first step of an hour needs the hour before."""
        hours, series = [], []
        for table, rank in self._tables(VALUE_COLUMNS):
            chunks: Chunks = chunks_of(table)
            rows = chunk_rows(chunks, rank, self._chosen)
            numbers = rows.count > 0
            hours.append(rows.take(numbers))
            series.append(chunks.series[numbers])
        if hours:
            before = lasts_before(self._archive, self._unit, self._chosen)
            yield with_steps_between_hours(HourRows.joined(hours), np.concatenate(series), before)

    def _tables(self, columns: tuple[str, ...]) -> Iterator[tuple[Any, Ranks]]:
        """Chunks of the identities of the unit, and their ranks."""
        for path in self._unit.files:
            for table in self._batches(path, columns):
                rank = self._chosen.ranks(one_array(table, "series").to_numpy())
                mine = rank >= 0
                yield (table, rank) if mine.all() else (table.filter(mine), rank[mine])

    def _batches(self, path: str, columns: tuple[str, ...]) -> Iterator[Any]:
        return row_batches(self._archive, path, columns, self._unit.metrics, self._chosen.series)


_MAKERS: Final[Mapping[str, Callable[[_UnitRun], dict[str, Any]]]] = {
    "days": _UnitRun.days,
    "shares": _UnitRun.shares,
    "quantiles": _UnitRun.quantiles,
}
