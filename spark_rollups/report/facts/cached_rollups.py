"""A cache in front of the rollups: the report reads the same days for many metrics."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from datetime import date
from typing import Any

import pyarrow as pa  # type: ignore[import-untyped]
import pyarrow.compute as pc  # type: ignore[import-untyped]

from spark_rollups.rollup.tables.reader import Rollups

_MOST_ROWS = 1_000_000  # in the cache; two months of some hundred consumers fit


class CachedRollups:
    """Rollups that read a small span of days once, with all its metrics."""

    def __init__(self, rollups: Rollups, most_rows: int = _MOST_ROWS) -> None:
        self._rollups = rollups
        self._rows_left = most_rows
        self._cached: dict[tuple[str, date, date], pa.Table] = {}

    def days(self) -> list[date]:
        return self._rollups.days()

    def hours(self, day: date) -> int:
        return self._rollups.hours(day)

    def snapshot_days(self) -> list[date]:
        return self._rollups.snapshot_days()

    def snapshot_table(self, name: str, day: date) -> Any:
        return self._rollups.snapshot_table(name, day)

    def table(
        self,
        name: str,
        first_day: date,
        last_day: date,
        columns: Sequence[str] | None = None,
        metrics: Collection[str] | None = None,
    ) -> Any:
        cached = self._whole(name, first_day, last_day)
        if cached is None:
            return self._rollups.table(name, first_day, last_day, columns, metrics)
        if metrics is not None:
            cached = cached.filter(pc.is_in(cached["metric"], pa.array(list(metrics), pa.string())))
        return cached if columns is None else cached.select(list(columns))

    def _whole(self, name: str, first_day: date, last_day: date) -> pa.Table | None:
        key = (name, first_day, last_day)
        if key not in self._cached:
            rows = self._rollups.rows(*key)  # from the log, without reading files
            if rows > self._rows_left:
                return None
            self._rows_left -= rows
            self._cached[key] = self._rollups.table(*key)
        return self._cached[key]
