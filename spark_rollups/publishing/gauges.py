"""Forecasts as gauges: levels by horizon and quantile, and dates."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, date, datetime
from typing import Any, Final

from exporter import catalog
from exporter.metric import Metric
from spark_rollups.forecasting.forecast_group import end_of
from spark_rollups.rollup.tables.schemas import HORIZONS, QUANTILES_AHEAD

Labels = tuple[str, ...]

_LEVELS: Final[Mapping[str, Metric]] = {
    catalog.STREAM_BYTES.name: catalog.FORECAST_STREAM_BYTES,
    catalog.STREAM_MESSAGES.name: catalog.FORECAST_STREAM_MESSAGES,
    catalog.SERVER_STORAGE_USED_BYTES.name: catalog.FORECAST_SERVER_STORAGE_USED_BYTES,
    catalog.ACCOUNT_STORAGE_USED_BYTES.name: catalog.FORECAST_ACCOUNT_STORAGE_USED_BYTES,
}
_DATES: Final[Mapping[str, Metric]] = {
    "stream": catalog.FORECAST_STREAM_FULL_TIMESTAMP_SECONDS,
    "server": catalog.FORECAST_SERVER_FULL_TIMESTAMP_SECONDS,
    "account": catalog.FORECAST_ACCOUNT_FULL_TIMESTAMP_SECONDS,
}
# The high level is the first to reach a limit.
_QUANTILES: Final = (("0.9", "earliest"), ("0.5", "likely"), ("0.1", "latest"))
PUBLISHED: Final = (
    *_LEVELS.values(),
    *_DATES.values(),
    catalog.FORECAST_AS_OF_TIMESTAMP_SECONDS,
    catalog.ROLLUP_LAST_SUCCESS_TIMESTAMP_SECONDS,
    catalog.REPORT_LAST_SUCCESS_TIMESTAMP_SECONDS,
)


@dataclass(frozen=True, slots=True)
class Gauge:
    metric: Metric
    labels: Labels  # values, in the order of the metric's labels
    value: float


@dataclass(frozen=True, slots=True)
class Gauges:
    """One gauge per label set, in the order of PUBLISHED."""

    gauges: tuple[Gauge, ...]
    merged: int  # rows that differ only in labels that the gauges do not have


def gauges_of(
    forecasts: Any, last_success: float, as_of: date | None, reported: float | None = None
) -> Gauges:
    """From a table of FORECASTS. Of rows with equal labels the more urgent one stays.

    `as_of` is the day of the newest snapshot, also if the table is empty because of its age.
    `reported` is the last success of the report, if there is one.
    """
    rows = forecasts.to_pylist()
    levels, merged_levels = _levels(rows)
    dates, merged_dates = _dates(rows)
    success = catalog.ROLLUP_LAST_SUCCESS_TIMESTAMP_SECONDS
    found = [*levels, *dates, *_known_until(as_of), Gauge(success, (), last_success)]
    if reported is not None:
        found.append(Gauge(catalog.REPORT_LAST_SUCCESS_TIMESTAMP_SECONDS, (), reported))
    found.sort(key=lambda gauge: (PUBLISHED.index(gauge.metric), gauge.labels))
    return Gauges(tuple(found), merged_levels + merged_dates)


def _known_until(as_of: date | None) -> Iterator[Gauge]:
    if as_of is not None:
        yield Gauge(catalog.FORECAST_AS_OF_TIMESTAMP_SECONDS, (), end_of(as_of))


def _levels(rows: list[dict[str, Any]]) -> tuple[Iterator[Gauge], int]:
    """Adds up the tiers of an account."""
    highest: dict[tuple[Metric, Labels], dict[str, float]] = {}
    merged = 0
    for row in rows:
        metric = _LEVELS.get(row["metric"])
        if metric is None or (row["limit"] is None and row["subject"] != "server"):
            continue
        for labels, value in _levels_of(metric, row):
            tiers = highest.setdefault((metric, labels), {})
            merged += row["limit_name"] in tiers
            tiers[row["limit_name"]] = max(value, tiers.get(row["limit_name"], value))
    return (Gauge(*key, sum(tiers.values())) for key, tiers in highest.items()), merged


def _levels_of(metric: Metric, row: dict[str, Any]) -> Iterator[tuple[Labels, float]]:
    for days in HORIZONS:
        for percent in QUANTILES_AHEAD:
            value = row[f"level_{days}d_q{percent}"]
            if value is not None:
                more = {"horizon": f"{days}d", "quantile": f"{percent / 100:g}"}
                yield _labels(metric, row, more), value


def _dates(rows: list[dict[str, Any]]) -> tuple[Iterator[Gauge], int]:
    earliest: dict[tuple[Metric, Labels], float] = {}
    merged = 0
    for row in rows:
        metric = _DATES[row["subject"]]
        for quantile, column in _QUANTILES:
            if row[column] is None:
                continue
            more = {"limit": row["limit_name"], "quantile": quantile}
            key = metric, _labels(metric, row, more)
            merged += key in earliest
            earliest[key] = min(_seconds(row[column]), earliest.get(key, float("inf")))
    return (Gauge(*key, value) for key, value in earliest.items()), merged


def _labels(metric: Metric, row: dict[str, Any], more: Mapping[str, str]) -> Labels:
    return tuple(more[name] if name in more else row[name] for name in metric.labels)


def _seconds(day: date) -> float:
    return datetime(day.year, day.month, day.day, tzinfo=UTC).timestamp()
