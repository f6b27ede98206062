"""Decodes chunks of the archive to flat numpy arrays; see FORMAT.md, section 2."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from archive.tables.chunk_statistics import Floats, Int64s
from archive.tables.schema import milliseconds

VALUE_COLUMNS: Final = ("series", "hour", "scale", "iv", "fv")
TIME_COLUMNS: Final = (*VALUE_COLUMNS, "ts", "stale")
_POWERS: Final = 10.0 ** np.arange(10)


@dataclass(frozen=True, slots=True)
class Chunks:
    series: Any
    hour: Int64s
    counts: Int64s  # values of each chunk
    values: Floats  # of all chunks, concatenated

    def __len__(self) -> int:
        return len(self.series)


def ranges(starts: Int64s, counts: Int64s) -> Int64s:
    """start, start + 1, ... for each start and count, concatenated."""
    shift = starts - starts_of(counts)
    return np.repeat(shift, counts) + np.arange(int(counts.sum()))


def starts_of(counts: Int64s) -> Int64s:
    return np.cumsum(counts) - counts


def chunks_of(table: Any) -> Chunks:
    """From a table with VALUE_COLUMNS."""
    whole, whole_counts = _lists(table, "iv")
    plain, plain_counts = _lists(table, "fv")
    series, scale = table.column("series").to_numpy(), table.column("scale").fill_null(0).to_numpy()
    hour = milliseconds(table.column("hour").combine_chunks())
    values = _whole_values(whole, whole_counts, scale)
    if len(plain):
        values = _mixed(values, whole_counts, plain, plain_counts)
    return Chunks(series, hour, whole_counts + plain_counts, values)


def _lists(table: Any, name: str) -> tuple[Any, Int64s]:
    """The items of a column of lists, and the length of each list; 0 for null."""
    lists = table.column(name).combine_chunks()
    offsets = lists.offsets.to_numpy()
    items = lists.values.slice(offsets[0], offsets[-1] - offsets[0])
    return items.to_numpy(), np.diff(offsets).astype(np.int64)


def _whole_values(items: Any, counts: Int64s, scale: Any) -> Floats:
    values: Floats = items.astype(np.float64)
    scaled = scale > 0
    if not scaled.any():
        return values
    if scaled.all() and (scale == scale[0]).all():
        values /= _POWERS[scale[0]]
    else:
        values /= np.repeat(_POWERS[scale], counts)
    return values


def _mixed(whole: Floats, whole_counts: Int64s, plain: Floats, plain_counts: Int64s) -> Floats:
    """Merges integer and float chunks in the order of chunks."""
    if not whole_counts.any():
        return plain
    starts = starts_of(whole_counts + plain_counts)
    values = np.empty(len(whole) + len(plain))
    values[ranges(starts, whole_counts)] = whole
    values[ranges(starts, plain_counts)] = plain
    return values


@dataclass(frozen=True, slots=True)
class TimedSamples:
    """Values and stale markers (as NaN) of chunks, with their times in milliseconds since 1970."""

    chunk: Int64s  # the index of the chunk
    time: Int64s
    value: Floats


def timed_samples(table: Any, chunks: Chunks, *, markers: bool = True) -> TimedSamples:
    """From a table with TIME_COLUMNS, in the order of chunks and time."""
    chunk = np.repeat(np.arange(len(chunks)), chunks.counts)
    offsets, _ = _lists(table, "ts")
    time = offsets.astype(np.int64) + chunks.hour[chunk]
    marks, mark_counts = _lists(table, "stale")
    if len(marks) == 0 or not markers:
        return TimedSamples(chunk, time, chunks.values)
    marked = np.repeat(np.arange(len(chunks)), mark_counts)
    ended = marks.astype(np.int64) + chunks.hour[marked]
    chunk, time = np.concatenate([chunk, marked]), np.concatenate([time, ended])
    value = np.concatenate([chunks.values, np.full(len(ended), np.nan)])
    order = np.lexsort((time, chunk))
    return TimedSamples(chunk[order], time[order], value[order])
