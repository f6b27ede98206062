"""The schemas of the rollup tables; docs/rollups.md describes them."""

from __future__ import annotations

from typing import Any, Final

import pyarrow as pa  # type: ignore[import-untyped]

ROLLUP_FORMAT: Final = 1
# Keys of the Parquet key-value metadata.
META_FORMAT: Final = b"streamgauge.rollup_format"
META_TABLE: Final = b"streamgauge.rollup_table"

TIME: Final = pa.timestamp("ms", tz="UTC")
LABELS: Final = pa.map_(pa.string(), pa.string())
# The labels that identify the subject of a series; "" where absent.
SUBJECT_LABELS: Final = ("system", "account", "stream", "consumer", "server")
IDENTITY: Final = ("metric", "kind", *SUBJECT_LABELS, "labels")
HORIZONS: Final = (7, 30, 90)
QUANTILES_AHEAD: Final = (10, 50, 90)

_WHO: Final = (
    *(pa.field(name, pa.string(), nullable=False) for name in ("metric", "kind", *SUBJECT_LABELS)),
    pa.field("labels", LABELS, nullable=False),
)


def _needed(name: str, kind: Any) -> Any:
    return pa.field(name, kind, nullable=False)


def _numbers(*names: str) -> tuple[Any, ...]:
    return tuple(pa.field(name, pa.float64()) for name in names)


def _described(table: str, *fields: Any) -> Any:
    about = {META_FORMAT: str(ROLLUP_FORMAT).encode(), META_TABLE: table.encode()}
    return pa.schema(fields, metadata=about)


DAILY: Final = _described(
    "daily",
    *_WHO,
    _needed("day", pa.date32()),
    _needed("count", pa.int64()),
    _needed("hours", pa.int32()),
    *_numbers("min", "max", "sum", "first", "last"),
    _needed("first_hour", TIME),
    _needed("last_hour", TIME),
    *_numbers("increase"),
    _needed("resets", pa.int64()),
)
HOURLY: Final = _described(
    "hourly",
    *_WHO,
    _needed("hour", TIME),
    _needed("count", pa.int64()),
    *_numbers("min", "max", "sum", "first", "last", "p95", "increase"),
    _needed("resets", pa.int64()),
)
SHARES: Final = _described(
    "shares",
    *_WHO,
    _needed("day", pa.date32()),
    _needed("value", pa.float64()),
    _needed("samples", pa.int64()),
    _needed("seconds", pa.float64()),
)
QUANTILES: Final = _described(
    "quantiles",
    *_WHO,
    _needed("day", pa.date32()),
    _needed("count", pa.int64()),
    *_numbers("p50", "p95", "p99"),
)
FORECASTS: Final = _described(
    "forecasts",
    _needed("as_of", pa.date32()),
    _needed("subject", pa.string()),
    _needed("metric", pa.string()),
    _needed("limit_metric", pa.string()),
    _needed("limit_name", pa.string()),
    *(_needed(name, pa.string()) for name in ("system", "account", "stream", "server")),
    *_numbers("level", "limit"),
    _needed("outlook", pa.string()),
    _needed("reason", pa.string()),
    *(pa.field(name, pa.date32()) for name in ("earliest", "likely", "latest", "not_before")),
    _needed("model", pa.string()),
    *_numbers("error", "linear_error", "growth_per_day"),
    _needed("days", pa.int32()),
    _needed("dropped", pa.int32()),
    *_numbers(*(f"level_{days}d_q{q}" for days in HORIZONS for q in QUANTILES_AHEAD)),
)
TRENDS: Final = _described(
    "trends",
    _needed("as_of", pa.date32()),
    *_WHO,
    *_numbers("level", "per_day", "low", "high"),
    _needed("direction", pa.string()),
    _needed("stepped", pa.float64()),
    _needed("days", pa.int32()),
)

DAY_TABLES: Final = {"daily": DAILY, "hourly": HOURLY, "shares": SHARES, "quantiles": QUANTILES}
SNAPSHOT_TABLES: Final = {"forecasts": FORECASTS, "trends": TRENDS}
TABLES: Final = {**DAY_TABLES, **SNAPSHOT_TABLES}
