"""What the rollups expect, and how right they were: they answer as gauges, for Prometheus
refuses samples from the future."""

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
_ON_TIME = "Give it room before that date; disks and quotas take days."


def until_full(q: Scope, quantile: str = _MIDDLE) -> Expression:
    return until(q.now(c.FORECAST_STREAM_FULL_TIMESTAMP_SECONDS, quantile=quantile))


def panels(q: Scope, limits: Limits) -> tuple[Panel, ...]:
    return (
        replace(
            _dates_of(q, limits, "Streams by their date",
                      c.FORECAST_STREAM_FULL_TIMESTAMP_SECONDS, c.STREAM),
            links=(Target.STREAM,), width=10,
        ),
        replace(
            _dates_of(q, limits, "Servers by their date",
                      c.FORECAST_SERVER_FULL_TIMESTAMP_SECONDS, c.SERVER),
            width=7,
        ),
        replace(
            _dates_of(q, limits, "Accounts by their date",
                      c.FORECAST_ACCOUNT_FULL_TIMESTAMP_SECONDS, c.ACCOUNT),
            width=7,
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
            "Time until each is full: as expected, and if growth is high.",
            "Coloured: within the alert's horizon.",
            _ON_TIME,
        ),
        identity=rows,
        columns=(
            Column("Full in", middle, "s", soon(limits)),
            Column("At the earliest", early, "s", soon(limits)),
        ),
        sort_by="Full in",
        ascending=True,
        no_value="no forecast",
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
            f"Size expected a week after each point in time, as a band from low to high, for the "
            f"{_FEW} largest streams; the line is the size at that time.",
            "A band that lies above the stream's limit.",
            "Raise the limit, or keep less.",
        ),
        queries=(
            Query(q.now(c.STREAM_BYTES).where(largest), f"now {STREAM_PATH}"),
            Query(_expected(q, metric, _LOW).where(largest), f"low {STREAM_PATH}"),
            Query(_expected(q, metric, _HIGH).where(largest), f"high {STREAM_PATH}"),
        ),
        unit="bytes",
        overrides=(
            Override("/^low/", WARN, dashed=True),
            Override("/^high/", WARN, dashed=True),
        ),
        links=(Target.STREAM,),
    )


def _against_actual(q: Scope) -> TimeSeries:
    metric, largest = c.FORECAST_STREAM_BYTES, _largest(q)
    labels = c.STREAM
    said = q.before(metric, _HORIZON, horizon=_HORIZON, quantile=_MIDDLE).max_by(*labels)
    return TimeSeries(
        title="Forecast against what came",
        guide=Guide(
            "The real size, and what was expected for this time a week before.",
            "Lines far apart: do not trust the dates above.",
            "Look what changed within the week: a new publisher, a new limit.",
        ),
        queries=(
            Query(q.now(c.STREAM_BYTES).where(largest), f"real {STREAM_PATH}"),
            Query(said.where(largest), f"expected {STREAM_PATH}"),
        ),
        unit="bytes",
        overrides=(Override("/^expected/", INFO, dashed=True),),
        links=(Target.STREAM,),
    )


def _ahead(q: Scope, title: str, metric: Metric, used: Expression, path: str) -> TimeSeries:
    return TimeSeries(
        title=title,
        guide=Guide(
            "File storage in use now, and expected in a week.",
            "The expectation is above the maximum.",
            _ON_TIME,
        ),
        queries=(
            Query(used, f"now {path}"),
            Query(_expected(q, metric, _MIDDLE), f"expected {path}"),
            Query(_expected(q, metric, _HIGH), f"high {path}"),
        ),
        unit="bytes",
        overrides=(
            Override("/^expected/", WARN, dashed=True),
            Override("/^high/", WARN, dashed=True),
        ),
    )
