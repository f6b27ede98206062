"""Reads row groups of `samples` in a worker: decoded samples, or statistics of each chunk."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import date
from functools import lru_cache
from typing import Any, Final

import numpy as np
import pyarrow as pa  # type: ignore[import-untyped]
import pyarrow.compute as pc  # type: ignore[import-untyped]

from archive.tables.chunk_statistics import chunk_statistics
from archive.tables.schema import SAMPLES, SERIES
from spark_rollups.datasource.parquet_reader import opened, read_columns, row_batches
from spark_rollups.datasource.partitions import Part, Selection
from spark_rollups.filesystem import RollupError, root_at
from spark_rollups.rollup.chunks import TIME_COLUMNS, VALUE_COLUMNS, chunks_of, timed_samples
from spark_rollups.rollup.tables.delta_notes import read_version
from spark_rollups.rollup.tables.schemas import SUBJECT_LABELS, TIME

_HOURLY: Final = pa.schema(
    [("metric", pa.string()), ("series", pa.int32()), ("hour", TIME), ("count", pa.int32()),
     *((name, pa.float64()) for name in ("min", "max", "sum", "first", "last", "p95", "increase")),
     ("resets", pa.int32()), ("day", pa.date32())]
)  # fmt: skip
_LABELS: Final = pa.map_(pa.string(), pa.string())
_SAMPLES: Final = pa.schema(
    [("metric", pa.string()), *((name, pa.string()) for name in SUBJECT_LABELS),
     ("labels", _LABELS), ("time", TIME), ("value", pa.float64()), ("day", pa.date32())]
)  # fmt: skip
# Decoded samples of a batch: each carries its labels.
_BATCH_SAMPLES: Final = 65_536


def hourly_batches(text: str, part: Part, wanted: Selection) -> Iterator[Any]:
    """The statistics of each chunk, without the step into it."""
    for table in _tables(text, part, ("metric", *VALUE_COLUMNS), wanted):
        chunks = chunks_of(table)
        found = chunk_statistics(chunks.values, chunks.counts)
        columns = [
            table.column("metric").combine_chunks().cast(pa.string()),
            chunks.series, table.column("hour").combine_chunks().cast(TIME),
            found.count.astype(np.int32), found.min, found.max, found.sum, found.first, found.last,
            found.p95, found.increase, found.resets.astype(np.int32),
            _days(part.day, len(chunks)),
        ]  # fmt: skip
        yield pa.RecordBatch.from_arrays(
            [each if isinstance(each, pa.Array) else pa.array(each) for each in columns],
            schema=_HOURLY,
        )


def sample_batches(text: str, part: Part, wanted: Selection) -> Iterator[Any]:
    """Every sample with its labels; stale markers are none."""
    known = _series_of(text, part.series)
    for whole in _tables(text, part, ("metric", *TIME_COLUMNS), wanted):
        rows = known.rows(whole.column("series").to_numpy())
        chosen = known.matching(rows, wanted)
        table, rows = whole.filter(pa.array(chosen)).combine_chunks(), rows[chosen]
        chunks = chunks_of(table)
        samples = timed_samples(table, chunks, markers=False)
        for first in range(0, len(samples.time), _BATCH_SAMPLES):
            span = slice(first, first + _BATCH_SAMPLES)
            series = pa.array(rows[samples.chunk[span]])
            yield pa.RecordBatch.from_arrays(
                [
                    *(known.columns[name].take(series) for name in ("metric", *SUBJECT_LABELS)),
                    known.columns["labels"].take(series),
                    pa.array(samples.time[span] * 1000).cast(TIME),
                    pa.array(samples.value[span]),
                    _days(part.day, len(series)),
                ],
                schema=_SAMPLES,
            )


class _Series:
    """The labels of all series, and where each stands."""

    def __init__(self, table: Any) -> None:
        table = table.combine_chunks()
        labels = table.column("labels").combine_chunks().cast(_LABELS)
        self.columns = {
            "metric": table.column("metric").combine_chunks().cast(pa.string()),
            "labels": labels,
            **{
                name: pc.fill_null(pc.map_lookup(labels, pa.scalar(name), "first"), "")
                for name in SUBJECT_LABELS
            },
        }
        ids = table.column("series").to_numpy()
        self._row_of = np.full(int(ids.max(initial=-1)) + 2, -1, np.int64)
        self._row_of[ids] = np.arange(len(ids))

    def rows(self, series: Any) -> Any:
        """Where each stands; raises RollupError for one without labels."""
        rows = self._row_of[np.minimum(series, len(self._row_of) - 1)]
        if (rows < 0).any():
            missing = series[rows < 0][0]
            raise RollupError(f"series {missing} of {SAMPLES} is not in the table {SERIES}")
        return rows

    def matching(self, rows: Any, wanted: Selection) -> Any:
        chosen = np.ones(len(rows), bool)
        for name, values in wanted.labels.items():
            column = pc.is_in(self.columns[name], pa.array(sorted(values), pa.string()))
            chosen &= column.to_numpy(zero_copy_only=False)[rows]
        return chosen


@lru_cache(maxsize=1)
def _series_of(text: str, version: int) -> _Series:
    """Cached between the tasks of a worker, which lives longer than a query."""
    root = root_at(text)
    files = read_version(root, SERIES, version).files
    parts = [read_columns(root, file.path, ("series", "metric", "labels")) for file in files]
    return _Series(pa.concat_tables(parts))


def _tables(text: str, part: Part, columns: Sequence[str], wanted: Selection) -> Iterator[Any]:
    with opened(root_at(text), part.path) as file:
        for table in row_batches(file, columns, part.groups):
            if wanted.metrics is None:
                yield table
                continue
            mine = pc.is_in(
                table.column("metric").cast(pa.string()), pa.array(sorted(wanted.metrics))
            )
            yield table.filter(mine).combine_chunks()


def _days(day: str, rows: int) -> Any:
    return pa.repeat(pa.scalar(date.fromisoformat(day), pa.date32()), rows)
