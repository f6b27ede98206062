"""The schemas of the rollup tables; docs/rollups.md describes them."""

from __future__ import annotations

from typing import Any, Final

import pyarrow as pa  # type: ignore[import-untyped]

TIME: Final = pa.timestamp("us", tz="UTC")
LABELS: Final = pa.map_(pa.string(), pa.string())
# The labels that identify the subject of a series; "" where absent.
SUBJECT_LABELS: Final = ("system", "account", "stream", "consumer", "server")
IDENTITY: Final = ("metric", "kind", *SUBJECT_LABELS, "labels")
HORIZONS: Final = (7, 30, 90)
QUANTILES_AHEAD: Final = (10, 50, 90)

_WHO: Final = (
    *((name, pa.string()) for name in ("metric", "kind", *SUBJECT_LABELS)),
    ("labels", LABELS),
)


def _numbers(*names: str) -> tuple[tuple[str, Any], ...]:
    return tuple((name, pa.float64()) for name in names)


DAILY: Final = pa.schema(
    (
        *_WHO,
        ("day", pa.date32()),
        ("count", pa.int64()),
        ("hours", pa.int32()),
        *_numbers("min", "max", "sum", "first", "last"),
        ("first_hour", TIME),
        ("last_hour", TIME),
        *_numbers("increase"),
        ("resets", pa.int64()),
        ("hour_bits", pa.int32()),
    )
)
HOURLY_GAUGES: Final = pa.schema(
    (
        *_WHO,
        ("day", pa.date32()),
        ("hour", TIME),
        ("count", pa.int64()),
        *_numbers("min", "max", "sum", "first", "last", "p95", "increase"),
        ("resets", pa.int64()),
    )
)
STATES: Final = pa.schema(
    (
        *_WHO,
        ("day", pa.date32()),
        ("value", pa.float64()),
        ("samples", pa.int64()),
        *_numbers("seconds", "known_seconds"),
    )
)
QUANTILES: Final = pa.schema(
    (*_WHO, ("day", pa.date32()), ("count", pa.int64()), *_numbers("p50", "p95", "p99"))
)
FORECASTS: Final = pa.schema(
    (
        ("as_of", pa.date32()),
        *((name, pa.string()) for name in ("subject", "metric", "limit_metric", "limit_name")),
        *((name, pa.string()) for name in ("system", "account", "stream", "server")),
        *_numbers("level", "limit"),
        ("outlook", pa.string()),
        ("reason", pa.string()),
        *((name, pa.date32()) for name in ("earliest", "likely", "latest", "not_before")),
        ("model", pa.string()),
        *_numbers("error", "linear_error", "growth_per_day"),
        ("days", pa.int32()),
        ("dropped", pa.int32()),
        *_numbers(*(f"level_{days}d_q{q}" for days in HORIZONS for q in QUANTILES_AHEAD)),
    )
)
TRENDS: Final = pa.schema(
    (
        ("as_of", pa.date32()),
        *_WHO,
        *_numbers("level", "per_day", "low", "high"),
        ("direction", pa.string()),
        ("stepped", pa.float64()),
        ("days", pa.int32()),
    )
)

DAY_TABLES: Final = {
    "daily": DAILY,
    "hourly_gauges": HOURLY_GAUGES,
    "states": STATES,
    "quantiles": QUANTILES,
}
SNAPSHOT_TABLES: Final = {"forecasts": FORECASTS, "trends": TRENDS}
TABLES: Final = {**DAY_TABLES, **SNAPSHOT_TABLES}


def partition_of(table: str) -> str:
    return "day" if table in DAY_TABLES else "as_of"
