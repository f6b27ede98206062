"""Native histograms as Prometheus shows them in its HTTP API, from their message."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import accumulate

Bucket = tuple[float, float, float]
"""Lower and upper bound, count."""


@dataclass
class NativeHistogram:
    count: float = 0.0
    sum: float = 0.0
    buckets: list[Bucket] = field(default_factory=list)
    """Ascending, without empty ones."""


def read_histogram(data: bytes) -> NativeHistogram:
    """An integer histogram with exponential buckets."""
    found: dict[int, int | float | bytes] = {}
    spans: dict[int, list[tuple[int, int]]] = {8: [], 11: []}
    for number, content in _fields(data):
        found[number] = content
        if number in spans:
            parts = dict(_fields(bytes(content)))
            spans[number].append((_zigzag(int(parts.get(1, 0))), int(parts.get(2, 0))))
    base = 2.0**2.0 ** -_zigzag(int(found.get(4, 0)))
    width, zeros = float(found.get(5, 0.0)), float(found.get(6, 0))
    negative = list(_buckets(base, spans[8], _deltas(found.get(9, b""))))
    positive = list(_buckets(base, spans[11], _deltas(found.get(12, b""))))
    every = [
        *((-high, -low, count) for low, high, count in reversed(negative)),
        (-width, width, zeros),
        *positive,
    ]
    total = struct.unpack("<d", struct.pack("<d", found.get(3, 0.0)))[0]
    return NativeHistogram(float(found.get(1, 0)), total, [each for each in every if each[2]])


def _buckets(base: float, spans: list[tuple[int, int]], deltas: list[int]) -> Iterator[Bucket]:
    counts, place = accumulate(deltas), 0
    for offset, length in spans:
        place += offset
        for _ in range(length):
            yield base ** (place - 1), base**place, float(next(counts))
            place += 1


def _deltas(content: int | float | bytes) -> list[int]:
    data, place, found = bytes(content), 0, []  # type: ignore[arg-type]
    while place < len(data):
        number, place = _varint(data, place)
        found.append(_zigzag(number))
    return found


def _zigzag(number: int) -> int:
    return (number >> 1) ^ -(number & 1)


def _fields(data: bytes) -> Iterator[tuple[int, int | float | bytes]]:
    place = 0
    while place < len(data):
        tag, place = _varint(data, place)
        number, kind = tag >> 3, tag & 7
        if kind == 0:
            content, place = _varint(data, place)
            yield number, content
        elif kind == 1 and place + 8 <= len(data):
            yield number, struct.unpack_from("<d", data, place)[0]
            place += 8
        elif kind == 2:
            length, place = _varint(data, place)
            if place + length > len(data):
                raise ValueError("ends inside a field")
            yield number, data[place : place + length]
            place += length
        else:
            raise ValueError(f"has a field of kind {kind}")


def _varint(data: bytes, place: int) -> tuple[int, int]:
    value = 0
    for shift in range(0, 70, 7):
        if place >= len(data):
            raise ValueError("ends inside a number")
        value |= (data[place] & 0x7F) << shift
        place += 1
        if not data[place - 1] & 0x80:
            return value, place
    raise ValueError("has a number of more than ten bytes")
