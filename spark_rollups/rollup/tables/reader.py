"""Reads the rollups with pyarrow, without Spark."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from datetime import date
from typing import Any

import pyarrow as pa  # type: ignore[import-untyped]
import pyarrow.compute as pc  # type: ignore[import-untyped]
import pyarrow.parquet as pq  # type: ignore[import-untyped]

from spark_rollups.filesystem import RollupError, Root
from spark_rollups.rollup.tables.manifest import Day, Manifest, RollupFile, newest_manifest
from spark_rollups.rollup.tables.schemas import DAY_TABLES, SNAPSHOT_TABLES


class Rollups:
    """The rollups of one manifest."""

    def __init__(self, root: Root, manifest: Manifest) -> None:
        self.root = root
        self.manifest = manifest

    def days(self) -> list[date]:
        """Days with data, oldest first."""
        return [date.fromisoformat(day) for day in sorted(self.manifest.days)]

    def day(self, day: date) -> Day | None:
        """The manifest entry of a day."""
        return self.manifest.days.get(day.isoformat())

    def hours(self, day: date) -> int:
        """Bit n is set if hour n (UTC) has data; 0 for a missing day."""
        found = self.day(day)
        return 0 if found is None else found.hours

    def table(
        self,
        name: str,
        first_day: date,
        last_day: date,
        columns: Sequence[str] | None = None,
        metrics: Collection[str] | None = None,
    ) -> pa.Table:
        """The rows of these days, both included."""
        if name not in DAY_TABLES:
            raise RollupError(f"unknown table {name}; the tables are {', '.join(DAY_TABLES)}")
        files = [
            each
            for day in self.days()
            if first_day <= day <= last_day
            for each in self.manifest.days[day.isoformat()].tables.get(name, ())
        ]
        return self._read(files, DAY_TABLES[name], columns, metrics)

    def snapshot_days(self) -> list[date]:
        """Days with a snapshot of forecasts and trends, oldest first."""
        return [date.fromisoformat(day) for day in sorted(self.manifest.asof)]

    def snapshot_table(self, name: str, day: date) -> pa.Table:
        """`forecasts` or `trends` of a snapshot; raises without one."""
        if name not in SNAPSHOT_TABLES:
            raise RollupError(f"unknown table {name}; the tables are {', '.join(SNAPSHOT_TABLES)}")
        found = self.manifest.asof.get(day.isoformat())
        if found is None:
            raise RollupError(f"{self.root}: no {name} as of {day}")
        return self._read(found.get(name, ()), SNAPSHOT_TABLES[name], None, None)

    def _read(
        self,
        files: Iterable[RollupFile],
        schema: Any,
        columns: Sequence[str] | None,
        metrics: Collection[str] | None,
    ) -> pa.Table:
        wanted = schema if columns is None else pa.schema([schema.field(name) for name in columns])
        parts = [self._part(each.path, wanted, metrics) for each in files]
        return pa.concat_tables([wanted.remove_metadata().empty_table(), *parts])

    def _part(self, path: str, wanted: Any, metrics: Collection[str] | None) -> pa.Table:
        wanted_metrics = (
            None if metrics is None else pc.field("metric").isin(pa.array(metrics, pa.string()))
        )
        with self.root.named_errors("read", path):
            found = pq.read_table(
                self.root.at(path),
                filesystem=self.root.files,
                columns=wanted.names,
                filters=wanted_metrics,
                partitioning=None,
            )
            return found.select(wanted.names).cast(wanted.remove_metadata())


def open_rollups(path: str) -> Rollups:
    """Opens the newest manifest; raises without one, or for a newer format."""
    root = Root(str(path))
    manifest = newest_manifest(root)
    if manifest is None:
        raise RollupError(f"{root}: no rollups here; `streamgauge rollup` writes them")
    return Rollups(root, manifest)
