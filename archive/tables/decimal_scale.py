"""Finds values that are integers after a decimal shift, without loss."""

from __future__ import annotations

import numpy as np

from archive.tables.sample_columns import Floats, Int64s, Mask
from archive.tables.schema import MAX_SCALE, MAX_WHOLE

NOT_DECIMAL = -1
_POWERS: Floats = np.array([10.0**scale for scale in range(MAX_SCALE + 1)])


def decimal_scales(values: Floats, starts: Int64s) -> Int64s:
    """The smallest lossless scale of each chunk, or NOT_DECIMAL.

    `starts` are the first positions of the chunks; no chunk is empty.
    """
    if len(starts) == 0:
        return np.empty(0, np.int64)
    needed = np.full(len(values), MAX_SCALE + 1, np.int8)
    waiting = np.flatnonzero(np.isfinite(values))
    for scale in range(MAX_SCALE + 1):
        exact = _is_exact(values[waiting], scale)
        needed[waiting[exact]] = scale
        waiting = waiting[~exact]
        if len(waiting) == 0:
            break
    scales = np.maximum.reduceat(needed, starts).astype(np.int64)
    scales[scales > MAX_SCALE] = NOT_DECIMAL
    return _confirmed(values, starts, scales)


def shifted(values: Floats, scales: Int64s) -> Int64s:
    """The integers that encode the values; `scales` has one entry per value."""
    return np.rint(values * _POWERS[scales]).astype(np.int64)


def unshifted(whole: Int64s, scales: Int64s) -> Floats:
    """Decodes like a reader: one correctly rounded division of two exact numbers."""
    return whole / _POWERS[scales]


def _confirmed(values: Floats, starts: Int64s, scales: Int64s) -> Int64s:
    """Checks again: a value that fits its own scale may overflow at the scale of its chunk."""
    each = np.repeat(scales, np.diff(np.append(starts, len(values))))
    moved = np.flatnonzero(each > 0)
    if len(moved) == 0:
        return scales
    fits = np.ones(len(values), np.bool_)
    fits[moved] = _round_trips(values[moved], _POWERS[each[moved]])
    return np.where(np.logical_and.reduceat(fits, starts), scales, NOT_DECIMAL)


def _is_exact(values: Floats, scale: int) -> Mask:
    return _round_trips(values, np.float64(10.0**scale))


def _round_trips(values: Floats, power: Floats | np.float64) -> Mask:
    with np.errstate(over="ignore"):  # an overflow is not an integer, and is rejected below
        whole = np.rint(values * power)
    small = np.abs(whole) <= MAX_WHOLE
    whole[~small] = 0
    # Through integers, like a reader, which detects the lost sign of minus zero.
    back = whole.astype(np.int64) / power
    same: Mask = back.view(np.uint64) == np.ascontiguousarray(values).view(np.uint64)
    return small & same
