"""Reads each day of two months once and aggregates it by asset, with numpy.

Memory is bounded by a day of rows and by the number of assets, not by the number of days.

The series of some counters appears with its first event. An increase needs two samples, so a
single restore in a month would count as none: the first value of such a series is added.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date, timedelta
from typing import Any

import numpy as np
import pyarrow as pa  # type: ignore[import-untyped]
import pyarrow.compute as pc  # type: ignore[import-untyped]
from numpy.typing import NDArray

from exporter import catalog as c
from exporter.metric import Kind as MetricKind
from exporter.metric import Metric, Origin, Subject
from spark_rollups.report.facts.assets import Assets, Indexes, Name, Source
from spark_rollups.report.facts.assets import Subject as Asset
from spark_rollups.report.month import Progress, silent

_NUMBERS = ("count", "hours", "min", "max", "sum", "first", "last", "increase")
_WARM_UP = 7  # days before the first: series seen there have not just appeared
_PROGRESS_DAYS = 10  # between two lines
_ROWS = 400_000  # of a day at once: each takes about 250 bytes
_SUBJECT = Asset.__slots__
# Counters whose series appears with its first event.
APPEARING = frozenset(
    metric.name
    for metric in c.ALL
    if metric in c.EVENT_TIMES
    or (
        metric.kind is MetricKind.COUNTER
        and metric.origin is Origin.EVENT
        and metric.subject in (Subject.CONSUMER, Subject.STREAM)
    )
)
# How the days of a series add up; unknown before the first day.
_FOLDS: Mapping[str, Any] = {
    "min": np.fmin, "max": np.fmax, "sum": np.add, "count": np.add, "increase": np.add,
}  # fmt: skip
_DAYS = ("days", "first_day", "last_day")


@dataclass(frozen=True)
class Kind:
    """Assets with the same labels, and what the report keeps of them."""

    labels: Name
    metrics: Sequence[Metric | str]
    extra: Name = ()  # labels that are stored in the map `labels`
    daily: Collection[tuple[Metric, str]] = ()  # columns kept for each day
    history: Collection[tuple[Metric, str]] = ()  # those of the month before
    columns: Mapping[str, Callable[[Assets], Any]] = field(default_factory=dict)

    @property
    def names(self) -> list[str]:
        return [each if isinstance(each, str) else each.name for each in self.metrics]


@dataclass
class _Month:
    days: Sequence[date]
    daily: Collection[tuple[Metric, str]]
    numbers: dict[str, NDArray[np.float64]] = field(default_factory=dict)  # by metric and asset
    by_day: dict[tuple[str, str], NDArray[np.float64]] = field(default_factory=dict)


class _Fold:
    """The statistics of one kind of asset, filled a day at a time."""

    def __init__(self, kind: Kind, days_before: Sequence[date], days: Sequence[date]) -> None:
        self.kind = kind
        self.rows = {name: number for number, name in enumerate(kind.names)}
        self.months = (_Month(days_before, kind.history), _Month(days, kind.daily))
        self.index: dict[Name, int] = {}
        self.capacity = 0
        self.seen: dict[str, NDArray[np.float64]] = {}  # of appearing series: last day and value
        self._grow(64)

    def _grow(self, capacity: int) -> None:
        shape = (len(self.rows), capacity)
        for month in self.months:
            for name in (*_FOLDS, "first", "last", *_DAYS) if month.days else ():
                _widen(month.numbers, name, shape, 0.0 if name in _DAYS else np.nan)
            for metric, column in month.daily:
                _widen(month.by_day, (metric.name, column), (len(month.days), capacity), np.nan)
        if APPEARING & self.rows.keys():
            for name in ("day", "value"):
                _widen(self.seen, name, shape, 0.0)
        self.capacity = capacity

    def add(self, part: DayRows, month: int | None, day: date) -> None:
        """`month` is None for the days before both: they only show which series existed."""
        which, rows = part.metrics_of(self.rows)
        if not len(rows):
            return
        codes, names = part.names(rows, (*self.kind.labels, *self.kind.extra))
        assets = self._indexes(names)[codes]
        metrics = which[rows]
        numbers = {name: part.number(name)[rows] for name in _NUMBERS}
        self._count_first_events(part, rows, metrics, assets, numbers, day.toordinal())
        if month is not None:
            self._count(self.months[month], metrics, assets, numbers, day)

    def _indexes(self, names: Sequence[Name]) -> Indexes:
        index = self.index
        found = np.array([index.setdefault(name, len(index)) for name in names], np.int64)
        if len(index) > self.capacity:
            self._grow(max(2 * self.capacity, len(index)))
        return found

    def _count_first_events(
        self, part: DayRows, rows: Indexes, metrics: Indexes, assets: Indexes,
        numbers: dict[str, Any], day: int,
    ) -> None:  # fmt: skip
        """Adds the first values of series that appeared on this day to their increases.

        A series appeared if it has no earlier row and its system was polled the day before. A
        series that returns adds its growth in between, and nothing after a reset.
        """
        at = np.flatnonzero(np.array([name in APPEARING for name in self.rows])[metrics])
        if not len(at):
            return
        series = (metrics[at], assets[at])
        first, increase = numbers["first"][at], numbers["increase"][at]
        seen, before = self.seen["day"][series], self.seen["value"][series]
        grown = np.where(before <= first, first - before, 0.0)
        added = np.where(seen > 0, grown, np.where(part.watched(rows[at]), first, np.nan))
        changes = ~np.isnan(first) & ~np.isnan(added) & (seen != day - 1)
        more = np.nan_to_num(increase) + np.nan_to_num(added)
        numbers["increase"][at] = np.where(changes, more, increase)
        self.seen["day"][series], self.seen["value"][series] = day, numbers["last"][at]

    def _count(
        self, month: _Month, metrics: Indexes, assets: Indexes, numbers: Mapping[str, Any], day: date
    ) -> None:  # fmt: skip
        at = metrics * self.capacity + assets
        held = {name: array.reshape(-1) for name, array in month.numbers.items()}
        for name, how in _FOLDS.items():
            known = ~np.isnan(numbers[name])
            if how is np.add:  # a sum of nothing is unknown
                held[name][at[known & np.isnan(held[name][at])]] = 0.0
            how.at(held[name], at[known], numbers[name][known])
        known = ~np.isnan(numbers["first"]) & np.isnan(held["first"][at])
        held["first"][at[known][::-1]] = numbers["first"][known][::-1]
        known = ~np.isnan(numbers["last"])
        held["last"][at[known]] = numbers["last"][known]
        np.add.at(held["days"], at, 1.0)
        new = at[held["first_day"][at] == 0]
        held["first_day"][new] = held["last_day"][at] = day.toordinal()
        for metric, column in month.daily:
            rows = np.flatnonzero(metrics == self.rows[metric.name])
            row = month.by_day[metric.name, column][month.days.index(day)]
            row[assets[rows]] = numbers[column][rows]

    def finished(self) -> tuple[Assets, Assets]:
        """This month and the month before, in the order of names."""
        names = sorted(self.index)
        order = np.array([self.index[name] for name in names], np.int64)
        labels = (*self.kind.labels, *self.kind.extra)
        before, now = (
            Assets(
                labels, names, tuple(month.days), self.rows if month.days else {},
                {name: month.numbers.pop(name)[:, order] for name in list(month.numbers)},
                {key: month.by_day.pop(key)[:, order].T for key in list(month.by_day)}, dict(self.kind.columns),
            )
            for month in self.months
        )  # fmt: skip
        return now, before


def _widen(arrays: dict[Any, Any], key: Any, shape: tuple[int, int], start: float) -> None:
    wide = np.full(shape, start)
    if key in arrays:
        wide[:, : arrays[key].shape[1]] = arrays[key]
    arrays[key] = wide


class DayRows:
    """The rows of one day."""

    def __init__(self, table: pa.Table, watched: Collection[str]) -> None:
        self._table, self._watched = table, watched
        self._codes: dict[str, tuple[Indexes, list[str]]] = {}
        self._numbers: dict[str, Any] = {}

    def __len__(self) -> int:
        return int(self._table.num_rows)

    def metrics_of(self, wanted: Mapping[str, int]) -> tuple[Indexes, Indexes]:
        """The number of the metric of each row, -1 for others; and the rows with one."""
        codes, values = self.encoded("metric")
        numbers = np.array([wanted.get(value, -1) for value in values] or [-1], np.int64)[codes]
        return numbers, np.flatnonzero(numbers >= 0)

    def names(self, rows: Indexes, labels: Name) -> tuple[Indexes, list[Name]]:
        """The distinct names of these rows, and which one each row has."""
        encoded = [self.encoded(label) for label in labels]
        keys = np.zeros(len(rows), np.int64)
        for codes, values in encoded:
            keys = keys * max(len(values), 1) + codes[rows]
        unique = pa.array(keys).dictionary_encode()
        rest, columns = unique.dictionary.to_numpy(zero_copy_only=False), []
        for _, values in reversed(encoded):
            rest, code = np.divmod(rest, max(len(values), 1))
            columns.append([values[each] for each in code.tolist()])
        names = list(zip(*reversed(columns), strict=True))
        return unique.indices.to_numpy(zero_copy_only=False), names

    def positions(self, rows: Indexes, assets: Assets) -> Indexes:
        """The asset of each of these rows; -1 for an unknown one."""
        codes, names = self.names(rows, assets.labels)
        found = np.array([assets.positions.get(name, -1) for name in names], np.int64)
        return found[codes] if len(found) else codes

    def encoded(self, label: str) -> tuple[Indexes, list[str]]:
        if label not in self._codes:
            column = self._column(label).combine_chunks()
            if isinstance(column, pa.ChunkedArray):
                column = column.chunk(0) if column.num_chunks else pa.array([], pa.string())
            column = column if pa.types.is_dictionary(column.type) else column.dictionary_encode()
            codes = column.indices.to_numpy(zero_copy_only=False).astype(np.int64)
            self._codes[label] = (codes, column.dictionary.to_pylist())
        return self._codes[label]

    def _column(self, label: str) -> Any:
        if label in self._table.column_names:
            return self._table[label]
        found = pc.map_lookup(self._table["labels"], pa.scalar(label), "first")
        return pc.fill_null(found, "")

    def number(self, name: str) -> Any:
        """As floats; NaN for null."""
        if name not in self._numbers:
            column = pc.cast(self._table[name], pa.float64())
            self._numbers[name] = pc.fill_null(column, np.nan).to_numpy()
        return self._numbers[name]

    def watched(self, rows: Indexes) -> Any:
        """Whether the system of each row was polled the day before."""
        codes, values = self.encoded("system")
        return np.array([value in self._watched for value in values], bool)[codes[rows]]

    def polled(self) -> set[str]:
        _, rows = self.metrics_of({c.UP.name: 0})
        return {name for (name,) in self.names(rows, ("system",))[1]}


def read_months(
    source: Source, kinds: Mapping[str, Kind], days: Sequence[date],
    days_before: Sequence[date], progress: Progress = silent,
) -> dict[str, tuple[Assets, Assets]]:  # fmt: skip
    """By kind, its assets of this month and of the month before, seen in either."""
    folds = {name: _Fold(kind, days_before, days) for name, kind in kinds.items()}
    watched: set[str] = set()
    yesterday = None
    wanted = list(_all_days(source, days_before, days))
    for number, (month, day) in enumerate(wanted):
        if number % _PROGRESS_DAYS == 0:
            progress(f"reading daily of {day}, day {number + 1} of {len(wanted)}")
        known = watched if yesterday == day - timedelta(days=1) else set()
        watched, yesterday = _add_day(source, list(folds.values()), month, day, known), day
    return {name: folds.pop(name).finished() for name in kinds}


def _add_day(
    source: Source, folds: Sequence[_Fold], month: int | None, day: date, watched: set[str]
) -> set[str]:
    """Returns the systems that were polled on this day. Labels are read only where they count."""
    polled: set[str] = set()
    for labelled in (False, True):
        chosen = [fold for fold in folds if bool(fold.kind.extra) is labelled]
        table = _read(source, day, chosen, labelled, warming=month is None)
        for start in range(0, len(table), _ROWS):
            part = DayRows(table.slice(start, _ROWS), watched)
            for fold in chosen:
                fold.add(part, month, day)
            polled |= part.polled()
    return polled


def _all_days(
    source: Source, before: Sequence[date], days: Sequence[date]
) -> Iterator[tuple[int | None, date]]:
    first = min((*before, *days))
    known = set(source.days())
    for number in range(_WARM_UP, 0, -1):
        if (day := first - timedelta(days=number)) in known:
            yield None, day
    yield from ((0, day) for day in before)
    yield from ((1, day) for day in days)


def _read(
    source: Source, day: date, folds: Sequence[_Fold], labelled: bool, warming: bool
) -> pa.Table:
    metrics = {name for fold in folds for name in fold.rows}
    metrics = {c.UP.name, *(metrics & APPEARING if warming else metrics)}
    columns = ["metric", *_SUBJECT, *_NUMBERS, *(["labels"] if labelled else [])]
    return source.table("daily", day, day, columns, sorted(metrics), encoded=True)


def latest_labels(
    source: Source, metric: Metric, assets: Assets, days: Sequence[date]
) -> dict[Name, dict[str, str]]:
    """The newest labels of an info series, by asset. Reads back from the newest day as far as needed."""
    expected = {name for name, seen in zip(assets.names, assets.seen, strict=True) if seen}
    found: dict[Name, dict[str, str]] = {}
    columns = ["metric", *_SUBJECT, "labels", "last_hour"]
    for day in reversed(days):
        table = source.table("daily", day, day, columns=columns, metrics=[metric.name])
        table = table.sort_by([("last_hour", "descending")])
        codes, names = DayRows(table, ()).names(np.arange(len(table)), assets.labels)
        firsts = np.unique(codes, return_index=True)[1] if len(codes) else codes
        new = [row for row, name in zip(firsts.tolist(), names, strict=True) if name not in found]
        labels = table["labels"].take(pa.array(new, pa.int64())).to_pylist()
        for row, each in zip(new, labels, strict=True):
            found[names[codes[row]]] = dict(each)
        if expected <= found.keys():
            break
    return found
