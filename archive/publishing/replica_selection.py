"""Selects one replica of a highly available pair per hour; other replicas fill its gaps."""

from __future__ import annotations

from typing import Final

import numpy as np

from archive.tables.sample_columns import Floats, Int32s, Int64s, Samples, run_lengths, run_starts
from archive.tables.schema import HOUR_MS

# A distance of this many usual intervals is a gap, which another replica may fill.
GAP_INTERVALS: Final = 1.5
# Keys of two series are further apart than any distance within an hour.
_KEY_BITS: Final = 24


def one_replica(samples: Samples, rank: Int64s) -> Samples:
    """For each series the replica with the most samples, and others only in its gaps.

    `samples` are of one hour, sorted by rank, replica and time; the result by rank and time.
    """
    runs = run_starts(rank, samples.replica)
    series = run_starts(rank[runs])
    if len(series) == len(runs):
        return samples
    lengths = run_lengths(runs, len(samples))
    series_of_run = np.repeat(np.arange(len(series)), run_lengths(series, len(runs)))
    place = _places(series_of_run, lengths, series)
    chosen = np.flatnonzero(place == 0)  # one run for each series, in their order
    reach = _reach(samples.times, runs[chosen], lengths[chosen])[series_of_run]
    kept = _filled(_keys(samples, rank), np.repeat(place, lengths), np.repeat(reach, lengths))
    selected = samples.replica[runs[chosen]][series_of_run]
    return _renamed(samples, np.repeat(selected, lengths)).take(kept)


def _places(series: Int64s, lengths: Int64s, firsts: Int64s) -> Int64s:
    """The order of the replicas of a series: most samples first, then by name."""
    order = np.lexsort((-lengths, series))
    places = np.empty(len(lengths), np.int64)
    places[order] = np.arange(len(lengths)) - firsts[series[order]]
    return places


def _filled(keys: Int64s, places: Int64s, reach: Floats) -> Int64s:
    """The samples to keep: all of the first replica, then those of the next in gaps, and so on."""
    kept = np.flatnonzero(places == 0)
    for place in range(1, int(places.max()) + 1):
        others = np.flatnonzero(places == place)
        far = _distance(keys[others], keys[kept]) > reach[others]
        kept = np.concatenate((kept, others[far]))
        kept = kept[np.argsort(keys[kept], kind="stable")]
    return kept


def _distance(keys: Int64s, others: Int64s) -> Int64s:
    """The distance to the nearest of `others`, which are sorted and not empty."""
    after = np.minimum(np.searchsorted(others, keys), len(others) - 1)
    before = np.maximum(after - 1, 0)
    nearest: Int64s = np.minimum(np.abs(others[after] - keys), np.abs(keys - others[before]))
    return nearest


def _reach(times: Int64s, starts: Int64s, lengths: Int64s) -> Floats:
    """GAP_INTERVALS times the median interval; 0 for a single sample."""
    reach = np.zeros(len(starts))
    for length in np.unique(lengths[lengths > 1]):
        same = np.flatnonzero(lengths == length)
        matrix = times[starts[same][:, None] + np.arange(length)]
        reach[same] = np.median(np.diff(matrix, axis=1), axis=1) * GAP_INTERVALS
    return reach


def _keys(samples: Samples, rank: Int64s) -> Int64s:
    keys: Int64s = (rank << _KEY_BITS) | (samples.times % HOUR_MS)
    return keys


def _renamed(samples: Samples, replica: Int32s) -> Samples:
    return Samples(samples.series, replica, samples.times, samples.bits, samples.starts)
