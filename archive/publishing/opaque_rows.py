"""Rows of `opaque/`: messages stored as bytes, without duplicates."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

import numpy as np

from archive.maintenance.merge import EVERY_RANK, between, ranges
from archive.maintenance.row_cursor import Cursor, MemoryCursor, ranks_of
from archive.publishing.wal_reader import OpaqueRow
from archive.tables.arrow import Table, pa
from archive.tables.sample_columns import Int64s
from archive.tables.schema import LATEST_TIME, OPAQUE_SCHEMA

GROUP_ROWS: Final = 100_000


def opaque_table(rows: Sequence[OpaqueRow]) -> Table:
    kinds = pa.array([row.message.kind.name.lower() for row in rows], pa.string())
    columns = {
        "kind": kinds.dictionary_encode(),
        "series": pa.array([row.series for row in rows], pa.int32()),
        "hour": pa.array([row.hour for row in rows], OPAQUE_SCHEMA.field("hour").type),
        "time": pa.array([_time(row) for row in rows], OPAQUE_SCHEMA.field("time").type),
        "data": pa.array([row.message.data for row in rows], pa.binary()),
    }
    return pa.table(columns, schema=OPAQUE_SCHEMA)


def merged_opaque(
    old: Sequence[Cursor], fresh: Table, ranks: Int64s, within: tuple[int, int] = EVERY_RANK
) -> Iterator[Table]:
    """Sorted by series and time. Senders repeat metadata and unacknowledged messages."""
    order = pa.array(np.argsort(ranks_of(fresh, ranks), kind="stable"))
    cursors = [*old, MemoryCursor(fresh.take(order), ranks)]
    for low, high in ranges(cursors, GROUP_ROWS, within):
        yield each_once(pa.concat_tables([between(cursor, low, high) for cursor in cursors]), ranks)


def each_once(table: Table, ranks: Int64s) -> Table:
    columns = (table.column(name).to_pylist() for name in ("kind", "series", "time", "data"))
    first: dict[tuple[object, ...], int] = {}
    for place, row in enumerate(zip(*columns, strict=True)):
        first.setdefault(row, place)
    chosen = table.take(pa.array(list(first.values()), pa.int64()))
    times = chosen.column("time").cast(pa.int64()).fill_null(0).to_numpy()
    order = np.lexsort((times, ranks_of(chosen, ranks)))
    return chosen.take(pa.array(order)).combine_chunks()


def _time(row: OpaqueRow) -> int | None:
    return row.message.time if 0 < row.message.time <= LATEST_TIME else None
