"""Aggregates the rollup tables to totals per asset.

Days are merged one by one in pyarrow: a month of a large system does not fit into memory.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date, timedelta
from typing import Any, Final

from exporter import catalog
from exporter.audit.history.rollup_history import Key, RollupHistory, WindowTotals, quantile

DAY, WEEK, MONTH = 1, 7, 30
BUCKET: Final = catalog.CONSUMER_ACK_SECONDS.name + "_bucket"
_QUANTILE = 0.99
# The metrics of each window, in days. Nothing else is read.
WINDOWS: Final[Mapping[int, tuple[str, ...]]] = {
    DAY: (
        catalog.CONSUMER_NUM_ACK_PENDING.name,
        catalog.CONSUMER_DELIVERIES.name,
        catalog.CONSUMER_REDELIVERIES.name,
    ),
    WEEK: (
        catalog.CONSUMER_NUM_ACK_PENDING.name,
        catalog.STREAM_STORED_MESSAGES.name,
        catalog.STREAM_DEDUPE_HITS.name,
    ),
    MONTH: (
        catalog.CONSUMER_LAG_SECONDS.name,
        catalog.CONSUMER_BACKLOG_MESSAGES.name,
        catalog.CONSUMER_NUM_PENDING.name,
        catalog.CONSUMER_RECREATED.name,
        catalog.STREAM_STORED_MESSAGES.name,
    ),
}
_KEY_COLUMNS: Final = ("metric", "account", "stream", "consumer")
_SUMMED: Final = ("sum", "count", "hours", "increase", "days")
DAILY_COLUMNS: Final = (*_KEY_COLUMNS, "max", "sum", "count", "hours", "increase")
GROWTH_COLUMNS: Final = (*_KEY_COLUMNS, "min", "max", "first", "last")
BUCKET_COLUMNS: Final = (*_KEY_COLUMNS, "labels", "increase")
QUANTILE_COLUMNS: Final = (*_KEY_COLUMNS, "p95")


@dataclass(slots=True)
class HistoryBuilder:
    """Collects the tables of each day, then builds the history."""

    newest: date
    _windows: dict[int, Any] = field(default_factory=dict)  # by days -> the merged table so far
    _p95: dict[Key, float] = field(default_factory=dict)
    _buckets: dict[Key, dict[float, float]] = field(default_factory=dict)
    _growth: dict[Key, float] = field(default_factory=dict)

    def age(self, day: date) -> int:
        return (self.newest - day) // timedelta(days=1)

    def metrics(self, day: date) -> list[str]:
        """The metrics that are needed from the daily table of this day."""
        needed = (names for days, names in WINDOWS.items() if self.age(day) < days)
        return sorted({name for names in needed for name in names})

    def add_daily(self, day: date, rows: Any) -> None:
        import pyarrow.compute as pc  # type: ignore[import-untyped]

        for days, names in WINDOWS.items():
            if self.age(day) < days:
                selected = rows.filter(pc.field("metric").isin(list(names)))
                self._windows[days] = _merged(self._windows.get(days), selected)

    def add_quantiles(self, rows: Any) -> None:
        for key, row in _rows(rows, "p95"):
            self._p95[key] = max(self._p95.get(key, 0.0), row["p95"] or 0.0)

    def add_buckets(self, rows: Any) -> None:
        for key, row in _rows(rows, "labels", "increase"):
            bound = float(dict(row["labels"]).get("le", "nan"))
            buckets = self._buckets.setdefault(key, {})
            buckets[bound] = buckets.get(bound, 0.0) + (row["increase"] or 0.0)

    def add_growth(self, rows: Any) -> None:
        for key, row in _rows(rows, "min", "max", "first", "last"):
            rose = row["first"] == row["min"] and row["last"] == row["max"]
            self._growth[key] = row["last"] - row["first"] if rose else 0.0

    def history(self) -> RollupHistory:
        p99 = {key: quantile(_QUANTILE, buckets) for key, buckets in self._buckets.items()}
        windows: dict[tuple[str, int], dict[Key, WindowTotals]] = {}
        for days, table in self._windows.items():
            for key, row in _rows(table, "metric", "max", *_SUMMED):
                windows.setdefault((row["metric"], days), {})[key] = WindowTotals(
                    row["max"] or 0.0,
                    row["sum"] or 0.0,
                    row["count"],
                    row["hours"],
                    row["days"],
                    row["increase"] or 0.0,
                )
        return RollupHistory(self.newest, windows, self._p95, p99, self._growth)


def _merged(before: Any, rows: Any) -> Any:
    """One row per metric and asset: the maximum and the sums over all days."""
    import pyarrow as pa

    ones = pa.array([1] * rows.num_rows, pa.int64())
    both = rows.append_column("days", ones).select([*DAILY_COLUMNS, "days"])
    if before is not None:
        both = pa.concat_tables([before.select(both.column_names), both])
    wanted = [("max", "max"), *((name, "sum") for name in _SUMMED)]
    merged = both.group_by(list(_KEY_COLUMNS)).aggregate(wanted)
    renamed = {f"{name}_{how}": name for name, how in wanted}
    merged = merged.rename_columns([renamed.get(name, name) for name in merged.column_names])
    return merged.select(both.column_names).cast(both.schema)


def _rows(table: Any, *columns: str) -> Iterator[tuple[Key, dict[str, Any]]]:
    names: Sequence[str] = ("account", "stream", "consumer", *columns)
    for batch in table.select(list(dict.fromkeys(names))).to_batches():
        for row in batch.to_pylist():
            yield (row["account"], row["stream"], row["consumer"]), row
