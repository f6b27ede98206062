"""Native histograms: stored as received, after a consistency check of their fields."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from itertools import accumulate, pairwise
from typing import Final, NamedTuple

from archive.remote_write.protobuf import (
    Buffer,
    Field,
    double,
    expect,
    packed_doubles,
    packed_varints,
    read_fields,
    signed,
    zigzag,
)
from archive.series.labels import RefusedError
from streamgauge.protobuf import FIXED64, LENGTH, VARINT

CUSTOM_BUCKETS: Final = -53
_COUNT, _FLOAT_COUNT, _SUM, _SCHEMA, _ZERO_WIDTH, _ZERO, _FLOAT_ZERO = range(1, 8)
_TIME: Final = 15
_CUSTOM_VALUES: Final = 16
_START: Final = 17


class Histogram(NamedTuple):
    time: int
    data: bytes


class Span(NamedTuple):
    offset: int
    length: int


@dataclass(slots=True)
class _Side:
    """The buckets of one sign: spans and counts."""

    name: str
    spans: list[Span] = field(default_factory=list)
    deltas: list[int] = field(default_factory=list)
    counts: list[float] = field(default_factory=list)

    @property
    def empty(self) -> bool:
        return not (self.spans or self.deltas or self.counts)

    def total(self) -> float:
        if any(span.offset < 0 for span in self.spans[1:]):
            raise RefusedError(f"a histogram whose {self.name} spans overlap")
        buckets = self.counts or list(accumulate(self.deltas))
        if self.counts and self.deltas:
            raise RefusedError("a histogram with both whole and floating-point counts")
        if sum(span.length for span in self.spans) != len(buckets):
            raise RefusedError(f"a histogram whose {self.name} spans do not fit its buckets")
        if not all(count >= 0 for count in buckets):
            raise RefusedError(f"a histogram with a {self.name} bucket below zero")
        return sum(buckets)


@dataclass(slots=True)
class _HistogramFields:
    """The fields of a histogram that the consistency check needs."""

    floating: bool = False
    count: float = 0
    sum: float = 0.0
    schema: int = 0
    zero: float = 0
    time: int = 0
    custom: list[float] = field(default_factory=list)
    negative: _Side = field(default_factory=lambda: _Side("negative"))
    positive: _Side = field(default_factory=lambda: _Side("positive"))


def read_histogram(buffer: Buffer, start: int, stop: int) -> Histogram:
    """Raises MalformedError for other bytes, RefusedError for inconsistent fields."""
    fields = _HistogramFields()
    for each in read_fields(buffer, start, stop):
        _read_field(fields, buffer, each)
    _check(fields)
    return Histogram(fields.time, bytes(buffer[start:stop]))


def _read_field(fields: _HistogramFields, buffer: Buffer, each: Field) -> None:
    number = each.number
    if number in (_COUNT, _ZERO, _SCHEMA, _TIME, _START, 14):
        expect(each, VARINT, "a number of a histogram")
    elif number in (_FLOAT_COUNT, _FLOAT_ZERO, _SUM, _ZERO_WIDTH):
        expect(each, FIXED64, "a number of a histogram")
    if number == _COUNT:
        fields.count = each.value
    elif number == _FLOAT_COUNT:
        fields.count, fields.floating = double(buffer, each.start), True
    elif number == _SUM:
        fields.sum = double(buffer, each.start)
    elif number == _SCHEMA:
        fields.schema = zigzag(each.value)
    elif number == _ZERO:
        fields.zero = each.value
    elif number == _FLOAT_ZERO:
        fields.zero = double(buffer, each.start)
    elif number == _TIME:
        fields.time = signed(each.value)
    elif number == _CUSTOM_VALUES:
        fields.custom += packed_doubles(buffer, each, "the custom values of a histogram")
    else:
        _read_buckets(fields, buffer, each)


def _read_buckets(fields: _HistogramFields, buffer: Buffer, each: Field) -> None:
    side = fields.negative if each.number <= 10 else fields.positive
    place = each.number - (8 if side is fields.negative else 11)
    if place == 0:
        expect(each, LENGTH, "a span of a histogram")
        side.spans.append(_read_span(buffer, each.start, each.stop))
    elif place == 1:
        side.deltas += map(zigzag, packed_varints(buffer, each, "the buckets of a histogram"))
    elif place == 2:
        side.counts += packed_doubles(buffer, each, "the buckets of a histogram")


def _read_span(buffer: Buffer, start: int, stop: int) -> Span:
    offset = length = 0
    for each in read_fields(buffer, start, stop):
        expect(each, VARINT, "a span of a histogram")
        if each.number == 1:
            offset = zigzag(each.value)
        elif each.number == 2:
            length = each.value
    return Span(offset, length)


def _check(fields: _HistogramFields) -> None:
    if fields.schema == CUSTOM_BUCKETS:
        _check_custom(fields)
    elif fields.custom:
        raise RefusedError("a histogram with custom values and another schema")
    total = fields.negative.total() + fields.positive.total() + fields.zero
    if fields.floating:
        return  # sums of floats are not exact
    # NaN observations are counted and are in no bucket.
    if total > fields.count or (total != fields.count and not math.isnan(fields.sum)):
        raise RefusedError("a histogram whose count is not that of its buckets")


def _check_custom(fields: _HistogramFields) -> None:
    if fields.zero or not fields.negative.empty:
        raise RefusedError("a histogram with custom buckets and others beside them")
    bounds = [*fields.custom, math.inf]
    if not all(low < high for low, high in pairwise(bounds)):
        raise RefusedError("a histogram whose custom values do not rise")
    used = sum(span.offset + span.length for span in fields.positive.spans)
    if used > len(bounds):
        raise RefusedError("a histogram with more custom buckets than custom values")
