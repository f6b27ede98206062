"""The Spark data source `streamgauge`: the samples of an archive, decoded.

    spark.dataSource.register(StreamgaugeSource)
    spark.read.format("streamgauge").load("/var/lib/streamgauge/archive")

Filters on metric, day and the subject labels are pushed down: files, row groups and series that
cannot match are not read. With the option `aggregate` set to `hourly` the rows are the statistics
of each series and hour, without the steps between hours.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final

from pyspark.sql.datasource import (
    DataSource,
    DataSourceReader,
    EqualTo,
    Filter,
    GreaterThanOrEqual,
    In,
    InputPartition,
    IsNotNull,
    LessThanOrEqual,
)

from spark_rollups.datasource.partitions import Part, Selection, plan_partitions
from spark_rollups.datasource.reading import hourly_batches, sample_batches
from spark_rollups.filesystem import RollupError
from spark_rollups.rollup.tables.schemas import SUBJECT_LABELS

FORMAT: Final = "streamgauge"
_SAMPLES: Final = (
    "metric string, "
    + ", ".join(f"{name} string" for name in SUBJECT_LABELS)
    + ", labels map<string, string>, time timestamp, value double, day date"
)
_HOURLY: Final = (
    "metric string, series int, hour timestamp, count int, min double, max double, sum double, "
    "first double, last double, p95 double, increase double, resets int, day date"
)


class StreamgaugeSource(DataSource):
    """Options: `aggregate` (none or hourly), `version` of the table `samples`."""

    @classmethod
    def name(cls) -> str:
        return FORMAT

    def schema(self) -> str:
        return _HOURLY if self._hourly else _SAMPLES

    def reader(self, schema: Any) -> DataSourceReader:
        version = self.options.get("version")
        return _Reader(
            self._path, int(version) if version is not None else None, hourly=self._hourly
        )

    @property
    def _path(self) -> str:
        if not (path := self.options.get("path")):
            raise RollupError(f'format("{FORMAT}") needs the folder of an archive: .load(PATH)')
        return str(path)

    @property
    def _hourly(self) -> bool:
        chosen = self.options.get("aggregate", "none")
        if chosen not in ("none", "hourly"):
            raise RollupError(f"option aggregate is {chosen!r}; it can be none or hourly")
        return bool(chosen == "hourly")


@dataclass
class _Part(InputPartition):
    """A span of row groups of one file."""

    part: Part


class _Reader(DataSourceReader):
    def __init__(self, path: str, version: int | None, *, hourly: bool) -> None:
        self._path, self._version, self._hourly = path, version, hourly
        self._wanted = Selection()

    def pushFilters(self, filters: list[Filter]) -> Iterable[Filter]:  # noqa: N802
        """Yields the filters that Spark must apply."""
        for each in filters:
            if not self._take(each):
                yield each

    def _take(self, each: Filter) -> bool:
        if isinstance(each, EqualTo | In) and len(each.attribute) == 1:
            values = each.value if isinstance(each, In) else (each.value,)
            return self._wanted.keep(each.attribute[0], values, labels=not self._hourly)
        if isinstance(each, IsNotNull):
            return each.attribute[0] in ("metric", "day", *SUBJECT_LABELS)
        if isinstance(each, GreaterThanOrEqual) and each.attribute == ("day",):
            return self._wanted.from_day(each.value)
        if isinstance(each, LessThanOrEqual) and each.attribute == ("day",):
            return self._wanted.to_day(each.value)
        return False

    def partitions(self) -> Sequence[InputPartition]:
        return [_Part(part) for part in plan_partitions(self._path, self._version, self._wanted)]

    def read(self, partition: Any) -> Iterator[Any]:
        read = hourly_batches if self._hourly else sample_batches
        yield from read(self._path, partition.part, self._wanted)
