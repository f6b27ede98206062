"""The two opaque messages with an OpenMetrics form: metadata of a family, and exemplars."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from archive.remote_write.label_reader import read_label
from archive.remote_write.messages import write_label
from archive.remote_write.protobuf import double, expect, read_fields, signed
from archive.tables.series import Labels
from streamgauge.protobuf import FIXED64, write_double, write_message, write_number

# prometheus.MetricMetadata.MetricType by OpenMetrics name.
TYPES: Final = (
    "unknown", "counter", "gauge", "histogram", "gaugehistogram", "summary", "info", "stateset",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Metadata:
    family: str
    type: str
    help: str
    unit: str


@dataclass(frozen=True, slots=True)
class Exemplar:
    labels: Labels
    value: float
    time: int


def read_metadata(data: bytes) -> Metadata:
    """Raises MalformedError."""
    kind, texts = 0, {2: "", 4: "", 5: ""}
    for field in read_fields(data, 0, len(data)):
        if field.number == 1:
            kind = field.value
        elif field.number in texts:
            texts[field.number] = data[field.start : field.stop].decode(errors="replace")
    return Metadata(texts[2], TYPES[kind if kind < len(TYPES) else 0], texts[4], texts[5])


def write_metadata(metadata: Metadata) -> bytes:
    texts = ((2, metadata.family), (4, metadata.help), (5, metadata.unit))
    kind = write_number(1, TYPES.index(metadata.type))
    return kind + b"".join(write_message(number, text.encode()) for number, text in texts if text)


def read_exemplar(data: bytes) -> Exemplar:
    """Raises MalformedError, or RefusedError for labels that are not UTF-8."""
    labels, value, time = [], 0.0, 0
    for field in read_fields(data, 0, len(data)):
        if field.number == 1:
            labels.append(read_label(data, field.start, field.stop))
        elif field.number == 2:
            expect(field, FIXED64, "the value of an exemplar")
            value = double(data, field.start)
        elif field.number == 3:
            time = signed(field.value)
    return Exemplar(tuple(labels), value, time)


def write_exemplar(exemplar: Exemplar) -> bytes:
    labels = b"".join(write_message(1, write_label(label)) for label in exemplar.labels)
    return labels + write_double(2, exemplar.value) + write_number(3, exemplar.time)
