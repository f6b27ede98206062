"""Assets (streams, consumers, servers) of a month, with their statistics as arrays.

NaN means unknown. The arrays of both months have the same order, so they can be compared.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date
from functools import cached_property
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from exporter.metric import Metric

Floats = NDArray[np.float64]
Indexes = NDArray[np.int64]
Mask = NDArray[np.bool_]
Name = tuple[str, ...]  # the labels of an asset, in the order of its subject

# The newest day may be a minute old and lack the slow requests.
_STILL_SEEN = 1  # day


class Source(Protocol):
    """The part of `spark_rollups.rollup.tables.reader.Rollups` that the report uses."""

    def days(self) -> list[date]: ...
    def hours(self, day: date) -> int: ...
    def table(
        self,
        name: str,
        first_day: date,
        last_day: date,
        columns: Sequence[str] | None = None,
        metrics: Collection[str] | None = None,
        encoded: bool = False,
    ) -> Any: ...
    def snapshot_days(self) -> list[date]: ...
    def snapshot_table(self, name: str, day: date) -> Any: ...


@dataclass(frozen=True)
class Assets:
    labels: Name
    names: list[Name]
    days: tuple[date, ...]
    _rows: Mapping[str, int] = field(repr=False)  # of each metric; empty for a month without days
    _numbers: Mapping[str, NDArray[np.float64]] = field(repr=False)  # by metric and asset
    _by_day: Mapping[tuple[str, str], NDArray[np.float64]] = field(repr=False)  # by asset and day

    columns: dict[str, Callable[[Assets], Any]] = field(default_factory=dict, repr=False)
    _made: dict[str, Any] = field(default_factory=dict, repr=False)  # columns by name

    def __getitem__(self, column: str) -> Any:
        """A column of columns.toml or columns.py: an array or a list with one entry per asset."""
        if column not in self._made:
            self._made[column] = self.columns[column](self)
        return self._made[column]

    def __len__(self) -> int:
        return len(self.names)

    @cached_property
    def seen(self) -> Mask:
        """Which assets were seen in this month."""
        if not self._rows:
            return np.zeros(len(self.names), bool)
        return np.asarray((self._numbers["days"] > 0).any(axis=0))

    def first(self, metric: Metric) -> Floats:
        return self._column(metric, "first")

    def last(self, metric: Metric) -> Floats:
        return self._column(metric, "last")

    def lowest(self, metric: Metric) -> Floats:
        return self._column(metric, "min")

    def highest(self, metric: Metric) -> Floats:
        return self._column(metric, "max")

    def count(self, metric: Metric) -> Floats:
        return self._column(metric, "count")

    def sum(self, metric: Metric) -> Floats:
        return self._column(metric, "sum")

    def increase(self, metric: Metric | str) -> Floats:
        return self._column(metric, "increase")

    def days_with_data(self, metric: Metric) -> Floats:
        return self._column(metric, "days")

    def _column(self, metric: Metric | str, statistic: str) -> Floats:
        """One value per asset over the month; NaN where the month has no such series."""
        row = self._rows.get(metric if isinstance(metric, str) else metric.name)
        if row is None:
            return np.full(len(self.names), np.nan)
        return np.where(self._numbers["days"][row] > 0, self._numbers[statistic][row], np.nan)

    def daily(self, metric: Metric, column: str) -> NDArray[np.float64]:
        """A row per asset, a column per day with data; NaN where a day has no value."""
        return self._by_day[metric.name, column]

    def end(self, metric: Metric) -> Floats:
        """The last value of assets seen on the newest day or the day before; else NaN."""
        least = max(self.days, default=date.max).toordinal() - _STILL_SEEN
        return np.where(self._ordinals(metric, last=True) >= least, self.last(metric), np.nan)

    def limit(self, limit: Metric, level: Metric) -> Floats:
        """The limit at the end of the month; NaN if its series ended before that of the level."""
        until, seen = (self._ordinals(metric, last=True) for metric in (limit, level))
        return np.where((until > 0) & (until < seen), np.nan, self.end(limit))

    def mean(self, metric: Metric) -> Floats:
        return divided(self.sum(metric), self.count(metric))

    def day(self, metric: Metric, last: bool) -> list[date | None]:
        """The first or the last day with data."""
        days = self._ordinals(metric, last).astype(int).tolist()
        return [date.fromordinal(day) if day else None for day in days]

    def _ordinals(self, metric: Metric, last: bool) -> Floats:
        row = self._rows.get(metric.name)
        name = "last_day" if last else "first_day"
        return np.zeros(len(self.names)) if row is None else self._numbers[name][row]

    def has(self, metric: Metric) -> bool:
        row = self._rows.get(metric.name)
        return row is not None and bool(self._numbers["days"][row].any())

    def position(self, name: Name) -> int | None:
        """The index of one asset."""
        return self.positions.get(name)

    @cached_property
    def positions(self) -> dict[Name, int]:
        return {name: index for index, name in enumerate(self.names)}


def divided(part: Floats, whole: Floats) -> Floats:
    """NaN where the whole is 0 or unknown."""
    with np.errstate(invalid="ignore", divide="ignore"):
        ratio: Floats = np.where(whole > 0, part / whole, np.nan)
    return ratio


def total(values: Floats) -> float | None:
    """The sum of the known values; None if there are none."""
    there = values[~np.isnan(values)]
    return float(there.sum()) if len(there) else None


def highest(values: Floats) -> float | None:
    there = values[~np.isnan(values)]
    return float(there.max()) if len(there) else None


def known(value: float | None) -> float | None:
    """None for NaN."""
    return None if value is None or math.isnan(value) else float(value)


@dataclass(frozen=True, slots=True)
class Subject:
    system: str = ""
    account: str = ""
    stream: str = ""
    consumer: str = ""
    server: str = ""

    @property
    def labels(self) -> Name:
        """One for each label, "" where it has none."""
        return (self.system, self.account, self.stream, self.consumer, self.server)

    @property
    def stream_name(self) -> Name:
        return self.labels[:3]

    @property
    def parts(self) -> tuple[str, ...]:
        """From the system down; the parent of a server is its system."""
        return tuple(filter(None, self.labels))

    @property
    def name(self) -> str:
        return self.parts[-1] if self.parts else "the whole system"

    @property
    def path(self) -> str:
        return " / ".join(self.parts[:-1])


def subject_of(assets: Assets, index: int) -> Subject:
    named = dict(zip(assets.labels, assets.names[index], strict=True))
    return Subject(**{name: named.get(name, "") for name in Subject.__slots__})
