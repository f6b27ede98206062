"""Remote write by the protobuf library: what a request means to a reader that is not ours."""

from __future__ import annotations

import struct
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from google.protobuf import descriptor_pb2, descriptor_pool, message_factory
from google.protobuf.message import DecodeError

_KINDS = descriptor_pb2.FieldDescriptorProto
# Texts as bytes: proto3 would refuse the whole request for one text that is not UTF-8.
_FIELDS = {
    "Label": [("name", 1, _KINDS.TYPE_BYTES, ""), ("value", 2, _KINDS.TYPE_BYTES, "")],
    "Sample": [("value", 1, _KINDS.TYPE_DOUBLE, ""), ("timestamp", 2, _KINDS.TYPE_INT64, "")],
    "TimeSeries": [
        ("labels", 1, _KINDS.TYPE_MESSAGE, "Label"),
        ("samples", 2, _KINDS.TYPE_MESSAGE, "Sample"),
        ("exemplars", 3, _KINDS.TYPE_BYTES, None),
        ("histograms", 4, _KINDS.TYPE_BYTES, None),
    ],
    "WriteRequest": [
        ("timeseries", 1, _KINDS.TYPE_MESSAGE, "TimeSeries"),
        ("metadata", 3, _KINDS.TYPE_BYTES, None),
        ("symbols", 4, _KINDS.TYPE_BYTES, None),
        ("timeseries_v2", 5, _KINDS.TYPE_BYTES, None),
    ],
    "SeriesBySymbols": [
        ("labels_refs", 1, _KINDS.TYPE_UINT32, None),
        ("samples", 2, _KINDS.TYPE_MESSAGE, "Sample"),
        ("histograms", 3, _KINDS.TYPE_BYTES, None),
        ("exemplars", 4, _KINDS.TYPE_BYTES, None),
        ("metadata", 5, _KINDS.TYPE_BYTES, None),
        ("created", 6, _KINDS.TYPE_INT64, ""),
    ],
    "Request": [
        ("symbols", 4, _KINDS.TYPE_BYTES, None),
        ("timeseries", 5, _KINDS.TYPE_MESSAGE, "SeriesBySymbols"),
    ],
}


@dataclass(frozen=True)
class ReferenceSeries:
    labels: list[tuple[bytes, bytes]]
    samples: list[tuple[int, int]]
    """Time and bits of the value."""


def _request_classes() -> tuple[Any, Any]:
    """Of 1.0 and 2.0."""
    file = descriptor_pb2.FileDescriptorProto(name="reference.proto", package="reference")
    for name, fields in _FIELDS.items():
        message = file.message_type.add(name=name)
        for field, number, kind, of in fields:
            repeated = of is None or kind == _KINDS.TYPE_MESSAGE
            label = _KINDS.LABEL_REPEATED if repeated else _KINDS.LABEL_OPTIONAL
            added = message.field.add(name=field, number=number, type=kind, label=label)
            if of:
                added.type_name = f".reference.{of}"
    pool = descriptor_pool.DescriptorPool()
    pool.Add(file)
    old, new = (
        message_factory.GetMessageClass(pool.FindMessageTypeByName(f"reference.{name}"))
        for name in ("WriteRequest", "Request")
    )
    return old, new


_REQUEST, _REQUEST_BY_SYMBOLS = _request_classes()


def read_reference(message: bytes) -> list[ReferenceSeries] | None:
    """None when the library refuses it. Raises NotImplementedError for other kinds of data."""
    try:
        request = _REQUEST.FromString(message)
    except DecodeError:
        return None
    if request.metadata or any(each.exemplars or each.histograms for each in request.timeseries):
        raise NotImplementedError
    return [
        ReferenceSeries(
            [(label.name, label.value) for label in each.labels],
            [(one.timestamp, _bits(one.value)) for one in each.samples],
        )
        for each in request.timeseries
    ]


def read_reference_by_symbols(message: bytes) -> list[ReferenceSeries] | None:
    """As `read_reference`, of 2.0; a series with a reference to no symbol has no labels."""
    try:
        request = _REQUEST_BY_SYMBOLS.FromString(message)
    except DecodeError:
        return None
    series = request.timeseries
    if any(each.exemplars or each.histograms or each.metadata for each in series):
        raise NotImplementedError
    return [
        ReferenceSeries(
            _pairs(each.labels_refs, request.symbols),
            [(one.timestamp, _bits(one.value)) for one in each.samples],
        )
        for each in series
    ]


def _pairs(references: Sequence[int], symbols: Sequence[bytes]) -> list[tuple[bytes, bytes]]:
    if len(references) % 2 or max(references, default=0) >= len(symbols):
        return []
    texts = [symbols[reference] for reference in references]
    return list(zip(texts[::2], texts[1::2], strict=True))


def _bits(value: float) -> int:
    (bits,) = struct.unpack("<Q", struct.pack("<d", value))
    return int(bits)
