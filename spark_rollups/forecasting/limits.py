"""Which limit is in force for a series, and what a stream does when it is full. Pure."""

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
    """What the newest days say about limits: by metric and identity, a value and until when."""

    _limits: dict[Identity, tuple[float, float]]
    _discards_old: dict[Identity, bool]

    def limit(self, metric: str, series: Row, newest_hour: float) -> float | None:
        """None when there is none: a limit that ended before the level did was taken away."""
        value, last_hour = self._limits.get((metric, *identity(series)), (None, 0.0))
        return value if last_hour >= newest_hour else None

    def discards_old(self, stream: Row) -> bool:
        """Of a stream of which nothing is known it is not said."""
        return self._discards_old.get(identity(stream), False)


def current_limits(limits: Series | None) -> CurrentLimits:
    """Series of limits and of stream infos, with the points `last` and `last_hour`."""
    values: dict[Identity, tuple[float, float]] = {}
    policies: dict[Identity, bool] = {}
    for row, last, hour in _newest_last(limits):
        if row["metric"] == INFO:
            policies[identity(row, _INFO_LABELS)] = dict(row["labels"]).get("discard") == _OLD
        else:
            values[row["metric"], *identity(row)] = last, hour
    return CurrentLimits(values, policies)


def _newest_last(limits: Series | None) -> list[tuple[Row, float, float]]:
    """An election or an edit begins a new series of infos, and the newest one tells."""
    if limits is None:
        return []
    last, hour = (limits.newest(name).tolist() for name in ("last", "last_hour"))
    rows = zip(limits.identities.to_pylist(), last, hour, strict=True)
    return sorted(rows, key=lambda each: each[2])


def identity(row: Row, without: frozenset[str] = frozenset()) -> Identity:
    """Everything that tells one from another, but not what is measured."""
    labels = [pair for pair in row["labels"] if pair[0] not in without]
    return (*(row[name] for name in SUBJECT_LABELS), tuple(sorted(labels)))
