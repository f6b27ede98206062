"""Recovers the segments and the series of a log folder.

Never writes. Skips damaged records.
"""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from archive.series.table import SeriesTable
from archive.wal.errors import WalError, WalFormatError
from archive.wal.record import RecordError, decode_definitions
from archive.wal.record_definitions import load_definitions
from archive.wal.segments.reader import SegmentFrames, read_segment
from archive.wal.segments.segment import (
    HEADER_BYTES,
    BrokenHeaderError,
    Segment,
    SegmentHeader,
    read_header,
    segment_paths,
)
from archive.wal.segments.tail_check import Ending, EndingKind
from archive.wal.series_checkpoint import SeriesCheckpoint

# Segments are removed about once an hour, so a second attempt usually succeeds.
_ATTEMPTS = 5


@dataclass(frozen=True, slots=True)
class Dropped:
    """What of a segment cannot be read."""

    path: Path
    ending: Ending

    def __str__(self) -> str:
        return f"{self.path.name} {self.ending}"


@dataclass(slots=True)
class Recovery:
    """The result; `faults` are lines for the log."""

    segments: list[Segment] = field(default_factory=list)
    empty: list[Path] = field(default_factory=list)
    """Segments without records, and without damage."""
    dropped: list[Dropped] = field(default_factory=list)
    faults: list[str] = field(default_factory=list)
    next_segment: int = 1


def recover(folder: Path, table: SeriesTable, checkpoint: SeriesCheckpoint) -> Recovery:
    """Fills the table; skips segments whose definitions are already in it."""
    # In this order: when another process removes a segment, the checkpoint already covers it.
    paths = segment_paths(folder)
    found = Recovery(faults=checkpoint.load(table))
    found.next_segment = max([checkpoint.next_segment, *(number + 1 for number in paths)])
    headers = [_header(path) for path in paths.values()]
    for place, (number, path) in enumerate(paths.items()):
        header, after = headers[place], _first_known(headers[place + 1 :])
        if header is not None and header.first_series > len(table):
            lost = f"series {len(table)} to {header.first_series - 1}"
            found.faults.append(f"{path.parent}: the labels of {lost} are lost")
            table.skip_to(header.first_series)
        if header is not None and after is not None and after.first_series <= len(table):
            found.segments.append(_segment(path, number, header))
        else:
            _scan(found, _segment(path, number, header), table)
    return found


def read_series(folder: Path) -> SeriesTable:
    """The series of a folder that another process may use."""
    for _ in range(_ATTEMPTS):
        table = SeriesTable()
        with contextlib.suppress(FileNotFoundError):  # removed during the read
            recover(folder, table, SeriesCheckpoint(folder))
            return table
    raise WalError(f"{folder}: its files are removed faster than they can be read")


def _scan(found: Recovery, segment: Segment, table: SeriesTable) -> None:
    frames, lost = SegmentFrames(segment.path), len(table) - table.known
    for payload in frames:
        try:
            definitions = decode_definitions(payload)
            if definitions is not None:
                load_definitions(definitions, table)
        except (RecordError, ValueError) as error:
            frames.refuse(f"has a record that makes no sense ({error})")
    ending = frames.ending
    if ending.damage:
        # Records behind the damage may use ids whose definitions are lost.
        table.skip_to(_next_series(segment.path))
        lost = len(table) - table.known - lost
        if lost:
            found.faults.append(f"{segment.path}: the labels of {lost} series are lost")
    if ending.kind is not EndingKind.CLEAN:
        found.dropped.append(Dropped(segment.path, ending))
    if ending.offset <= HEADER_BYTES and ending.kind is not EndingKind.DAMAGED:
        found.empty.append(segment.path)
    else:
        found.segments.append(segment)


def _next_series(path: Path) -> int:
    """The lowest id that no record of the segment uses."""
    highest = -1
    for record in read_segment(path):
        batch = record.batch
        used = (int(np.maximum.reduce(batch.series, initial=0)),) if len(batch.series) else ()
        highest = max((highest, *used, *(each.series for each in batch.opaque)))
    return highest + 1


def _header(path: Path) -> SegmentHeader | None:
    """None for a damaged header."""
    try:
        return read_header(path)
    except BrokenHeaderError:
        return None
    except WalFormatError as error:
        raise WalFormatError(f"{path} {error}") from None


def _first_known(headers: Sequence[SegmentHeader | None]) -> SegmentHeader | None:
    return next((header for header in headers if header is not None), None)


def _segment(path: Path, number: int, header: SegmentHeader | None) -> Segment:
    status = path.stat()
    created = header.created if header is not None else int(status.st_mtime * 1000)
    return Segment(path, number, status.st_size, created)
