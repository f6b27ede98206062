"""Trends of many series: an Arrow batch of series in, a batch of trends out."""

from __future__ import annotations

from datetime import date
from typing import Any, Final

import numpy as np
import pyarrow as pa  # type: ignore[import-untyped]

from exporter import catalog
from spark_rollups.forecasting.models.trend import trend
from spark_rollups.rollup.tables.schemas import IDENTITY, TRENDS

_POINTS: Final = pa.list_(pa.float64())
TREND_INPUT: Final = pa.schema(
    [
        *(TRENDS.field(name) for name in IDENTITY),
        *(pa.field(name, _POINTS, nullable=False) for name in ("times", "levels")),
    ]
)

# These use the last value of a day; all others, which vary within a day, use the mean.
COUNTED: Final = tuple(
    metric.name
    for metric in (
        catalog.CONSUMER_EXHAUSTED_MESSAGES, catalog.STREAM_CONSUMERS,
        catalog.STREAM_EPHEMERAL_CONSUMERS, catalog.ACCOUNT_STREAMS, catalog.ACCOUNT_CONSUMERS,
        catalog.SERVER_HA_ASSETS, catalog.SERVER_STREAM_LEADERS, catalog.SERVER_CONSUMER_LEADERS,
    )
)  # fmt: skip


def trend_batch(batch: Any, as_of: date) -> Any:
    """Takes a table or batch of TREND_INPUT, returns a table of TRENDS, row by row."""
    rows = [_trend_row(row, as_of) for row in batch.to_pylist()]
    return pa.Table.from_pylist(rows, schema=TRENDS)


def _trend_row(row: dict[str, Any], as_of: date) -> dict[str, Any]:
    found = trend(np.array(row["times"]), np.array(row["levels"]))
    return {
        "as_of": as_of,
        **{name: row[name] for name in IDENTITY},
        "level": found.level,
        "per_day": found.per_day,
        "low": found.low,
        "high": found.high,
        "direction": found.direction.value,
        "stepped": found.stepped,
        "days": found.observed_days,
    }
