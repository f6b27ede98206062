"""Queries of the alert rules: one value per identity, from however many replicas of the exporter."""

from __future__ import annotations

from alerts import thresholds
from alerts.quantity import Threshold
from exporter import catalog
from exporter.metric import Kind, Metric
from streamgauge.promql import functions
from streamgauge.promql.context import Duration
from streamgauge.promql.expression import Expression, Labels, Seconds
from streamgauge.promql.selectors import (
    TARGET,
    ExternalSeries,
    Matcher,
    MatchValue,
    Not,
    OverTime,
    Selector,
    identity,
    matchers,
    require_kind,
)

# Prometheus marks the series of a failed scrape as gone. With this look-back a missed scrape resets
# no alert, even at one scrape a minute.
LOOKBACK = "2m"
_LOOKBACK_IN_THE_PAST = "5m"
# The `consumer` label of the one series that sums up the many ephemeral consumers of a stream.
GROUPED_EPHEMERALS = "_ephemeral"
_WITH_GROUPED_EPHEMERALS = {
    catalog.CONSUMER_NUM_PENDING,
    catalog.CONSUMER_NUM_ACK_PENDING,
    catalog.CONSUMER_NUM_REDELIVERED,
    catalog.CONSUMER_NUM_WAITING,
    catalog.CONSUMER_VERDICT,
}
_TARGET_UP = ExternalSeries("up", Kind.GAUGE, TARGET)


def samples(
    metric: Metric,
    function: str,
    window: Duration,
    *,
    offset: Duration | None = None,
    match: dict[str, MatchValue] | None = None,
    grouped: bool = False,
) -> OverTime:
    """One series per replica of the exporter: aggregate it."""
    selector = _selector(metric, match or {}, grouped=grouped)
    return OverTime(function, selector, window, offset)


def _selector(metric: Metric, match: dict[str, MatchValue], *, grouped: bool = False) -> Selector:
    wanted = matchers(match)
    if metric in _WITH_GROUPED_EPHEMERALS and not grouped:
        wanted += (Matcher("consumer", Not(GROUPED_EPHEMERALS)),)
    return Selector(metric, wanted)


def _one(replicas: OverTime, by: Labels | None = None) -> Expression:
    return replicas.max_by(*(by or replicas.labels))


def latest(
    metric: Metric, *, by: Labels | None = None, grouped: bool = False, **match: MatchValue
) -> Expression:
    """The value of a gauge now; the highest of several series with one identity."""
    return _one(samples(metric, "last_over_time", LOOKBACK, match=match, grouped=grouped), by)


def last_reported(metric: Metric, window: Duration, *, by: Labels | None = None) -> Expression:
    """The last value of a gauge, even if no exporter reports it any more."""
    return _one(samples(metric, "last_over_time", window), by)


def earlier(metric: Metric, offset: Duration, **match: MatchValue) -> Expression:
    """The value of a gauge some time ago."""
    return _one(
        samples(metric, "last_over_time", _LOOKBACK_IN_THE_PAST, offset=offset, match=match)
    )


def lowest(metric: Metric, window: Duration, offset: Duration | None = None) -> Expression:
    return _one(samples(metric, "min_over_time", window, offset=offset))


def highest(metric: Metric, window: Duration, offset: Duration | None = None) -> Expression:
    return _one(samples(metric, "max_over_time", window, offset=offset))


def average(metric: Metric, window: Duration) -> Expression:
    return _one(samples(metric, "avg_over_time", window))


def slope(metric: Metric, window: Duration) -> Expression:
    """Change of a gauge per second."""
    return _one(samples(metric, "deriv", window))


def predicted(metric: Metric, window: Duration, ahead: Duration, **match: MatchValue) -> Expression:
    return _one(OverTime("predict_linear", _selector(metric, match), window, ahead=ahead))


def increase(
    metric: Metric, window: Duration, *, by: Labels | None = None, **match: MatchValue
) -> Expression:
    return _one(samples(metric, "increase", window, match=match), by)


def whole_event_count(counter: Metric, window: Duration) -> Expression:
    """In whole events: `increase` extrapolates three events to a little more."""
    return functions.rounded(event_count(counter, window))


def rate(metric: Metric, window: Duration) -> Expression:
    return _one(samples(metric, "rate", window))


def quantile(share: float, histogram: Metric, window: Duration) -> Expression:
    return functions.histogram_quantile(share, _one(samples(histogram, "rate", window)))


