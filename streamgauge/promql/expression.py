"""PromQL expressions as a tree that knows its labels: what can never match is refused at import."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import TypeVar

from streamgauge.promql import literals
from streamgauge.promql.context import ONE_LINE, NamedNumber, RenderContext
from streamgauge.promql.literals import label_list

Labels = tuple[str, ...]
_INDENT = "  "

# Precedence of the operators, the loosest first. A looser operand gets brackets.
_OR, _AND, _COMPARISON, _SUM, _PRODUCT, _ATOM = range(1, 7)
_ARITHMETIC = {"+": _SUM, "-": _SUM, "*": _PRODUCT, "/": _PRODUCT}

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
        return _ATOM

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
        if loose or (context.layout.all_brackets and self.precedence < _ATOM):
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
        return _compared(">", self, as_expression(other))

    def __ge__(self, other: Operand) -> Expression:
        return _compared(">=", self, as_expression(other))

    def __lt__(self, other: Operand) -> Expression:
        return Comparison("<", self, as_expression(other))

    def __le__(self, other: Operand) -> Expression:
        return Comparison("<=", self, as_expression(other))

    def equals(self, other: Operand) -> Expression:
        return Comparison("==", self, as_expression(other))

    def is_above(self, other: Operand) -> Expression:
        """1 or 0 for every series, where `>` drops series."""
        return Comparison(">", self, as_expression(other), boolean=True)

    def is_at_least(self, other: Operand) -> Expression:
        """1 or 0 for every series, where `>=` drops series."""
        return Comparison(">=", self, as_expression(other), boolean=True)

    # --- arithmetic -------------------------------------------------------------------------------

    def __mul__(self, other: Operand) -> Expression:
        return Arithmetic("*", self, as_expression(other))

    def __truediv__(self, other: Operand) -> Expression:
        return Arithmetic("/", self, as_expression(other))

    def __add__(self, other: Operand) -> Expression:
        return Arithmetic("+", self, as_expression(other))

    def __sub__(self, other: Operand) -> Expression:
        return Arithmetic("-", self, as_expression(other))

    def __rmul__(self, other: float) -> Expression:
        return Arithmetic("*", Number(other), self)

    def __rsub__(self, other: float) -> Expression:
        return Arithmetic("-", Number(other), self)

    def over(self, other: Expression) -> Expression:
        """A ratio. A divisor of 0 gives no sample."""
        return self / (other > 0)

    # --- set operators ----------------------------------------------------------------------------

    def where(self, other: Expression, *, on: Labels = ()) -> Expression:
        """Only the series that `other` has too; `on` replaces the labels that both have."""
        return Filter("and", self, other, on)

    def unless(self, other: Expression, *, on: Labels = ()) -> Expression:
        return Filter("unless", self, other, on)

    def or_(self, other: Expression, *, ignoring: Labels = ()) -> Expression:
        """`ignoring`: labels in which a series of `other` may differ from one that this has."""
        return Union(self, other, ignoring)

    def or_zero(self, observed: Expression) -> Expression:
        """0 where the result is empty, but only while `observed` has series."""
        return self.or_(0 * observed.count_by(*self.labels))

    # --- aggregation and functions ----------------------------------------------------------------

    def sum_by(self, *labels: str) -> Expression:
        return Aggregation("sum", self, labels)

    def max_by(self, *labels: str) -> Expression:
        return Aggregation("max", self, labels)

    def min_by(self, *labels: str) -> Expression:
        return Aggregation("min", self, labels)

    def count_by(self, *labels: str) -> Expression:
        return Aggregation("count", self, labels)

    def max_without(self, *labels: str) -> Expression:
        return Aggregation("max", self, labels, without=True)

    def min_without(self, *labels: str) -> Expression:
        return Aggregation("min", self, labels, without=True)

    def sum_without(self, *labels: str) -> Expression:
        return Aggregation("sum", self, labels, without=True)

    def count_without(self, *labels: str) -> Expression:
        return Aggregation("count", self, labels, without=True)

    def folded(self, function: str = "max", *, by: Labels | None = None) -> Expression:
        """One series from all replicas of the exporter. Labels of the scrape stay; of the own labels
        those in `by`, or all."""
        dropped = () if by is None else tuple(each for each in self.labels if each not in by)
        return Aggregation(function, self, dropped, without=True, replicas=True)

    def top(self, count: int, *, apart: Labels = ()) -> Expression:
        """`apart`: the labels that tell the ranked ones apart; those that share all others compete."""
        return Call("topk", self, before=(count,), apart=apart)

    def absolute(self) -> Expression:
        return Call("abs", self)

    def clamp_min(self, minimum: float) -> Expression:
        return Call("clamp_min", self, after=(minimum,))

    def clamp_max(self, maximum: float) -> Expression:
        return Call("clamp_max", self, after=(maximum,))


Operand = Expression | NamedNumber | float


def as_expression(value: Operand) -> Expression:
    return value if isinstance(value, Expression) else Number(value)


def bracketed(text: str) -> str:
    return f"({_indented(text)})"


def _indented(text: str) -> str:
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


# --- operators ------------------------------------------------------------------------------------


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


def _compared(operator: str, left: Expression, right: Expression) -> Expression:
    """The largest value of the replicas is above a number when one of them is: comparing before folding
    leaves few series to fold."""
    largest = isinstance(left, Aggregation) and left.replicas and left.function == "max"
    if largest and isinstance(left, Aggregation) and isinstance(right, Scalar):
        return replace(left, inner=Comparison(operator, left.inner, right))
    return Comparison(operator, left, right)


@dataclass(frozen=True)
class Comparison(_Binary):
    boolean: bool = False  # 1 or 0 for every series

    @property
    def precedence(self) -> int:
        return _COMPARISON

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
        return _AND

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
        return _OR

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
        return side.operand(_OR if isinstance(side, Union) else _COMPARISON, context)


# --- aggregation and functions --------------------------------------------------------------------


@dataclass(frozen=True)
class Aggregation(Expression):
    function: str
    inner: Expression
    by: Labels
    without: bool = False  # `by` names the labels that go
    replicas: bool = False  # and so do those in which the replicas of the exporter differ

    def __post_init__(self) -> None:
        if missing := set(self.by) - set(self.inner.possible):
            raise ExpressionError(
                f"{self.function} by {sorted(missing)}: {self.inner} has no such label"
            )

    @property
    def labels(self) -> Labels:
        if not self.without:
            return self.by
        return tuple(label for label in self.inner.labels if label not in self.by)

    @property
    def possible(self) -> Labels:
        if not self.without:
            return self.by
        return tuple(label for label in self.inner.possible if label not in self.by)

    @property
    def open(self) -> bool:
        return self.without and self.inner.open

    @property
    def replicated(self) -> bool:
        return self.without and not self.replicas and self.inner.replicated

    @property
    def conditional(self) -> bool:
        return self.inner.conditional

    def children(self) -> tuple[Expression, ...]:
        return (self.inner,)

    def render(self, context: RenderContext) -> str:
        keyword = "without" if self.without else "by"
        labels = (*context.replica_labels, *self.by) if self.replicas else self.by
        clause = f" {keyword} {label_list(labels)} " if labels else ""
        return f"{self.function}{clause}{bracketed(self.inner.render(context))}"


Argument = str | float


@dataclass(frozen=True)
class Call(Expression):
    """A function of one vector, with constants before and after it."""

    function: str
    inner: Expression
    before: tuple[Argument, ...] = ()
    after: tuple[Argument, ...] = ()
    added: Labels = ()
    removed: Labels = ()
    apart: Labels = ()  # groups are `without` these

    @property
    def labels(self) -> Labels:
        return self._changed(self.inner.labels)

    @property
    def possible(self) -> Labels:
        return self._changed(self.inner.possible)

    def _changed(self, labels: Labels) -> Labels:
        return (*(label for label in labels if label not in self.removed), *self.added)

    @property
    def conditional(self) -> bool:
        return self.inner.conditional or self.function == "absent"

    def children(self) -> tuple[Expression, ...]:
        return (self.inner,)

    def render(self, context: RenderContext) -> str:
        before = [_constant(value) for value in self.before]
        after = [_constant(value) for value in self.after]
        inner = _indented(self.inner.render(context))
        groups = f" without {label_list(self.apart)} " if self.apart else ""
        return f"{self.function}{groups}({', '.join((*before, inner, *after))})"


def _constant(value: Argument) -> str:
    return literals.quoted(value) if isinstance(value, str) else literals.number(value)
