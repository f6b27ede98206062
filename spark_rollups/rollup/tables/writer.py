"""Writes the rollup tables as Parquet files."""

from __future__ import annotations

from typing import Any, Final

import numpy as np
import pyarrow as pa  # type: ignore[import-untyped]
import pyarrow.parquet as pq  # type: ignore[import-untyped]

from archive.tables.chunk_statistics import Floats
from archive.tables.schema import DAY_MS, day_time
from spark_rollups.filesystem import Root
from spark_rollups.rollup.identity_index import Identities
from spark_rollups.rollup.rows import DayRows, HourRows
from spark_rollups.rollup.state_durations import Shares
from spark_rollups.rollup.tables.manifest import RollupFile
from spark_rollups.rollup.tables.schemas import IDENTITY, TABLES

_ROW_GROUP: Final = 131_072
_NAMES: Final = (*(name for name in IDENTITY if name != "labels"), "subject", "outlook", "model",
                 "limit_metric", "limit_name", "reason", "direction")  # fmt: skip


def daily_table(rows: DayRows, identities: Identities, day: str) -> Any:
    return pa.table(
        {
            **identities.columns(rows.rank),
            "day": _days(day, len(rows)),
            "count": rows.count,
            "hours": rows.hours.astype(np.int32),
            **{name: getattr(rows, name) for name in ("min", "max", "sum", "first", "last")},
            "first_hour": _times(rows.first_hour),
            "last_hour": _times(rows.last_hour),
            "increase": _known(rows.increase, identities.rising[rows.rank]),
            "resets": rows.resets,
        }
    )


def hourly_table(rows: HourRows, identities: Identities) -> Any:
    return pa.table(
        {
            **identities.columns(rows.rank),
            "hour": _times(rows.hour),
            "count": rows.count,
            **{name: getattr(rows, name) for name in ("min", "max", "sum", "first", "last", "p95")},
            "increase": _known(rows.increase, identities.rising[rows.rank]),
            "resets": rows.resets,
        }
    )


def shares_table(shares: Shares, identities: Identities, day: str) -> Any:
    return pa.table(
        {
            **identities.columns(shares.rank),
            "day": _days(day, len(shares.rank)),
            "value": shares.value,
            "samples": shares.samples,
            "seconds": shares.seconds,
        }
    )


def quantiles_table(
    rank: Any, counts: Any, found: list[Floats], identities: Identities, day: str
) -> Any:
    columns = dict(zip(("p50", "p95", "p99"), found, strict=True))
    return pa.table(
        {**identities.columns(rank), "day": _days(day, len(rank)), "count": counts, **columns}
    )


def write_table(root: Root, path: str, name: str, table: Any) -> RollupFile:
    """Names are dictionary-encoded in the file; readers cast to the schema."""
    schema = TABLES[name]
    described = table.select(schema.names).replace_schema_metadata(schema.metadata)
    sink = pa.BufferOutputStream()
    pq.write_table(
        described,
        sink,
        compression="zstd",
        row_group_size=_ROW_GROUP,
        use_dictionary=[
            *(each for each in schema.names if each in _NAMES),
            "labels.key_value.key",
            "labels.key_value.value",
        ],
        column_encoding=_encodings(schema),
        write_statistics=[
            "metric"
        ],  # readers filter by metric; other statistics would double the time
    )
    data = sink.getvalue()
    with root.create(path) as file:
        file.write(data)
    return RollupFile(path, table.num_rows, data.size)


def _encodings(schema: Any) -> dict[str, str]:
    plain = [field for field in schema if field.name not in _NAMES and field.name != "labels"]
    return {
        field.name: "BYTE_STREAM_SPLIT" if field.type == pa.float64() else "DELTA_BINARY_PACKED"
        for field in plain
    }


def _known(values: Floats, known: Any) -> Any:
    return pa.array(values, mask=~known)


def _days(day: str, rows: int) -> Any:
    return pa.array(np.full(rows, day_time(day) // DAY_MS, np.int32)).cast(pa.date32())


def _times(times: Any) -> Any:
    return pa.array(times.astype(np.int64)).cast(pa.timestamp("ms", tz="UTC"))
