"""The trend of one series: a table of its points in, a table of one trend out."""

from __future__ import annotations

from datetime import date
from typing import Any, Final

import pyarrow as pa  # type: ignore[import-untyped]

from exporter import catalog
from spark_rollups.forecasting.models.trend import trend
from spark_rollups.rollup.tables.schemas import SUBJECT_LABELS, TRENDS

_DAY: Final = 86_400.0
_NAMES: Final = ("metric", "kind", *SUBJECT_LABELS)
# These use the last value of a day; all others, which vary within a day, use the mean.
COUNTED: Final = tuple(
    metric.name
    for metric in (
        catalog.CONSUMER_EXHAUSTED_MESSAGES, catalog.STREAM_CONSUMERS,
        catalog.STREAM_EPHEMERAL_CONSUMERS, catalog.ACCOUNT_STREAMS, catalog.ACCOUNT_CONSUMERS,
        catalog.SERVER_HA_ASSETS, catalog.SERVER_STREAM_LEADERS, catalog.SERVER_CONSUMER_LEADERS,
    )
)  # fmt: skip


def trend_group(points: Any, as_of: date, alive_after: float) -> Any:
    """No row for a series that ended before `alive_after`; times are days since 1970."""
    points = points.sort_by("time")
    times, levels = points.column("time").to_numpy() * _DAY, points.column("level").to_numpy()
    rows = []
    if times[-1] > alive_after:
        found = trend(times, levels)
        first = {name: points.column(name)[0].as_py() for name in (*_NAMES, "pairs")}
        rows.append(
            {
                "as_of": as_of,
                **{name: first[name] for name in _NAMES},
                "labels": [(pair["key"], pair["value"]) for pair in first["pairs"]],
                "level": found.level,
                "per_day": found.per_day,
                "low": found.low,
                "high": found.high,
                "direction": found.direction.value,
                "stepped": found.stepped,
                "days": found.observed_days,
            }
        )
    return pa.Table.from_pylist(rows, schema=TRENDS)
