"""Forecasts of many series: an Arrow batch of series in, a batch of forecasts out.

Runs in this process or in Spark workers.
"""

from __future__ import annotations

from datetime import UTC, date, datetime
from typing import Any, Final

import numpy as np
import pyarrow as pa  # type: ignore[import-untyped]

from spark_rollups.forecasting.models.forecast import forecast
from spark_rollups.forecasting.models.result import Forecast, Outlook
from spark_rollups.forecasting.models.trend import trend
from spark_rollups.rollup.tables.schemas import FORECASTS, HORIZONS, QUANTILES_AHEAD

# The outlook of a full stream with discard policy old: full, and nothing is wrong.
BY_DESIGN: Final = "by design"
BY_DESIGN_REASON: Final = "full, and discards its oldest messages (discard old)"
WILL_DROP_REASON: Final = "when full it discards its oldest messages (discard old)"
# It discards whole messages, so its level is slightly below the limit.
_AT_LIMIT: Final = 0.98
_FRESH_SECONDS: Final = 7 * 86_400.0
_DATED: Final = (Outlook.ACT, Outlook.EXPECTED, Outlook.WATCH)

_COPIED: Final = (
    "subject", "metric", "limit_metric", "limit_name", "system", "account", "stream", "server",
)  # fmt: skip
_POINTS: Final = pa.list_(pa.float64())
FORECAST_INPUT: Final = pa.schema(
    [
        *(pa.field(name, pa.string(), nullable=False) for name in _COPIED),
        pa.field("limit", pa.float64()),
        pa.field("discards_old", pa.bool_(), nullable=False),
        *(pa.field(name, _POINTS, nullable=False) for name in ("times", "levels", "highs")),
    ]
)


def forecast_batch(batch: Any, as_of: date) -> Any:
    """Takes a table or batch of FORECAST_INPUT, returns a table of FORECASTS, row by row."""
    rows = [forecast_row(row, as_of) for row in batch.to_pylist()]
    return pa.Table.from_pylist(rows, schema=FORECASTS)


def forecast_row(row: dict[str, Any], as_of: date) -> dict[str, Any]:
    times, levels = np.array(row["times"]), np.array(row["levels"])
    found = forecast(times, levels, row["limit"], highs=np.array(row["highs"]), now=end_of(as_of))
    return {
        "as_of": as_of,
        **{name: row[name] for name in _COPIED},
        "level": found.level,
        "limit": row["limit"],
        **_outlook(found, row, as_of),
        "model": "" if found.model is None else found.model.value,
        "error": None if found.accuracy is None else found.accuracy.error,
        "linear_error": None if found.accuracy is None else found.accuracy.predict_linear_error,
        "growth_per_day": trend(times, levels).per_day,
        "days": found.observed_days,
        "dropped": found.dropped.total,
        **_levels(found),
    }


def end_of(day: date) -> float:
    """The end of a day (UTC), in seconds since 1970."""
    return datetime(day.year, day.month, day.day, tzinfo=UTC).timestamp() + 86_400


def _outlook(found: Forecast, row: dict[str, Any], as_of: date) -> dict[str, Any]:
    when, discards_old = found.exhaustion, row["discards_old"]
    if discards_old and _is_full(found, row["limit"], as_of):
        return {"outlook": BY_DESIGN, "reason": BY_DESIGN_REASON}
    reason = when.reason
    if discards_old and when.outlook in _DATED:
        reason = WILL_DROP_REASON
    latest = as_of if when.outlook is Outlook.REACHED else date.max
    return {
        "outlook": when.outlook.value,
        "reason": reason,
        "earliest": _day(when.earliest, latest),
        "likely": _day(when.median, latest),
        "latest": _day(when.latest, latest),
        "not_before": _day(when.not_before),
    }


def _is_full(found: Forecast, limit: float | None, as_of: date) -> bool:
    """One point is enough, if it is recent."""
    if limit is None or limit <= 0 or found.level is None or found.as_of is None:
        return False
    fresh = end_of(as_of) - found.as_of <= _FRESH_SECONDS
    return fresh and found.level >= _AT_LIMIT * limit


def _levels(found: Forecast) -> dict[str, float | None]:
    names = [f"level_{days}d_q{q}" for days in HORIZONS for q in QUANTILES_AHEAD]
    values: list[float | None] = [
        value for level in found.levels for value in (level.low, level.median, level.high)
    ]
    return dict(zip(names, values or [None] * len(names), strict=True))


def _day(seconds: float | None, latest: date = date.max) -> date | None:
    """The day in UTC, at most `latest`."""
    return None if seconds is None else min(datetime.fromtimestamp(seconds, UTC).date(), latest)
