"""What changes the labels of an expression: aggregation, a name of its own, an age, a rename."""

from __future__ import annotations

from dataclasses import dataclass

from alerts.render_options import Span, Terms
from streamgauge.promql.expression import (
    COMPARISON,
    SUBTRACTION,
    Expression,
    ExpressionError,
    Labels,
)


@dataclass(frozen=True)
class Aggregated(Expression):
    """`max by (...)`: over replicas of the exporter the first time, over parts of a whole later."""

    function: str
    by: Labels
    inner: Expression

    def __post_init__(self) -> None:
        beyond = set(self.by) - set(self.inner.labels)
        if beyond:
            raise ExpressionError(f"{self.function} by {sorted(beyond)}: nothing has such a label")

    @property
    def labels(self) -> Labels:
        return self.by

    @property
    def conditional(self) -> bool:
        return self.inner.conditional

    def parts(self) -> tuple[Expression, ...]:
        return (self.inner,)

    def text(self, terms: Terms) -> str:
        inner = self.inner.text(terms)
        if "\n" in inner:
            inner = "\n" + "\n".join(f"  {line}" for line in inner.splitlines()) + "\n"
        by = f" by ({', '.join(self.by)}) " if self.by else ""
        return f"{self.function}{by}({inner})"


@dataclass(frozen=True)
class Applied(Expression):
    """A function that keeps the labels: abs(x), histogram_quantile(0.99, x) without its `le`."""

    before: str  # up to and with the opening bracket
    inner: Expression
    without: str = ""

    @property
    def labels(self) -> Labels:
        return tuple(label for label in self.inner.labels if label != self.without)

    def parts(self) -> tuple[Expression, ...]:
        return (self.inner,)

    def text(self, terms: Terms) -> str:
        return f"{self.before}{self.inner.text(terms)})"


@dataclass(frozen=True)
class Spread(Expression):
    """Largest minus smallest over one label, for each replica of the exporter by itself."""

    inner: Expression
    over: str

    @property
    def labels(self) -> Labels:
        return tuple(label for label in self.inner.labels if label != self.over)

    def parts(self) -> tuple[Expression, ...]:
        return (self.inner,)

    def text(self, terms: Terms) -> str:
        inner = self.inner.text(terms)
        return f"max without ({self.over}) ({inner}) - min without ({self.over}) ({inner})"


@dataclass(frozen=True)
class Tagged(Expression):
    """The same series with one more label, so that two of them can stand in one rule."""

    inner: Expression
    label: str
    value: str

    def __post_init__(self) -> None:
        if self.label in self.inner.labels:
            raise ExpressionError(f"{self.label}: is a label already")

    @property
    def labels(self) -> Labels:
        return (*self.inner.labels, self.label)

    @property
    def possible(self) -> Labels:
        return (*self.inner.possible, self.label)

    @property
    def conditional(self) -> bool:
        return self.inner.conditional

    def parts(self) -> tuple[Expression, ...]:
        return (self.inner,)

    def text(self, terms: Terms) -> str:
        return _label_replace(self.inner.text(terms), self.label, self.value, "", "")


@dataclass(frozen=True)
class Renamed(Expression):
    """One label's value under another name: the origin of a mirror is a stream elsewhere."""

    inner: Expression
    old: str
    new: str

    @property
    def labels(self) -> Labels:
        if self.old not in self.inner.labels:
            raise ExpressionError(f"{self.old}: there is no such label to rename")
        return tuple(self.new if label == self.old else label for label in self.inner.labels)

    def parts(self) -> tuple[Expression, ...]:
        return (self.inner,)

    def text(self, terms: Terms) -> str:
        moved = _label_replace(self.inner.text(terms), self.new, "$1", self.old, "(.*)")
        return f"max by ({', '.join(self.labels)}) ({moved})"


def _label_replace(inner: str, new: str, value: str, old: str, pattern: str) -> str:
    if "\n" in inner:
        inner = "\n" + "\n".join(f"  {line}" for line in inner.splitlines()) + "\n"
    return f'label_replace({inner}, "{new}", "{value}", "{old}", "{pattern}")'


@dataclass(frozen=True)
class Age(Expression):
    """Seconds since (or, turned round, until) a time that is exported as a timestamp."""

    moment: Expression
    until: bool = False

    @property
    def labels(self) -> Labels:
        return self.moment.labels

    @property
    def strength(self) -> int:
        return SUBTRACTION

    def parts(self) -> tuple[Expression, ...]:
        return (self.moment,)

    def text(self, terms: Terms) -> str:
        moment = self.moment.text(terms)
        return f"{moment} - time()" if self.until else f"time() - {moment}"


@dataclass(frozen=True)
class Recorded(Expression):
    """A series of a recording rule, which has one value per identity already."""

    record: str
    by: Labels
    window: Span | None = None  # only where the rule runs more seldom than its readers
    function: str = "last_over_time"
    ago: Span | None = None

    @property
    def labels(self) -> Labels:
        return self.by

    def text(self, terms: Terms) -> str:
        if self.window is None:
            return self.record
        past = f" offset {terms.window(self.ago)}" if self.ago is not None else ""
        return f"{self.function}({self.record}[{terms.window(self.window)}]{past})"


@dataclass(frozen=True)
class Beyond(Expression):
    """A value on the wrong side of a limit of its own; the label that names the limit comes with
    the result."""

    value: Expression
    operator: str
    limit: Expression
    named_by: str

    def __post_init__(self) -> None:
        if set(self.limit.labels) != {*self.value.labels, self.named_by}:
            raise ExpressionError(f"{self.operator}: a limit must have the labels of its value")

    @property
    def labels(self) -> Labels:
        return (*self.value.labels, self.named_by)

    @property
    def strength(self) -> int:
        return COMPARISON

    @property
    def conditional(self) -> bool:
        return True

    def parts(self) -> tuple[Expression, ...]:
        return (self.value, self.limit)

    def text(self, terms: Terms) -> str:
        join = f"on ({', '.join(self.value.labels)}) group_left ({self.named_by})"
        value = self.value.within(COMPARISON, terms)
        limit = self.limit.within(COMPARISON + 1, terms)
        return f"{value} {self.operator} {join} {limit}"
