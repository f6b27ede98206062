"""Aggregates hours to days with Spark functions, as a reference for the rollups."""

from pathlib import Path
from typing import Any
from urllib.parse import unquote

from deltalake import DeltaTable


def files_of(archive: Path, table: str) -> list[str]:
    return [unquote(path) for path in DeltaTable(archive / table).file_uris()]


def days_by_data_frames(spark: Any, archive: Path) -> Any:
    """One row per metric, consumer, `by` and day; each hour from the series with most samples."""
    from pyspark.sql import Window
    from pyspark.sql import functions as F  # noqa: N812

    identity = spark.read.parquet(*files_of(archive, "series")).select(
        "series",
        "fingerprint",
        *(
            F.coalesce(F.col("labels").getItem(name), F.lit("")).alias(alias)
            for name, alias in (("consumer", "consumer"), ("by", "by"))
        ),
    )
    hourly = files_of(archive, "hourly")
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
