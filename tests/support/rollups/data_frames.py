"""Aggregates hours to days with Spark functions, as a reference for the rollups."""

import json
from pathlib import Path
from typing import Any


def newest(archive: Path) -> dict[str, Any]:
    path = max((archive / "manifest").glob("*.json"))
    found: dict[str, Any] = json.loads(path.read_text())["manifest"]
    return found


def days_by_data_frames(spark: Any, archive: Path) -> Any:
    """One row per metric, consumer, `by` and day; each hour from the series with most samples."""
    from pyspark.sql import Window
    from pyspark.sql import functions as F  # noqa: N812

    manifest = newest(archive)
    hourly = [str(archive / f["path"]) for day in manifest["days"].values() for f in day["hourly"]]
    series = [str(archive / f["path"]) for f in manifest["series"]]
    identity = spark.read.parquet(*series).select(
        "series",
        "fingerprint",
        *(
            F.coalesce(F.col("labels").getItem(name), F.lit("")).alias(alias)
            for name, alias in (("consumer", "consumer"), ("by", "by"))
        ),
    )
    hours = spark.read.parquet(*hourly).where("count > 0").join(identity, "series", "inner")
    hour = Window.partitionBy("metric", "consumer", "by", "hour")
    of_hour = hour.orderBy(F.col("count").desc(), F.col("fingerprint"))
    # Extremes are those of all series.
    extreme = hours.withColumn("min", F.min("min").over(hour)).withColumn(
        "max", F.max("max").over(hour)
    )
    row_per_hour = extreme.withColumn("row", F.row_number().over(of_hour)).where("row = 1")
    return row_per_hour.groupBy("metric", "consumer", "by", F.to_date("hour").alias("day")).agg(
        F.sum("count").alias("count"),
        F.count("*").cast("int").alias("hours"),
        F.min("min").alias("min"),
        F.max("max").alias("max"),
        F.sum("sum").alias("sum"),
        F.min_by("first", "hour").alias("first"),
        F.max_by("last", "hour").alias("last"),
        F.sum("increase").alias("increase"),
        F.sum("resets").alias("resets"),
    )
