"""Metrics of other exporters and the recording rules that provide them from ours."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from exporter import catalog
from exporter.metric import PREFIX
from streamgauge.promql.context import Layout, PlainContext
from streamgauge.promql.expression import Expression
from streamgauge.promql.functions import copy_label
from streamgauge.promql.selectors import MatchValue, Selector, matchers

_CONTEXT = PlainContext(Layout(all_brackets=False))
Labels = Mapping[str, str]  # the other exporter's label -> ours


@dataclass(frozen=True, slots=True)
class OldMetric:
    """One metric of another exporter; without a rule there is no equal value here."""

    name: str
    new: str  # our metric to use instead; empty when there is none
    note: str = ""  # where the values differ, and why
    rule: str = ""  # our series with the other's labels
    constant_labels: Labels = field(default_factory=dict)  # labels that have one value here


@dataclass(frozen=True, slots=True)
class Family:
    """Metrics with a common prefix and the same replacement."""

    prefix: str
    note: str


@dataclass(frozen=True, slots=True)
class Subject:
    """The asset of a metric, with the labels of the other exporter."""

    labels: Labels
    constant_labels: Labels = field(default_factory=dict)

    def same(self, old: str, new: str, note: str = "") -> OldMetric:
        """The same value under another name."""
        return self.computed(old, new, series(new), note)

    def computed(self, old: str, new: str, expression: Expression, note: str = "") -> OldMetric:
        """The same value after a computation, such as another unit."""
        return OldMetric(old, new, note, renamed(expression, self.labels), self.constant_labels)


def series(name: str, **match: MatchValue) -> Expression:
    """Our series of this name, without the prefix."""
    return Selector(catalog.BY_NAME[PREFIX + name], matchers(match))


def renamed(expression: Expression, labels: Labels) -> str:
    """Replicas of the exporter fold into one, as in the alerts."""
    for old, ours in labels.items():
        if old != ours:
            expression = copy_label(expression, ours, old, "(.+)")
    return expression.max_by("system", *labels).render(_CONTEXT)


def gone(old: str, note: str) -> OldMetric:
    return OldMetric(old, "", note)


def instead(old: str, new: str, note: str) -> OldMetric:
    """There is a better metric, but its value is not the same."""
    return OldMetric(old, new, note)
