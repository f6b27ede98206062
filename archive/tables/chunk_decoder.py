"""Decodes rows of `samples` to samples without loss."""

from __future__ import annotations

import numpy as np

from archive.tables.arrow import Array, Table, pa
from archive.tables.decimal_scale import unshifted
from archive.tables.sample_columns import NO_START, Bits, Floats, Int32s, Int64s, Samples
from archive.tables.schema import STALE_BITS, milliseconds


def samples_of(table: Table) -> tuple[Samples, list[str]]:
    """The samples of the rows, in row and time order, and the replica names."""
    columns = {name: one_array(table, name) for name in table.column_names}
    replica, replicas = _codes(columns["replica"])
    counts, stale_counts = _lengths(columns["ts"]), _lengths(columns["stale"])
    # Values first, then stale markers, in the order of the columns.
    row = np.concatenate(
        [np.repeat(np.arange(len(replica)), each) for each in (counts, stale_counts)]
    )
    offsets = [columns[name].flatten().to_numpy() for name in ("ts", "stale")]
    markers = np.full(len(offsets[1]), STALE_BITS, np.uint64)
    samples = Samples(
        columns["series"].to_numpy()[row],
        replica[row],
        hours_of(columns["hour"])[row] + np.concatenate(offsets),
        np.concatenate((_value_bits(columns, counts), markers)),
        _starts(columns["starts"], counts, len(markers)),
    )
    if len(markers):
        samples = samples.take(np.lexsort((samples.times, row)))
    return samples, replicas


def value_lists(table: Table) -> tuple[Floats, Int64s]:
    """All values of the rows, and the number of values of each row."""
    columns = {name: one_array(table, name) for name in ("ts", "scale", "iv", "fv")}
    counts = _lengths(columns["ts"])
    return _value_bits(columns, counts).view(np.float64), counts


def hours_of(column: Array) -> Int64s:
    hours: Int64s = milliseconds(column)
    return hours


def one_array(table: Table, name: str) -> Array:
    """The whole column as one array; strings are dictionary-encoded."""
    column = table.column(name)
    if pa.types.is_string(column.type):  # a file of another writer, without a dictionary
        column = column.dictionary_encode()
    if pa.types.is_dictionary(column.type):
        column = column.unify_dictionaries()
    return column.combine_chunks()


def _codes(column: Array) -> tuple[Int32s, list[str]]:
    """Codes into a list of names that begins with the empty name."""
    names = column.dictionary.to_pylist()
    ordered = ["", *(name for name in names if name)]
    place = np.array([ordered.index(name) for name in names], np.int32)
    return place[column.indices.to_numpy()], ordered


def _lengths(column: Array) -> Int64s:
    lengths = column.value_lengths().fill_null(0)
    counts: Int64s = lengths.to_numpy(zero_copy_only=False).astype(np.int64)
    return counts


def _value_bits(columns: dict[str, Array], counts: Int64s) -> Bits:
    whole = columns["iv"].is_valid().to_numpy(zero_copy_only=False)
    each_whole = np.repeat(whole, counts)
    scales = columns["scale"].fill_null(0).to_numpy(zero_copy_only=False)
    each_scale = np.repeat(scales.astype(np.int64), counts)[each_whole]
    values = np.empty(int(counts.sum()), np.float64)
    values[each_whole] = unshifted(columns["iv"].flatten().to_numpy(), each_scale)
    values[~each_whole] = columns["fv"].flatten().to_numpy()
    return values.view(np.uint64)


def _starts(column: Array, counts: Int64s, markers: int) -> Int64s | None:
    given = column.is_valid().to_numpy(zero_copy_only=False)
    if not given.any():
        return None
    starts = np.full(int(counts.sum()) + markers, NO_START, np.int64)
    starts[: len(starts) - markers][np.repeat(given, counts)] = column.flatten().to_numpy()
    return starts
