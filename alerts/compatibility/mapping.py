"""What the name of another exporter becomes here: the declaration, and how a rule gives it back."""

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
class Old:
    """One name of another exporter. Without a rule the old number cannot honestly be given."""

    name: str
    new: str  # what to ask instead; empty when there is nothing
    note: str = ""  # where the values differ, and why
    rule: str = ""  # our series with the other's labels
    fixed: Labels = field(default_factory=dict)  # labels that have one value here


@dataclass(frozen=True, slots=True)
class Family:
    """Names that begin alike and go the same way."""

    beginning: str
    note: str


@dataclass(frozen=True, slots=True)
class Subject:
    """Whose series these are, with the labels that the other exporter gives them."""

    labels: Labels
    fixed: Labels = field(default_factory=dict)

    def same(self, old: str, new: str, note: str = "") -> Old:
        """The same number under another name."""
        return self.computed(old, new, series(new), note)

    def computed(self, old: str, new: str, expression: Expression, note: str = "") -> Old:
        """The same number after a computation, such as another unit."""
        return Old(old, new, note, renamed(expression, self.labels), self.fixed)


def series(name: str, **match: MatchValue) -> Expression:
    """Our series of this name, without the prefix."""
    return Selector(catalog.BY_NAME[PREFIX + name], matchers(match))


def renamed(expression: Expression, labels: Labels) -> str:
    """Replicas of the exporter fold into one, as in the alerts."""
    for old, ours in labels.items():
        if old != ours:
            expression = copy_label(expression, ours, old, "(.+)")
    return expression.max_by("system", *labels).render(_CONTEXT)


def gone(old: str, note: str) -> Old:
    return Old(old, "", note)


def instead(old: str, new: str, note: str) -> Old:
    """There is something better to ask, which is not the same number."""
    return Old(old, new, note)
