"""From the tables of the rollups to some numbers per asset.

Days are folded one after the other inside pyarrow: a month of a large system would not fit.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date, timedelta
from typing import Any, Final

from exporter import catalog
from exporter.audit.history.queries import Key, RollupHistory, Spread, quantile

DAY, WEEK, MONTH = 1, 7, 30
BUCKET: Final = catalog.CONSUMER_ACK_SECONDS.name + "_bucket"
_QUANTILE = 0.99
# What is asked of each span of days; everything else is not even read.
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
_WHO: Final = ("metric", "account", "stream", "consumer")
_SUMMED: Final = ("sum", "count", "hours", "increase", "days")
DAILY_COLUMNS: Final = (*_WHO, "max", "sum", "count", "hours", "increase")
GROWTH_COLUMNS: Final = (*_WHO, "min", "max", "first", "last")
BUCKET_COLUMNS: Final = (*_WHO, "labels", "increase")
QUANTILE_COLUMNS: Final = (*_WHO, "p95")


@dataclass(slots=True)
class Facts:
    """Takes the tables of each day, then gives the history."""

    newest: date
    _windows: dict[int, Any] = field(default_factory=dict)  # -> table of what was folded so far
    _p95: dict[Key, float] = field(default_factory=dict)
    _buckets: dict[Key, dict[float, float]] = field(default_factory=dict)
    _growth: dict[Key, float] = field(default_factory=dict)

    def age(self, day: date) -> int:
        return (self.newest - day) // timedelta(days=1)

    def metrics(self, day: date) -> list[str]:
        """Of the daily table that this day is asked for."""
        asked = (names for days, names in WINDOWS.items() if self.age(day) < days)
        return sorted({name for names in asked for name in names})

    def add_daily(self, day: date, rows: Any) -> None:
        import pyarrow.compute as pc  # type: ignore[import-untyped]

        for days, names in WINDOWS.items():
            if self.age(day) < days:
                chosen = rows.filter(pc.field("metric").isin(list(names)))
                self._windows[days] = _folded(self._windows.get(days), chosen)

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
        spreads: dict[tuple[str, int], dict[Key, Spread]] = {}
        for days, table in self._windows.items():
            for key, row in _rows(table, "metric", "max", *_SUMMED):
                spreads.setdefault((row["metric"], days), {})[key] = Spread(
                    row["max"] or 0.0,
                    row["sum"] or 0.0,
                    row["count"],
                    row["hours"],
                    row["days"],
                    row["increase"] or 0.0,
                )
        return RollupHistory(self.newest, spreads, self._p95, p99, self._growth)


def _folded(before: Any, rows: Any) -> Any:
    """One row per metric and asset: the highest of all days, and the sums."""
    import pyarrow as pa

    ones = pa.array([1] * rows.num_rows, pa.int64())
    both = rows.append_column("days", ones).select([*DAILY_COLUMNS, "days"])
    if before is not None:
        both = pa.concat_tables([before.select(both.column_names), both])
    wanted = [("max", "max"), *((name, "sum") for name in _SUMMED)]
    made = both.group_by(list(_WHO)).aggregate(wanted)
    renamed = {f"{name}_{how}": name for name, how in wanted}
    made = made.rename_columns([renamed.get(name, name) for name in made.column_names])
    return made.select(both.column_names).cast(both.schema)


def _rows(table: Any, *columns: str) -> Iterator[tuple[Key, dict[str, Any]]]:
    names: Sequence[str] = ("account", "stream", "consumer", *columns)
    for batch in table.select(list(dict.fromkeys(names))).to_batches():
        for row in batch.to_pylist():
            yield (row["account"], row["stream"], row["consumer"]), row
