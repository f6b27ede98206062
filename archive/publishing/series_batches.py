"""Splits the new samples of a day into batches of series that fit into memory."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from itertools import pairwise

import numpy as np

from archive.maintenance.merge import EVERY_RANK
from archive.publishing.series_ids import SeriesIdMap
from archive.publishing.wal_reader import Gathered, SegmentHours, count_series, gather
from archive.tables.id_column import IdColumn
from archive.tables.sample_columns import Int32s, Mask
from archive.tables.series import SeriesRegistry

Within = tuple[int, int]


def series_batches(
    sources: Sequence[SegmentHours],
    numbers: SeriesIdMap,
    registry: SeriesRegistry,
    expected: int,
    limit: int,
) -> Iterable[tuple[Within, Gathered]]:
    """Ranges of ranks, each with its rows of the segments.

    On return the registry contains all series: a new one would change the ranks of others.
    """
    if expected <= limit:
        return [(EVERY_RANK, gather(sources, numbers))]
    counts = count_series(sources, numbers)
    ranks = registry.ranks()
    bounds = _bounds(counts, ranks, limit)
    return (
        (within, gather(sources, numbers, _chooser(ranks, within))) for within in pairwise(bounds)
    )


def _bounds(counts: IdColumn, ranks: IdColumn, limit: int) -> list[int]:
    """Bounds of the batches; a series above the limit is a batch of its own."""
    ids = counts.ids()
    places = ranks[ids]
    by_rank = np.zeros(places.max(initial=0) + 1, np.int64)
    by_rank[places] = counts[ids]
    batch = np.cumsum(by_rank) // limit
    cuts = np.flatnonzero(batch[1:] != batch[:-1]) + 1
    return [EVERY_RANK[0], *cuts.tolist(), EVERY_RANK[1]]


def _chooser(ranks: IdColumn, within: Within) -> Callable[[Int32s], Mask]:
    def chosen(series: Int32s) -> Mask:
        """Rows without a series belong to the first batch."""
        rank = np.where(series < 0, EVERY_RANK[0], ranks[series])
        here: Mask = (rank >= within[0]) & (rank < within[1])
        return here

    return chosen
