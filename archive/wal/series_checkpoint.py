"""The series table on disk, in two copies: the definitions of removed segments.

Without it the series ids in the log have no labels, hence the second copy.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import cramjam
import msgspec
import numpy as np

from archive.series.table import SeriesTable
from archive.wal import fsync
from archive.wal.record_columns import Column, pack_column, unpack_column
from archive.wal.record_definitions import Definitions, load_definitions, pack_definitions
from archive.wal.segments.reader import SegmentFrames
from archive.wal.segments.segment import SegmentHeader, framed, pack_header
from archive.wal.segments.tail_check import Ending, EndingKind

NAMES: Final = ("series.0", "series.1")
# Series per record: enough to share most label pairs, few enough to limit memory.
_SERIES_A_RECORD: Final = 65_536
# Above this many records they are rewritten as few large ones, for a fast start.
_MAX_RECORDS: Final = 1_000
_HEADER: Final = pack_header(SegmentHeader(0, 0, 0))


class _CheckpointRecord(msgspec.Struct, array_like=True, frozen=True):
    next_segment: int
    next_series: int
    definitions: Definitions
    seen: Column
    """When each of them last had a sample, in milliseconds; 0 before the first one."""


_decoder = msgspec.msgpack.Decoder(_CheckpointRecord)


@dataclass(frozen=True, slots=True)
class _Copy:
    """The content of one file; empty when the file is missing."""

    path: Path
    payloads: list[bytes]
    ending: Ending | None

    @property
    def is_whole(self) -> bool:
        return self.ending is None or self.ending.kind is EndingKind.CLEAN


class SeriesCheckpoint:
    def __init__(self, folder: Path) -> None:
        self._paths = tuple(folder / name for name in NAMES)
        self.covered = 0
        """All series with a lower id are in the file."""
        self.next_segment = 1
        """All segments with a lower number were started; they may be removed."""
        self.records = 0
        self._can_append = False

    def load(self, table: SeriesTable) -> list[str]:
        """Fills the table from the better copy; returns faults. Never writes."""
        copies = [_read(path) for path in self._paths]
        best = max(copies, key=lambda copy: len(copy.payloads))
        faults = [f"{copy.path} {copy.ending}" for copy in copies if not copy.is_whole]
        loaded = 0
        for payload in best.payloads:
            try:
                self._take(payload, table)
            except (ValueError, msgspec.MsgspecError, cramjam.DecompressionError) as error:
                faults.append(f"{best.path} has a record that makes no sense ({error})")
                break
            loaded += 1
        same = all(copy.payloads == best.payloads[:loaded] for copy in copies)
        self.records = loaded
        self._can_append = loaded > 0 and same and not faults
        return faults

    def save(self, table: SeriesTable, end: int, next_segment: int) -> None:
        """Saves every series below `end`, durable on return. After an OSError nothing has changed."""
        if end > self.covered or next_segment > self.next_segment:
            self._save(table, end, next_segment)

    def rewrite(
        self, table: SeriesTable, end: int, next_segment: int, without: Collection[int] = ()
    ) -> None:
        """Saves everything again, with current times and without these series."""
        self._can_append = False
        self._save(table, end, next_segment, frozenset(without))

    def _save(
        self,
        table: SeriesTable,
        end: int,
        next_segment: int,
        without: Collection[int] = frozenset(),
    ) -> None:
        appends = self._can_append and self.records < _MAX_RECORDS
        first = self.covered if appends else 0
        records = list(_records(table, first, end, next_segment, without))
        write = fsync.append_file if appends else _replace
        # Until both are written they differ, and after a failed sync their content is undefined.
        self._can_append = False
        for path in self._paths:
            write(path, records)
        self._can_append = True
        self.records = len(records) + (self.records if appends else 0)
        self.covered, self.next_segment = end, next_segment

    def _take(self, payload: bytes, table: SeriesTable) -> None:
        checkpoint = _decoder.decode(cramjam.lz4.decompress_block(payload))
        load_definitions(checkpoint.definitions, table)
        count = checkpoint.definitions.count
        ids = unpack_column(checkpoint.definitions.ids, count)
        table.last_seen.mark(ids, unpack_column(checkpoint.seen, count))
        table.skip_to(checkpoint.next_series)
        self.covered = len(table)
        self.next_segment = max(self.next_segment, checkpoint.next_segment)


def _read(path: Path) -> _Copy:
    # A table with a hole would hide that a segment still has the definitions.
    frames = SegmentFrames(path, resync=False)
    try:
        payloads = list(frames)
    except FileNotFoundError:
        return _Copy(path, [], None)
    return _Copy(path, payloads, frames.ending)


def _records(
    table: SeriesTable, first: int, end: int, next_segment: int, without: Collection[int]
) -> Iterator[bytes]:
    """At least one record, which holds the number of the next segment."""
    ids = [series for series in table.ids(first, end) if series not in without]
    for begin in range(0, max(len(ids), 1), _SERIES_A_RECORD):
        some = ids[begin : begin + _SERIES_A_RECORD]
        is_last = begin + _SERIES_A_RECORD >= len(ids)
        until = end if is_last else some[-1] + 1
        seen = pack_column(table.last_seen.of(np.array(some, np.int64)))
        part = pack_definitions(table, some)
        plain = msgspec.msgpack.encode(_CheckpointRecord(next_segment, until, part, seen))
        yield b"".join(framed(bytes(cramjam.lz4.compress_block(plain))))


def _replace(path: Path, records: list[bytes]) -> None:
    fsync.replace_file(path, [_HEADER, *records])
