"""The messages of remote read and remote write 1.0 that an import needs."""

from __future__ import annotations

import struct
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Final

import numpy as np

from archive.batch import OpaqueKind
from archive.tables.sample_columns import Bits, Int64s
from archive.tables.series import Labels, metric_of
from archive.tools.importing.batch import ImportBatch, ImportedMessage, ImportedSeries, canonical
from archive.tools.opaque_messages import (
    MessageError,
    fields,
    length_field,
    number_field,
    read_metadata,
    varint,
    write_metadata,
)
from archive.tools.series_selector import Selector

_MATCH_TYPES: Final = {"=": 0, "!=": 1, "=~": 2, "!~": 3}
# The usual form of a sample: tag and length, tag and value, tag and a six-byte time (2004 to 2109).
_USUAL: Final = np.dtype([("head", "V3"), ("value", "<u8"), ("tag", "u1"), ("time", "u1", 6)])
_USUAL_HEAD: Final = b"\x12\x10\x09"
_HISTOGRAM_TIME: Final = 15


def read_request(selector: Selector, start: int, end: int) -> bytes:
    """One query, with both times inclusive, for a response of plain samples."""
    matchers = b"".join(
        length_field(
            3,
            number_field(1, _MATCH_TYPES[each.operator])
            + length_field(2, each.label.encode())
            + length_field(3, each.value.encode()),
        )
        for each in selector.matchers
    )
    return length_field(1, number_field(1, start) + number_field(2, end) + matchers)


def read_response(data: bytes, without: str) -> ImportBatch:
    batch = ImportBatch()
    for number, result in fields(data):
        if number == 1 and isinstance(result, bytes):
            for inner, series in fields(result):
                if inner == 1 and isinstance(series, bytes):
                    _read_series(series, without, batch)
    return batch


def write_request(batch: ImportBatch) -> bytes:
    messages: dict[Labels, list[ImportedMessage]] = {}
    families: list[bytes] = []
    for message in batch.messages:
        if message.labels is None:
            families.append(message.data)
        elif message.kind is OpaqueKind.METADATA:
            families.append(_of_family(message.labels, message))
        else:
            messages.setdefault(message.labels, []).append(message)
    parts = [
        length_field(1, _series(each.labels, each.times, each.bits, messages.pop(each.labels, [])))
        for each in batch.series
    ]
    none = np.empty(0, np.int64), np.empty(0, np.uint64)
    parts += [length_field(1, _series(labels, *none, each)) for labels, each in messages.items()]
    parts += [length_field(3, data) for data in families]
    return b"".join(parts)


def _of_family(labels: Labels, message: ImportedMessage) -> bytes:
    """Converts 2.0 metadata of a series to 1.0 metadata of its family."""
    return write_metadata(replace(read_metadata(message.data), family=metric_of(labels)))


def _read_series(data: bytes, without: str, batch: ImportBatch) -> None:
    labels: dict[str, str] = {}
    samples: list[bytes] = []
    histograms: list[bytes] = []
    place = 0
    while place < len(data):
        if data.startswith(_USUAL_HEAD, place):
            break
        number, content, place = _next(data, place)
        if number == 1:
            pair = dict(fields(content))
            labels[_text(pair.get(1))] = _text(pair.get(2))
        elif number == 2:
            samples.append(content)
        elif number == 4:
            histograms.append(content)
    identity = canonical(labels, without)
    times, values = _samples(samples, data[place:], histograms)
    if len(times):
        batch.series.append(ImportedSeries(identity, times, values))
    for each in histograms:
        value = dict(fields(each)).get(_HISTOGRAM_TIME, 0)
        time = value if isinstance(value, int) else 0
        batch.messages.append(ImportedMessage(OpaqueKind.HISTOGRAM, identity, time, each))


def _samples(before: Sequence[bytes], rest: bytes, histograms: list[bytes]) -> tuple[Int64s, Bits]:
    usual = _usual(rest) if not before else None
    if usual is not None:
        return usual
    found = list(before)
    place = 0
    while place < len(rest):
        number, content, place = _next(rest, place)
        if number == 2:
            found.append(content)
        elif number == 4:
            histograms.append(content)
    pairs = [_sample(each) for each in found]
    times = np.array([time for time, _ in pairs], np.int64)
    return times, np.array([value for _, value in pairs], np.uint64)


def _usual(data: bytes) -> tuple[Int64s, Bits] | None:
    """All samples at once if all have the usual form, else None."""
    if len(data) % _USUAL.itemsize:
        return None
    table = np.frombuffer(data, _USUAL)
    times = table["time"]
    is_usual = (
        bool(np.all(table["head"] == np.void(_USUAL_HEAD)))
        and bool(np.all(table["tag"] == 0x10))
        and bool(np.all(times[:, :5] >= 0x80))
        and bool(np.all(times[:, 5] < 0x80))
    )
    if not is_usual:
        return None
    shifts = np.arange(6, dtype=np.int64) * 7
    return ((times & 0x7F).astype(np.int64) << shifts).sum(axis=1), table["value"].astype(np.uint64)


def _sample(data: bytes) -> tuple[int, int]:
    time, value, place = 0, 0, 0
    while place < len(data):
        tag, place = varint(data, place)
        if tag == 0x09:
            (value,) = struct.unpack_from("<Q", data, place)
            place += 8
        elif tag == 0x10:
            time, place = varint(data, place)
        else:
            raise MessageError(f"a sample with a field of tag {tag}")
    return time - (1 << 64) if time >> 63 else time, value


def _series(
    labels: Labels, times: Int64s, values: Bits, messages: Sequence[ImportedMessage]
) -> bytes:
    parts = [
        length_field(1, length_field(1, key.encode()) + length_field(2, value.encode()))
        for key, value in labels
    ]
    parts += [
        length_field(2, b"\x09" + struct.pack("<Q", value) + number_field(2, time))
        for time, value in zip(times.tolist(), values.tolist(), strict=True)
    ]
    places = {OpaqueKind.EXEMPLAR: 3, OpaqueKind.HISTOGRAM: 4}
    parts += [length_field(places[each.kind], each.data) for each in messages]
    return b"".join(parts)


def _next(data: bytes, place: int) -> tuple[int, bytes, int]:
    """The next field of a series; all its fields are length-delimited."""
    tag, place = varint(data, place)
    if tag & 7 != 2:
        raise MessageError(f"a series with a field of kind {tag & 7}")
    length, place = varint(data, place)
    if place + length > len(data):
        raise MessageError("ends inside a field")
    return tag >> 3, data[place : place + length], place + length


def _text(content: object) -> str:
    return content.decode(errors="replace") if isinstance(content, bytes) else ""


def split_batch(batch: ImportBatch, samples: int) -> Iterator[ImportBatch]:
    """Splits a batch into batches of about `samples` samples."""
    chunk = ImportBatch(messages=batch.messages)
    for each in batch.series:
        for first in range(0, len(each.times), samples):
            part = slice(first, first + samples)
            chunk.series.append(ImportedSeries(each.labels, each.times[part], each.bits[part]))
            if len(chunk) >= samples:
                yield chunk
                chunk = ImportBatch()
    if chunk.series or chunk.messages:
        yield chunk
