"""Queries of the boards: scoped by the board's variables, one value per identity.

`max by` the labels of a metric folds the replicas of the exporter, so that two count once."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from exporter import catalog
from exporter.metric import Kind, Metric
from streamgauge.promql import functions
from streamgauge.promql.expression import Expression, ExpressionError, Labels
from streamgauge.promql.selectors import (
    TARGET,
    ExternalSeries,
    Matcher,
    MatchValue,
    OverTime,
    Regex,
    Selector,
    Series,
    identity,
    matchers,
    require_kind,
)

CLUSTER = "cluster"
RATE_WINDOW = "$__rate_interval"
SHOWN_RANGE = "$__range"
_SHOWN_STEP = "$__interval"
# Growth over less than this is mostly noise: deliveries come in batches.
TREND_WINDOW = "15m"
# The exporter fetches these counters about once a minute. Over the usual window of a rate they
# would be constant and then jump; five minutes smooth them.
FETCHED_SELDOM = (
    catalog.STREAM_PUBLISHES_RECEIVED,
    catalog.STREAM_PUBLISHES_UNSTORED,
    catalog.STREAM_DEDUPE_HITS,
    catalog.CONSUMER_ACKS,
    catalog.CONSUMER_PULLS,
    catalog.ACCOUNT_RECEIVED_MESSAGES,
    catalog.ACCOUNT_RECEIVED_BYTES,
    catalog.ACCOUNT_SENT_MESSAGES,
    catalog.ACCOUNT_SENT_BYTES,
)
_STEADY_SECONDS = 300
_STEADY_WINDOW = "5m"
# While this request fails, these counters keep their last value for minutes: their rates are too low.
SELDOM_REQUEST = "subsz"
_LOOKBACK = "5m"
# A gauge that exists while the counters of an identity do.
_PRESENCE = {
    catalog.STREAM: catalog.STREAM_UP,
    catalog.CONSUMER: catalog.CONSUMER_UP,
}


def variable_matcher(name: str, *, or_empty: bool = False) -> Matcher:
    """The values of a board variable; `or_empty` takes in series without the label."""
    return Matcher(name, Regex(f"|${name}" if or_empty else f"${name}"))


_JOB = variable_matcher("job")


@dataclass(frozen=True, slots=True)
class Scope:
    """The labels that a board's variables choose; every selector uses those that its metric has."""

    variables: Labels

    # --- the present ------------------------------------------------------------------------------

    def now(self, gauge: Series, /, **fixed: MatchValue) -> Expression:
        return self._gauge(gauge, fixed).max_by(*identity(gauge))

    def least(self, gauge: Series, /, **fixed: MatchValue) -> Expression:
        """The smallest value of the replicas: the newest data, not the oldest."""
        return self._gauge(gauge, fixed).min_by(*identity(gauge))

    def info(self, info: Metric, /, *shown: str, **fixed: MatchValue) -> Expression:
        """Its identity and the chosen labels; the value is 1."""
        require_kind(info, Kind.INFO)
        return self.selector(info, fixed).max_by(*identity(info), *shown)

    def age(self, timestamp: Metric, /, **fixed: MatchValue) -> Expression:
        """Seconds since the time that the metric reports."""
        if not timestamp.name.endswith("_timestamp_seconds"):
            raise ExpressionError(f"{timestamp.name}: is not a timestamp")
        return functions.since(self.now(timestamp, **fixed))

    def each_target(self, series: Series, /, **fixed: MatchValue) -> Expression:
        """Replicas apart: for boards about the exporters themselves."""
        require_kind(series, Kind.GAUGE)
        labels = dict.fromkeys((*identity(series), *TARGET))
        return self.selector(series, fixed, by_target=True).max_by(*labels)

    def own_targets(self) -> Expression:
        """Targets that were exporters at some time of the shown range, even if they are down now.

        With the job variable on All, a selector of an external metric matches every target."""
        build = self.selector(catalog.BUILD_INFO, by_target=True)
        return OverTime("max_over_time", build, SHOWN_RANGE, at_end=True).max_by(*TARGET)

    # --- counters ---------------------------------------------------------------------------------

    def rate(self, counter: Series, /, **fixed: MatchValue) -> Expression:
        require_kind(counter, Kind.COUNTER)
        if counter in FETCHED_SELDOM:
            raise ExpressionError(f"{counter.name}: is fetched too seldom, use steady_rate")
        return self._over_time("rate", counter, RATE_WINDOW, fixed)

    def steady_rate(self, counter: Series, /, **fixed: MatchValue) -> Expression:
        """Per second over five minutes: for what is fetched seldom, and for what it is compared to."""
        grown = OverTime("increase", self.selector(counter, fixed), _STEADY_WINDOW)
        return (grown / _STEADY_SECONDS).max_by(*identity(counter))

    def known_rate(self, counter: Metric, /) -> Expression:
        """The steady rate, only where the counter was fresh at both ends of the five minutes.

        A ratio of two rates of which one misses a part of the window would be wrong. A gap inside
        does no harm: the counter has it all at the end."""
        presence = _PRESENCE[identity(counter)]
        known = self.steady_rate(counter).where(self.now(presence))
        known = known.where(self.before(presence, _STEADY_WINDOW))
        if counter not in FETCHED_SELDOM:
            return known
        success = self.now(catalog.REQUEST_SUCCESS, request=SELDOM_REQUEST)
        began = self.before(catalog.REQUEST_SUCCESS, _STEADY_WINDOW, request=SELDOM_REQUEST)
        known = known.where(success.equals(1), on=catalog.SYSTEM)
        return known.where(began.equals(1), on=catalog.SYSTEM)

    def complete_polls(self) -> Expression:
        """The systems: 1 where every request got a complete response when it was last made, else 0.

        `up` is about the last poll alone, which does not make the rare requests."""
        success = self.now(catalog.REQUEST_SUCCESS).min_by(*catalog.SYSTEM)
        return self.now(catalog.UP) * success

    def increase(
        self, counter: Series, window: str = SHOWN_RANGE, /, **fixed: MatchValue
    ) -> Expression:
        grown = self._over_time("increase", counter, window, fixed)
        if counter not in catalog.EVENT_TIMES:
            return grown
        selector = self.selector(counter, fixed)
        first = OverTime("min_over_time", selector, window, presence=True)
        before = self.selector(counter, fixed, offset=window)
        return functions.growth_with_first_event(
            grown,
            first=first.max_by(*identity(counter)),
            before=before.max_by(*identity(counter)),
            observed=self.before(catalog.SNAPSHOT_AGE_SECONDS, window).max_by(*catalog.SYSTEM),
        )

    def buckets(self, histogram: Metric, /, **fixed: MatchValue) -> Expression:
        """Observations per second in each bucket, for heat maps and quantiles."""
        require_kind(histogram, Kind.HISTOGRAM)
        return self._over_time("rate", histogram, RATE_WINDOW, fixed, "le")

    def quantile(self, share: float, histogram: Metric, /, **fixed: MatchValue) -> Expression:
        return functions.histogram_quantile(share, self.buckets(histogram, **fixed))

    # --- gauges over time -------------------------------------------------------------------------

    def growth(
        self, gauge: Series, window: str = TREND_WINDOW, /, **fixed: MatchValue
    ) -> Expression:
        """Change per second, by linear regression over the window."""
        return self._over_time("deriv", gauge, window, fixed)

    def average(self, gauge: Series, /, **fixed: MatchValue) -> Expression:
        return self._over_time("avg_over_time", gauge, RATE_WINDOW, fixed)

    def before(self, gauge: Metric, offset: str, /, **fixed: MatchValue) -> Expression:
        require_kind(gauge, Kind.GAUGE)
        return self.selector(gauge, fixed, offset=offset).max_by(*identity(gauge))

    # --- ranking over the shown range: the same set of series at every step -----------------------

    def at_end(self, gauge: Series, /, **fixed: MatchValue) -> Expression:
        """The value at the end of the shown range, read once: for settings of many assets."""
        return self._over_time("last_over_time", gauge, _LOOKBACK, fixed, at_end=True)

    def peak(self, gauge: Series, /, **fixed: MatchValue) -> Expression:
        return self._over_time("max_over_time", gauge, SHOWN_RANGE, fixed, at_end=True)

    def grown(self, counter: Series, /, **fixed: MatchValue) -> Expression:
        return self._over_time("increase", counter, SHOWN_RANGE, fixed, at_end=True)

    def highest(self, gauge: Series, count: int, /) -> Expression:
        """The present values of the series with the highest peaks."""
        return self.now(gauge).where(self.peak(gauge).top(count))

    def lasted_longest(self, gauge: Series, count: int, /, **fixed: MatchValue) -> Expression:
        """1 while a series exists, of those that existed longest: for series that end."""
        selector = self.selector(gauge, fixed)
        existed = OverTime("count_over_time", selector, SHOWN_RANGE, at_end=True)
        shown = existed.max_by(*identity(gauge)).top(count)
        return self.now(gauge, **fixed).is_above(0).where(shown)

    def busiest(self, counter: Series, count: int, /) -> Expression:
        """The rates of the series that grew most."""
        return self.rate(counter).where(self.grown(counter).top(count))

    # --- building blocks --------------------------------------------------------------------------

    def selector(
        self,
        series: Series,
        fixed: Mapping[str, MatchValue] | None = None,
        *,
        offset: str | None = None,
        by_target: bool = False,
    ) -> Selector:
        wanted = (*self._variables(series, fixed or {}), *matchers(fixed or {}))
        return Selector(series, wanted, offset, by_target)

    def _variables(self, series: Series, fixed: Mapping[str, MatchValue]) -> list[Matcher]:
        named = [v for v in self.variables if v != CLUSTER]
        chosen = [v for v in named if v in series.labels and v not in fixed]
        # A label of the scrape: of every series, whether it is there or not.
        cluster = [variable_matcher(CLUSTER)] if CLUSTER in self.variables else []
        if isinstance(series, ExternalSeries) and not series.scraped:
            # An alert about the pipeline has no system; a chosen system must not hide it.
            return [*cluster, *(variable_matcher(name, or_empty=True) for name in chosen)]
        return [_JOB, *cluster, *map(variable_matcher, chosen)]

    def _gauge(self, gauge: Series, fixed: Mapping[str, MatchValue]) -> Selector:
        require_kind(gauge, Kind.GAUGE)
        return self.selector(gauge, fixed)

    def _over_time(
        self,
        function: str,
        series: Series,
        window: str,
        fixed: Mapping[str, MatchValue],
        *further: str,
        at_end: bool = False,
    ) -> Expression:
        samples = OverTime(function, self.selector(series, fixed), window, at_end=at_end)
        return samples.max_by(*identity(series), *further)


def summed_over_range(condition: Expression) -> Expression:
    """How long a condition of 0 or 1 was true in the shown range."""
    return OverTime("sum_over_time", condition, SHOWN_RANGE, step=_SHOWN_STEP, at_end=True)
