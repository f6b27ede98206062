"""The hourly statistics of series, and their rows in the table `hourly`."""

from __future__ import annotations

from typing import Final

import numpy as np

from archive.tables.arrow import Array, Table, pa
from archive.tables.chunk_statistics import ChunkStatistics, chunk_statistics, with_previous_values
from archive.tables.sample_columns import Floats, Int64s, Mask
from archive.tables.schema import HOURLY_SCHEMA, STATISTICS

_FLOATS: Final = STATISTICS[1:-1]


def statistics(values: Floats, counts: Int64s, before: Floats) -> ChunkStatistics:
    """`before` is the value before each chunk's first one, NaN where none is known."""
    return with_previous_values(chunk_statistics(values, counts), before)


def hourly_rows(keys: Table, found: ChunkStatistics) -> Table:
    """The table of HOURLY_SCHEMA; `keys` has the columns metric, series and hour."""
    empty = found.count == 0
    columns = {name: keys.column(name) for name in ("metric", "series", "hour")}
    columns["count"] = pa.array(found.count.astype(np.int32))
    for name in _FLOATS:
        columns[name] = _column(getattr(found, name), empty)
    columns["resets"] = pa.array(found.resets.astype(np.int32))
    return pa.table(columns, schema=HOURLY_SCHEMA)


def _column(values: Floats, empty: Mask) -> Array:
    return pa.array(values, mask=empty)
