"""Verifies the lists in rows of `samples`: lengths, order of times, stale markers."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from archive.tables.arrow import Array, Table
from archive.tables.chunk_decoder import one_array
from archive.tables.sample_columns import Int64s
from archive.tables.schema import HOUR_MS, MAX_SCALE, STALE_BITS


def list_faults(table: Table) -> Iterator[str]:
    columns = {name: one_array(table, name) for name in ("scale", "ts", "iv", "fv", "stale")}
    whole, real = (_present(columns[name]) for name in ("iv", "fv"))
    if bool(np.any(whole == real)):
        yield "a row has both kinds of values or none"
        return
    if bool(np.any(whole != _present(columns["scale"]))):
        yield "a row has a scale without whole numbers, or the other way round"
    scales = columns["scale"].drop_null().to_numpy(zero_copy_only=False)
    if len(scales) and not 0 <= scales.min() <= scales.max() <= MAX_SCALE:
        yield f"a scale is not from 0 to {MAX_SCALE}"
    counts = _counts(columns["ts"])
    if bool(np.any(counts != np.where(whole, _counts(columns["iv"]), _counts(columns["fv"])))):
        yield "a row has more times than values, or fewer"
    for name in ("ts", "stale"):
        yield from _time_faults(name, columns[name])
    reals = columns["fv"].flatten().to_numpy(zero_copy_only=False)
    if bool(np.any(reals.view(np.uint64) == np.uint64(STALE_BITS))):
        yield "a stale marker is among the values"
    if _both(columns["ts"], columns["stale"]):
        yield "a time has a value and a stale marker"


def _time_faults(name: str, column: Array) -> Iterator[str]:
    offsets = column.flatten().to_numpy(zero_copy_only=False)
    if len(offsets) and not 0 <= offsets.min() <= offsets.max() < HOUR_MS:
        yield f"{name}: a time outside the hour"
    row = np.repeat(np.arange(len(column)), _counts(column))
    if bool(np.any((np.diff(offsets) <= 0) & (np.diff(row) == 0))):
        yield f"{name}: times are not in order"


def _both(times: Array, markers: Array) -> bool:
    return bool(np.isin(_keys(markers), _keys(times)).any())


def _keys(column: Array) -> Int64s:
    row = np.repeat(np.arange(len(column), dtype=np.int64), _counts(column))
    keys: Int64s = row * HOUR_MS + column.flatten().to_numpy(zero_copy_only=False)
    return keys


def _present(column: Array) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
    found: np.ndarray[tuple[int], np.dtype[np.bool_]] = column.is_valid().to_numpy(
        zero_copy_only=False
    )
    return found


def _counts(column: Array) -> Int64s:
    counts: Int64s = (
        column.value_lengths().fill_null(0).to_numpy(zero_copy_only=False).astype(np.int64)
    )
    return counts
