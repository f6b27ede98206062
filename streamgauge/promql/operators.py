"""Operators between two expressions: arithmetic, comparisons and sets, with the labels they match."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from streamgauge.promql import aggregations
from streamgauge.promql.context import RenderContext
from streamgauge.promql.expression import (
    AND,
    COMPARISON,
    OR,
    PRODUCT,
    SUM,
    Expression,
    ExpressionError,
    Labels,
    Scalar,
)
from streamgauge.promql.literals import label_list

_ARITHMETIC = {"+": SUM, "-": SUM, "*": PRODUCT, "/": PRODUCT, "%": PRODUCT}


@dataclass(frozen=True)
class _Binary(Expression):
    operator: str
    left: Expression
    right: Expression
    on: Labels = ()  # the labels to match on; without them those of the right side

    def __post_init__(self) -> None:
        if not self._by_difference or not isinstance(self, Filter):
            self._require_labels("left", self.left)
        if self.on:
            self._require_labels("right", self.right)

    def _require_labels(self, side: str, operand: Expression) -> None:
        missing = set(self._matched) - set(operand.labels)
        if missing and not self._with_scalar:
            raise ExpressionError(
                f"{self.operator}: the {side} side has no label {sorted(missing)}"
            )

    @property
    def _matched(self) -> Labels:
        return self.on or self.right.labels

    @property
    def _with_scalar(self) -> bool:
        return isinstance(self.left, Scalar) or isinstance(self.right, Scalar)

    @property
    def labels(self) -> Labels:
        return self._kept.labels

    @property
    def possible(self) -> Labels:
        return self._kept.possible

    @property
    def open(self) -> bool:
        return self._kept.open

    @property
    def replicated(self) -> bool:
        return self._kept.replicated

    @property
    def _kept(self) -> Expression:
        """The side whose series the result has."""
        return self.right if isinstance(self.left, Scalar) else self.left

    def children(self) -> tuple[Expression, ...]:
        return (self.left, self.right)

    @property
    def _by_difference(self) -> bool:
        """Both sides have labels that are unknown here: those must match too, so `on` is wrong."""
        return not self.on and self.left.open and self.right.open

    def matching(self, context: RenderContext) -> str:
        """The `on` or `ignoring` clause; empty where both sides have the same labels."""
        if self._with_scalar:
            return ""
        if self._by_difference:
            ignored = [*_difference(self.left.possible, self.right.possible)]
            if self.left.replicated != self.right.replicated:
                ignored += [each for each in context.replica_labels if each not in ignored]
            return f" ignoring {label_list(ignored)}" if ignored else ""
        same = set(self.left.possible) == set(self.right.possible) == set(self._matched)
        return "" if same else f" on {label_list(self._matched)}"

    def infix(self, operator: str, context: RenderContext) -> str:
        left = self.left.operand(self.precedence, context)
        return f"{left}{operator} {self.right.operand(self.precedence + 1, context)}"


def _difference(left: Labels, right: Labels) -> Iterator[str]:
    """The labels that only one side has, those of the left side first."""
    yield from (label for label in left if label not in right)
    yield from (label for label in right if label not in left)


@dataclass(frozen=True)
class Arithmetic(_Binary):
    @property
    def precedence(self) -> int:
        return _ARITHMETIC[self.operator]

    @property
    def conditional(self) -> bool:
        return self.left.conditional or self.right.conditional

    def render(self, context: RenderContext) -> str:
        join = self.matching(context)
        return self.infix(f" {self.operator}{join}{' group_left ()' if join else ''}", context)


def compared(operator: str, left: Expression, right: Expression) -> Expression:
    """The largest value of the replicas is above a number when one of them is: comparing before folding
    leaves few series to fold."""
    if (
        isinstance(left, aggregations.Aggregation)
        and (left.function, left.replicas) == ("max", True)
        and isinstance(right, Scalar)
    ):
        return replace(left, inner=Comparison(operator, left.inner, right))
    return Comparison(operator, left, right)


@dataclass(frozen=True)
class Comparison(_Binary):
    boolean: bool = False  # 1 or 0 for every series

    @property
    def precedence(self) -> int:
        return COMPARISON

    @property
    def conditional(self) -> bool:
        return not self.boolean

    def render(self, context: RenderContext) -> str:
        join = self.matching(context)
        group = " group_left ()" if join else ""
        modifier = " bool" if self.boolean else ""
        return self.infix(f" {self.operator}{modifier}{join}{group}", context)


@dataclass(frozen=True)
class Filter(_Binary):
    """`and`, `unless`: some of the series of the left side."""

    @property
    def precedence(self) -> int:
        return AND

    @property
    def conditional(self) -> bool:
        return self.left.conditional or (self.operator == "and" and self.right.conditional)

    def render(self, context: RenderContext) -> str:
        gap = "\n" if context.layout.multiline else " "
        return self.infix(f"{gap}{self.operator}{self.matching(context)}", context)


@dataclass(frozen=True)
class Union(Expression):
    """`or`. Where the sides differ in labels, the result has only the common ones for certain."""

    left: Expression
    right: Expression
    ignoring: Labels = ()

    @property
    def precedence(self) -> int:
        return OR

    @property
    def labels(self) -> Labels:
        return tuple(label for label in self.left.labels if label in self.right.labels)

    @property
    def possible(self) -> Labels:
        return tuple(dict.fromkeys(self.left.possible + self.right.possible))

    @property
    def conditional(self) -> bool:
        return self.left.conditional and self.right.conditional

    def children(self) -> tuple[Expression, ...]:
        return (self.left, self.right)

    def render(self, context: RenderContext) -> str:
        gap = "\n" if context.layout.multiline else " "
        clause = f" ignoring {label_list(self.ignoring)}" if self.ignoring else ""
        return f"{self._side(self.left, context)}{gap}or{clause} {self._side(self.right, context)}"

    def _side(self, side: Expression, context: RenderContext) -> str:
        """A filter needs no brackets inside `or`; they are for the reader."""
        return side.operand(OR if isinstance(side, Union) else COMPARISON, context)
