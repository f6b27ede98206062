"""Which row groups of which files a read of samples needs."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from datetime import date
from typing import Any, Final

from archive.tables.schema import SAMPLES, SERIES
from spark_rollups.datasource.parquet_reader import groups_with, opened
from spark_rollups.filesystem import RollupError, Root
from spark_rollups.rollup.tables.delta_notes import ABSENT, TableFile, read_version
from spark_rollups.rollup.tables.schemas import SUBJECT_LABELS

# Chunks of a partition: about four million samples at two a minute.
_MOST_ROWS: Final = 32_768
# Reading footers of an object store is mostly waiting.
_THREADS: Final = 8


@dataclass(slots=True)
class Selection:
    """What the filters of a query leave; None selects all."""

    metrics: set[str] | None = None
    days: set[str] | None = None
    first: str = ""
    last: str = "9999"
    labels: dict[str, set[str]] = field(default_factory=dict)

    def keep(self, column: str, values: Collection[Any], *, labels: bool) -> bool:
        """Whether the filter is taken as a whole. NULL in a list equals nothing."""
        names = {_name(value) for value in values if value is not None}
        if column == "metric":
            self.metrics = _both(self.metrics, names)
        elif column == "day":
            self.days = _both(self.days, names)
        elif labels and column in SUBJECT_LABELS:
            self.labels[column] = _both(self.labels.get(column), names)
        else:
            return False
        return True

    def from_day(self, value: Any) -> bool:
        self.first = max(self.first, _name(value))
        return True

    def to_day(self, value: Any) -> bool:
        self.last = min(self.last, _name(value))
        return True

    def has_day(self, day: str) -> bool:
        return self.first <= day <= self.last and (self.days is None or day in self.days)


def _both(one: set[str] | None, other: set[str]) -> set[str]:
    return other if one is None else one & other


def _name(value: Any) -> str:
    return value.isoformat() if isinstance(value, date) else str(value)


@dataclass(frozen=True, slots=True)
class Part:
    path: str
    day: str
    groups: tuple[int, ...]
    series: int  # the version of `series` that has the labels


def plan_partitions(text: str, version: int | None, wanted: Selection) -> list[Part]:
    root = Root(text)
    found = read_version(root, SAMPLES, version)
    if found.number == ABSENT:
        raise RollupError(f"{root}: no archive here (no table {SAMPLES})")
    files = [file for file in found.files if wanted.has_day(file.partition)]
    series = read_version(root, SERIES).number  # after `samples`: its rows are committed first
    with ThreadPoolExecutor(_THREADS) as threads:
        groups = threads.map(lambda file: list(_groups(root, file, wanted)), files)
        return [
            Part(file.path, file.partition, each, series)
            for file, held in zip(files, groups, strict=True)
            for each in held
        ]


def _groups(root: Root, file: TableFile, wanted: Selection) -> Iterator[tuple[int, ...]]:
    """Row groups of a file, in spans of a partition each."""
    with opened(root, file.path) as opened_file:
        metadata = opened_file.metadata
    held: list[int] = []
    rows = 0
    for group in groups_with(metadata, wanted.metrics):
        held.append(group)
        rows += metadata.row_group(group).num_rows
        if rows >= _MOST_ROWS:
            yield tuple(held)
            held, rows = [], 0
    if held:
        yield tuple(held)
