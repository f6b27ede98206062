"""The same aggregations with DuckDB and Polars, on the files of the same Delta tables.

delta-rs lists the files: DuckDB's own extension for Delta is a download. Each writes its result as
Parquet, like the rollups, but without label columns and deduplication.
"""

from __future__ import annotations

from pathlib import Path

from deltalake import DeltaTable

_MONTH_COLUMNS = """count(*)::int AS hours, sum(count)::bigint AS count, min(min) AS min,
       max(max) AS max, sum(sum) AS sum, arg_min(first, hour) AS first, arg_max(last, hour) AS last,
       sum(increase) AS increase, sum(resets)::bigint AS resets"""
_RAW = """
WITH chunk AS (
  SELECT metric, series, hour,
         coalesce(list_transform(iv, lambda x: x / pow(10, scale)), fv) AS v
  FROM read_parquet({files}, hive_partitioning = false)
), hourly AS (
  SELECT metric, series, hour, len(v) AS count, list_min(v) AS min, list_max(v) AS max,
         list_sum(v) AS sum, v[1] AS first, v[-1] AS last,
         list_aggregate(v, 'quantile_cont', 0.95) AS p95,
         list_sum(list_transform(list_zip(v[2:], v[:-2]),
                  lambda x: CASE WHEN x[1] < x[2] THEN x[1] ELSE x[1] - x[2] END)) AS inner_rise
  FROM chunk
), stepped AS (
  SELECT *, lag(last) OVER (PARTITION BY series ORDER BY hour) AS before FROM hourly
)
SELECT metric, series, hour, count, min, max, sum, first, last, p95,
       coalesce(inner_rise, 0) + CASE WHEN before IS NULL THEN 0 WHEN first < before THEN first
                                 ELSE first - before END AS increase
FROM stepped
"""


def _files(archive: Path, table: str) -> list[str]:
    return DeltaTable(archive / table).file_uris()


def duckdb_month(archive: Path, target: Path) -> None:
    _duckdb(
        f"SELECT metric, series, date_trunc('day', hour) AS day, {_MONTH_COLUMNS} "  # noqa: S608
        f"FROM read_parquet({_files(archive, 'hourly')}, hive_partitioning = false) GROUP BY ALL",
        target,
    )


def duckdb_raw(archive: Path, target: Path) -> None:
    _duckdb(_RAW.format(files=_files(archive, "samples")), target)


def _duckdb(query: str, target: Path) -> None:
    import duckdb

    with duckdb.connect() as connection:
        connection.execute("SET TimeZone = 'UTC'; SET threads = 2")
        connection.execute(f"COPY ({query}) TO '{target}' (FORMAT parquet, COMPRESSION zstd)")


def polars_month(archive: Path, target: Path) -> None:
    import polars as pl

    hours = pl.scan_parquet(_files(archive, "hourly"), hive_partitioning=False)
    days = hours.group_by("metric", "series", pl.col("hour").dt.truncate("1d").alias("day")).agg(
        pl.len().alias("hours"),
        *(pl.col(name).sum() for name in ("count", "sum", "increase", "resets")),
        pl.col("min").min(),
        pl.col("max").max(),
        pl.col("first").sort_by("hour").first(),
        pl.col("last").sort_by("hour").last(),
    )
    days.sink_parquet(target, compression="zstd")


def polars_raw(archive: Path, target: Path) -> None:
    import polars as pl

    chunks = pl.scan_parquet(_files(archive, "samples"), hive_partitioning=False)
    scaled = pl.col("iv").list.eval(pl.element().cast(pl.Float64)) / pl.lit(10.0).pow(
        pl.col("scale").fill_null(0).cast(pl.Float64)
    )
    values = chunks.select(
        "metric", "series", "hour", pl.when(pl.col("iv").is_null()).then("fv").otherwise(scaled).alias("v")
    )  # fmt: skip
    rise = pl.element().diff(null_behavior="drop")
    steps = pl.when(rise < 0).then(pl.element().slice(1)).otherwise(rise)
    hours = values.select(
        "metric", "series", "hour",
        pl.col("v").list.len().alias("count"),
        pl.col("v").list.min().alias("min"),
        pl.col("v").list.max().alias("max"),
        pl.col("v").list.sum().alias("sum"),
        pl.col("v").list.first().alias("first"),
        pl.col("v").list.last().alias("last"),
        pl.col("v").list.eval(pl.element().quantile(0.95, "linear")).list.first().alias("p95"),
        pl.col("v").list.eval(steps).list.sum().alias("rise"),
    ).sort("series", "hour")  # fmt: skip
    before = pl.col("last").shift(1).over("series")
    into = pl.when(pl.col("first") < before).then("first").otherwise(pl.col("first") - before)
    hours.with_columns((pl.col("rise") + into.fill_null(0)).alias("increase")).collect(
        engine="streaming"
    ).write_parquet(target, compression="zstd")
