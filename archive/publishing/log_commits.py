"""Commits log segments to the tables: from the position that each table covers to the next."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from archive.publishing.coverage import Coverage
from archive.publishing.pending_segments import PendingSegments
from archive.publishing.publication import DroppedSamples, Publication
from archive.publishing.series_ids import SeriesDefinitions, SeriesIdMap
from archive.tables.archive_tables import NEXT_SERIES, ArchiveTables, Snapshot
from archive.tables.data_file import Change, DataFile
from archive.tables.schema import DAY_MS, SERIES, TABLES, day_time
from archive.tables.series import SeriesRegistry
from archive.tables.storage import UnreadableError
from streamgauge.serving.logs import event

logger = logging.getLogger(__name__)


@dataclass(slots=True)
class Progressed:
    hours: int = 0
    samples: int = 0


class LogCommits:
    """Publishes pending segments; `failed` are the days that have unreadable files."""

    def __init__(
        self, tables: ArchiveTables, series: SeriesDefinitions, batch_samples: int
    ) -> None:
        self.totals = DroppedSamples()
        self.failed: dict[str, UnreadableError] = {}
        self._tables, self._definitions, self._batch_samples = tables, series, batch_samples
        self._known: tuple[SeriesRegistry, SeriesIdMap] | None = None

    def forget(self) -> None:
        """Discards the state in memory; the next call reads the tables."""
        self._known = None

    def publish_next(self, pending: PendingSegments, log: str) -> Progressed | None:
        """One publication with its commits; None when there is nothing left.

        A day with damaged files must not block the others: it keeps its position, and the log
        keeps its segments. Raises ConflictError when another writer committed first.
        """
        snapshot = self._tables.read()
        coverage = Coverage(self._tables, log)
        upto = pending.next_position(coverage, self.failed)
        if upto is None:
            return None
        every = pending.days(coverage, upto)
        days = [day for day in every if day not in self.failed]
        lagging = coverage.lagging(upto, days)
        registry, numbers = self._series(snapshot)
        publication = Publication(
            self._tables.storage, snapshot, lagging, registry, numbers, self._batch_samples
        )
        done = self._write(publication, pending, coverage, days, upto)
        if done is None:
            return Progressed()
        held = [day for day in every if day in self.failed]
        positions = {table: coverage.next_positions(table, upto, days, held) for table in lagging}
        self._commit(publication.changes, positions, registry.next_number)
        registry.settle(_after(snapshot.files[SERIES], publication.changes[SERIES]))
        numbers.settle()
        self.totals.add(publication.dropped)
        event(logger, logging.INFO, "published", days=len(days), hours=done.hours,
              samples=done.samples, segment=upto)  # fmt: skip
        return done

    def _write(
        self,
        publication: Publication,
        pending: PendingSegments,
        coverage: Coverage,
        days: Sequence[str],
        upto: int,
    ) -> Progressed | None:
        """Writes the files of these days; None when one of them cannot be read."""
        done, day = Progressed(), ""
        try:
            for day in days:
                sources = pending.sources(coverage, day, upto)
                expected = pending.samples(sources)
                publication.add_day(day, sources, expected)
                done.samples += expected
                done.hours += len(frozenset[int]().union(*(source.hours for source in sources)))
            day = ""
            publication.finish()
        except BaseException as error:
            publication.discard()
            self.forget()
            if not isinstance(error, UnreadableError) or error.path.startswith(f"{SERIES}/"):
                raise
            self.failed.update(dict.fromkeys([day] if day else _near(error.path, days), error))
            return None
        return done

    def _commit(
        self,
        changes: Mapping[str, Change],
        positions: Mapping[str, Mapping[str, int]],
        next_series: int,
    ) -> None:
        for table in TABLES:
            change, covered = changes.get(table, Change()), positions.get(table, {})
            if table == SERIES:
                covered = {**covered, NEXT_SERIES: next_series}
            if change or table in positions:
                self._tables.logs[table].commit(change, covered)

    def _series(self, snapshot: Snapshot) -> tuple[SeriesRegistry, SeriesIdMap]:
        """Kept between publications, unless another writer has changed the table."""
        files, least = snapshot.files[SERIES], self._tables.next_series
        if self._known is None or not self._known[0].is_of(files, least):
            registry = SeriesRegistry(self._tables.storage, files, least)
            self._known = registry, SeriesIdMap(self._definitions, registry)
        return self._known


def _after(files: Sequence[DataFile], change: Change) -> list[DataFile]:
    return [*(file for file in files if file not in change.removed), *change.added]


def _near(path: str, days: Sequence[str]) -> list[str]:
    """The days whose statistics reach into the day of a file, or all of them."""
    _, _, name = path.partition("day=")
    near = [day for day in days if abs(day_time(day) - day_time(name[:10])) <= DAY_MS]
    return near or list(days)
