"""Queries of the alert rules: one value per identity, from however many replicas of the exporter.

Replicas are folded `without` the labels in which they differ. So cluster, namespace, job and whatever
else the scrape adds reach the alert, and keep two systems of one name apart."""

from __future__ import annotations

from alerts import thresholds
from alerts.quantity import Threshold
from exporter import catalog
from exporter.metric import Kind, Metric
from streamgauge.promql import functions
from streamgauge.promql.context import Duration
from streamgauge.promql.expression import Expression, Labels
from streamgauge.promql.selectors import (
    TARGET,
    ExternalSeries,
    Matcher,
    MatchValue,
    Not,
    OverTime,
    Selector,
    matchers,
    require_kind,
)

# Prometheus marks the series of a failed scrape as gone. With this look-back a missed scrape resets
# no alert, even at one scrape a minute.
LOOKBACK = "2m"
# A condition has no look-back: so long an alert on one fires after its series is gone. Longer than the
# look-back, after which a page is kept open by `held`.
MISSED_SCRAPES = "3m"
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


def _one(replicas: Expression, by: Labels | None = None) -> Expression:
    return replicas.folded(by=by)


def latest(
    metric: Metric, *, by: Labels | None = None, grouped: bool = False, **match: MatchValue
) -> Expression:
    """The value of a gauge now; the highest of several series with one identity."""
    return _one(samples(metric, "last_over_time", LOOKBACK, match=match, grouped=grouped), by)


def by_replica(metric: Metric, offset: Duration | None = None, **match: MatchValue) -> Expression:
    """The value now, or some time ago, in each replica: fold what is left after comparing."""
    window = LOOKBACK if offset is None else _LOOKBACK_IN_THE_PAST
    return samples(metric, "last_over_time", window, offset=offset, match=match)


def increase_by_replica(counter: Metric, window: Duration) -> Expression:
    return samples(counter, "increase", window)


def newest(age: Metric) -> Expression:
    """The smallest age that any replica reports."""
    return samples(age, "last_over_time", LOOKBACK).folded("min")


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


def throughout(metric: Metric, window: Duration) -> Expression:
    """The lowest value of a whole window. `for` would begin again when Prometheus restarts."""
    return lowest(metric, window).where(earlier(metric, window))


def highest(metric: Metric, window: Duration, offset: Duration | None = None) -> Expression:
    return _one(samples(metric, "max_over_time", window, offset=offset))


def increase(
    metric: Metric, window: Duration, *, by: Labels | None = None, **match: MatchValue
) -> Expression:
    return _one(samples(metric, "increase", window, match=match), by)


def increase_before(metric: Metric, window: Duration, offset: Duration) -> Expression:
    """Growth of a counter in a window some time ago."""
    return _one(samples(metric, "increase", window, offset=offset))


def changes(metric: Metric, window: Duration) -> Expression:
    """How often the value of a gauge changed."""
    return _one(samples(metric, "changes", window))


def whole_event_count(counter: Metric, window: Duration) -> Expression:
    """In whole events: `increase` extrapolates three events to a little more."""
    return functions.rounded(event_count(counter, window))


def quantile(share: float, histogram: Metric, window: Duration) -> Expression:
    return functions.histogram_quantile(share, _one(samples(histogram, "rate", window)))


def lasting(start: Metric, condition: str, at_least: Threshold) -> Expression:
    """How long a condition has been true, where that is longer than the threshold."""
    return condition_age(start, condition) > at_least


def judged(threshold: Threshold) -> Expression:
    """The number by which the exporters of a system judge."""
    metric = catalog.CONDITION_THRESHOLD
    return latest(metric, by=catalog.SYSTEM, threshold=threshold.name)


def condition_age(start: Metric, condition: str) -> Expression:
    """Seconds since the condition began, as the exporter that has seen it longest knows.

    Without a look-back: the series ends with the condition, and must not seem to go on."""
    began = Selector(start, (Matcher("condition", condition),))
    kept = tuple(label for label in start.labels if label != "condition")
    return functions.since(began.folded("min", by=kept))


def new_events(counter: Metric) -> Expression:
    """How many events there were recently, where the last one is recent.

    The time of an event shows it even if it happened in an outage. Where the growth is not known the
    whole count stands for it."""
    recent = happened_within(counter, thresholds.RECENT_EVENT)
    counted = event_count(counter, thresholds.RECENT_EVENT) > 0
    return counted.or_(_present(counter, LOOKBACK)).where(recent)


def happened_within(counter: Metric, window: Threshold) -> Expression:
    """The age of the last event, where it is not older than the window."""
    return age(catalog.EVENT_TIMES[counter]) < window


def event_count(counter: Metric, window: Duration, **match: MatchValue) -> Expression:
    """Growth of a counter whose series begins with its first event."""
    selector = _selector(counter, match)
    return functions.growth_with_first_event(
        _one(samples(counter, "increase", window, match=match)),
        first=_one(OverTime("min_over_time", selector, window, presence=True)),
        before=_one(
            OverTime("last_over_time", selector, _LOOKBACK_IN_THE_PAST, window, presence=True)
        ),
        observed=earlier(catalog.SNAPSHOT_AGE_SECONDS, window),
    )


def _present(counter: Metric, window: Duration) -> Expression:
    return _one(OverTime("last_over_time", _selector(counter, {}), window, presence=True))


def holds(info: Metric, **match: MatchValue) -> Expression:
    """Whether an info series has these labels. For filters only: an election or an edit shows two
    series of it for a while, and each replica has its own."""
    require_kind(info, Kind.INFO)
    return samples(info, "last_over_time", LOOKBACK, match=match)


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
    return (measured.absolute() - doubt).folded()


def spread(metric: Metric, over: str) -> Expression:
    """Largest minus smallest value over one label, for each replica of the exporter alone."""
    return functions.spread(samples(metric, "last_over_time", LOOKBACK), over).folded()


def fresh() -> Expression:
    """The guard of every rule: the newest data of the system is not older than allowed.

    A minimum over the look-back, because the age of a slow poll swings."""
    ages = samples(catalog.SNAPSHOT_AGE_SECONDS, "min_over_time", LOOKBACK)
    return ages.folded("min") < thresholds.SNAPSHOT_AGE


def always() -> Expression:
    return functions.constant(1)


# --- targets of Prometheus ------------------------------------------------------------------------


def each_target(metric: Metric, function: str, window: Duration) -> Expression:
    """Replicas apart, each with its own target labels."""
    return OverTime(function, Selector(metric, by_target=True), window)


def down_exporters(window: Duration) -> Expression:
    """Targets that do not respond and were exporters of ours, whatever their job is called."""
    down = Selector(_TARGET_UP, by_target=True).equals(0)
    return down.where(each_target(catalog.BUILD_INFO, "last_over_time", window))


def no_exporter(window: Duration) -> Expression:
    """Prometheus has no exporter of ours at all."""
    return functions.absent(samples(catalog.BUILD_INFO, "last_over_time", window))
