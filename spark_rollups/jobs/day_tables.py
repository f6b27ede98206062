"""The plans of the day tables: scan, join with the series, aggregate, write."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date
from functools import cached_property, reduce
from typing import Any, Final

from archive.tables.schema import HOURLY, SAMPLES, SERIES
from spark_rollups.datasource.source import FORMAT, StreamgaugeSource
from spark_rollups.filesystem import Root
from spark_rollups.jobs.archive_days import ArchiveDays, shifted
from spark_rollups.jobs.settings import RollupSettings
from spark_rollups.progress import Progress
from spark_rollups.rollup.hours_to_days import (
    days_of_identities,
    hours_of_identities,
    rising_only,
    with_steps_between_hours,
)
from spark_rollups.rollup.sample_groups import (
    quantiles_of_days,
    states_of_days,
    with_known_seconds,
)
from spark_rollups.rollup.series_dimension import series_dimension, with_identity
from spark_rollups.rollup.tables.delta_notes import note_text, read_version
from spark_rollups.rollup.tables.delta_reader import read_table
from spark_rollups.rollup.tables.delta_writer import replace_partitions
from spark_rollups.session import Session

# A broadcast passes through the driver, and each executor holds it: here half a gigabyte of labels.
_BROADCAST_SERIES: Final = 2_000_000


class DayTables:
    """The tables of some days of the archive, as data frames."""

    def __init__(
        self, session: Session, archive: ArchiveDays, days: Sequence[str], settings: RollupSettings
    ) -> None:
        self._session, self._spark = session, session.spark
        self._archive, self._days, self._settings = archive, list(days), settings
        self._spark.dataSource.register(StreamgaugeSource)
        self._pairs = True

    @cached_property
    def _dimension(self) -> Any:
        return series_dimension(self._spark, self._table(SERIES), self._settings.folded)

    @property
    def _small(self) -> bool:
        return self._archive.series <= _BROADCAST_SERIES

    def _dimension_of(self, metrics: Sequence[str] | None = None) -> Any:
        """Of these metrics, or of all. Spark chooses the join where a broadcast would be large."""
        from pyspark.sql import functions as F  # noqa: N812

        found = self._dimension
        if metrics is not None:
            found = found.where(F.col("metric").isin(list(metrics)))
        return F.broadcast(found) if self._small else found

    def write(self, out: Root, note: dict[str, Any], progress: Progress) -> None:
        """`daily` last: its commit makes the versions of the others the result."""
        span = f"{self._days[0]} to {self._days[-1]}" if len(self._days) > 1 else self._days[0]
        versions = {}
        # The first table is opened by a job of Delta Lake, which may wait for executors too.
        with self._session.job(f"rollup {span}: series and their identities", progress):
            self._dimension = self._dimension.persist()
            self._pairs = not self._dimension.where("copies > 1").isEmpty()
        for name, title in (
            ("hourly_gauges", "hours"),
            ("states", "time in states"),
            ("quantiles", "quantiles of samples"),
        ):
            with self._session.job(f"rollup {span}: {title}", progress):
                rows = getattr(self, name)()
                replace_partitions(rows, out, name, self._days, note_text(**note))
            versions[name] = read_version(out, name).number
        with self._session.job(f"rollup {span}: hours to days", progress):
            text = note_text(**note, tables=versions)
            replace_partitions(self.daily(), out, "daily", self._days, text)
        self._dimension.unpersist()

    def daily(self) -> Any:
        dimension = self._dimension_of()
        hours = hours_of_identities(self._hours(), dimension, pairs=self._pairs)
        return rising_only(self._labelled(days_of_identities(hours), dimension))

    def hourly_gauges(self) -> Any:
        from pyspark.sql import functions as F  # noqa: N812

        metrics = self._settings.hourly
        some, dimension = self._hours(), self._dimension_of(metrics)
        some = some.where(F.col("metric").isin(list(metrics)))
        hours = hours_of_identities(some, dimension, pairs=self._pairs)
        return rising_only(self._labelled(hours, dimension))

    def states(self) -> Any:
        metrics = self._settings.states
        dimension = self._dimension_of(metrics)
        found = states_of_days(self._samples(), dimension, metrics, self._archive.series)
        return with_known_seconds(with_identity(found, dimension)).hint("rebalance", "day")

    def quantiles(self) -> Any:
        metrics = self._settings.quantiles
        dimension = self._dimension_of(metrics)
        found = quantiles_of_days(self._samples(), dimension, metrics, self._archive.series)
        return self._labelled(found, dimension)

    def _labelled(self, rows: Any, dimension: Any) -> Any:
        """Rows are brought together by day before they carry labels: fewer bytes move."""
        if self._small:
            return with_identity(rows.hint("rebalance", "day"), dimension)
        return with_identity(rows, dimension).hint("rebalance", "day")

    def _hours(self) -> Any:
        """The archive's statistics; for days without them, and with --from-raw, from samples."""
        settings, has = self._settings, self._archive.has
        raw = [day for day in self._days if settings.from_raw or not has(HOURLY, day)]
        stored = [day for day in self._days if day not in raw]
        parts = [self._of_days(self._table(HOURLY), stored)] if stored else []
        parts += [self._hours_from_samples(raw)] if raw else []
        return reduce(lambda one, other: one.unionByName(other), parts)

    def _hours_from_samples(self, days: list[str]) -> Any:
        before = sorted({shifted(day, -1) for day in days} - set(days))
        stored = [day for day in before if self._archive.has(HOURLY, day)]
        computed = [*days, *(day for day in before if day not in stored)]
        hours = self._of_days(self._aggregated(), computed)
        if stored:
            earlier = self._of_days(self._table(HOURLY), stored)
            hours = hours.unionByName(earlier.select(hours.columns))
        return self._of_days(with_steps_between_hours(hours), days)

    def _aggregated(self) -> Any:
        version = self._archive.versions[SAMPLES]
        read = self._spark.read.format(FORMAT).option("aggregate", "hourly")
        return read.option("version", version).load(self._archive.root.text)

    def _samples(self) -> Any:
        return self._of_days(self._table(SAMPLES), self._days)

    def _of_days(self, rows: Any, days: Sequence[str]) -> Any:
        from pyspark.sql import functions as F  # noqa: N812

        return rows.where(F.col("day").isin([date.fromisoformat(day) for day in days]))

    def _table(self, name: str) -> Any:
        return read_table(self._spark, self._archive.root, name, self._archive.versions[name])
