"""Series, label matchers and functions over their samples: the leaves of every expression."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from exporter import catalog
from exporter.metric import Kind, Metric
from streamgauge.promql import literals
from streamgauge.promql.context import Duration, RenderContext
from streamgauge.promql.expression import Expression, ExpressionError, Labels, bracketed

TARGET = ("job", "instance")  # Prometheus adds these to every series that it scrapes
# Labels of the scrape that keep two systems of one name apart. One that the scrape does not add is
# empty on both sides of a comparison.
SCRAPE = ("cluster", "namespace", "job")
_IDENTITY = ("system", "account", "stream", "consumer", "server")
_FUNCTIONS = {
    Kind.GAUGE: {
        "last_over_time", "min_over_time", "max_over_time", "avg_over_time", "deriv", "changes", "count_over_time",
        "predict_linear",
    },
    Kind.COUNTER: {"increase", "rate"},
    Kind.INFO: {"last_over_time", "max_over_time"},
    Kind.HISTOGRAM: {"rate"},
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class ExternalSeries:
    """A series that is not in the catalogue: of Prometheus, of a rule or of a client library."""

    name: str
    kind: Kind
    labels: Labels
    scraped: bool = True  # False: written by a rule, without job and instance


Series = Metric | ExternalSeries


def identity(series: Series) -> Labels:
    """The labels that identify what a series is about; other labels of an info describe it."""
    if series.kind is Kind.INFO and isinstance(series, Metric):
        return tuple(label for label in _IDENTITY if label in series.labels)
    return series.labels


def require_kind(series: Series, *kinds: Kind) -> None:
    if series.kind not in kinds:
        wanted = " or ".join(kind.value for kind in kinds)
        raise ExpressionError(f"{series.name}: is a {series.kind.value}, not a {wanted}")


@dataclass(frozen=True, slots=True)
class Regex:
    """A pattern as the value of a matcher; it must match the whole label value."""

    pattern: str


@dataclass(frozen=True, slots=True)
class Not:
    """A value or pattern that the label must not have."""

    value: str | Regex


MatchValue = str | Regex | Not


@dataclass(frozen=True, slots=True)
class Matcher:
    label: str
    value: MatchValue

    def __str__(self) -> str:
        negated = isinstance(self.value, Not)
        value = self.value.value if isinstance(self.value, Not) else self.value
        if isinstance(value, Regex):
            return f"{self.label}{'!~' if negated else '=~'}{literals.quoted(value.pattern)}"
        return f"{self.label}{'!=' if negated else '='}{literals.quoted(value)}"


def matchers(values: Mapping[str, MatchValue]) -> tuple[Matcher, ...]:
    return tuple(Matcher(label, value) for label, value in values.items())


def select_any(*names: str) -> str:
    """A selector of all series with one of these names."""
    return f"{{{Matcher('__name__', Regex('|'.join(names)))}}}"


@dataclass(frozen=True)
class Selector(Expression):
    """The series of one name: one for each replica of the exporter, so aggregate them."""

    series: Series
    matchers: tuple[Matcher, ...] = ()
    offset: Duration | None = None
    by_target: bool = False  # job and instance count as labels

    def __post_init__(self) -> None:
        series = self.series
        if isinstance(series, Metric) and catalog.BY_NAME.get(series.name) is not series:
            raise ExpressionError(f"{series.name}: is not in the catalogue")
        for matcher in self.matchers:
            if matcher.label not in (*series.labels, *TARGET, *SCRAPE):
                raise ExpressionError(f"{series.name}: has no label {matcher.label}")

    @property
    def labels(self) -> Labels:
        buckets = ("le",) if self.series.kind is Kind.HISTOGRAM else ()
        target = TARGET if self.by_target else ()
        return tuple(dict.fromkeys((*self.series.labels, *buckets, *target)))

    @property
    def open(self) -> bool:
        return True

    @property
    def replicated(self) -> bool:
        series = self.series
        return not self.by_target and (isinstance(series, Metric) or series.scraped)

    def render(self, context: RenderContext) -> str:
        found = [str(matcher) for matcher in (*self.matchers, *self._exclusions(context))]
        name = self.series.name + ("_bucket" if self.series.kind is Kind.HISTOGRAM else "")
        braces = f"{{{context.layout.matcher_separator.join(found)}}}" if found else ""
        return f"{name}{braces}{_offset(self.offset, context)}"

    def _exclusions(self, context: RenderContext) -> tuple[Matcher, ...]:
        if not isinstance(self.series, Metric):
            return ()
        patterns = context.exclusions.items()
        return tuple(Matcher(label, Not(Regex(p))) for label, p in patterns if label in self.labels)


@dataclass(frozen=True)
class OverTime(Expression):
    """A function over the recent samples of a selector, or over the recent values of an expression."""

    function: str
    inner: Expression
    window: Duration
    offset: Duration | None = None
    ahead: Duration | None = None  # how far predict_linear extrapolates
    step: Duration = ""  # of a subquery
    at_end: bool = False  # evaluated once, at the end of the shown range
    presence: bool = False  # only whether a counter exists matters, not its value

    def __post_init__(self) -> None:
        if not isinstance(self.inner, Selector) or self.presence:
            return
        series = self.inner.series
        if self.function not in _FUNCTIONS[series.kind]:
            raise ExpressionError(f"{series.name}: {self.function} of a {series.kind.value}")

    @property
    def labels(self) -> Labels:
        return self.inner.labels

    def children(self) -> tuple[Expression, ...]:
        return (self.inner,)

    def render(self, context: RenderContext) -> str:
        inner = self.inner.render(context)
        if not isinstance(self.inner, Selector):
            inner = bracketed(inner)
        step = f":{context.duration(self.step)}" if self.step else ""
        samples = f"{inner}[{context.duration(self.window)}{step}]{_offset(self.offset, context)}"
        if self.at_end:
            samples += " @ end()"
        if self.ahead is not None:
            samples += f", {literals.number(context.seconds(self.ahead))}"
        return f"{self.function}({samples})"


def _offset(offset: Duration | None, context: RenderContext) -> str:
    return "" if offset is None else f" offset {context.duration(offset)}"
