"""Opens one version of a Delta table in Spark."""

from __future__ import annotations

from typing import Any

from spark_rollups.filesystem import RollupError, Root
from spark_rollups.spark_errors import is_spark, java_died, reason_in


def read_table(spark: Any, root: Root, table: str, version: int) -> Any:
    """Spark Connect opens it with the first action; its error is then one of a job."""
    read = spark.read.format("delta").option("versionAsOf", version)
    try:
        return read.load(f"{root.spark}/{table}")
    except Exception as error:
        if java_died(error) or not is_spark(error):
            raise
        raise RollupError(
            f"Spark cannot open version {version} of {root}/{table}: {reason_in(str(error))}; "
            "check that Spark reaches this path and has Delta Lake"
        ) from error
