"""Queries of boards taken apart: variables filled in, selectors found with what surrounds them."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

import promql_parser

# Odd numbers: they differ from any window written by hand.
SUBSTITUTES: Final = {
    "__rate_interval": "4127s",
    "__interval": "61s",
    "__range": "3607s",
    "cluster": ".*",  # All includes series without this label
}
RATE_INTERVAL_SECONDS: Final = 4127
_VARIABLE: Final = re.compile(r"\$(?:\{(\w+)(?::\w+)?\}|([A-Za-z_]\w*))")


def filled(expr: str, values: Mapping[str, str] | None = None) -> str:
    """Grafana's own variables by their substitutes, a board's by `.+` by default."""
    known = {**SUBSTITUTES, **(values or {})}
    return _VARIABLE.sub(lambda found: known.get(found[1] or found[2], ".+"), expr)


def named_variables(text: str) -> set[str]:
    return {one or other for one, other in _VARIABLE.findall(text)}


@dataclass(frozen=True)
class Selector:
    name: str
    matchers: tuple[tuple[str, str, str], ...]  # label, operator, value
    calls: tuple[str, ...]  # functions and aggregations around it, the nearest first
    window: float | None  # seconds, where it selects a range

    @property
    def labels(self) -> set[str]:
        return {label for label, _, _ in self.matchers}


def parsed(expr: str) -> Any:
    return promql_parser.parse(filled(expr))


def selectors(expr: str) -> list[Selector]:
    """With the variables still in the matchers: `filled` would hide which one is used."""
    marked = _VARIABLE.sub(
        lambda found: SUBSTITUTES.get(found[1] or found[2], f"VAR_{found[1] or found[2]}"), expr
    )
    return list(_selectors(promql_parser.parse(marked), ()))


def _selectors(node: Any, calls: tuple[str, ...]) -> Iterator[Selector]:
    kind = type(node).__name__
    if kind == "VectorSelector":
        yield _selector(node, calls, None)
    elif kind == "MatrixSelector":
        yield _selector(node.vector_selector, calls, node.range.total_seconds())
    elif kind == "Call":
        for argument in node.args:
            yield from _selectors(argument, (node.func.name, *calls))
    elif kind == "AggregateExpr":
        yield from _selectors(node.expr, (str(node.op), *calls))
    else:
        for name in ("lhs", "rhs", "expr"):
            if hasattr(node, name):
                yield from _selectors(getattr(node, name), calls)


_OPERATORS: Final = {"Equal": "=", "NotEqual": "!=", "Re": "=~", "NotRe": "!~"}


def _selector(node: Any, calls: tuple[str, ...], window: float | None) -> Selector:
    found = tuple(
        (each.name, _OPERATORS[str(each.op).rpartition(".")[2]], each.value)
        for each in node.matchers.matchers
    )
    return Selector(node.name or "", found, calls, window)


def grouping_labels(expr: str) -> set[str]:
    """Every label that a by, on or group_left of the query names."""
    return set(_grouping(parsed(expr)))


def _grouping(node: Any) -> Iterator[str]:
    modifier = getattr(node, "modifier", None)
    if modifier is not None:
        yield from getattr(modifier, "labels", None) or ()
        if (matching := getattr(modifier, "matching", None)) is not None:
            yield from matching.labels
        yield from getattr(modifier, "group_labels", None) or ()
    for name in ("lhs", "rhs", "expr"):
        if hasattr(node, name):
            yield from _grouping(getattr(node, name))
    for argument in getattr(node, "args", None) or ():
        yield from _grouping(argument)
