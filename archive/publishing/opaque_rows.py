"""Rows of the tables of opaque messages: histograms, exemplars and metadata, each message once."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

import numpy as np

from archive.batch import OpaqueKind
from archive.maintenance.merge import EVERY_RANK, between, ranges
from archive.maintenance.row_cursor import Cursor, MemoryCursor, ranks_of
from archive.publishing.wal_reader import OpaqueRow
from archive.tables.arrow import Table, pa
from archive.tables.id_column import IdColumn
from archive.tables.schema import (
    EXEMPLARS,
    HISTOGRAMS,
    LATEST_TIME,
    METADATA,
    OPAQUE_SCHEMA,
    timestamps,
)

GROUP_ROWS: Final = 100_000
KINDS: Final = {
    HISTOGRAMS: OpaqueKind.HISTOGRAM,
    EXEMPLARS: OpaqueKind.EXEMPLAR,
    METADATA: OpaqueKind.METADATA,
}


def opaque_table(rows: Sequence[OpaqueRow]) -> Table:
    columns = {
        "series": pa.array([row.series for row in rows], pa.int32()),
        "hour": timestamps([row.hour for row in rows]),
        "time": timestamps([_time(row) for row in rows]),
        "data": pa.array([row.message.data for row in rows], pa.binary()),
    }
    return pa.table(columns, schema=OPAQUE_SCHEMA)


def merged_opaque(
    old: Sequence[Cursor], fresh: Table, ranks: IdColumn, within: tuple[int, int] = EVERY_RANK
) -> Iterator[Table]:
    """Sorted by series and time. Senders repeat metadata and unacknowledged messages."""
    order = pa.array(np.argsort(ranks_of(fresh, ranks), kind="stable"))
    cursors = [*old, MemoryCursor(fresh.take(order), ranks)]
    for low, high in ranges(cursors, GROUP_ROWS, within):
        parts = [between(cursor, low, high) for cursor in cursors]
        yield each_once(pa.concat_tables([part.replace_schema_metadata() for part in parts]), ranks)


def each_once(table: Table, ranks: IdColumn) -> Table:
    columns = (table.column(name).to_pylist() for name in ("series", "time", "data"))
    first: dict[tuple[object, ...], int] = {}
    for place, row in enumerate(zip(*columns, strict=True)):
        first.setdefault(row, place)
    chosen = table.take(pa.array(list(first.values()), pa.int64()))
    times = chosen.column("time").cast(pa.int64()).fill_null(0).to_numpy()
    order = np.lexsort((times, ranks_of(chosen, ranks)))
    return chosen.take(pa.array(order)).combine_chunks()


def _time(row: OpaqueRow) -> int | None:
    return row.message.time if 0 < row.message.time <= LATEST_TIME else None
