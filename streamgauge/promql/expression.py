"""PromQL expressions as a tree that knows its labels: what can never match is refused at import."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TypeVar

from streamgauge.promql import literals
from streamgauge.promql.context import ONE_LINE, NamedNumber, RenderContext

Labels = tuple[str, ...]
_INDENT = "  "

# Precedence of the operators, the loosest first. A looser operand gets brackets.
OR, AND, COMPARISON, SUM, PRODUCT, ATOM = range(1, 7)

Node = TypeVar("Node")


class ExpressionError(ValueError):
    """An expression that Prometheus would refuse, or that would never match."""


class Expression:
    """One node of the tree. `labels` are those that every series of the result has."""

    @property
    def labels(self) -> Labels:
        return ()

    @property
    def possible(self) -> Labels:
        """The labels that at least some series of the result have."""
        return self.labels

    @property
    def open(self) -> bool:
        """Whether its series keep labels of the scrape, such as cluster, that are unknown here."""
        return any(child.open for child in self.children())

    @property
    def replicated(self) -> bool:
        """Whether there is one series for each replica of the exporter."""
        return any(child.replicated for child in self.children())

    @property
    def precedence(self) -> int:
        return ATOM

    @property
    def conditional(self) -> bool:
        """Whether the result is empty while nothing is wrong."""
        return False

    def children(self) -> tuple[Expression, ...]:
        return ()

    def render(self, context: RenderContext) -> str:
        raise NotImplementedError

    def __str__(self) -> str:
        return self.render(ONE_LINE)

    def operand(self, precedence: int, context: RenderContext) -> str:
        """The text as an operand, in brackets where it binds less tightly than the operator."""
        text = self.render(context)
        loose = self.precedence < precedence
        if loose or (context.layout.all_brackets and self.precedence < ATOM):
            return bracketed(text)
        return text

    def walk(self) -> Iterator[Expression]:
        yield self
        for child in self.children():
            yield from child.walk()

    def all_of(self, kind: type[Node]) -> list[Node]:
        return [node for node in self.walk() if isinstance(node, kind)]

    # --- comparisons ------------------------------------------------------------------------------

    def __gt__(self, other: Operand) -> Expression:
        return operators.compared(">", self, as_expression(other))

    def __ge__(self, other: Operand) -> Expression:
        return operators.compared(">=", self, as_expression(other))

    def __lt__(self, other: Operand) -> Expression:
        return operators.Comparison("<", self, as_expression(other))

    def __le__(self, other: Operand) -> Expression:
        return operators.Comparison("<=", self, as_expression(other))

    def equals(self, other: Operand) -> Expression:
        return operators.Comparison("==", self, as_expression(other))

    def is_above(self, other: Operand) -> Expression:
        """1 or 0 for every series, where `>` drops series."""
        return operators.Comparison(">", self, as_expression(other), boolean=True)

    def is_at_least(self, other: Operand) -> Expression:
        """1 or 0 for every series, where `>=` drops series."""
        return operators.Comparison(">=", self, as_expression(other), boolean=True)

    # --- arithmetic -------------------------------------------------------------------------------

    def __mul__(self, other: Operand) -> Expression:
        return operators.Arithmetic("*", self, as_expression(other))

    def __truediv__(self, other: Operand) -> Expression:
        return operators.Arithmetic("/", self, as_expression(other))

    def __mod__(self, other: Operand) -> Expression:
        return operators.Arithmetic("%", self, as_expression(other))

    def __add__(self, other: Operand) -> Expression:
        return operators.Arithmetic("+", self, as_expression(other))

    def __sub__(self, other: Operand) -> Expression:
        return operators.Arithmetic("-", self, as_expression(other))

    def __rmul__(self, other: float) -> Expression:
        return operators.Arithmetic("*", Number(other), self)

    def __rsub__(self, other: float) -> Expression:
        return operators.Arithmetic("-", Number(other), self)

    def over(self, other: Expression) -> Expression:
        """A ratio. A divisor of 0 gives no sample."""
        return self / (other > 0)

    # --- set operators ----------------------------------------------------------------------------

    def where(self, other: Expression, *, on: Labels = ()) -> Expression:
        """Only the series that `other` has too; `on` replaces the labels that both have."""
        return operators.Filter("and", self, other, on)

    def unless(self, other: Expression, *, on: Labels = ()) -> Expression:
        return operators.Filter("unless", self, other, on)

    def or_(self, other: Expression, *, ignoring: Labels = ()) -> Expression:
        """`ignoring`: labels in which a series of `other` may differ from one that this has."""
        return operators.Union(self, other, ignoring)

    def or_zero(self, observed: Expression) -> Expression:
        """0 where the result is empty, but only while `observed` has series."""
        return self.or_(0 * observed.count_by(*self.labels))

    # --- aggregation and functions ----------------------------------------------------------------

    def sum_by(self, *labels: str) -> Expression:
        return aggregations.Aggregation("sum", self, labels)

    def max_by(self, *labels: str) -> Expression:
        return aggregations.Aggregation("max", self, labels)

    def min_by(self, *labels: str) -> Expression:
        return aggregations.Aggregation("min", self, labels)

    def count_by(self, *labels: str) -> Expression:
        return aggregations.Aggregation("count", self, labels)

    def max_without(self, *labels: str) -> Expression:
        return aggregations.Aggregation("max", self, labels, without=True)

    def min_without(self, *labels: str) -> Expression:
        return aggregations.Aggregation("min", self, labels, without=True)

    def sum_without(self, *labels: str) -> Expression:
        return aggregations.Aggregation("sum", self, labels, without=True)

    def count_without(self, *labels: str) -> Expression:
        return aggregations.Aggregation("count", self, labels, without=True)

    def folded(self, function: str = "max", *, by: Labels | None = None) -> Expression:
        """One series from all replicas of the exporter. Labels of the scrape stay; of the own labels
        those in `by`, or all."""
        dropped = () if by is None else tuple(each for each in self.labels if each not in by)
        return aggregations.Aggregation(function, self, dropped, without=True, replicas=True)

    def top(self, count: int, *, apart: Labels = ()) -> Expression:
        """`apart`: the labels that tell the ranked ones apart; those that share all others compete."""
        return aggregations.Call("topk", self, before=(count,), apart=apart)

    def absolute(self) -> Expression:
        return aggregations.Call("abs", self)

    def clamp_min(self, minimum: float) -> Expression:
        return aggregations.Call("clamp_min", self, after=(minimum,))

    def clamp_max(self, maximum: float) -> Expression:
        return aggregations.Call("clamp_max", self, after=(maximum,))


Operand = Expression | NamedNumber | float


def as_expression(value: Operand) -> Expression:
    return value if isinstance(value, Expression) else Number(value)


def bracketed(text: str) -> str:
    return f"({indented(text)})"


def indented(text: str) -> str:
    """Several lines get lines of their own, one level deeper."""
    if "\n" not in text:
        return text
    inner = "\n".join(_INDENT + line for line in text.splitlines())
    return f"\n{inner}\n"


class Scalar(Expression):
    """A number without labels: it matches every series."""


@dataclass(frozen=True)
class Number(Scalar):
    value: NamedNumber | float

    def render(self, context: RenderContext) -> str:
        return literals.number(context.number(self.value))


class Time(Scalar):
    """The time of the evaluation, in seconds since 1970."""

    def render(self, context: RenderContext) -> str:
        return "time()"


# Last: operators and aggregations are expressions themselves.
from streamgauge.promql import aggregations, operators  # noqa: E402
