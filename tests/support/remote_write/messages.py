"""Builds remote-write requests without the product's code."""

from __future__ import annotations

import struct
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final

import cramjam

V1: Final = "application/x-protobuf"
V2: Final = "application/x-protobuf;proto=io.prometheus.write.v2.Request"
STALE: Final = 0x7FF0000000000002

Labels = Sequence[tuple[str, str]]


def varint(value: int) -> bytes:
    value &= (1 << 64) - 1
    out = b""
    while value > 0x7F:
        out += bytes([value & 0x7F | 0x80])
        value >>= 7
    return out + bytes([value])


def zigzag(value: int) -> bytes:
    return varint(value << 1 if value >= 0 else (-value << 1) - 1)


def length(number: int, content: bytes) -> bytes:
    return varint(number << 3 | 2) + varint(len(content)) + content


def number(field_number: int, value: int) -> bytes:
    return varint(field_number << 3) + varint(value) if value else b""


def bits(field_number: int, value: int) -> bytes:
    return varint(field_number << 3 | 1) + struct.pack("<Q", value) if value else b""


def bits_of(value: float) -> int:
    found: int = struct.unpack("<Q", struct.pack("<d", value))[0]
    return found


def value_of(found: int) -> float:
    value: float = struct.unpack("<d", struct.pack("<Q", found))[0]
    return value


@dataclass(frozen=True)
class Sample:
    time: int
    bits: int
    start: int = 0

    def encoded(self) -> bytes:
        return bits(1, self.bits) + number(2, self.time) + number(3, self.start)


def sample(value: float, time: int, start: int = 0) -> Sample:
    return Sample(time, bits_of(value), start)


@dataclass(frozen=True)
class Histogram:
    """Whole counts; `count` is what it claims, which may be wrong."""

    time: int
    count: int = 0
    sum: float = 0.0
    schema: int = 0
    zero: int = 0
    spans: Sequence[tuple[int, int]] = ()
    deltas: Sequence[int] = ()
    negative_spans: Sequence[tuple[int, int]] = ()
    negative_deltas: Sequence[int] = ()
    custom: Sequence[float] = ()

    def encoded(self) -> bytes:
        parts = [number(1, self.count), bits(3, bits_of(self.sum))]
        if self.schema:
            parts.append(varint(4 << 3) + zigzag(self.schema))
        parts.append(number(6, self.zero))
        for first, spans, deltas in (
            (8, self.negative_spans, self.negative_deltas),
            (11, self.spans, self.deltas),
        ):
            parts += [
                length(first, varint(1 << 3) + zigzag(offset) + number(2, size))
                for offset, size in spans
            ]
            if deltas:
                parts.append(length(first + 1, b"".join(map(zigzag, deltas))))
        parts.append(number(15, self.time))
        if self.custom:
            parts.append(length(16, struct.pack(f"<{len(self.custom)}d", *self.custom)))
        return b"".join(parts)


@dataclass(frozen=True)
class Exemplar:
    time: int
    value: float
    labels: Labels = ()

    def encoded_v1(self) -> bytes:
        labels = b"".join(length(1, label(pair)) for pair in self.labels)
        return labels + bits(2, bits_of(self.value)) + number(3, self.time)


@dataclass(frozen=True)
class Metadata:
    type: int = 0
    help: str = ""
    unit: str = ""
    family: str = ""

    def encoded_v1(self) -> bytes:
        texts = ((2, self.family), (4, self.help), (5, self.unit))
        return number(1, self.type) + b"".join(
            length(place, text.encode()) for place, text in texts if text
        )


@dataclass(frozen=True)
class Series:
    labels: Labels
    samples: Sequence[Sample] = ()
    histograms: Sequence[Histogram] = ()
    exemplars: Sequence[Exemplar] = ()
    metadata: Metadata | None = None
    created: int = 0  # 2.0 before its fourth release candidate

    def encoded_v1(self) -> bytes:
        return b"".join(
            [
                *(length(1, label(pair)) for pair in self.labels),
                *(length(2, each.encoded()) for each in self.samples),
                *(length(3, each.encoded_v1()) for each in self.exemplars),
                *(length(4, each.encoded()) for each in self.histograms),
            ]
        )


def series(name: str, *samples: Sample, **labels: str) -> Series:
    return Series([("__name__", name), *sorted(labels.items())], samples)


def label(pair: tuple[str, str]) -> bytes:
    return length(1, pair[0].encode()) + length(2, pair[1].encode())


def request_v1(*timeseries: Series, metadata: Iterable[Metadata] = ()) -> bytes:
    """The message, not yet compressed."""
    parts = [length(1, each.encoded_v1()) for each in timeseries]
    return b"".join(parts + [length(3, each.encoded_v1()) for each in metadata])


@dataclass
class Symbols:
    numbers: dict[str, int] = field(default_factory=lambda: {"": 0})

    def number(self, text: str) -> int:
        return self.numbers.setdefault(text, len(self.numbers))

    def references(self, labels: Labels) -> bytes:
        return b"".join(varint(self.number(text)) for pair in labels for text in pair)

    def series(self, each: Series) -> bytes:
        parts = [length(1, self.references(each.labels))] if each.labels else []
        parts += [length(2, one.encoded()) for one in each.samples]
        parts += [length(3, one.encoded()) for one in each.histograms]
        for exemplar in each.exemplars:
            parts.append(
                length(
                    4,
                    length(1, self.references(exemplar.labels))
                    + bits(2, bits_of(exemplar.value))
                    + number(3, exemplar.time),
                )
            )
        if each.metadata is not None:
            reported = each.metadata
            parts.append(
                length(
                    5,
                    number(1, reported.type)
                    + number(3, self.number(reported.help))
                    + number(4, self.number(reported.unit)),
                )
            )
        return b"".join(parts) + number(6, each.created)


def request_v2(*timeseries: Series) -> bytes:
    """The message, not yet compressed."""
    symbols = Symbols()
    encoded = [length(5, symbols.series(each)) for each in timeseries]
    table = [length(4, text.encode()) for text in symbols.numbers]
    return b"".join(table + encoded)


def compressed(message: bytes) -> bytes:
    return bytes(cramjam.snappy.compress_raw(message))


def headers(version: str = V1) -> dict[str, str]:
    number_of_it = "0.1.0" if version == V1 else "2.0.0"
    return {
        "Content-Type": version,
        "Content-Encoding": "snappy",
        "X-Prometheus-Remote-Write-Version": number_of_it,
    }


def later(each: Series, milliseconds: int) -> Series:
    """The same series with its samples moved in time."""
    moved = [replace(one, time=one.time + milliseconds) for one in each.samples]
    return replace(each, samples=moved)


def many(count: int, labels: Mapping[str, str], time: int) -> list[Series]:
    """That many series with these labels, each with a sample."""
    return [
        series("streamgauge_test", sample(place % 7, time), consumer=f"consumer-{place}", **labels)
        for place in range(count)
    ]
