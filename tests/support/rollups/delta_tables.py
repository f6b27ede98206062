"""Writes rollup tables from rows, as a run of `streamgauge rollup` leaves them, without Spark."""

from collections.abc import Iterable, Mapping
from datetime import date
from pathlib import Path
from typing import Any

import pyarrow as pa
from deltalake import CommitProperties, DeltaTable, write_deltalake

from spark_rollups.rollup.tables.delta_notes import note_text
from spark_rollups.rollup.tables.schemas import (
    DAY_TABLES,
    SNAPSHOT_TABLES,
    TABLES,
    partition_of,
)
from streamgauge.rollup_format import ROLLUP_FORMAT

Row = dict[str, Any]
ALL_HOURS = 2**24 - 1


def write_rollups(
    folder: Path,
    tables: Mapping[str, Any],
    snapshots: Iterable[date] = (),
    **note: Any,
) -> None:
    """Rows or tables by name; missing tables are empty. `daily` and `forecasts` come last."""
    described = {"format": ROLLUP_FORMAT, **note}
    for name in reversed(DAY_TABLES):
        versions = {} if name != "daily" else _versions(folder, DAY_TABLES)
        _write(folder, name, tables.get(name, ()), note_text(**described, tables=versions))
    days = sorted(day.isoformat() for day in snapshots)
    for name in reversed(SNAPSHOT_TABLES):
        versions = {} if name != "forecasts" else _versions(folder, ("trends",))
        text = note_text(**described, days=days, tables=versions)
        _write(folder, name, tables.get(name, ()), text)


def _versions(folder: Path, names: Iterable[str]) -> dict[str, int]:
    return {name: DeltaTable(folder / name).version() for name in names if name != "daily"}


def _write(folder: Path, name: str, rows: Any, note: str) -> None:
    schema = TABLES[name]
    table = rows if isinstance(rows, pa.Table) else pa.Table.from_pylist(list(rows), schema)
    write_deltalake(
        folder / name,
        table.select(schema.names).cast(schema),
        mode="overwrite",
        partition_by=[partition_of(name)],
        commit_properties=CommitProperties(custom_metadata={"userMetadata": note}),
    )
