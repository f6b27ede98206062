"""Encodes samples as rows of `samples`: one row per series and hour."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from archive.tables.arrow import Array, Table, pa
from archive.tables.decimal_scale import NOT_DECIMAL, decimal_scales, shifted
from archive.tables.sample_columns import (
    NO_START,
    Bits,
    Floats,
    Int32s,
    Int64s,
    Mask,
    Samples,
    run_starts,
)
from archive.tables.schema import HOUR_MS, SAMPLES_SCHEMA, STALE_BITS, timestamps


@dataclass(frozen=True, slots=True)
class Chunks:
    """Samples in chunks: the concatenated values of all chunks, stale markers separately."""

    series: Int32s  # one entry per chunk, like the next five
    hours: Int64s
    replica: Int32s
    counts: Int64s  # values; 0 for a chunk of stale markers only
    stale_counts: Int64s
    has_starts: Mask
    times: Int64s  # one entry per value, like the next two
    bits: Bits
    starts: Int64s | None
    stale_times: Int64s  # one entry per stale marker

    @property
    def values(self) -> Floats:
        return self.bits.view(np.float64)

    def __len__(self) -> int:
        return len(self.series)


def cut(samples: Samples) -> Chunks:
    """`samples` are sorted by series, hour and time; a chunk has one replica."""
    hours = samples.times - samples.times % HOUR_MS
    firsts = run_starts(samples.series, hours)
    stale = samples.bits == np.uint64(STALE_BITS)
    chunk_of = np.zeros(len(samples), np.int64)
    chunk_of[firsts] = 1
    chunk_of = np.cumsum(chunk_of) - 1
    starts = None if samples.starts is None else samples.starts[~stale]
    counts = np.bincount(chunk_of[~stale], minlength=len(firsts))
    return Chunks(
        series=samples.series[firsts],
        hours=hours[firsts],
        replica=samples.replica[firsts],
        counts=counts,
        stale_counts=np.bincount(chunk_of[stale], minlength=len(firsts)),
        has_starts=_any_start(starts, chunk_of[~stale], len(firsts)),
        times=samples.times[~stale],
        bits=np.ascontiguousarray(samples.bits[~stale]),
        starts=starts,
        stale_times=samples.times[stale],
    )


def rows(chunks: Chunks, metrics: Array, replicas: Sequence[str]) -> Table:
    """A table of SAMPLES_SCHEMA; `metrics` is the metric name of each chunk."""
    scales = _scales(chunks)
    whole = scales != NOT_DECIMAL
    each_whole = np.repeat(whole, chunks.counts)
    each_scale = np.repeat(scales, chunks.counts)[each_whole]
    offsets = (chunks.times - np.repeat(chunks.hours, chunks.counts)).astype(np.int32)
    stale_offsets = chunks.stale_times - np.repeat(chunks.hours, chunks.stale_counts)
    columns = {
        "metric": metrics,
        "series": chunks.series,
        "hour": timestamps(chunks.hours),
        "replica": _names(chunks.replica, replicas),
        "scale": pa.array(scales.astype(np.int8), mask=~whole),
        "ts": _lists("ts", offsets, chunks.counts),
        "iv": _lists("iv", shifted(chunks.values[each_whole], each_scale), chunks.counts, whole),
        "fv": _lists("fv", chunks.values[~each_whole], chunks.counts, ~whole),
        "stale": _lists(
            "stale", stale_offsets.astype(np.int32), chunks.stale_counts, chunks.stale_counts > 0
        ),
        "starts": _start_lists(chunks),
    }
    return pa.table(columns, schema=SAMPLES_SCHEMA)


def _scales(chunks: Chunks) -> Int64s:
    """The scale of each chunk; 0 for an empty one."""
    scales = np.zeros(len(chunks), np.int64)
    filled = chunks.counts > 0
    starts = np.concatenate(([0], np.cumsum(chunks.counts)))[:-1][filled]
    scales[filled] = decimal_scales(chunks.values, starts.astype(np.int64))
    return scales


def _any_start(starts: Int64s | None, chunk_of: Int64s, size: int) -> Mask:
    if starts is None:
        return np.zeros(size, np.bool_)
    given = np.bincount(chunk_of[starts != NO_START], minlength=size)
    return given > 0


def _start_lists(chunks: Chunks) -> Array:
    if chunks.starts is None:
        return pa.nulls(len(chunks), SAMPLES_SCHEMA.field("starts").type)
    kept = chunks.starts[np.repeat(chunks.has_starts, chunks.counts)]
    return _lists("starts", kept, chunks.counts, chunks.has_starts)


def _lists(name: str, items: Array, counts: Int64s, present: Mask | None = None) -> Array:
    """A list column; a row that is not present is null and has no items."""
    owned = counts if present is None else np.where(present, counts, 0)
    offsets = np.concatenate(([0], np.cumsum(owned))).astype(np.int32)
    mask = None if present is None else pa.array(~present)
    return pa.ListArray.from_arrays(
        pa.array(offsets), pa.array(items), type=SAMPLES_SCHEMA.field(name).type, mask=mask
    )


def _names(codes: Int32s, names: Sequence[str]) -> Array:
    return pa.DictionaryArray.from_arrays(pa.array(codes), pa.array(names, pa.string()))
