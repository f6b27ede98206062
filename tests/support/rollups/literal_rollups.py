"""Rollups from literal numbers, in memory or as files, for tests of the report."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
from support.rollups.delta_tables import ALL_HOURS, write_rollups

from exporter.metric import Metric
from spark_rollups.rollup.tables.schemas import (
    DAY_TABLES,
    FORECASTS,
    SNAPSHOT_TABLES,
    SUBJECT_LABELS,
)

Number = float | Callable[[int], float]  # constant, or by the index of the day


def month_days(year: int, month: int) -> list[date]:
    first = date(year, month, 1)
    return [day for n in range(31) if (day := first + timedelta(days=n)).month == month]


class LiteralRollups:
    """Has the interface of spark_rollups.rollup.tables.reader.Rollups."""

    def __init__(self) -> None:
        self.rows: dict[str, list[dict[str, Any]]] = {name: [] for name in DAY_TABLES}
        self.asof: dict[date, dict[str, list[dict[str, Any]]]] = {}
        self.covered: dict[date, int] = {}
        self._made: dict[str, tuple[int, Any]] = {}
        self._filtered: dict[tuple[str, frozenset[str]], tuple[Any, dict[date, Any]]] = {}

    # --- filling ----------------------------------------------------------------------------------

    def cover(self, days: Iterable[date], hours: int = ALL_HOURS) -> None:
        self.covered |= dict.fromkeys(days, hours)

    def gauge(
        self,
        metric: Metric,
        days: Sequence[date],
        value: Number,
        *,
        high: Number | None = None,
        low: Number | None = None,
        labels: dict[str, str] | None = None,
        **subject: str,
    ) -> None:
        for number, day in enumerate(days):
            level = _at(value, number)
            top = level if high is None else _at(high, number)
            bottom = level if low is None else _at(low, number)
            numbers = {"min": bottom, "max": top, "sum": level * 24, "first": level, "last": level}
            self._daily(metric, "gauge", day, numbers, labels, subject)

    def counter(
        self,
        metric: Metric,
        days: Sequence[date],
        increase: Number,
        *,
        labels: dict[str, str] | None = None,
        name: str = "",
        **subject: str,
    ) -> None:
        reached = 0.0
        for number, day in enumerate(days):
            rise = _at(increase, number)
            numbers = {
                "min": reached, "max": reached + rise, "sum": reached * 24, "first": reached,
                "last": reached + rise, "increase": rise,
            }  # fmt: skip
            reached += rise
            self._daily(metric, "counter", day, numbers, labels, subject, name)

    def states(
        self, metric: Metric, days: Sequence[date], seconds: dict[int, float], **subject: str
    ) -> None:
        for day in days:
            for value, held in seconds.items():
                row = {"day": day, "value": float(value), "samples": 1, "seconds": held}
                self.rows["states"].append({**_identity(metric, "gauge", None, subject), **row})

    def quantile(self, metric: Metric, days: Sequence[date], p95: Number, **subject: str) -> None:
        for number, day in enumerate(days):
            row = {"day": day, "count": 24, "p50": 0.0, "p95": _at(p95, number), "p99": None}
            self.rows["quantiles"].append({**_identity(metric, "gauge", None, subject), **row})

    def forecast(self, as_of: date, **columns: Any) -> None:
        empty: dict[str, Any] = {
            field.name: "" if field.type == pa.string() else 0 if field.type == pa.int32() else None
            for field in FORECASTS
        }
        self._asof(as_of)["forecasts"].append({**empty, "as_of": as_of, **columns})

    def _asof(self, as_of: date) -> dict[str, list[dict[str, Any]]]:
        return self.asof.setdefault(as_of, {"forecasts": [], "trends": []})

    def _daily(
        self, metric: Metric, kind: str, day: date, numbers: dict[str, float],
        labels: dict[str, str] | None, subject: dict[str, str], name: str = "",
    ) -> None:  # fmt: skip
        self.covered.setdefault(day, ALL_HOURS)
        midnight = datetime(day.year, day.month, day.day, tzinfo=UTC)
        identity = _identity(metric, kind, labels, subject, name)
        times = {"first_hour": midnight, "last_hour": midnight + timedelta(hours=23)}
        known = {"increase": None, **numbers}
        self.rows["daily"].append(
            {
                **identity,
                "day": day,
                "count": 24,
                "hours": 24,
                **known,
                **times,
                "resets": 0,
                "hour_bits": self.covered[day],
            }
        )

    # --- reading ----------------------------------------------------------------------------------

    def days(self) -> list[date]:
        return sorted(self.covered)

    def hours(self, day: date) -> int:
        return self.covered.get(day, 0)

    def table(
        self,
        name: str,
        first_day: date,
        last_day: date,
        columns: Sequence[str] | None = None,
        metrics: Collection[str] | None = None,
        encoded: bool = False,
    ) -> Any:
        days = [day for day in self._days_of(name, metrics) if first_day <= day <= last_day]
        parts = [self._days_of(name, metrics)[day] for day in days]
        table = pa.concat_tables([DAY_TABLES[name].empty_table(), *parts])
        return table if columns is None else table.select(list(columns))

    def _days_of(self, name: str, metrics: Collection[str] | None) -> dict[date, Any]:
        """Rows of these metrics by day; cached as long as the whole table."""
        whole, key = self._whole(name), (name, frozenset(metrics or ()))
        cached = self._filtered.get(key)
        if cached is None or cached[0] is not whole:
            found = whole
            if metrics is not None:
                wanted = pa.array(list(metrics), pa.string())
                found = whole.filter(pc.is_in(whole["metric"], wanted))
            days = pc.unique(found["day"]).to_pylist()
            split = {day: found.filter(pc.equal(found["day"], day)) for day in days}
            cached = self._filtered[key] = (whole, split)
        return cached[1]

    def _whole(self, name: str) -> Any:
        """Cached until the number of rows changes."""
        rows = self.rows[name]
        made = self._made.get(name)
        if made is None or made[0] != hash((id(rows), len(rows))):
            table = pa.Table.from_pylist(rows, schema=DAY_TABLES[name])
            made = self._made[name] = (hash((id(rows), len(rows))), table)
        return made[1]

    def snapshot_days(self) -> list[date]:
        return sorted(self.asof)

    def snapshot_table(self, name: str, day: date) -> Any:
        return pa.Table.from_pylist(self.asof[day][name], schema=SNAPSHOT_TABLES[name])

    # --- as files ---------------------------------------------------------------------------------

    def write(self, folder: Path) -> None:
        """Writes tables like `streamgauge rollup`."""
        tables = {name: self._whole(name) for name in DAY_TABLES}
        for name, schema in SNAPSHOT_TABLES.items():
            rows = [row for day in self.asof for row in self.asof[day][name]]
            tables[name] = pa.Table.from_pylist(rows, schema=schema)
        write_rollups(folder, tables, self.asof)


def _identity(
    metric: Metric,
    kind: str,
    labels: dict[str, str] | None,
    subject: dict[str, str],
    name: str = "",
) -> dict[str, Any]:
    where = {label: subject.get(label, "") for label in SUBJECT_LABELS}
    where["system"] = subject.get("system", "prod")
    other = list((labels or {}).items())
    return {"metric": name or metric.name, "kind": kind, **where, "labels": other}


def _at(value: Number, number: int) -> float:
    return float(value(number)) if callable(value) else float(value)
