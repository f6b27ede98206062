"""Reads the rollups through delta-rs and pyarrow, without Spark."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from datetime import date
from functools import cached_property
from typing import Any, Final

import numpy as np
import pyarrow as pa  # type: ignore[import-untyped]
import pyarrow.compute as pc  # type: ignore[import-untyped]
import pyarrow.parquet as pq  # type: ignore[import-untyped]

from spark_rollups.datasource.parquet_reader import groups_with
from spark_rollups.filesystem import RollupError, Root
from spark_rollups.rollup.tables.delta_notes import (
    TableFile,
    TableVersion,
    newest_note,
    read_version,
)
from spark_rollups.rollup.tables.schemas import (
    DAY_TABLES,
    SNAPSHOT_TABLES,
    SUBJECT_LABELS,
    TABLES,
    partition_of,
)
from streamgauge.rollup_format import ROLLUP_FORMAT

_BATCH_ROWS: Final = 32_768
_NAMES: Final = ("metric", *SUBJECT_LABELS)


class Rollups:
    """The versions that one run wrote: `daily` is committed last and names those of the others."""

    def __init__(self, root: Root, note: dict[str, Any]) -> None:
        self.root, self.note = root, note
        self._versions: dict[str, TableVersion] = {}
        self._hours: dict[date, int] = {}

    def version(self, table: str) -> TableVersion:
        if table not in TABLES:
            raise RollupError(f"unknown table {table}; the tables are {', '.join(TABLES)}")
        if table not in self._versions:
            self._versions[table] = read_version(self.root, table, self._number(table))
        return self._versions[table]

    def _number(self, table: str) -> int | None:
        """`daily` and `forecasts` are committed last, and name the versions of their run."""
        last, note = "daily", self.note
        if table in SNAPSHOT_TABLES:
            last, note = "forecasts", self._snapshots
        number: int | None = {**note.get("tables", {}), last: note.get("version")}.get(table)
        return number

    @property
    def written(self) -> float:
        """When the run committed, in seconds since 1970."""
        return float(self.note.get("written", 0)) / 1000

    def days(self) -> list[date]:
        """Days with data, oldest first."""
        return [date.fromisoformat(day) for day in self.version("daily").partitions]

    def hours(self, day: date) -> int:
        """Bit n is set if hour n (UTC) has data; 0 for a missing day."""
        if day not in self._hours:
            bits = self.table("daily", day, day, columns=["hour_bits"])["hour_bits"].to_numpy()
            self._hours[day] = int(np.bitwise_or.reduce(bits)) if len(bits) else 0
        return self._hours[day]

    def rows(self, table: str, first_day: date, last_day: date) -> int:
        """From the log, without reading files."""
        return self.version(table).rows(first_day, last_day)

    def table(
        self,
        name: str,
        first_day: date,
        last_day: date,
        columns: Sequence[str] | None = None,
        metrics: Collection[str] | None = None,
        encoded: bool = False,
    ) -> pa.Table:
        """The rows of these days, both included; `encoded` leaves texts as dictionaries."""
        if name not in DAY_TABLES:
            raise RollupError(f"unknown table {name}; the tables are {', '.join(DAY_TABLES)}")
        low, high = first_day.isoformat(), last_day.isoformat()
        files = [file for file in self.version(name).files if low <= file.partition <= high]
        return self._read(name, files, columns, metrics, encoded)

    def snapshot_days(self) -> list[date]:
        """Days with a snapshot of forecasts and trends, oldest first."""
        return [date.fromisoformat(day) for day in self._snapshots.get("days", ())]

    @cached_property
    def _snapshots(self) -> dict[str, Any]:
        return newest_note(self.root, "forecasts")

    def snapshot_table(self, name: str, day: date) -> pa.Table:
        """`forecasts` or `trends` of a snapshot; raises without one."""
        if name not in SNAPSHOT_TABLES:
            raise RollupError(f"unknown table {name}; the tables are {', '.join(SNAPSHOT_TABLES)}")
        if day not in self.snapshot_days():
            raise RollupError(f"{self.root}: no {name} as of {day}")
        files = [file for file in self.version(name).files if file.partition == day.isoformat()]
        return self._read(name, files, None, None)

    def _read(
        self,
        name: str,
        files: Sequence[TableFile],
        columns: Sequence[str] | None,
        metrics: Collection[str] | None,
        encoded: bool = False,
    ) -> pa.Table:
        schema, partition = TABLES[name], partition_of(name)
        wanted = schema if columns is None else pa.schema([schema.field(each) for each in columns])
        if encoded:
            wanted = pa.schema([_encoded(field) for field in wanted])
        parts = [self._part(file, wanted, partition, metrics) for file in files]
        return pa.concat_tables([wanted.empty_table(), *parts])

    def _part(
        self, file: TableFile, wanted: Any, partition: str, metrics: Collection[str] | None
    ) -> pa.Table:
        """The partition column is in the log, not in the file."""
        stored = [name for name in wanted.names if name != partition]
        with self.root.open(file.path) as opened:
            found = _rows_of(opened, stored, metrics)
        if partition in wanted.names:
            day = pa.scalar(date.fromisoformat(file.partition), pa.date32())
            found = found.append_column(partition, pa.repeat(day, found.num_rows))
        return found.select(wanted.names).cast(wanted)


def _rows_of(opened: Any, columns: Sequence[str], metrics: Collection[str] | None) -> pa.Table:
    """Filters batch by batch: a whole file of a large system takes hundreds of megabytes."""
    read = list(dict.fromkeys((*columns, *(("metric",) if metrics is not None else ()))))
    file = pq.ParquetFile(opened, read_dictionary=[each for each in read if each in _NAMES])
    if metrics is None:
        return file.read(columns=read)
    wanted = pa.array(list(metrics), pa.string())
    kept = []
    groups = groups_with(file.metadata, metrics)
    for batch in file.iter_batches(_BATCH_ROWS, groups, read, use_threads=False):
        codes = batch.column("metric")
        rows = batch.filter(pc.is_in(codes.dictionary, wanted).take(codes.indices))
        if rows.num_rows:
            kept.append(rows)
    schema = kept[0].schema if kept else file.schema_arrow
    return pa.Table.from_batches(kept, schema).select(list(columns))


def _encoded(field: Any) -> Any:
    if field.type != pa.string():
        return field
    return pa.field(field.name, pa.dictionary(pa.int32(), pa.string()))


def open_rollups(path: str) -> Rollups:
    """The result of the newest run; raises without one, or for another format."""
    root = Root(str(path))
    note = newest_note(root, "daily")
    if not note:
        raise RollupError(f"{root}: no rollups here; `streamgauge rollup` writes them")
    check_format(root, note)
    return Rollups(root, note)


def check_format(root: Root, note: dict[str, Any]) -> None:
    version = note.get("format", ROLLUP_FORMAT)
    if version > ROLLUP_FORMAT:
        raise RollupError(
            f"{root}: format {version} is newer than this program, which reads {ROLLUP_FORMAT}"
        )
    if version < ROLLUP_FORMAT:
        raise RollupError(
            f"{root}: format {version} is older than this program, which reads {ROLLUP_FORMAT}; "
            "remove the folder and run `streamgauge rollup` again: the archive has all of it"
        )
