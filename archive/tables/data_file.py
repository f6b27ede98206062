"""A Parquet file of a table, as its add action describes it."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, Final

from archive.tables.schema import DAY_MS, HOUR_MS, day_time, partitions

# Columns with minimum and maximum in the log, by which engines skip files.
INDEXED: Final = ("metric", "series", "hour")

Bounds = Mapping[str, str | int]  # hours in milliseconds


@dataclass(frozen=True, slots=True, kw_only=True)
class DataFile:
    """`path` is relative to the archive, so it begins with the table."""

    path: str
    size: int
    rows: int
    day: str = ""  # of a partitioned table
    # Not compared: the path identifies a file.
    low: Bounds = field(default_factory=dict, compare=False)
    high: Bounds = field(default_factory=dict, compare=False)
    nulls: Mapping[str, int] = field(default_factory=dict, compare=False)

    @property
    def first_hour(self) -> int:
        """Without statistics, as by another writer, the start of the day."""
        return int(self.low["hour"]) if "hour" in self.low else day_time(self.day)

    @property
    def last_hour(self) -> int:
        known = "hour" in self.high
        return int(self.high["hour"]) if known else day_time(self.day) + DAY_MS - HOUR_MS

    def may_hold(self, hour: int) -> bool:
        return self.first_hour <= hour <= self.last_hour

    def overlaps(self, first: int, end: int) -> bool:
        """Whether its hours may have times from `first` to before `end`."""
        return self.last_hour + HOUR_MS > first and self.first_hour < end

    @property
    def partition(self) -> dict[str, str | None]:
        return {"day": self.day} if self.day else {}

    @property
    def statistics(self) -> str:
        """As the Delta protocol has them in an add action."""
        return json.dumps(
            {
                "numRecords": self.rows,
                "minValues": _as_json(self.low),
                "maxValues": _as_json(self.high),
                "nullCount": dict(self.nulls),
            }
        )


@dataclass(frozen=True, slots=True)
class Change:
    """The files that a commit removes from a table and adds to it."""

    removed: Sequence[DataFile] = ()
    added: Sequence[DataFile] = ()

    def __bool__(self) -> bool:
        return bool(self.removed or self.added)

    def __add__(self, other: Change) -> Change:
        return Change([*self.removed, *other.removed], [*self.added, *other.added])


def from_add_action(table: str, action: Mapping[str, Any]) -> DataFile:
    """From a row of deltalake's `get_add_actions(flatten=True)`."""
    bounds: dict[str, dict[str, str | int]] = {
        side: {name: _plain(action[f"{side}.{name}"]) for name in INDEXED
               if action.get(f"{side}.{name}") is not None}
        for side in ("min", "max")
    }  # fmt: skip
    nulls = {name: action.get(f"null_count.{name}") for name in INDEXED}
    return DataFile(
        path=f"{table}/{action['path']}",
        size=action["size_bytes"],
        rows=action["num_records"] or 0,
        day=action["partition.day"].isoformat() if partitions(table) else "",
        low=bounds["min"],
        high=bounds["max"],
        nulls={name: count for name, count in nulls.items() if count is not None},
    )


def path_in_table(file: DataFile) -> str:
    return file.path.partition("/")[2]


def _plain(value: str | int | datetime) -> str | int:
    return round(value.timestamp() * 1000) if isinstance(value, datetime) else value


def _as_json(bounds: Bounds) -> dict[str, str | int]:
    return {
        name: _moment(int(value)) if name == "hour" else value for name, value in bounds.items()
    }


def _moment(time: int) -> str:
    return f"{datetime.fromtimestamp(time / 1000, UTC):%Y-%m-%dT%H:%M:%S}.000Z"
