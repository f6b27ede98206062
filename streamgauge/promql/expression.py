"""PromQL as a tree that knows its labels: what cannot match or mean anything is refused at import."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TypeVar

from alerts.quantity import Threshold, format_number
from alerts.render_options import Terms

Labels = tuple[str, ...]
_INDENT = "  "

# How tightly an operator binds; a looser part inside a tighter one gets brackets.
_OR, _AND, _COMPARE, _ADD, _MULTIPLY, _ATOM = range(1, 7)
COMPARISON, SUBTRACTION = _COMPARE, _ADD
_STRENGTH = {"+": _ADD, "-": _ADD, "*": _MULTIPLY, "/": _MULTIPLY}

Found = TypeVar("Found")


class ExpressionError(ValueError):
    """An expression that Prometheus would refuse, or worse, quietly never match."""


class Expression:
    """One node. `labels` is what tells two series of the result apart."""

    @property
    def labels(self) -> Labels:
        return ()

    @property
    def possible(self) -> Labels:
        """Every label that some series of the result may have; `labels` are on all of them."""
        return self.labels

    @property
    def strength(self) -> int:
        return _ATOM

    @property
    def conditional(self) -> bool:
        """Whether it yields nothing while all is well."""
        return False

    def text(self, terms: Terms) -> str:
        raise NotImplementedError

    def parts(self) -> tuple[Expression, ...]:
        return ()

    def walk(self) -> Iterator[Expression]:
        yield self
        for part in self.parts():
            yield from part.walk()

    def all_of(self, kind: type[Found]) -> list[Found]:
        return [node for node in self.walk() if isinstance(node, kind)]

    def __gt__(self, other: Operand) -> Expression:
        return Compared(">", self, operand(other))

    def __ge__(self, other: Operand) -> Expression:
        return Compared(">=", self, operand(other))

    def __lt__(self, other: Operand) -> Expression:
        return Compared("<", self, operand(other))

    def __le__(self, other: Operand) -> Expression:
        return Compared("<=", self, operand(other))

    def equals(self, other: Operand) -> Expression:
        return Compared("==", self, operand(other))

    def __mul__(self, other: Operand) -> Expression:
        return Computed("*", self, operand(other))

    def __truediv__(self, other: Operand) -> Expression:
        return Computed("/", self, operand(other))

    def __add__(self, other: Operand) -> Expression:
        return Computed("+", self, operand(other))

    def __sub__(self, other: Operand) -> Expression:
        return Computed("-", self, operand(other))

    def where(self, other: Expression) -> Expression:
        return Filtered("and", self, other)

    def unless(self, other: Expression) -> Expression:
        return Filtered("unless", self, other)

    def or_(self, other: Expression) -> Expression:
        return Either(self, other)

    def within(self, strength: int, terms: Terms) -> str:
        """The text, in brackets where the place it stands in binds more tightly."""
        text = self.text(terms)
        if self.strength >= strength:
            return text
        return bracketed(text)


Operand = Expression | Threshold | float


def operand(value: Operand) -> Expression:
    return value if isinstance(value, Expression) else Number(value)


def bracketed(text: str) -> str:
    if "\n" not in text:
        return f"({text})"
    inner = "\n".join(_INDENT + line for line in text.splitlines())
    return f"(\n{inner}\n)"


@dataclass(frozen=True)
class Number(Expression):
    value: Threshold | float

    def text(self, terms: Terms) -> str:
        value = self.value
        if isinstance(value, Threshold):
            value = terms.thresholds[value.name].value
        return format_number(value)


@dataclass(frozen=True)
class _Binary(Expression):
    operator: str
    left: Expression
    right: Expression

    def __post_init__(self) -> None:
        beyond = set(self.right.labels) - set(self.left.labels)
        if beyond:
            raise ExpressionError(
                f"{self.operator}: the right side has {sorted(beyond)}, the left side has not"
            )

    @property
    def labels(self) -> Labels:
        return self.left.labels

    def parts(self) -> tuple[Expression, ...]:
        return (self.left, self.right)

    @property
    def possible(self) -> Labels:
        return self.left.possible

    def matching(self) -> str:
        """How the two sides meet; nothing where all their labels are the same."""
        if isinstance(self.right, Number):
            return ""
        if set(self.left.possible) == set(self.right.possible) == set(self.right.labels):
            return ""
        return f" on ({', '.join(self.right.labels)})"


class Computed(_Binary):
    @property
    def strength(self) -> int:
        return _STRENGTH[self.operator]

    @property
    def conditional(self) -> bool:
        return self.left.conditional or self.right.conditional

    def text(self, terms: Terms) -> str:
        join = self.matching()
        join = f"{join} group_left ()" if join else ""
        left = self.left.within(self.strength, terms)
        return f"{left} {self.operator}{join} {self.right.within(self.strength + 1, terms)}"


class Compared(_Binary):
    @property
    def strength(self) -> int:
        return _COMPARE

    @property
    def conditional(self) -> bool:
        return True

    def text(self, terms: Terms) -> str:
        join = self.matching()
        join = f"{join} group_left ()" if join else ""
        left = self.left.within(_COMPARE, terms)
        return f"{left} {self.operator}{join} {self.right.within(_COMPARE + 1, terms)}"


class Filtered(_Binary):
    """`and`, `unless`: the left side's series, fewer of them."""

    @property
    def strength(self) -> int:
        return _AND

    @property
    def conditional(self) -> bool:
        return self.left.conditional or (self.operator == "and" and self.right.conditional)

    def text(self, terms: Terms) -> str:
        left = self.left.within(_AND, terms)
        return f"{left}\n{self.operator}{self.matching()} {self.right.within(_AND + 1, terms)}"


@dataclass(frozen=True)
class Either(Expression):
    """`or`. Where the sides differ in labels, only the common ones can be relied on."""

    left: Expression
    right: Expression

    @property
    def strength(self) -> int:
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

    def parts(self) -> tuple[Expression, ...]:
        return (self.left, self.right)

    def text(self, terms: Terms) -> str:
        return f"{self._side(self.left, terms)}\nor {self._side(self.right, terms)}"

    def _side(self, side: Expression, terms: Terms) -> str:
        """A filtered side stands in brackets: it needs none, but the reader does."""
        return side.text(terms) if isinstance(side, Either) else side.within(_COMPARE, terms)
