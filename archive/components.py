"""The components of a running archive: storage, write-ahead log, decoder, receiver, publisher."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from archive.ingest.clock import Clock
from archive.ingest.quarantine import Quarantine, QuarantineDrop
from archive.ingest.receiver import Receiver
from archive.publishing.log_id import first_unused_segment
from archive.publishing.publisher import Publisher
from archive.remote_write.decoder import Decoder
from archive.self_metrics import ReceiverCounters, Value
from archive.series.idle import IdleSeries
from archive.settings.config import ArchiveSettings
from archive.tables.archive_tables import open_tables
from archive.wal.write_ahead_log import Wal
from exporter import catalog
from streamgauge.serving.memory_limit import LIMIT

WAL_FOLDER: Final = "wal"
QUARANTINE_FOLDER: Final = "quarantine"


@dataclass(frozen=True, slots=True)
class Components:
    wal: Wal
    publisher: Publisher
    decoder: Decoder
    receiver: Receiver
    quarantine: Quarantine
    counters: ReceiverCounters
    idle_series: IdleSeries

    def forget(self, now: int) -> int:
        """Hold the decoder's lock. Returns how many series the caches evicted."""
        evicted = self.decoder.forget_unused(now)
        self.idle_series.forget(now)
        return evicted

    def values(self) -> Iterator[Value]:
        """The values of /metrics; an unknown value has no series."""
        yield from self.counters.values()
        yield Value(catalog.ARCHIVE_QUARANTINED_REQUESTS, self.quarantine.kept)
        for drop in QuarantineDrop:
            count = self.quarantine.dropped[drop]
            yield Value(catalog.ARCHIVE_QUARANTINE_DROPPED_REQUESTS, count, (drop,))
        dropped = self.publisher.totals
        yield Value(catalog.ARCHIVE_DUPLICATE_SAMPLES, dropped.repeated + dropped.conflicting)
        for reason, count in dropped.reasons():
            yield Value(catalog.ARCHIVE_DROPPED_SAMPLES, count, (reason,))
        for work, count in self.publisher.conflicts.items():
            yield Value(catalog.ARCHIVE_PUBLISH_CONFLICTS, count, (work,))
        yield Value(catalog.ARCHIVE_CLOCK_AHEAD_SECONDS, self.publisher.clock_ahead / 1000)
        yield Value(catalog.ARCHIVE_SERIES, self.wal.series.known)
        yield Value(catalog.ARCHIVE_FORGOTTEN_SERIES, self.idle_series.forgotten)
        yield Value(catalog.ARCHIVE_WAL_BYTES, self.wal.size)
        yield Value(catalog.ARCHIVE_WAL_DAMAGED_BYTES, self.wal.damaged)
        oldest, succeeded = self.wal.oldest, self.publisher.last_success
        if oldest is not None:
            yield Value(catalog.ARCHIVE_WAL_OLDEST_TIMESTAMP_SECONDS, oldest / 1000)
        if succeeded is not None:
            when = catalog.ARCHIVE_COMPACTION_LAST_SUCCESS_TIMESTAMP_SECONDS
            yield Value(when, succeeded / 1000)


def open_components(settings: ArchiveSettings, clock: Clock) -> Components:
    """Blocks. Raises the errors of the storage and the write-ahead log."""
    tables = open_tables(settings.publish.store or settings.data, settings.publish.retention)
    folder = settings.data / WAL_FOLDER
    wal = Wal.open(folder, settings.wal, least_segment=first_unused_segment(tables, folder))
    counters = ReceiverCounters()
    limits = settings.limits.within(LIMIT)
    decoder = Decoder(limits, settings.replica_label, wal.series)
    quarantine = Quarantine(settings.data / QUARANTINE_FOLDER, settings.quarantine)
    receiver = Receiver(decoder, wal, limits, quarantine, counters, clock)
    publisher = Publisher(tables, wal, settings.publish)
    idle_series = IdleSeries(wal, settings.publish.retention, decoder.forget_series)
    return Components(wal, publisher, decoder, receiver, quarantine, counters, idle_series)
