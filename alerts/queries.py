"""Catalogue metrics as expressions with one value per identity, however many replicas tell it."""

from __future__ import annotations

from alerts import thresholds
from alerts.render_options import Span
from exporter import catalog
from exporter.metric import Kind, Metric, Subject
from streamgauge.promql.expression import Expression, ExpressionError, Labels, Number
from streamgauge.promql.functions import Age, Aggregated, Applied, Spread
from streamgauge.promql.selectors import Reading

# Prometheus marks the series of a failed scrape as gone. Looking back this far, a missed scrape
# resets no alert, with scrapes a minute apart too.
LOOKBACK = "2m"
_LOOKBACK_OF_THE_PAST = "5m"
_IDENTITY = {
    Subject.CONSUMER: catalog.CONSUMER,
    Subject.STREAM: catalog.STREAM,
    Subject.SERVER: catalog.SERVER,
}


def _one(reading: Reading, function: str = "max", by: Labels | None = None) -> Expression:
    return Aggregated(function, by or reading.labels, reading)


def latest(
    metric: Metric, *, by: Labels | None = None, crowd: bool = False, **match: str
) -> Expression:
    """A gauge now; of several series for one identity the highest."""
    reading = Reading(
        metric, "last_over_time", LOOKBACK, match=tuple(match.items()), with_crowd=crowd
    )
    return _one(reading, by=by)


def remembered(metric: Metric, window: Span, *, by: Labels | None = None) -> Expression:
    """A gauge as it was last told, even if nobody tells it any more."""
    return _one(Reading(metric, "last_over_time", window), by=by)


def then(metric: Metric, ago: Span, **match: str) -> Expression:
    """A gauge as it was some time ago."""
    found = tuple(match.items())
    return _one(Reading(metric, "last_over_time", _LOOKBACK_OF_THE_PAST, ago=ago, match=found))


def lowest(metric: Metric, window: Span, ago: Span | None = None) -> Expression:
    return _one(Reading(metric, "min_over_time", window, ago=ago))


def highest(metric: Metric, window: Span, ago: Span | None = None) -> Expression:
    return _one(Reading(metric, "max_over_time", window, ago=ago))


def average(metric: Metric, window: Span) -> Expression:
    return _one(Reading(metric, "avg_over_time", window))


def slope(metric: Metric, window: Span) -> Expression:
    """Change of a gauge per second."""
    return _one(Reading(metric, "deriv", window))


def predicted(metric: Metric, window: Span, ahead: Span, **match: str) -> Expression:
    return _one(Reading(metric, "predict_linear", window, ahead=ahead, match=tuple(match.items())))


def increase(metric: Metric, window: Span, *, by: Labels | None = None, **match: str) -> Expression:
    return _one(Reading(metric, "increase", window, match=tuple(match.items())), by=by)


def counted(metric: Metric, window: Span) -> Expression:
    """Growth in whole events: `increase` extrapolates, and three would be a little more."""
    return Applied("round(", increase(metric, window))


def rate(metric: Metric, window: Span) -> Expression:
    return _one(Reading(metric, "rate", window))


def quantile(share: float, histogram: Metric, window: Span) -> Expression:
    buckets = _one(Reading(histogram, "rate", window))
    return Applied(f"histogram_quantile({share}, ", buckets, without="le")


def heard(counter: Metric, window: Span) -> Expression:
    """Growth of a counter whose series begins with its first event, which `increase` cannot see.

    A new series counts in full if its system was watched before: otherwise Prometheus is new."""
    there = Reading(counter, "last_over_time", LOOKBACK, for_its_presence=True)
    before = Reading(
        counter, "last_over_time", _LOOKBACK_OF_THE_PAST, ago=window, for_its_presence=True
    )
    first = _one(there).unless(_one(before))
    watched = then(catalog.SNAPSHOT_AGE_SECONDS, window)
    return (increase(counter, window) > 0).or_(first.where(watched) > 0)


def holds(info: Metric, **match: str) -> Expression:
    """Whether an info series with these labels is there, by identity only: an election or an edit
    shows two of them for a while."""
    if info.kind is not Kind.INFO:
        raise ExpressionError(f"{info.name}: is not an info metric")
    reading = Reading(info, "last_over_time", LOOKBACK, match=tuple(match.items()))
    return _one(reading, by=_IDENTITY[info.subject])


def total(by: Labels, inner: Expression) -> Expression:
    return Aggregated("sum", by, inner)


def worst(by: Labels, inner: Expression) -> Expression:
    return Aggregated("max", by, inner)


def age(metric: Metric, window: Span = LOOKBACK) -> Expression:
    return Age(remembered(metric, window))


def time_until(metric: Metric, *, by: Labels, **match: str) -> Expression:
    reading = Reading(metric, "last_over_time", LOOKBACK, match=tuple(match.items()))
    return Age(_one(reading, by=by), until=True)


def certain_offset(offset: Metric, uncertainty: Metric) -> Expression:
    """How far a value is from 0 at the least; each replica has a clock of its own."""
    measured = Reading(offset, "last_over_time", LOOKBACK)
    doubt = Reading(uncertainty, "last_over_time", LOOKBACK)
    return Aggregated("max", measured.labels, Applied("abs(", measured) - doubt)


def spread(metric: Metric, over: str) -> Expression:
    inner = Spread(Reading(metric, "last_over_time", LOOKBACK), over)
    return Aggregated("max", inner.labels, inner)


def fresh() -> Expression:
    """The guard of every rule: the freshest look at the system within the lookback is no older
    than allowed. A minimum, because a slow poll's age swings through the limit every time."""
    reading = Reading(catalog.SNAPSHOT_AGE_SECONDS, "min_over_time", LOOKBACK)
    return Aggregated("min", catalog.SYSTEM, reading) < thresholds.SNAPSHOT_AGE


def always() -> Expression:
    return Applied("vector(", Number(1))
