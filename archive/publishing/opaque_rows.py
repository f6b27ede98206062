"""Rows of the tables of opaque messages: histograms, exemplars and metadata."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from archive.batch import OpaqueKind
from archive.publishing.wal_reader import OpaqueRow
from archive.tables.arrow import Table, pa
from archive.tables.schema import (
    EXEMPLARS,
    HISTOGRAMS,
    LATEST_TIME,
    METADATA,
    OPAQUE_SCHEMA,
    timestamps,
)

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


def _time(row: OpaqueRow) -> int | None:
    return row.message.time if 0 < row.message.time <= LATEST_TIME else None