def new_events(counter: Metric) -> Expression:
    """How many events there were recently, where the last one is recent.

    The time of an event shows it even if it happened in an outage. The counter's series begins with
    its first event, which `increase` misses: then the whole count is new."""
    recent = happened_within(counter, thresholds.RECENT_EVENT)
    counted = event_count(counter, thresholds.RECENT_EVENT) > 0
    return counted.or_(_present(counter, LOOKBACK)).where(recent)


def happened_within(counter: Metric, window: Threshold) -> Expression:
    """The age of the last event, where it is not older than the window."""
    return age(catalog.EVENT_TIMES[counter]) < Seconds(window)


def event_count(counter: Metric, window: Duration) -> Expression:
    """Growth of a counter whose series begins with its first event.

    A new series counts in full if its system was observed before: otherwise Prometheus is new."""
    began = _present(counter, LOOKBACK).unless(
        _present(counter, _LOOKBACK_IN_THE_PAST, offset=window)
    )
    observed = earlier(catalog.SNAPSHOT_AGE_SECONDS, window)
    return began.where(observed).or_(increase(counter, window))


def _present(counter: Metric, window: Duration, offset: Duration | None = None) -> Expression:
    selector = _selector(counter, {})
    return _one(OverTime("last_over_time", selector, window, offset, presence=True))


def holds(info: Metric, **match: MatchValue) -> Expression:
    """Whether an info series has these labels. By identity only: an election or an edit shows two
    series of it for a while."""
    require_kind(info, Kind.INFO)
    return _one(samples(info, "last_over_time", LOOKBACK, match=match), identity(info))


def recorded(
    record: str,
    labels: Labels,
    window: Duration | None = None,
    function: str = "last_over_time",
    offset: Duration | None = None,
) -> Expression:
    """A series of a recording rule; a window bridges the pause between two of its evaluations."""
    selector = Selector(ExternalSeries(record, Kind.GAUGE, labels, scraped=False))
    return selector if window is None else OverTime(function, selector, window, offset)


def age(metric: Metric, window: Duration = LOOKBACK) -> Expression:
    return functions.since(last_reported(metric, window))


def time_until(metric: Metric, *, by: Labels, **match: MatchValue) -> Expression:
    return functions.until(_one(samples(metric, "last_over_time", LOOKBACK, match=match), by))


def certain_offset(offset: Metric, uncertainty: Metric) -> Expression:
    """The distance of a value from 0 without its uncertainty; each replica has its own clock."""
    measured = samples(offset, "last_over_time", LOOKBACK)
    doubt = samples(uncertainty, "last_over_time", LOOKBACK)
    return (measured.absolute() - doubt).max_by(*measured.labels)


def spread(metric: Metric, over: str) -> Expression:
    """Largest minus smallest value over one label, for each replica of the exporter alone."""
    inner = functions.spread(samples(metric, "last_over_time", LOOKBACK), over)
    return inner.max_by(*inner.labels)


def freshest_age() -> Expression:
    """Age of the newest data of a system. A minimum, because the age of a slow poll swings."""
    ages = samples(catalog.SNAPSHOT_AGE_SECONDS, "min_over_time", LOOKBACK)
    return ages.min_by(*catalog.SYSTEM)


def fresh() -> Expression:
    """The guard of every rule: the newest data of the system is not older than allowed."""
    return freshest_age() < thresholds.SNAPSHOT_AGE


def always() -> Expression:
    return functions.constant(1)


# --- targets of Prometheus ------------------------------------------------------------------------


def _by_target(metric: Metric, window: Duration) -> OverTime:
    return OverTime("last_over_time", Selector(metric, by_target=True), window)


def down_exporters(window: Duration) -> Expression:
    """Targets that do not respond and were exporters of ours, whatever their job is called."""
    down = Selector(_TARGET_UP).equals(0)
    exporters = _by_target(catalog.BUILD_INFO, window)
    return down.where(exporters, on=TARGET).max_by(*TARGET)


def last_reported_by_down(metric: Metric, window: Duration) -> Expression:
    """The last value that a target which is down now reported."""
    down = Selector(_TARGET_UP).equals(0)
    return _by_target(metric, window).where(down, on=TARGET).max_by(*metric.labels)


def no_exporter(window: Duration) -> Expression:
    """Prometheus has no exporter of ours at all."""
    return functions.absent(samples(catalog.BUILD_INFO, "last_over_time", window))
