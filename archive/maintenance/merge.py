"""Merges sorted files and new rows, one range of series at a time, in bounded memory."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise
from typing import Final

import numpy as np

from archive.maintenance.row_cursor import NO_RANK, Cursor, MemoryCursor, ranks_of
from archive.tables.arrow import Table, pa
from archive.tables.chunk_decoder import hours_of, one_array
from archive.tables.id_column import IdColumn
from archive.tables.sample_columns import Int64s
from archive.tables.schema import HOUR_MS

# Large row groups compress best. Files of single hours have small ones, because compaction opens
# all files of a day at once.
DAY_GROUP_ROWS: Final = 30_000
HOUR_GROUP_ROWS: Final = 2_048
OPAQUE_GROUP_ROWS: Final = 100_000
EVERY_RANK: Final = (NO_RANK, 1 << 40)
_HOUR_BITS: Final = 5  # the hours of a day


def merged(
    old: Sequence[Cursor],
    fresh: Cursor | None,
    ranks: IdColumn,
    group_rows: int,
    within: tuple[int, int] = EVERY_RANK,
) -> Iterator[Table]:
    """Tables sorted by rank and hour; a new row replaces the old one of its series and hour.

    All rows are of one day, `ranks` is the rank of each series. Reads only the ranks of `within`,
    whose end is exclusive.
    """
    cursors = [*old, *([] if fresh is None else [fresh])]
    for low, high in _ranges(cursors, group_rows, within):
        parts = [_between(cursor, low, high) for cursor in old]
        newer = None if fresh is None else _between(fresh, low, high)
        table = in_order(_without_replaced(parts, newer, ranks), ranks)
        if table.num_rows:
            yield table


def row_keys(table: Table, ranks: IdColumn) -> Int64s:
    """A sort key of each row: series rank and hour."""
    hours = hours_of(one_array(table, "hour")) // HOUR_MS % 24
    keys: Int64s = (ranks_of(table, ranks) << _HOUR_BITS) | hours
    return keys


def _ranges(
    cursors: Sequence[Cursor], group_rows: int, within: tuple[int, int]
) -> Iterable[tuple[int, int]]:
    """Ranges of ranks with about `group_rows` rows each."""
    parts = [_part(cursor.ranks, within) for cursor in cursors]
    every = np.sort(np.concatenate(parts)) if parts else np.empty(0, np.int64)
    if len(every) == 0:
        return ()
    cuts = np.unique(every[::group_rows])
    return pairwise([*cuts.tolist(), int(every[-1]) + 1])


def _part(ranks: Int64s, within: tuple[int, int]) -> Int64s:
    first, end = np.searchsorted(ranks, within)
    return ranks[first:end]


def _between(cursor: Cursor, low: int, high: int) -> Table:
    first, end = np.searchsorted(cursor.ranks, (low, high))
    return cursor.take(int(first), int(end))


def _without_replaced(parts: Sequence[Table], newer: Table | None, ranks: IdColumn) -> Table:
    if newer is None or newer.num_rows == 0:
        return pa.concat_tables(parts)
    replaced = row_keys(newer, ranks)
    kept = [
        table.filter(pa.array(~np.isin(row_keys(table, ranks), replaced)))
        for table in parts
        if table.num_rows
    ]
    return pa.concat_tables([*kept, newer])


def in_order(table: Table, ranks: IdColumn) -> Table:
    """By rank and hour."""
    keys = row_keys(table, ranks)
    if bool(np.all(keys[1:] >= keys[:-1])):
        return table.combine_chunks()
    return table.take(pa.array(np.argsort(keys, kind="stable"))).combine_chunks()


def merged_opaque(
    old: Sequence[Cursor], fresh: Table, ranks: IdColumn, within: tuple[int, int] = EVERY_RANK
) -> Iterator[Table]:
    """Sorted by series and time. Senders repeat metadata and unacknowledged messages."""
    order = pa.array(np.argsort(ranks_of(fresh, ranks), kind="stable"))
    cursors = [*old, MemoryCursor(fresh.take(order), ranks)]
    for low, high in _ranges(cursors, OPAQUE_GROUP_ROWS, within):
        parts = [_between(cursor, low, high) for cursor in cursors]
        yield _each_once(
            pa.concat_tables([part.replace_schema_metadata() for part in parts]), ranks
        )


def _each_once(table: Table, ranks: IdColumn) -> Table:
    columns = (table.column(name).to_pylist() for name in ("series", "time", "data"))
    first: dict[tuple[object, ...], int] = {}
    for place, row in enumerate(zip(*columns, strict=True)):
        first.setdefault(row, place)
    chosen = table.take(pa.array(list(first.values()), pa.int64()))
    times = chosen.column("time").cast(pa.int64()).fill_null(0).to_numpy()
    order = np.lexsort((times, ranks_of(chosen, ranks)))
    return chosen.take(pa.array(order)).combine_chunks()
