"""A PromQL expression that knows which labels its result carries and which metrics it reads."""

from __future__ import annotations

from dataclasses import dataclass

from dashboards.external_metrics import ForeignMetric
from exporter.metric import Metric

Series = Metric | ForeignMetric
Labels = tuple[str, ...]


class QueryError(ValueError):
    """An expression that would mislead whoever reads the panel."""


@dataclass(frozen=True, slots=True)
class Expr:
    text: str
    labels: Labels  # what the result carries, so that a legend or a join cannot name another
    metrics: tuple[Series, ...]
    compound: bool = False  # has an operator at its top, so it needs brackets inside another

    # --- fewer series -----------------------------------------------------------------------------

    def sum_by(self, *labels: str) -> Expr:
        return self._aggregated("sum", labels)

    def max_by(self, *labels: str) -> Expr:
        return self._aggregated("max", labels)

    def min_by(self, *labels: str) -> Expr:
        return self._aggregated("min", labels)

    def count_by(self, *labels: str) -> Expr:
        return self._aggregated("count", labels)

    def top(self, number: int) -> Expr:
        return Expr(f"topk({number}, {self.text})", self.labels, self.metrics)

    def only(self, chosen: Expr) -> Expr:
        """Only the series that the other expression also has."""
        return self._set_operation("and", chosen)

    # --- arithmetic -------------------------------------------------------------------------------

    def over(self, other: Expr) -> Expr:
        """A ratio; a divisor of 0 gives no sample instead of a meaningless one."""
        return self._vector_operation("/", other.above(0))

    def times(self, factor: float | Expr) -> Expr:
        return self._operation("*", factor)

    def minus(self, other: float | Expr) -> Expr:
        return self._operation("-", other)

    def plus(self, other: float | Expr) -> Expr:
        return self._operation("+", other)

    def absolute(self) -> Expr:
        return self._called("abs({})")

    def at_least_zero(self) -> Expr:
        return self._called("clamp_min({}, 0)")

    def at_most_one(self) -> Expr:
        """A share: what two readings at different times make of it beyond 1 is no truth."""
        return self._called("clamp_max({}, 1)")

    def negated(self) -> Expr:
        return self.times(-1)

    def from_now(self) -> Expr:
        """A point in time as the seconds until it."""
        return self._compound(f"{self._bracketed()} - time()")

    # --- comparisons: they keep series, the `is_` ones keep all and answer 0 or 1 -----------------

    def above(self, limit: float) -> Expr:
        return self._compound(f"{self._bracketed()} > {number(limit)}")

    def at_least(self, limit: float) -> Expr:
        return self._compound(f"{self._bracketed()} >= {number(limit)}")

    def equal(self, value: float) -> Expr:
        return self._compound(f"{self._bracketed()} == {number(value)}")

    def is_at_least(self, limit: float) -> Expr:
        return self._compound(f"{self._bracketed()} >= bool {number(limit)}")

    # --- zero and labels --------------------------------------------------------------------------

    def or_zero(self, witness: Expr) -> Expr:
        """0 where nothing bad was found, but only while the witness says that somebody looked."""
        zero = f"0 * {witness.count_by(*self.labels).text}"
        return Expr(f"{self._bracketed()} or {zero}", self.labels, self._reads(witness), True)

    def otherwise(self, other: Expr) -> Expr:
        self._same_labels(other)
        text = f"{self._bracketed()} or {other._bracketed()}"
        return Expr(text, self.labels, self._reads(other), True)

    # --- how it is put together -------------------------------------------------------------------

    def _aggregated(self, function: str, labels: Labels) -> Expr:
        self._has(labels)
        by = f" by ({listed(labels)})" if labels else ""
        return Expr(f"{function}{by} ({self.text})", labels, self.metrics)

    def _set_operation(self, operator: str, other: Expr) -> Expr:
        self._has(other.labels)
        on = "" if set(other.labels) == set(self.labels) else f" on ({listed(other.labels)})"
        text = f"{self._bracketed()} {operator}{on} {other._bracketed()}"
        return Expr(text, self.labels, self._reads(other), True)

    def _operation(self, operator: str, other: float | Expr) -> Expr:
        if isinstance(other, Expr):
            return self._vector_operation(operator, other)
        return self._compound(f"{self._bracketed()} {operator} {number(other)}")

    def _vector_operation(self, operator: str, other: Expr) -> Expr:
        """One to one, or many to one where the other side carries fewer labels."""
        self._has(other.labels)
        matching = ""
        if set(other.labels) != set(self.labels):
            matching = f" on ({listed(other.labels)}) group_left ()"
        text = f"{self._bracketed()} {operator}{matching} {other._bracketed()}"
        return Expr(text, self.labels, self._reads(other), True)

    def _called(self, template: str) -> Expr:
        return Expr(template.format(self.text), self.labels, self.metrics)

    def _compound(self, text: str) -> Expr:
        return Expr(text, self.labels, self.metrics, True)

    def _bracketed(self) -> str:
        return f"({self.text})" if self.compound else self.text

    def _reads(self, other: Expr) -> tuple[Series, ...]:
        return tuple(dict.fromkeys((*self.metrics, *other.metrics)))

    def _has(self, labels: Labels) -> None:
        if missing := [label for label in labels if label not in self.labels]:
            raise QueryError(f"{self.text}: has no label {missing[0]}")

    def _same_labels(self, other: Expr) -> None:
        if set(self.labels) != set(other.labels):
            raise QueryError(f"{self.text}: has other labels than {other.text}")


def listed(labels: Labels) -> str:
    return ", ".join(labels)


def number(value: float) -> str:
    """Whole numbers without a point, as people write them."""
    return str(int(value)) if float(value).is_integer() else repr(float(value))
