"""Functions that change labels, and times as durations."""

from __future__ import annotations

from streamgauge.promql.aggregations import Call
from streamgauge.promql.expression import (
    Expression,
    ExpressionError,
    Number,
    Time,
)


def with_label(inner: Expression, label: str, value: str) -> Expression:
    """The same series with one more label, to distinguish them from others in one rule."""
    if label in inner.labels:
        raise ExpressionError(f"{label}: is a label already")
    return Call("label_replace", inner, after=(label, value, "", ""), added=(label,))


def copy_label(
    inner: Expression, old: str, new: str, pattern: str = "(.*)", value: str = "$1"
) -> Expression:
    """One more label, with the value of another."""
    if old not in inner.labels:
        raise ExpressionError(f"{old}: there is no such label to rename")
    return Call("label_replace", inner, after=(new, value, old, pattern), added=(new,))


def rename_label(inner: Expression, old: str, new: str) -> Expression:
    """The value of one label under another name: the origin of a mirror is a stream elsewhere."""
    copied = copy_label(inner, old, new)
    if inner.open:
        return copied.max_without(old)
    return copied.max_by(*(new if label == old else label for label in inner.labels))


def histogram_quantile(quantile: float, buckets: Expression) -> Expression:
    return Call("histogram_quantile", buckets, before=(quantile,), removed=("le",))


def rounded(inner: Expression) -> Expression:
    return Call("round", inner)


def rounded_up(inner: Expression) -> Expression:
    return Call("ceil", inner)


def growth_with_first_event(
    grown: Expression, *, first: Expression, before: Expression, observed: Expression
) -> Expression:
    """Growth of a counter whose series begins with its first event, which `increase` misses.

    `first`: its first value in the window; `before`: its value before the window. A new series counts
    in full if its system was `observed` before: otherwise Prometheus is new."""
    began = first.unless(before).where(observed)
    return (grown + began).or_(began).or_(grown)


def spread(inner: Expression, over: str) -> Expression:
    """Largest minus smallest value over one label."""
    return inner.max_without(over) - inner.min_without(over)


def since(timestamp: Expression) -> Expression:
    """Seconds since a time that a series reports as its value."""
    return Time() - timestamp


def until(timestamp: Expression) -> Expression:
    return timestamp - Time()


def absent(inner: Expression) -> Expression:
    return Call("absent", inner, removed=inner.labels)


def constant(value: float) -> Expression:
    """One series without labels."""
    return Call("vector", Number(value))
