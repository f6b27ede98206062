"""Forecast panels. Forecasts are gauges, because Prometheus rejects samples of the future."""

from __future__ import annotations

from dataclasses import replace

from alerts import thresholds as t
from dashboards.panels.colours import INFO, WARN, Line, Step, falling
from dashboards.panels.limits import Limits
from dashboards.panels.model import (
    Column,
    Guide,
    Override,
    Panel,
    Query,
    Table,
    Target,
    TimeSeries,
)
from dashboards.panels.variables import ACCOUNT_PATH, SERVER_PATH, STREAM_PATH
from dashboards.queries import Scope
from exporter import catalog as c
from exporter.metric import Metric
from streamgauge.promql.expression import Expression
from streamgauge.promql.functions import until

_FEW = 5
_HORIZON = "7d"
_MIDDLE, _LOW, _HIGH = "0.5", "0.1", "0.9"
NO_FORECAST = "run streamgauge rollup; set forecasts in the exporter"
_ON_TIME = "Add capacity before that date; disks and quotas take days."


def until_full(q: Scope, quantile: str = _MIDDLE) -> Expression:
    return until(q.now(c.FORECAST_STREAM_FULL_TIMESTAMP_SECONDS, quantile=quantile))


def panels(q: Scope, limits: Limits) -> tuple[Panel, ...]:
    return (
        replace(
            _dates_of(q, limits, "Streams by date",
                      c.FORECAST_STREAM_FULL_TIMESTAMP_SECONDS, c.STREAM),
            links=(Target.STREAM,), width=24,
        ),
        replace(
            _dates_of(q, limits, "Servers by date",
                      c.FORECAST_SERVER_FULL_TIMESTAMP_SECONDS, c.SERVER),
            width=12,
        ),
        replace(
            _dates_of(q, limits, "Accounts by date",
                      c.FORECAST_ACCOUNT_FULL_TIMESTAMP_SECONDS, c.ACCOUNT),
            width=12,
        ),
        _band(q),
        _against_actual(q),
        _ahead(q, "Servers expected in 7 days", c.FORECAST_SERVER_STORAGE_USED_BYTES,
               q.now(c.SERVER_STORAGE_USED_BYTES), SERVER_PATH),
        _ahead(q, "Accounts expected in 7 days", c.FORECAST_ACCOUNT_STORAGE_USED_BYTES,
               q.now(c.ACCOUNT_STORAGE_USED_BYTES).sum_by(*c.ACCOUNT).top(_FEW), ACCOUNT_PATH),
    )  # fmt: skip


def _dates_of(
    q: Scope, limits: Limits, title: str, metric: Metric, identity: tuple[str, ...]
) -> Table:
    rows = (*identity, "limit")
    middle = until(q.now(metric, quantile=_MIDDLE)).max_by(*rows)
    early = until(q.now(metric, quantile=_HIGH)).max_by(*rows)
    return Table(
        title=title,
        guide=Guide(
            "Time until each is full: median forecast, and with high growth.",
            "Coloured: within the horizon of the alert.",
            _ON_TIME,
        ),
        identity=rows,
        columns=(
            Column("Full in", middle, "s", soon(limits)),
            Column("Earliest", early, "s", soon(limits)),
        ),
        sort_by="Full in",
        ascending=True,
        no_value=NO_FORECAST,
        height=8,
    )


def soon(limits: Limits) -> tuple[Step, ...]:
    return falling(warn=limits.of(t.FORECAST_HORIZON), bad=Line(0))


def _expected(q: Scope, metric: Metric, quantile: str) -> Expression:
    labels = tuple(label for label in metric.labels if label not in ("horizon", "quantile"))
    return q.now(metric, horizon=_HORIZON, quantile=quantile).max_by(*labels)


def _largest(q: Scope) -> Expression:
    return q.peak(c.STREAM_BYTES).top(_FEW)


def _band(q: Scope) -> TimeSeries:
    metric, largest = c.FORECAST_STREAM_BYTES, _largest(q)
    return TimeSeries(
        title="Expected in 7 days",
        guide=Guide(
            f"Forecast of the size a week later, as a band from low to high, for the {_FEW} "
            "largest streams; the line is the size now.",
            "A band above the limit of the stream.",
            "Raise the limit, or store less.",
        ),
        queries=(
            Query(q.now(c.STREAM_BYTES).where(largest), f"now {STREAM_PATH}"),
            Query(_expected(q, metric, _LOW).where(largest), f"low {STREAM_PATH}"),
            Query(_expected(q, metric, _HIGH).where(largest), f"high {STREAM_PATH}"),
        ),
        unit="bytes",
        no_value=NO_FORECAST,
        overrides=(
            Override("/^low/", WARN, dashed=True),
            Override("/^high/", WARN, dashed=True),
        ),
        links=(Target.STREAM,),
    )


def _against_actual(q: Scope) -> TimeSeries:
    metric, largest = c.FORECAST_STREAM_BYTES, _largest(q)
    labels = c.STREAM
    forecast = q.before(metric, _HORIZON, horizon=_HORIZON, quantile=_MIDDLE).max_by(*labels)
    return TimeSeries(
        title="Forecast against actual size",
        guide=Guide(
            "The actual size, and its forecast of a week before.",
            "Lines far apart: the dates above are unreliable.",
            "Find what changed within the week: a new publisher, a new limit.",
        ),
        queries=(
            Query(q.now(c.STREAM_BYTES).where(largest), f"actual {STREAM_PATH}"),
            Query(forecast.where(largest), f"expected {STREAM_PATH}"),
        ),
        unit="bytes",
        no_value=NO_FORECAST,
        overrides=(Override("/^expected/", INFO, dashed=True),),
        links=(Target.STREAM,),
    )


def _ahead(q: Scope, title: str, metric: Metric, used: Expression, path: str) -> TimeSeries:
    return TimeSeries(
        title=title,
        guide=Guide(
            "File storage in use now, and expected in a week.",
            "The forecast is above the maximum.",
            _ON_TIME,
        ),
        queries=(
            Query(used, f"now {path}"),
            Query(_expected(q, metric, _MIDDLE), f"expected {path}"),
            Query(_expected(q, metric, _HIGH), f"high {path}"),
        ),
        unit="bytes",
        no_value=NO_FORECAST,
        overrides=(
            Override("/^expected/", WARN, dashed=True),
            Override("/^high/", WARN, dashed=True),
        ),
    )
