"""A function over the recent samples of one catalogue metric: the leaves of every expression."""

from __future__ import annotations

import re
from dataclasses import dataclass

from alerts.quantity import format_number
from alerts.render_options import Span, Terms
from exporter import catalog
from exporter.metric import Kind, Metric
from streamgauge.promql.expression import Expression, ExpressionError, Labels

CROWD = "_ephemeral"  # the one row that many ephemeral consumers of a stream share
_IN_THE_CROWDS_ROW = {
    catalog.CONSUMER_NUM_PENDING,
    catalog.CONSUMER_NUM_ACK_PENDING,
    catalog.CONSUMER_NUM_REDELIVERED,
    catalog.CONSUMER_NUM_WAITING,
    catalog.CONSUMER_VERDICT,
}
_FUNCTIONS = {
    Kind.GAUGE: {
        "last_over_time", "min_over_time", "max_over_time", "avg_over_time", "deriv",
        "predict_linear",
    },
    Kind.COUNTER: {"increase", "rate"},
    Kind.INFO: {"last_over_time"},
    Kind.HISTOGRAM: {"rate"},
}  # fmt: skip
_PATTERN = re.compile(r"[|.*+?()\[\]\\]")


@dataclass(frozen=True)
class Reading(Expression):
    """Still one series per replica of the exporter: nothing but an aggregation may use it."""

    metric: Metric
    function: str
    window: Span
    ago: Span | None = None
    ahead: Span | None = None  # how far predict_linear looks
    match: tuple[tuple[str, str], ...] = ()
    with_crowd: bool = False
    for_its_presence: bool = False  # so that a counter may be read: not for its value

    def __post_init__(self) -> None:
        metric = self.metric
        if catalog.BY_NAME.get(metric.name) is not metric:
            raise ExpressionError(f"{metric.name}: is not in the catalogue")
        if self.function not in _FUNCTIONS[metric.kind] and not self.for_its_presence:
            raise ExpressionError(f"{metric.name}: {self.function} of a {metric.kind.value}")
        for label, _ in self.match:
            if label not in metric.labels:
                raise ExpressionError(f"{metric.name}: has no label {label}")

    @property
    def labels(self) -> Labels:
        buckets = ("le",) if self.metric.kind is Kind.HISTOGRAM else ()
        return self.metric.labels + buckets

    def text(self, terms: Terms) -> str:
        past = f" offset {terms.window(self.ago)}" if self.ago is not None else ""
        samples = f"{self._selector(terms)}[{terms.window(self.window)}]{past}"
        if self.ahead is not None:
            samples += f", {format_number(terms.seconds(self.ahead))}"
        return f"{self.function}({samples})"

    def _selector(self, terms: Terms) -> str:
        wanted = [_matcher(label, value) for label, value in self.match]
        if self.metric in _IN_THE_CROWDS_ROW and not self.with_crowd:
            wanted.append(f'consumer!="{CROWD}"')
        for label, expression in terms.exclusions.items():
            if label in self.metric.labels:
                wanted.append(f"{label}!~{_quoted(expression)}")
        name = self.metric.name + ("_bucket" if self.metric.kind is Kind.HISTOGRAM else "")
        return f"{name}{{{','.join(wanted)}}}" if wanted else name


def _matcher(label: str, value: str) -> str:
    return f"{label}{'=~' if _PATTERN.search(value) else '='}{_quoted(value)}"


def _quoted(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'
