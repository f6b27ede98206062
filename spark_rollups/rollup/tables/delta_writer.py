"""Writes rows into a rollup table: one commit replaces the partitions that are named."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final

from spark_rollups.filesystem import Root
from spark_rollups.rollup.tables.delta_notes import ensure_note
from spark_rollups.rollup.tables.schemas import TABLES, partition_of

# A number is compared sooner than five labels.
_ORDER: Final = ("metric", "identity", "hour")


def replace_partitions(
    rows: Any, root: Root, table: str, partitions: Iterable[str], note: str
) -> None:
    """Readers see all of it or nothing. `rows` are already together by partition."""
    partition = partition_of(table)
    listed = ", ".join(f"DATE'{each}'" for each in sorted(partitions))
    (
        arranged(rows, table)
        .write.format("delta")
        .mode("overwrite")
        .option("replaceWhere", f"{partition} IN ({listed})")
        .option("userMetadata", note)
        .partitionBy(partition)
        .save(f"{root.spark}/{table}")
    )
    ensure_note(root, table, note)


def arranged(rows: Any, table: str) -> Any:
    """Sorted, with the columns of the table. Readers select by metric: its rows are together."""
    from pyspark.sql import functions as F  # noqa: N812

    order = [each for each in _ORDER if each in rows.columns]
    ordered = rows.sortWithinPartitions(partition_of(table), *order)
    return ordered.select(*(_column(F, field) for field in _fields(table)))


def _fields(table: str) -> Any:
    from pyspark.sql.pandas.types import from_arrow_schema

    return from_arrow_schema(TABLES[table])


def _column(functions: Any, field: Any) -> Any:
    # By name: Spark Connect sends a string type with its collation, which delta-rs cannot read.
    return functions.col(field.name).cast(field.dataType.simpleString()).alias(field.name)
