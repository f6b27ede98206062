"""Forecasts of many series at once: rows with lists of points in, rows of the result out.

Pure and on Arrow batches, so it runs in this process or in Spark's workers by mapInArrow.
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

# A stream that drops its oldest messages stands here for good: full, and nothing is wrong.
BY_DESIGN: Final = "by design"
BY_DESIGN_REASON: Final = "full, and drops its oldest messages (discard old)"
WILL_DROP_REASON: Final = "when full it drops its oldest messages (discard old)"
# It drops whole messages, so it stands a little below its limit.
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
    """A table or batch of ASKED in, a table of FORECASTS out; one row for each row."""
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
    """The second at which a day (UTC) is over."""
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
    """Known from a single point, if that is not too old."""
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
    """In UTC. What has been reached by the end of a day was reached on that day, not after it."""
    return None if seconds is None else min(datetime.fromtimestamp(seconds, UTC).date(), latest)
