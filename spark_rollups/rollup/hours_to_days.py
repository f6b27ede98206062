"""Hours of series to hours and days of identities: data frames only."""

from __future__ import annotations

from typing import Any, Final

from archive.tables.schema import LOOKBACK_HOURS
from spark_rollups.rollup.series_dimension import RISING, keys

_OF_ONE_SERIES: Final = ("count", "sum", "first", "last", "p95", "increase", "resets")


def hours_of_identities(hours: Any, dimension: Any, *, pairs: bool) -> Any:
    """One row per identity and hour; `pairs` if several series may be one identity.

    Of several series the one with most samples counts. Minimum and maximum are those of all: a pod
    that started within the hour may have seen a value that the one before it did not.
    """
    from pyspark.sql import functions as F  # noqa: N812

    filled = hours.where("count > 0")
    columns = ["day", "identity", "hour", "min", "max", *_OF_ONE_SERIES]
    if not pairs:  # each series is its identity: labels are joined after the aggregation
        return filled.withColumnRenamed("series", "identity").select(columns)
    joined = filled.join(keys(dimension), "series")
    # Ties go to the smallest fingerprint; an hour has fewer than 2^31 samples.
    best = F.shiftleft(F.col("count").cast("bigint"), 31) - F.col("place")
    shared = (
        joined.where("copies > 1")
        .withColumn("best", best)
        .groupBy("day", "identity", "hour")
        .agg(
            F.min("min").alias("min"),
            F.max("max").alias("max"),
            *(F.max_by(name, "best").alias(name) for name in _OF_ONE_SERIES),
        )
    )
    return joined.where("copies = 1").select(columns).unionByName(shared.select(columns))


def days_of_identities(hours: Any) -> Any:
    """One row per identity and day. Bit n of `hour_bits` is set if hour n has data."""
    from pyspark.sql import functions as F  # noqa: N812

    # Arithmetic: the function `hour` would convert time zones for each row.
    bit = F.expr("shiftleft(1, int(unix_seconds(hour) div 3600 % 24))")
    return (
        hours.groupBy("day", "identity")
        .agg(
            F.sum("count").alias("count"),
            F.min("min").alias("min"),
            F.max("max").alias("max"),
            F.sum("sum").alias("sum"),
            F.min_by("first", "hour").alias("first"),
            F.max_by("last", "hour").alias("last"),
            F.min("hour").alias("first_hour"),
            F.max("hour").alias("last_hour"),
            F.sum("increase").alias("increase"),
            F.sum("resets").alias("resets"),
            F.bit_or(bit).alias("hour_bits"),
        )
        .withColumn("hours", F.bit_count("hour_bits"))
    )


def rising_only(rows: Any) -> Any:
    """Gauges have no increase and no resets."""
    from pyspark.sql import functions as F  # noqa: N812

    rising = F.col("kind").isin(*RISING)
    return rows.withColumn("increase", F.when(rising, F.col("increase"))).withColumn(
        "resets", F.when(rising, F.col("resets")).otherwise(0)
    )


def with_steps_between_hours(hours: Any) -> Any:
    """Adds the step into each hour, from the newest earlier value of its series.

    `hours` must include the day before each day that counts.
    """
    from pyspark.sql import Window
    from pyspark.sql import functions as F  # noqa: N812

    by_time = Window.partitionBy("series").orderBy("hour")
    before, since = F.lag("last").over(by_time), F.lag("hour").over(by_time)
    near = F.col("hour") <= F.col("since") + F.expr(f"interval {LOOKBACK_HOURS} hours")
    fell = F.col("first") < F.col("before")
    step = F.when(fell, F.col("first")).otherwise(F.col("first") - F.col("before"))
    return (
        hours.where("count > 0")
        .withColumn("before", before)
        .withColumn("since", since)
        .withColumn("increase", F.col("increase") + F.when(near, step).otherwise(0.0))
        .withColumn("resets", F.col("resets") + F.when(near & fell, 1).otherwise(0))
        .drop("before", "since")
    )
