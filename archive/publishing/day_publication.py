"""One publication: due hours of one day, from log segments to the next manifest."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from archive.maintenance.rewrite import Rewrite, rewriting
from archive.maintenance.rewrite_targets import replaced, targets
from archive.publishing.hour_counts import HourCounter
from archive.publishing.hour_rows import fresh_hour, read_chunks, refresh_statistics
from archive.publishing.opaque_rows import merged_opaque, opaque_table
from archive.publishing.series_batches import series_batches
from archive.publishing.series_ids import SeriesIdMap
from archive.publishing.wal_reader import Gathered, OpaqueRow, SegmentHours
from archive.tables.arrow import Table
from archive.tables.hourly_history import HourlyHistory
from archive.tables.manifest import Covered, DayEntry, FileEntry, Manifest, covered_after
from archive.tables.manifest_store import new_stamp
from archive.tables.sample_columns import Int32s, Int64s, Samples, distinct
from archive.tables.schema import HOURLY, OPAQUE, SAMPLES, day_name, day_start
from archive.tables.series import SeriesRegistry, write_series
from archive.tables.storage import Storage


@dataclass(slots=True)
class DroppedSamples:
    """Samples that a publication dropped, by reason, for the metrics."""

    repeated: int = 0
    conflicting: int = 0
    other_replica: int = 0
    unknown: int = 0
    misplaced: int = 0

    def reasons(self) -> Iterator[tuple[str, int]]:
        """The reasons other than an identical sample."""
        yield "conflict", self.conflicting
        yield "other_replica", self.other_replica
        yield "unknown_series", self.unknown
        yield "misplaced", self.misplaced

    def add(self, other: DroppedSamples) -> None:
        for name in self.__slots__:
            setattr(self, name, getattr(self, name) + getattr(other, name))


class DayPublication:
    """Nothing is visible before the manifest returned by `run` is written."""

    def __init__(
        self,
        storage: Storage,
        manifest: Manifest,
        registry: SeriesRegistry,
        numbers: SeriesIdMap,
        sources: Sequence[SegmentHours],
        batch_samples: int,
    ) -> None:
        self.dropped = DroppedSamples()
        self._storage, self._manifest = storage, manifest
        self._registry, self._numbers = registry, numbers
        self._shares = sources
        self._hours = sorted(frozenset[int]().union(*(source.hours for source in sources)))
        self._day = day_name(self._hours[0])
        self._entry = manifest.days.get(self._day, DayEntry())
        self._history = HourlyHistory(storage, manifest)
        self._changed: dict[int, list[Int32s]] = {}
        self._counter = HourCounter(day_start(self._hours[0]))
        self._batch_samples = batch_samples

    def run(self, now: int, expected: int, upto: Covered, oldest_segment: int) -> Manifest:
        """`expected` is the number of samples; the hours are then published up to `upto`."""
        stamp = new_stamp(self._manifest)
        samples, opaque = self._write_samples(stamp, expected)
        self._refresh_followers()
        days = dict(self._manifest.days)
        days[self._day] = DayEntry(
            samples=samples,
            hourly=self._entry.hourly,
            opaque=opaque,
            hours=dict(sorted({**self._entry.hours, **self._counter.entries(now)}.items())),
        )
        self._write_hourly(stamp, days)
        return self._manifest.after(
            now,
            days=dict(sorted(days.items())),
            series=self._series_files(stamp),
            next_series=self._registry.next_number,
            covered=covered_after(self._manifest.covered, self._hours, upto, oldest_segment),
            least_segment=max(self._manifest.least_segment, upto.segment + 1),
        )

    def _write_samples(
        self, stamp: str, expected: int
    ) -> tuple[tuple[FileEntry, ...], tuple[FileEntry, ...]]:
        # First, because a new series changes the ranks of others, by which everything is sorted.
        plan = series_batches(
            self._shares, self._numbers, self._registry, expected, self._batch_samples
        )
        wanted = {
            SAMPLES: targets(SAMPLES, self._entry.samples, self._hours),
            OPAQUE: targets(OPAQUE, self._entry.opaque, self._hours),
        }
        ranks = self._registry.ranks()
        with contextlib.ExitStack() as open_files:
            samples, opaque = (
                [
                    open_files.enter_context(rewriting(self._storage, target, ranks, stamp))
                    for target in wanted[table]
                ]
                for table in (SAMPLES, OPAQUE)
            )
            for within, gathered in plan:
                rows = self._fresh_rows(gathered)
                for rewrite in samples:
                    rewrite.add(rows, ranks, within, self._counter.add)
                for rewrite in opaque:
                    _add_opaque(rewrite, gathered.opaque, ranks, within)
        return (
            replaced(self._entry.samples, [each.result for each in samples]),
            replaced(self._entry.opaque, [each.result for each in opaque]),
        )

    def _fresh_rows(self, gathered: Gathered) -> dict[int, Table]:
        self.dropped.unknown += gathered.unknown
        hours = sorted(gathered.samples)
        return {hour: self._fresh_hour(hour, gathered.samples.pop(hour)) for hour in hours}

    def _fresh_hour(self, hour: int, samples: Samples) -> Table:
        touched = np.array(distinct(samples.series)[0], np.int32)
        published = read_chunks(self._storage, self._entry.samples, hour, touched)
        replicas = self._numbers.replica_names
        fresh = fresh_hour(hour, samples, replicas, published, self._registry, self._history)
        self._changed.setdefault(hour, []).append(fresh.changed)
        self.dropped.repeated += fresh.deduplicated.repeated
        self.dropped.conflicting += fresh.deduplicated.conflicting
        self.dropped.other_replica += fresh.deduplicated.other_replica
        return fresh.rows

    def _refresh_followers(self) -> None:
        """Recomputes the next chunk of a series whose last value changed: its increase starts there."""
        for hour, parts in sorted(self._changed.items()):
            series = np.concatenate(parts)
            for later, found in self._history.followers(hour, series).items():
                stale = np.setdiff1d(found, self._history.fresh_series(later))
                if len(stale):
                    files = self._manifest.days[day_name(later)].samples
                    published = read_chunks(self._storage, files, later, stale)
                    refresh_statistics(later, published, self._history)

    def _write_hourly(self, stamp: str, days: dict[str, DayEntry]) -> None:
        fresh = self._history.fresh()
        for day in sorted({day_name(hour) for hour in fresh}):
            rows = {hour: table for hour, table in fresh.items() if day_name(hour) == day}
            written = []
            for target in targets(HOURLY, days[day].hourly, rows):
                with rewriting(self._storage, target, self._registry.ranks(), stamp) as rewrite:
                    rewrite.add(rows, self._registry.ranks())
                written.append(rewrite.result)
            days[day] = replace(days[day], hourly=replaced(days[day].hourly, written))

    def _series_files(self, stamp: str) -> tuple[FileEntry, ...]:
        new = self._registry.new_rows()
        if new.num_rows == 0:
            return self._manifest.series
        return (*self._manifest.series, write_series(self._storage, new, stamp))


def _add_opaque(
    rewrite: Rewrite, rows: Sequence[OpaqueRow], ranks: Int64s, within: tuple[int, int]
) -> None:
    fresh = opaque_table([row for row in rows if row.hour in rewrite.target.hours])
    rewrite.write(merged_opaque(rewrite.old, fresh, ranks, within))
