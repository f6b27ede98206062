"""One publication: the data of log segments as new files of every table."""

from __future__ import annotations

import contextlib
import secrets
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from archive.maintenance.file_writer import delete_files
from archive.maintenance.merge import merged_opaque
from archive.maintenance.rewrite import Rewrite, rewriting
from archive.maintenance.rewrite_targets import targets
from archive.publishing.hour_rows import fresh_hour, read_chunks, refresh_statistics
from archive.publishing.opaque_rows import KINDS, opaque_table
from archive.publishing.series_batches import Within, series_batches
from archive.publishing.series_ids import SeriesIdMap
from archive.publishing.wal_reader import Gathered, Kind, SegmentHours
from archive.tables.archive_tables import Snapshot
from archive.tables.arrow import Table
from archive.tables.data_file import Change
from archive.tables.hourly_history import HourlyHistory
from archive.tables.sample_columns import Int32s, Samples, distinct
from archive.tables.schema import HOURLY, OPAQUE, SAMPLES, SERIES, day_name
from archive.tables.series import SeriesRegistry
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


class Publication:
    """Nothing is visible before the changes are committed. `wanted` are the tables to write."""

    def __init__(
        self,
        storage: Storage,
        snapshot: Snapshot,
        wanted: frozenset[str],
        registry: SeriesRegistry,
        numbers: SeriesIdMap,
        batch_samples: int,
    ) -> None:
        self.dropped = DroppedSamples()
        self.changes: dict[str, Change] = {}
        self._storage, self._snapshot, self._wanted = storage, snapshot, wanted
        self._registry, self._numbers = registry, numbers
        self._history = HourlyHistory(storage, snapshot)
        self._changed: dict[int, list[Int32s]] = {}
        self._batch_samples = batch_samples
        self._stamp = secrets.token_hex(8)

    def add_day(self, day: str, sources: Sequence[SegmentHours], expected: int) -> None:
        """Writes samples and messages of a day; `expected` is their number."""
        kinds = frozenset[Kind]().union(*(source.kinds for source in sources))
        # First, because a new series changes the ranks of others, by which everything is sorted.
        plan = series_batches(sources, self._numbers, self._registry, expected, self._batch_samples)
        ranks = self._registry.ranks()
        with contextlib.ExitStack() as open_files:
            rewrites = {
                table: [
                    open_files.enter_context(rewriting(self._storage, target, ranks, self._stamp))
                    for target in targets(
                        table,
                        self._snapshot.of_day(table, day),
                        {hour for kind, hour in kinds if kind is KINDS.get(table)},
                    )
                ]
                for table in (SAMPLES, *OPAQUE)
                if table in self._wanted
            }
            for within, gathered in plan:
                self._note_series(day, gathered)
                rows = self._fresh_rows(day, gathered)
                for rewrite in rewrites.get(SAMPLES, ()):
                    rewrite.add(rows, ranks, within)
                for table in OPAQUE:
                    for rewrite in rewrites.get(table, ()):
                        self._add_opaque(rewrite, gathered, within)
        for table, done in rewrites.items():
            self._add_changes(table, done)

    def finish(self) -> None:
        """Writes the statistics of all days and the series."""
        self._refresh_followers()
        self._write_hourly()
        self.changes[SERIES] = self._registry.write(self._stamp)

    def discard(self) -> None:
        """Deletes the new files; call it only when no commit was attempted."""
        for change in self.changes.values():
            delete_files(self._storage, change.added)

    def _add_changes(self, table: str, rewrites: Sequence[Rewrite]) -> None:
        for rewrite in rewrites:
            if rewrite.change.added:
                self.changes[table] = self.changes.get(table, Change()) + rewrite.change

    def _note_series(self, day: str, gathered: Gathered) -> None:
        messages = [row.series for row in gathered.opaque if row.series is not None]
        seen = [np.unique(samples.series) for samples in gathered.samples.values()]
        self._registry.seen(np.concatenate([*seen, np.array(messages, np.int32)]), day)

    def _fresh_rows(self, day: str, gathered: Gathered) -> dict[int, Table]:
        if not {SAMPLES, HOURLY} & self._wanted:
            return {}
        self.dropped.unknown += gathered.unknown
        hours = sorted(gathered.samples)
        return {hour: self._fresh_hour(day, hour, gathered.samples.pop(hour)) for hour in hours}

    def _fresh_hour(self, day: str, hour: int, samples: Samples) -> Table:
        touched = np.array(distinct(samples.series)[0], np.int32)
        files = self._snapshot.of_day(SAMPLES, day)
        published = read_chunks(self._storage, files, hour, touched)
        replicas = self._numbers.replica_names
        fresh = fresh_hour(hour, samples, replicas, published, self._registry, self._history)
        self._changed.setdefault(hour, []).append(fresh.changed)
        self.dropped.repeated += fresh.deduplicated.repeated
        self.dropped.conflicting += fresh.deduplicated.conflicting
        self.dropped.other_replica += fresh.deduplicated.other_replica
        return fresh.rows

    def _add_opaque(self, rewrite: Rewrite, gathered: Gathered, within: Within) -> None:
        kind, hours = KINDS[rewrite.target.table], rewrite.target.hours
        rows = [row for row in gathered.opaque if row.message.kind is kind and row.hour in hours]
        old = rewrite.old
        rewrite.write(merged_opaque(old, opaque_table(rows), self._registry.ranks(), within))

    def _refresh_followers(self) -> None:
        """Recomputes the next chunk of a series whose last value changed: its increase starts there."""
        for hour, parts in sorted(self._changed.items()):
            series = np.concatenate(parts)
            for later, found in self._history.followers(hour, series).items():
                stale = np.setdiff1d(found, self._history.fresh_series(later))
                if len(stale):
                    files = self._snapshot.of_day(SAMPLES, day_name(later))
                    published = read_chunks(self._storage, files, later, stale)
                    refresh_statistics(later, published, self._history)

    def _write_hourly(self) -> None:
        fresh = self._history.fresh()
        if HOURLY not in self._wanted:
            fresh = self._history.differing(fresh)
        ranks = self._registry.ranks()
        for day in sorted({day_name(hour) for hour in fresh}):
            rows = {hour: table for hour, table in fresh.items() if day_name(hour) == day}
            for target in targets(HOURLY, self._snapshot.of_day(HOURLY, day), rows):
                with rewriting(self._storage, target, ranks, self._stamp) as rewrite:
                    rewrite.add(rows, ranks)
                self._add_changes(HOURLY, [rewrite])
