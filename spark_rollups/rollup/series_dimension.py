"""The dimension of all rollups: for each series its identity, the labels without those of the scrape.

`identity` is the smallest id of the series that are the same.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from exporter.catalog import BY_NAME
from exporter.metric import Kind
from spark_rollups.rollup.tables.schemas import IDENTITY, SUBJECT_LABELS

# Labels of the scrape: a consumer seen by two exporters is one consumer.
FOLDED_LABELS: Final = (
    "job", "instance", "pod", "namespace", "endpoint", "container", "service", "prometheus",
    "prometheus_replica",
)  # fmt: skip
_NAME_LABEL: Final = "__name__"
_HISTOGRAM_PARTS: Final = ("_bucket", "_sum", "_count")
RISING: Final = (Kind.COUNTER.value, Kind.HISTOGRAM.value)


def known_kinds() -> list[tuple[str, str]]:
    """Of the catalogue, with the series of its histograms."""
    found = [(name, str(metric.kind.value)) for name, metric in BY_NAME.items()]
    return found + [
        (f"{name}{part}", kind)
        for name, kind in found
        if kind == Kind.HISTOGRAM.value
        for part in _HISTOGRAM_PARTS
    ]


def series_dimension(spark: Any, series: Any, folded: Sequence[str]) -> Any:
    """One row per series: its identity, how many series share it, and their order.

    `place` orders the series of an identity by fingerprint, to break ties.
    """
    from pyspark.sql import Window
    from pyspark.sql import functions as F  # noqa: N812

    dropped = [*SUBJECT_LABELS, _NAME_LABEL, *folded]
    subject = [F.coalesce(F.col("labels")[name], F.lit("")).alias(name) for name in SUBJECT_LABELS]
    columns = series.select(
        "series",
        "fingerprint",
        "metric",
        *subject,
        F.map_filter("labels", lambda name, _: ~name.isin(dropped)).alias("labels"),
    )
    kinds = spark.createDataFrame(known_kinds(), "metric string, known string")
    guessed = (
        F.when(F.col("metric").endswith("_bucket"), Kind.HISTOGRAM.value)
        .when(F.col("metric").endswith("_total"), Kind.COUNTER.value)
        .otherwise(Kind.GAUGE.value)
    )
    named = columns.join(F.broadcast(kinds), "metric", "left").withColumn(
        "kind", F.coalesce("known", guessed)
    )
    same = Window.partitionBy("metric", *SUBJECT_LABELS, F.array_sort(F.map_entries("labels")))
    return named.select(
        "series",
        *IDENTITY,
        F.min("series").over(same).alias("identity"),
        F.count("*").over(same).alias("copies"),
        F.row_number().over(same.orderBy("fingerprint")).alias("place"),
    )


def keys(dimension: Any) -> Any:
    """What facts are joined with before they are folded."""
    return dimension.select("series", "identity", "copies", "place")


def with_identity(rows: Any, dimension: Any) -> Any:
    """Adds the columns of `identity`."""
    columns = dimension.where("series = identity").select("identity", *IDENTITY)
    return rows.join(columns, "identity")
