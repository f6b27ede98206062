"""The current limit of each series, and the discard policy of streams."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

from exporter import catalog
from spark_rollups.forecasting.series_points import Series
from spark_rollups.rollup.tables.schemas import SUBJECT_LABELS

INFO: Final = catalog.STREAM_INFO.name
_INFO_LABELS: Final = frozenset(catalog.STREAM_INFO.labels)
_OLD: Final = "old"

Identity = tuple[object, ...]
Row = dict[str, Any]


@dataclass(frozen=True, slots=True)
class CurrentLimits:
    """By metric and identity: the newest value of the limit and its last hour."""

    _limits: dict[Identity, tuple[float, float]]
    _discards_old: dict[Identity, bool]

    def limit(self, metric: str, series: Row, newest_hour: float) -> float | None:
        """None without a limit, or if its series ended before that of the level."""
        value, last_hour = self._limits.get((metric, *identity(series)), (None, 0.0))
        return value if last_hour >= newest_hour else None

    def discards_old(self, stream: Row) -> bool:
        """False for an unknown stream."""
        return self._discards_old.get(identity(stream), False)


def current_limits(limits: Series | None) -> CurrentLimits:
    """From series of limits and of stream_info, with the points `last` and `last_hour`."""
    values: dict[Identity, tuple[float, float]] = {}
    policies: dict[Identity, bool] = {}
    for row, last, hour in _newest_last(limits):
        if row["metric"] == INFO:
            policies[identity(row, _INFO_LABELS)] = dict(row["labels"]).get("discard") == _OLD
        else:
            values[row["metric"], *identity(row)] = last, hour
    return CurrentLimits(values, policies)


def _newest_last(limits: Series | None) -> list[tuple[Row, float, float]]:
    """Sorted by time: each election or edit starts a new stream_info series, and the newest counts."""
    if limits is None:
        return []
    last, hour = (limits.newest(name).tolist() for name in ("last", "last_hour"))
    rows = zip(limits.identities.to_pylist(), last, hour, strict=True)
    return sorted(rows, key=lambda each: each[2])


def identity(row: Row, without: frozenset[str] = frozenset()) -> Identity:
    """The labels of a series, without its metric."""
    labels = [pair for pair in row["labels"] if pair[0] not in without]
    return (*(row[name] for name in SUBJECT_LABELS), tuple(sorted(labels)))
