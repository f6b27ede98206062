"""The archive's layout for whoever reads it: version, folders, columns and the rules of reading.

Needs pyarrow alone, so that the rollups can carry it to a cluster. FORMAT.md says the same in words.
"""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import Any, Final

import pyarrow as pa  # type: ignore[import-untyped]

FORMAT_VERSION: Final = 1
# Keys of the Parquet key-value metadata; times are milliseconds since 1970, as decimal text.
META_FORMAT: Final = b"streamgauge.format"
META_TABLE: Final = b"streamgauge.table"
META_MIN_TIME: Final = b"streamgauge.min_time_ms"
META_MAX_TIME: Final = b"streamgauge.max_time_ms"

SAMPLES: Final = "samples"
HOURLY: Final = "hourly"
OPAQUE: Final = "opaque"
SERIES: Final = "series"
MANIFEST: Final = "manifest"
# Beside these in the data folder; see WAL.md.
WAL: Final = "wal"

HOUR_MS: Final = 3_600_000
DAY_MS: Final = 86_400_000
# The last millisecond of the year 9998: the archive holds days from 1970 to there. Publication
# looks a day ahead, and dates end with the year 9999.
LATEST_TIME: Final = 253_370_764_799_999
# A counter's step into an hour is counted from its newest earlier sample, at most this far back.
LOOKBACK_HOURS: Final = 24

# Prometheus marks with this NaN that a series has ended; no arithmetic produces it.
STALE_BITS: Final = 0x7FF0_0000_0000_0002
# 10 ** scale is exact far beyond this; nine digits are nanoseconds written in seconds.
MAX_SCALE: Final = 9
# Whole numbers up to here are all float64 values, so the list of integers loses nothing.
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
    """The start of the hour (UTC) that this time is in; both in milliseconds."""
    return time - time % HOUR_MS


def day_start(time: int) -> int:
    return time - time % DAY_MS


def day_name(time: int) -> str:
    """The day (UTC) of a time in milliseconds, as folders and the manifest name it."""
    return f"{datetime.fromtimestamp(time // 1000, UTC):%Y-%m-%d}"


def day_time(day: str) -> int:
    """The first millisecond of a day."""
    return int(datetime.fromisoformat(day).replace(tzinfo=UTC).timestamp()) * 1000


def day_folder(table: str, day: str) -> str:
    return f"{table}/day={day}"


def manifest_path(publication: int) -> str:
    return f"{MANIFEST}/{publication:010d}.json"


def manifest_publication(name: str) -> int | None:
    """The number in a manifest's file name; the one with the highest number is the archive."""
    stem, dot, ending = name.rpartition("/")[2].partition(".")
    return int(stem) if dot and ending == "json" and stem.isdecimal() else None


def manifest_files(data: bytes) -> dict[str, dict[str, list[str]]]:
    """The files that a manifest names: by table, then by day; `series` has the one day "".

    ValueError when a newer program wrote it. The checksum is not looked at: `verify` does.
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
