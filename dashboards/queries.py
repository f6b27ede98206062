"""Queries on catalogue metrics: each function knows the kinds it may be asked for.

Every series is folded by `max by` its own labels, so that two exporter replicas count once."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from dashboards.expression import Expr, Labels, QueryError, Series, listed, number
from dashboards.external_metrics import TARGET, ForeignMetric
from exporter import catalog
from exporter.metric import Kind, Metric

RATE_WINDOW = "$__rate_interval"
SHOWN_RANGE = "$__range"
# Growth over less than this is mostly noise: deliveries come in batches.
TREND_WINDOW = "15m"
# The exporter reads these counters about once a minute. In the usual window of a rate they would
# stand still and then leap; over five minutes they are what they mean.
READ_SELDOM = (
    catalog.STREAM_PUBLISHES_RECEIVED,
    catalog.STREAM_PUBLISHES_UNSTORED,
    catalog.STREAM_DEDUPE_HITS,
    catalog.CONSUMER_ACKS,
    catalog.CONSUMER_PULLS,
)
_STEADY_SECONDS = 300


@dataclass(frozen=True, slots=True)
class Matching:
    """A regular expression instead of one value, for a fixed matcher."""

    pattern: str
    but_not: bool = False


Fixed = str | Matching


@dataclass(frozen=True, slots=True)
class Scope:
    """The labels that a board's variables choose; every selector honours those its metric has."""

    variables: Labels

    # --- what is now ------------------------------------------------------------------------------

    def now(self, gauge: Series, /, **fixed: Fixed) -> Expr:
        return self._folded(gauge, "{}", (Kind.GAUGE,), fixed)

    def least(self, gauge: Series, /, **fixed: Fixed) -> Expr:
        """Of replicas the smallest: the freshest data, not the stalest."""
        folded = self.now(gauge, **fixed)
        return Expr("min" + folded.text.removeprefix("max"), folded.labels, folded.metrics)

    def info(self, info: Metric, /, *shown: str, **fixed: Fixed) -> Expr:
        """Its identity and the labels asked for; the value is 1."""
        self._refuse_unless(info, (Kind.INFO,))
        kept = (*_identity(info), *shown)
        if unknown := [label for label in shown if label not in info.labels]:
            raise QueryError(f"{info.name}: has no label {unknown[0]}")
        return Expr(f"max by ({listed(kept)}) ({self._selector(info, fixed)})", kept, (info,))

    def age(self, timestamp: Metric, /, **fixed: Fixed) -> Expr:
        """Seconds since the time that the metric tells."""
        if not timestamp.name.endswith("_timestamp_seconds"):
            raise QueryError(f"{timestamp.name}: is not a point in time")
        then = self.now(timestamp, **fixed)
        return Expr(f"time() - {then.text}", then.labels, then.metrics, True)

    def each_target(self, series: Series, /, **fixed: Fixed) -> Expr:
        """Replicas apart: for boards about the exporters themselves."""
        self._refuse_unless(series, (Kind.GAUGE,))
        labels = tuple(dict.fromkeys((*_identity(series), *TARGET)))
        text = f"max by ({listed(labels)}) ({self._selector(series, fixed)})"
        return Expr(text, labels, (series,))

    # --- counters ---------------------------------------------------------------------------------

    def rate(self, counter: Series, /, **fixed: Fixed) -> Expr:
        if counter in READ_SELDOM:
            raise QueryError(f"{counter.name}: is read too seldom for a rate, use steady_rate")
        return self._folded(counter, f"rate({{}}[{RATE_WINDOW}])", (Kind.COUNTER,), fixed)

    def steady_rate(self, counter: Series, /, **fixed: Fixed) -> Expr:
        """Per second over five minutes: for what is read seldom, and for what stands beside it."""
        template = f"increase({{}}[{_STEADY_SECONDS // 60}m]) / {_STEADY_SECONDS}"
        return self._folded(counter, template, (Kind.COUNTER,), fixed)

    def increase(self, counter: Series, window: str = SHOWN_RANGE, /, **fixed: Fixed) -> Expr:
        return self._folded(counter, f"increase({{}}[{window}])", (Kind.COUNTER,), fixed)

    def buckets(self, histogram: Metric, /, **fixed: Fixed) -> Expr:
        """Observations per second in each bucket, for heat maps and quantiles."""
        self._refuse_unless(histogram, (Kind.HISTOGRAM,))
        labels = (*histogram.labels, "le")
        selector = self._selector(histogram, fixed, "_bucket")
        text = f"max by ({listed(labels)}) (rate({selector}[{RATE_WINDOW}]))"
        return Expr(text, labels, (histogram,))

    def quantile(self, share: float, histogram: Metric, /, **fixed: Fixed) -> Expr:
        buckets = self.buckets(histogram, **fixed)
        text = f"histogram_quantile({number(share)}, {buckets.text})"
        return Expr(text, histogram.labels, (histogram,))

    # --- gauges over time -------------------------------------------------------------------------

    def growth(self, gauge: Series, window: str = TREND_WINDOW, /, **fixed: Fixed) -> Expr:
        """Change per second, by a straight line through the window."""
        return self._folded(gauge, f"deriv({{}}[{window}])", (Kind.GAUGE,), fixed)

    def average(self, gauge: Series, /, **fixed: Fixed) -> Expr:
        return self._folded(gauge, f"avg_over_time({{}}[{RATE_WINDOW}])", (Kind.GAUGE,), fixed)

    def before(self, gauge: Metric, offset: str, /, **fixed: Fixed) -> Expr:
        return self._folded(gauge, f"{{}} offset {offset}", (Kind.GAUGE,), fixed)

    # --- ranking over the shown range: one fixed set of series, not another at every step ---------

    def peak(self, gauge: Series, /, **fixed: Fixed) -> Expr:
        template = f"max_over_time({{}}[{SHOWN_RANGE}] @ end())"
        return self._folded(gauge, template, (Kind.GAUGE, Kind.INFO), fixed)

    def grown(self, counter: Series, /, **fixed: Fixed) -> Expr:
        return self._folded(
            counter, f"increase({{}}[{SHOWN_RANGE}] @ end())", (Kind.COUNTER,), fixed
        )

    def highest(self, gauge: Series, count: int, /) -> Expr:
        """Now, of the series whose peak was highest."""
        return self.now(gauge).only(self.peak(gauge).top(count))

    def busiest(self, counter: Series, count: int, /) -> Expr:
        """Per second, of the series that grew most."""
        return self.rate(counter).only(self.grown(counter).top(count))

    # --- how it is put together -------------------------------------------------------------------

    def _folded(
        self, series: Series, template: str, kinds: tuple[Kind, ...], fixed: Mapping[str, Fixed]
    ) -> Expr:
        self._refuse_unless(series, kinds)
        labels = _identity(series)
        inner = template.format(self._selector(series, fixed))
        return Expr(f"max by ({listed(labels)}) ({inner})", labels, (series,))

    def _selector(self, series: Series, fixed: Mapping[str, Fixed], suffix: str = "") -> str:
        if unknown := [label for label in fixed if label not in series.labels]:
            raise QueryError(f"{series.name}: has no label {unknown[0]}")
        return f"{series.name}{suffix}{{{', '.join(self._matchers(series, fixed))}}}"

    def _matchers(self, series: Series, fixed: Mapping[str, Fixed]) -> list[str]:
        of_a_target = not isinstance(series, ForeignMetric) or series.of_a_target
        chosen = [v for v in self.variables if v in series.labels and v not in fixed]
        # An alert about the pipeline belongs to no system, and must not vanish for that.
        variables = [f'{v}=~"${v}"' if of_a_target else f'{v}=~"|${v}"' for v in chosen]
        job = ['job=~"$job"'] if of_a_target else []
        return [*job, *variables, *(_matcher(label, value) for label, value in fixed.items())]

    @staticmethod
    def _refuse_unless(series: Series, kinds: tuple[Kind, ...]) -> None:
        if series.kind not in kinds:
            wanted = " or ".join(kind.value for kind in kinds)
            raise QueryError(f"{series.name}: is a {series.kind.value}, not a {wanted}")


def own_targets() -> Expr:
    """Targets that were exporters at some time of the shown range, also those that are down now.

    With the job variable on All, a selector of a foreign metric takes in everybody's."""
    build = f'{catalog.BUILD_INFO.name}{{job=~"$job"}}'
    text = f"max by ({listed(TARGET)}) (max_over_time({build}[{SHOWN_RANGE}] @ end()))"
    return Expr(text, TARGET, (catalog.BUILD_INFO,))


def added_up(condition: Expr) -> Expr:
    """Over the shown range: of a condition that is 0 or 1, how long it held."""
    text = f"sum_over_time(({condition.text})[{SHOWN_RANGE}:$__interval] @ end())"
    return Expr(text, condition.labels, condition.metrics)


def _identity(series: Series) -> Labels:
    """What tells two things apart; the further labels of an info only describe."""
    if series.kind is Kind.INFO and isinstance(series, Metric):
        order = ("system", "account", "stream", "consumer", "server")
        return tuple(label for label in order if label in series.labels)
    return series.labels


def _matcher(label: str, value: Fixed) -> str:
    if isinstance(value, Matching):
        return f'{label}{"!~" if value.but_not else "=~"}"{value.pattern}"'
    return f'{label}="{value}"'
