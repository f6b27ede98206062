"""The forecast of one series: a table of its points in, a table of one forecast out."""

from __future__ import annotations

from datetime import UTC, date, datetime
from typing import Any, Final

import pyarrow as pa  # type: ignore[import-untyped]

from spark_rollups.forecasting.models.forecast import forecast
from spark_rollups.forecasting.models.result import Forecast, Outlook
from spark_rollups.forecasting.models.trend import trend
from spark_rollups.metric_selection import FORECASTED, Forecasted
from spark_rollups.rollup.tables.schemas import FORECASTS, HORIZONS, QUANTILES_AHEAD

# The outlook of a full stream with discard policy old: full, and nothing is wrong.
BY_DESIGN: Final = "by design"
BY_DESIGN_REASON: Final = "full, and discards its oldest messages (discard old)"
WILL_DROP_REASON: Final = "when full it discards its oldest messages (discard old)"
# It discards whole messages, so its level is slightly below the limit.
_AT_LIMIT: Final = 0.98
_FRESH_SECONDS: Final = 7 * 86_400.0
_DATED: Final = (Outlook.ACT, Outlook.EXPECTED, Outlook.WATCH)

_CONSTANT: Final = (
    "metric", "system", "account", "stream", "server", "pairs", "limit", "limit_until", "discards_old",
)  # fmt: skip
_FORECASTED: Final = {each.metric: each for each in FORECASTED}
_TIER: Final = "tier"


def forecast_group(points: Any, as_of: date, alive_after: float) -> Any:
    """No row for a series that ended before `alive_after`, which counts as deleted."""
    points = points.sort_by("time")
    times, levels, highs = (points.column(name).to_numpy() for name in ("time", "level", "high"))
    rows = []
    if times[-1] > alive_after:
        first = {name: points.column(name)[0].as_py() for name in _CONSTANT}
        limit = first["limit"]
        # A limit whose series ended before that of the level has been removed.
        if limit is not None and first["limit_until"] < times[-1]:
            limit = None
        rows.append(_row(first, times, levels, highs, limit, as_of))
    return pa.Table.from_pylist(rows, schema=FORECASTS)


def _row(
    first: dict[str, Any], times: Any, levels: Any, highs: Any, limit: float | None, as_of: date
) -> dict[str, Any]:
    found = forecast(times, levels, limit, highs=highs, now=end_of(as_of))
    about = _FORECASTED[first["metric"]]
    return {
        "as_of": as_of,
        "subject": about.subject,
        "metric": about.metric,
        "limit_metric": about.limit,
        "limit_name": _limit_name(about, first["pairs"]),
        **{name: first[name] for name in ("system", "account", "stream", "server")},
        "level": found.level,
        "limit": limit,
        **_outlook(found, limit, bool(first["discards_old"]), as_of),
        "model": "" if found.model is None else found.model.value,
        "error": None if found.accuracy is None else found.accuracy.error,
        "linear_error": None if found.accuracy is None else found.accuracy.predict_linear_error,
        "growth_per_day": trend(times, levels).per_day,
        "days": found.observed_days,
        "dropped": found.dropped.total,
        **_levels(found),
    }


def _limit_name(about: Forecasted, pairs: list[dict[str, str]]) -> str:
    """An account with tiers has a limit per tier."""
    tier = next((pair["value"] for pair in pairs if pair["key"] == _TIER), "")
    return f"{about.limit_name} {tier}" if tier else about.limit_name


def end_of(day: date) -> float:
    """The end of a day (UTC), in seconds since 1970."""
    return datetime(day.year, day.month, day.day, tzinfo=UTC).timestamp() + 86_400


def _outlook(
    found: Forecast, limit: float | None, discards_old: bool, as_of: date
) -> dict[str, Any]:
    when = found.exhaustion
    if discards_old and _is_full(found, limit, as_of):
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
