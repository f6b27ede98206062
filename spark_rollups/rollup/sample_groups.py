"""Quantiles and states of days, from samples: Spark groups chunks by identity, numpy folds a group.

A group holds many identities, so that the cost of a call does not count.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import numpy as np
import pyarrow as pa  # type: ignore[import-untyped]

from archive.tables.chunk_statistics import quantiles, without_nan
from archive.tables.schema import DAY_MS
from spark_rollups.metric_selection import CONDITIONS
from spark_rollups.rollup.chunks import TIME_COLUMNS, VALUE_COLUMNS, chunks_of, timed_samples
from spark_rollups.rollup.day_samples import DaySamples, day_samples
from spark_rollups.rollup.series_dimension import keys
from spark_rollups.rollup.state_durations import state_seconds
from spark_rollups.rollup.tables.schemas import SUBJECT_LABELS

QUANTILES: Final = (0.5, 0.95, 0.99)
# Of all metrics together, in one group: some ten megabytes of chunks.
_SERIES_PER_GROUP: Final = 5_000
_QUANTILE_ROWS: Final = pa.schema(
    [("day", pa.date32()), ("identity", pa.int32()), ("count", pa.int64()),
     *((name, pa.float64()) for name in ("p50", "p95", "p99"))]
)  # fmt: skip
_STATE_ROWS: Final = pa.schema(
    [("day", pa.date32()), ("identity", pa.int32()), ("value", pa.float64()),
     ("samples", pa.int64()), ("seconds", pa.float64())]
)  # fmt: skip


def quantiles_of_days(samples: Any, dimension: Any, metrics: Sequence[str], series: int) -> Any:
    grouped = _grouped(samples, dimension, metrics, series, VALUE_COLUMNS)
    return grouped.applyInArrow(
        quantile_rows,
        "day date, identity int, count bigint, p50 double, p95 double, p99 double",
    )


def states_of_days(samples: Any, dimension: Any, metrics: Sequence[str], series: int) -> Any:
    grouped = _grouped(samples, dimension, metrics, series, TIME_COLUMNS)
    return grouped.applyInArrow(
        state_rows, "day date, identity int, value double, samples bigint, seconds double"
    )


def with_known_seconds(states: Any) -> Any:
    """Adds how long the subject of each row was watched on that day; null if it is not known."""
    from pyspark.sql import Window
    from pyspark.sql import functions as F  # noqa: N812

    watched = F.col("metric").isin(*CONDITIONS.values())
    others = F.map_filter("labels", lambda name, _: name != "condition")
    subject = Window.partitionBy("day", *SUBJECT_LABELS, F.array_sort(F.map_entries(others)))
    # Whole numbers: the sum does not depend on its order.
    known = F.sum(F.when(watched, F.round(F.col("seconds") * 1000).cast("bigint")))
    return states.withColumn("known_seconds", known.over(subject) / 1000)


def _grouped(
    samples: Any, dimension: Any, metrics: Sequence[str], series: int, columns: Sequence[str]
) -> Any:
    from pyspark.sql import functions as F  # noqa: N812

    groups = -(-series // _SERIES_PER_GROUP)
    return (
        samples.where(F.col("metric").isin(list(metrics)))
        .select("day", "metric", *columns)
        .join(keys(dimension), "series")
        .drop("copies")
        .withColumn("part", F.pmod("identity", F.lit(groups)))
        .groupBy("day", "metric", "part")
    )


def quantile_rows(chunks: pa.Table) -> pa.Table:
    """A table of chunks of one day in; one row per identity out."""
    found = _selected(chunks)
    values, counts = without_nan(found.values, found.counts)
    filled = counts > 0
    columns = quantiles(values, counts[filled], QUANTILES)
    identity = found.identity[filled]
    return pa.table([_days(chunks, len(identity)), identity, counts[filled], *columns],
                    schema=_QUANTILE_ROWS)  # fmt: skip


def state_rows(chunks: pa.Table) -> pa.Table:
    """A table of chunks of one day in; one row per identity and state out."""
    found = _selected(chunks, timed=True)
    day_end = (_day_number(chunks) + 1) * DAY_MS
    owner = np.repeat(found.identity, found.counts)
    values = found.values
    if chunks.column("metric")[0].as_py() in CONDITIONS:  # it holds, whenever it began
        values = np.where(np.isnan(values), np.nan, 1.0)
    states = state_seconds(owner, found.times, values, day_end)
    return pa.table([_days(chunks, len(states.identity)), states.identity, states.value,
                     states.samples, states.seconds], schema=_STATE_ROWS)  # fmt: skip


def _selected(table: Any, *, timed: bool = False) -> DaySamples:
    chunks = chunks_of(table)
    identity, place = (
        table.column(name).combine_chunks().to_numpy() for name in ("identity", "place")
    )
    return day_samples(identity, place, chunks, timed_samples(table, chunks) if timed else None)


def _day_number(table: Any) -> int:
    return int(table.column("day")[0].cast(pa.int32()).as_py())


def _days(table: Any, rows: int) -> Any:
    return pa.array(np.full(rows, _day_number(table), np.int32)).cast(pa.date32())
