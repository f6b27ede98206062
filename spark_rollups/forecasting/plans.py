"""Forecasts and trends as of a day, as data frames: the series of an identity is one group."""

from __future__ import annotations

from datetime import date, timedelta
from typing import Any, Final

import pyarrow as pa  # type: ignore[import-untyped]

from exporter import catalog
from spark_rollups.forecasting.forecast_group import forecast_group
from spark_rollups.forecasting.models.trend import TREND_DAYS
from spark_rollups.forecasting.trend_group import COUNTED, trend_group
from spark_rollups.metric_selection import FORECASTED, TRENDED
from spark_rollups.rollup.tables.schemas import FORECASTS, SUBJECT_LABELS, TRENDS

# The length of the series in the benchmark of the models.
HISTORY_DAYS: Final = 120
# Series without data for this long are treated as deleted.
GONE_DAYS: Final = 30
GONE_TREND_DAYS: Final = 7
_INFO: Final = catalog.STREAM_INFO.name
_OLD: Final = "old"


def forecasts(hourly_gauges: Any, daily: Any, as_of: date) -> Any:
    """`forecasts` as of the end of a day, from rows of these tables."""
    from pyspark.sql import functions as F  # noqa: N812

    points = _between(hourly_gauges, as_of, HISTORY_DAYS).where(
        F.col("metric").isin([each.metric for each in FORECASTED]) & F.col("last").isNotNull()
    )
    # The level of an hour is its last sample, dated at the end of the hour.
    points = points.select(
        "metric", *SUBJECT_LABELS, _pairs("labels").alias("pairs"),
        (F.unix_timestamp("hour") + 3600).cast("double").alias("time"),
        F.col("last").alias("level"), F.col("max").alias("high"),
    )  # fmt: skip
    recent = _between(daily, as_of, GONE_DAYS).where(F.col("last").isNotNull())
    known = points.join(F.broadcast(_limits(recent)), ["metric", *SUBJECT_LABELS, "pairs"], "left")
    known = known.join(F.broadcast(_policies(recent)), ["metric", *SUBJECT_LABELS, "pairs"], "left")
    alive_after = _start(as_of, GONE_DAYS)

    def forecast_one(points: pa.Table) -> pa.Table:
        return forecast_group(points, as_of, alive_after)

    grouped = known.groupBy("metric", *SUBJECT_LABELS, "pairs")
    return grouped.applyInArrow(forecast_one, _schema(FORECASTS))


def trends(daily: Any, as_of: date) -> Any:
    """`trends` as of the end of a day, from rows of this table."""
    from pyspark.sql import functions as F  # noqa: N812

    rows = _between(daily, as_of, TREND_DAYS).where(
        F.col("metric").isin(list(TRENDED)) & (F.col("count") > 0)
    )
    counted = F.col("metric").isin(list(COUNTED))
    points = rows.select(
        "metric", "kind", *SUBJECT_LABELS, _pairs("labels").alias("pairs"),
        (F.unix_date("day") + 1).cast("double").alias("time"),
        F.when(counted, F.col("last")).otherwise(F.col("sum") / F.col("count")).alias("level"),
    )  # fmt: skip
    alive_after = _start(as_of, GONE_TREND_DAYS)

    def trend_one(points: pa.Table) -> pa.Table:
        return trend_group(points, as_of, alive_after)

    grouped = points.groupBy("metric", "kind", *SUBJECT_LABELS, "pairs")
    return grouped.applyInArrow(trend_one, _schema(TRENDS))


def _limits(recent: Any) -> Any:
    """By the metric of the level: the newest value of its limit, and the end of its last hour."""
    from pyspark.sql import functions as F  # noqa: N812

    level_of = F.create_map(
        *(F.lit(text) for each in FORECASTED for text in (each.limit, each.metric))
    )
    rows = recent.where(F.col("metric").isin([each.limit for each in FORECASTED]))
    rows = rows.select(
        level_of[F.col("metric")].alias("metric"), *SUBJECT_LABELS, _pairs("labels").alias("pairs"),
        "last", (F.unix_timestamp("last_hour") + 3600).cast("double").alias("until"),
    )  # fmt: skip
    return rows.groupBy("metric", *SUBJECT_LABELS, "pairs").agg(
        F.max_by("last", "until").alias("limit"), F.max("until").alias("limit_until")
    )


def _policies(recent: Any) -> Any:
    """Whether a stream discards old messages.

    Each election or edit starts a new stream_info series, and the newest counts.
    """
    from pyspark.sql import functions as F  # noqa: N812

    own = list(catalog.STREAM_INFO.labels)
    others = F.map_filter("labels", lambda name, _: ~name.isin(own))
    rows = recent.where(F.col("metric") == _INFO).select(
        *SUBJECT_LABELS, _pairs(others).alias("pairs"), "last_hour",
        (F.col("labels")["discard"] == _OLD).alias("old"),
    )  # fmt: skip
    found = rows.groupBy(*SUBJECT_LABELS, "pairs").agg(
        F.max_by("old", "last_hour").alias("discards_old")
    )
    metrics = F.array(*(F.lit(each.metric) for each in FORECASTED if each.subject == "stream"))
    return found.withColumn("metric", F.explode(metrics))


def _pairs(labels: Any) -> Any:
    """Maps cannot be compared, lists of their entries can."""
    from pyspark.sql import functions as F  # noqa: N812

    return F.array_sort(F.map_entries(labels))


def _between(rows: Any, as_of: date, days: int) -> Any:
    from pyspark.sql import functions as F  # noqa: N812

    return rows.where(F.col("day").between(as_of - timedelta(days=days - 1), as_of))


def _start(as_of: date, days: int) -> float:
    """The start of the span of `days` days that ends with `as_of`."""
    return ((as_of - date(1970, 1, 1)).days - days + 1) * 86_400.0


def _schema(table: Any) -> Any:
    from pyspark.sql.pandas.types import from_arrow_schema

    return from_arrow_schema(table)
