"""Aggregations, and functions of one vector."""

from __future__ import annotations

from dataclasses import dataclass

from streamgauge.promql import literals
from streamgauge.promql.context import RenderContext
from streamgauge.promql.expression import Expression, ExpressionError, Labels, bracketed, indented
from streamgauge.promql.literals import label_list


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
        inner = indented(self.inner.render(context))
        groups = f" without {label_list(self.apart)} " if self.apart else ""
        return f"{self.function}{groups}({', '.join((*before, inner, *after))})"


def _constant(value: Argument) -> str:
    return literals.quoted(value) if isinstance(value, str) else literals.number(value)
