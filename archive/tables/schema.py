"""The format of the archive: version, folders, table schemas and paths.

Depends only on pyarrow, so that the rollups can ship it to Spark workers. FORMAT.md documents it.
"""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import Any, Final

import pyarrow as pa  # type: ignore[import-untyped]

FORMAT_VERSION: Final = 1
# Keys of the Parquet metadata; times are milliseconds since 1970 as decimal text.
META_FORMAT: Final = b"streamgauge.format"
META_TABLE: Final = b"streamgauge.table"
META_MIN_TIME: Final = b"streamgauge.min_time_ms"
META_MAX_TIME: Final = b"streamgauge.max_time_ms"

SAMPLES: Final = "samples"
HOURLY: Final = "hourly"
OPAQUE: Final = "opaque"
SERIES: Final = "series"
MANIFEST: Final = "manifest"
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

_TIME: Final = pa.timestamp("ms", tz="UTC")
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
OPAQUE_SCHEMA: Final = _described(
    OPAQUE,
    pa.field("kind", _NAME, nullable=False),
    pa.field("series", pa.int32()),
    pa.field("hour", _TIME, nullable=False),
    pa.field("time", _TIME),
    pa.field("data", pa.binary(), nullable=False),
)
SERIES_SCHEMA: Final = _described(
    SERIES,
    pa.field("series", pa.int32(), nullable=False),
    pa.field("metric", _NAME, nullable=False),
    pa.field("labels", pa.map_(pa.string(), pa.string()), nullable=False),
    pa.field("fingerprint", pa.binary(16), nullable=False),
)
SCHEMAS: Final = {
    SAMPLES: SAMPLES_SCHEMA,
    HOURLY: HOURLY_SCHEMA,
    OPAQUE: OPAQUE_SCHEMA,
    SERIES: SERIES_SCHEMA,
}


def hour_start(time: int) -> int:
    """The start of the hour (UTC) of a time; both in milliseconds."""
    return time - time % HOUR_MS


def day_start(time: int) -> int:
    return time - time % DAY_MS


def day_name(time: int) -> str:
    """The day (UTC) of a time in milliseconds, as in folder names and the manifest."""
    return f"{datetime.fromtimestamp(time // 1000, UTC):%Y-%m-%d}"


def day_time(day: str) -> int:
    """The first millisecond of a day."""
    return int(datetime.fromisoformat(day).replace(tzinfo=UTC).timestamp()) * 1000


def day_folder(table: str, day: str) -> str:
    return f"{table}/day={day}"


def manifest_path(publication: int) -> str:
    return f"{MANIFEST}/{publication:010d}.json"


def manifest_publication(name: str) -> int | None:
    """The number in a manifest's file name; the highest one is current."""
    stem, dot, ending = name.rpartition("/")[2].partition(".")
    return int(stem) if dot and ending == "json" and stem.isdecimal() else None


def manifest_files(data: bytes) -> dict[str, dict[str, list[str]]]:
    """The files of a manifest by table and day; `series` has the single day "".

    Raises ValueError for a newer format. Does not check the checksum: `verify` does.
    """
    inner = json.loads(data)["manifest"]
    if inner["format"] > FORMAT_VERSION:
        raise ValueError(f"format {inner['format']} is newer than this program ({FORMAT_VERSION})")
    found: dict[str, dict[str, list[str]]] = {
        SERIES: {"": [entry["path"] for entry in inner["series"]]}
    }
    for table in (SAMPLES, HOURLY, OPAQUE):
        found[table] = {
            day: [entry["path"] for entry in files[table]]
            for day, files in sorted(inner["days"].items())
        }
    return found
