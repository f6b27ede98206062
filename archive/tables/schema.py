"""The tables of the archive: names, schemas, partitions.

Depends only on pyarrow, so that the rollups can ship it to Spark workers. FORMAT.md documents it.
"""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any, Final

import pyarrow as pa  # type: ignore[import-untyped]

FORMAT_VERSION: Final = 2
# Keys of the Parquet metadata.
META_FORMAT: Final = b"streamgauge.format"
META_TABLE: Final = b"streamgauge.table"

SAMPLES: Final = "samples"
HOURLY: Final = "hourly"
SERIES: Final = "series"
HISTOGRAMS: Final = "histograms"
EXEMPLARS: Final = "exemplars"
METADATA: Final = "metadata"
# Messages as received, in one schema.
OPAQUE: Final = (HISTOGRAMS, EXEMPLARS, METADATA)
# The partition column: in the table, not in its files.
DAY: Final = "day"
# Next to these in the data folder; see WAL.md.
WAL: Final = "wal"

HOUR_MS: Final = 3_600_000
DAY_MS: Final = 86_400_000
# The last millisecond of the year 9998: the archive has days from 1970 to then. Publication
# reads one day ahead, and datetime ends with the year 9999.
LATEST_TIME: Final = 253_370_764_799_999
# The increase into an hour starts at the newest earlier sample, at most this far back.
LOOKBACK_HOURS: Final = 24

# Prometheus' stale marker: a NaN that no arithmetic produces.
STALE_BITS: Final = 0x7FF0_0000_0000_0002
# Nine digits represent nanoseconds in seconds; 10 ** scale is exact.
MAX_SCALE: Final = 9
# All integers up to here are exact float64 values, so integer lists are lossless.
MAX_WHOLE: Final = 2**53

# Microseconds, because Delta tables have no other unit.
_TIME: Final = pa.timestamp("us", tz="UTC")
_NAME: Final = pa.dictionary(pa.int32(), pa.string())
_KEY: Final = (
    pa.field("metric", _NAME, nullable=False),
    pa.field("series", pa.int32(), nullable=False),
    pa.field("hour", _TIME, nullable=False),
)


def _items(kind: Any) -> Any:
    return pa.list_(pa.field("element", kind, nullable=False))


def _described(table: str, *fields: Any) -> Any:
    about = {META_FORMAT: str(FORMAT_VERSION).encode(), META_TABLE: table.encode()}
    return pa.schema(fields, metadata=about)


SAMPLES_SCHEMA: Final = _described(
    SAMPLES,
    *_KEY,
    pa.field("replica", _NAME, nullable=False),
    pa.field("scale", pa.int8()),
    pa.field("ts", _items(pa.int32()), nullable=False),
    pa.field("iv", _items(pa.int64())),
    pa.field("fv", _items(pa.float64())),
    pa.field("stale", _items(pa.int32())),
    pa.field("starts", _items(pa.int64())),
)
STATISTICS: Final = (
    "count", "min", "max", "sum", "first", "last", "p95", "increase", "resets",
)  # fmt: skip
HOURLY_SCHEMA: Final = _described(
    HOURLY,
    *_KEY,
    pa.field("count", pa.int32(), nullable=False),
    *(pa.field(name, pa.float64()) for name in STATISTICS[1:-1]),
    pa.field("resets", pa.int32(), nullable=False),
)


def _opaque(table: str) -> Any:
    return _described(
        table,
        pa.field("series", pa.int32()),
        pa.field("hour", _TIME, nullable=False),
        pa.field("time", _TIME),
        pa.field("data", pa.binary(), nullable=False),
    )


OPAQUE_SCHEMA: Final = _opaque(HISTOGRAMS)
SERIES_SCHEMA: Final = _described(
    SERIES,
    pa.field("series", pa.int32(), nullable=False),
    pa.field("metric", _NAME, nullable=False),
    pa.field("labels", pa.map_(pa.string(), pa.string()), nullable=False),
    pa.field("fingerprint", pa.binary(), nullable=False),
    pa.field("first_day", pa.date32(), nullable=False),
    pa.field("last_day", pa.date32(), nullable=False),
)
# In the order of their commits.
SCHEMAS: Final = {
    SERIES: SERIES_SCHEMA,
    HOURLY: HOURLY_SCHEMA,
    SAMPLES: SAMPLES_SCHEMA,
    **{table: _opaque(table) for table in OPAQUE},
}
TABLES: Final = tuple(SCHEMAS)


def partitions(table: str) -> list[str]:
    return [] if table == SERIES else [DAY]


def table_schema(table: str) -> Any:
    """The columns of the Delta table: those of its files, dictionaries as strings, and the day."""
    fields = [_plain(field) for field in SCHEMAS[table]]
    return pa.schema(fields + [pa.field(name, pa.date32()) for name in partitions(table)])


def _plain(field: Any) -> Any:
    return field.with_type(field.type.value_type) if pa.types.is_dictionary(field.type) else field


def timestamps(times: Any) -> Any:
    """A column of times in milliseconds, or None."""
    return pa.array(times, pa.timestamp("ms", tz="UTC")).cast(_TIME)


def milliseconds(column: Any) -> Any:
    """The times of a column without nulls as numpy integers."""
    return column.cast(pa.int64()).to_numpy() // 1000


def hour_start(time: int) -> int:
    """The start of the hour (UTC) of a time; both in milliseconds."""
    return time - time % HOUR_MS


def day_name(time: int) -> str:
    """The day (UTC) of a time in milliseconds, as in folder names."""
    return f"{datetime.fromtimestamp(time // 1000, UTC):%Y-%m-%d}"


def day_time(day: str) -> int:
    """The first millisecond of a day."""
    return int(datetime.fromisoformat(day).replace(tzinfo=UTC).timestamp()) * 1000


def day_folder(table: str, day: str) -> str:
    return f"{table}/day={day}"
