"""Reads samples of sealed segments by hour, with the series ids of the archive."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

import numpy as np
from numpy.typing import NDArray

from archive.batch import NO_SERIES, Batch, Opaque, OpaqueKind
from archive.publishing.series_ids import SeriesIdMap
from archive.tables.id_column import IdColumn
from archive.tables.sample_columns import NO_START, Int32s, Int64s, Mask, Samples, distinct, joined
from archive.tables.schema import HOUR_MS, LATEST_TIME, hour_start
from archive.wal.segments.reader import read_segment
from archive.wal.segments.segment import Segment

# Requests are small, so they are processed in blocks.
_BLOCK_SAMPLES: Final = 100_000

Wanted = Callable[[Int32s], Mask]
# An hour with samples (None) or with messages of a kind.
Kind = tuple[OpaqueKind | None, int]


@dataclass(frozen=True, slots=True)
class Contents:
    """The number of samples and opaque messages of a segment by hour."""

    hours: Mapping[int, int]
    kinds: frozenset[Kind]
    misplaced: int  # times before 1970 or after 9998


@dataclass(frozen=True, slots=True)
class SegmentHours:
    """A segment with the hours of one day."""

    segment: Segment
    hours: frozenset[int]
    kinds: frozenset[Kind]


@dataclass(frozen=True, slots=True)
class OpaqueRow:
    series: int | None
    hour: int
    message: Opaque


@dataclass(slots=True)
class Gathered:
    """The rows of some hours from the segments."""

    samples: dict[int, Samples] = field(default_factory=dict)
    opaque: list[OpaqueRow] = field(default_factory=list)
    unknown: int = 0  # samples of series with a lost definition


def contents_of(segment: Segment) -> Contents:
    counts: dict[int, int] = {}
    kinds: set[Kind] = set()
    misplaced = 0
    for block in _blocks([segment]):
        placed = _placed(block.times)
        misplaced += len(placed) - int(np.count_nonzero(placed))
        for hour, count in zip(*distinct(block.times[placed] // HOUR_MS), strict=True):
            counts[hour * HOUR_MS] = counts.get(hour * HOUR_MS, 0) + count
            kinds.add((None, hour * HOUR_MS))
        for message, hour in block.opaque:
            counts[hour] = counts.get(hour, 0) + 1
            kinds.add((message.kind, hour))
    return Contents(counts, frozenset(kinds), misplaced)


def gather(
    sources: Sequence[SegmentHours], numbers: SeriesIdMap, wanted: Wanted | None = None
) -> Gathered:
    """In the order of acknowledgement. `wanted` filters by the archive's ids."""
    found = Gathered()
    parts: list[Samples] = []
    for source in sources:
        for block in _blocks([source.segment]):
            samples = _samples(block, source.hours, numbers)
            mine = wanted(samples.series) if wanted else np.ones(len(samples), np.bool_)
            known = samples.series >= 0
            found.unknown += int(np.count_nonzero(mine & ~known))
            parts.append(samples.take(mine & known))
            found.opaque += _opaque_rows(block, source.hours, numbers, wanted)
    found.samples = _by_hour(joined(parts))
    return found


def count_series(sources: Sequence[SegmentHours], numbers: SeriesIdMap) -> IdColumn:
    """Samples and messages of each series, by the archive's id."""
    counts = IdColumn()
    for source in sources:
        for block in _blocks([source.segment]):
            rows = _opaque_rows(block, source.hours, numbers, None)
            opaque = [row.series for row in rows if row.series is not None]
            series = _samples(block, source.hours, numbers).series
            every = np.concatenate((series[series >= 0], np.array(opaque, np.int32)))
            ids, found = np.unique(every, return_counts=True)
            counts[ids] = np.maximum(counts[ids], 0) + found
    return counts


@dataclass(frozen=True, slots=True)
class _Block:
    """Concatenated requests; opaque messages with their hour."""

    series: NDArray[np.uint32]
    times: Int64s
    values: NDArray[np.uint64]
    starts: Int64s | None
    opaque: list[tuple[Opaque, int]]


def _blocks(segments: Sequence[Segment]) -> Iterator[_Block]:
    held: list[Batch] = []
    size = 0
    for segment in segments:
        for record in read_segment(segment.path):
            held.append(record.batch)
            size += len(record.batch.series) + len(record.batch.opaque)
            if size >= _BLOCK_SAMPLES:
                yield _block(held)
                held, size = [], 0
    if held:
        yield _block(held)


def _block(batches: Sequence[Batch]) -> _Block:
    starts = None
    if any(batch.starts is not None for batch in batches):
        starts = np.concatenate(
            [
                np.full(len(batch.times), NO_START) if batch.starts is None else batch.starts
                for batch in batches
            ]
        )
    return _Block(
        np.concatenate([batch.series for batch in batches]),
        np.concatenate([batch.times for batch in batches]),
        np.concatenate([batch.values for batch in batches]),
        starts,
        [(each, _opaque_hour(each, batch)) for batch in batches for each in batch.opaque],
    )


def _samples(block: _Block, hours: frozenset[int], numbers: SeriesIdMap) -> Samples:
    """Samples of these hours; a negative id when the definition is lost."""
    chosen = _placed(block.times) & np.isin(
        block.times // HOUR_MS, [hour // HOUR_MS for hour in hours]
    )
    series, replica = numbers.translate(block.series[chosen])
    starts = None if block.starts is None else block.starts[chosen]
    return Samples(series, replica, block.times[chosen], block.values[chosen], starts)


def _by_hour(samples: Samples) -> dict[int, Samples]:
    """The samples of each hour, in the order of acknowledgement."""
    hours = samples.times // HOUR_MS
    every, _ = distinct(hours)
    if len(every) == 1:
        return {every[0] * HOUR_MS: samples}
    return {hour * HOUR_MS: samples.take(hours == hour) for hour in every}


def _placed(times: Int64s) -> Mask:
    placed: Mask = (times >= 0) & (times <= LATEST_TIME)
    return placed


def _opaque_hour(opaque: Opaque, batch: Batch) -> int:
    """The hour of the message's time; without a valid time, of its arrival."""
    has_time = 0 < opaque.time <= LATEST_TIME
    return hour_start(opaque.time if has_time else batch.received)


def _opaque_rows(
    block: _Block, hours: frozenset[int], numbers: SeriesIdMap, wanted: Wanted | None
) -> list[OpaqueRow]:
    chosen = [(message, hour) for message, hour in block.opaque if hour in hours]
    given = np.array([message.series for message, _ in chosen], np.int64)
    series = np.full(len(given), NO_SERIES, np.int32)
    has_series = given != NO_SERIES
    series[has_series], _ = numbers.translate(given[has_series].astype(np.uint32))
    mine = np.ones(len(given), np.bool_) if wanted is None else wanted(series)
    return [
        OpaqueRow(None if each < 0 else each, hour, message)
        for each, (message, hour), is_mine in zip(series.tolist(), chosen, mine, strict=True)
        if is_mine
    ]
