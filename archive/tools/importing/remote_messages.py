"""The messages of remote read and remote write 1.0 that an import needs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Final

import numpy as np

from archive.batch import OpaqueKind
from archive.remote_write.label_reader import read_label
from archive.remote_write.messages import Sample, read_sample, write_label
from archive.remote_write.native_histogram import Histogram, read_histogram
from archive.remote_write.protobuf import read_fields
from archive.remote_write.v1.label_cache import VALUED
from archive.remote_write.v1.span_cache import TIME_TAG
from archive.remote_write.varint_vector import WORD, end_in_time, times_in, words_of
from archive.tables.sample_columns import Bits, Int64s
from archive.tables.series import Labels, metric_of
from archive.tools.importing.batch import ImportBatch, ImportedMessage, ImportedSeries, canonical
from archive.tools.opaque_messages import read_metadata, write_metadata
from archive.tools.series_selector import Selector
from streamgauge.protobuf import write_bits, write_message, write_number

_MATCH_TYPES: Final = {"=": 0, "!=": 1, "=~": 2, "!~": 3}
# The first three bytes of a sample with a value: tag, length, tag.
_HEAD: Final = np.uint64(0xFFFFFF)
_USUAL_HEAD: Final = np.uint64(0x09_10_12)
_TAG_AND_LENGTH: Final = 2  # bytes, of a usual sample


def read_request(selector: Selector, start: int, end: int) -> bytes:
    """One query, with both times inclusive, for a response of plain samples."""
    matchers = b"".join(
        write_message(
            3,
            write_number(1, _MATCH_TYPES[each.operator])
            + write_message(2, each.label.encode())
            + write_message(3, each.value.encode()),
        )
        for each in selector.matchers
    )
    return write_message(1, write_number(1, start) + write_number(2, end) + matchers)


def read_response(data: bytes, without: str) -> ImportBatch:
    """Raises MalformedError or RefusedError."""
    batch = ImportBatch()
    for result in read_fields(data, 0, len(data)):
        if result.number == 1:
            for series in read_fields(data, result.start, result.stop):
                if series.number == 1:
                    _read_series(data, series.start, series.stop, without, batch)
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
        write_message(1, _series(each.labels, each.times, each.bits, messages.pop(each.labels, [])))
        for each in batch.series
    ]
    none = np.empty(0, np.int64), np.empty(0, np.uint64)
    parts += [write_message(1, _series(labels, *none, each)) for labels, each in messages.items()]
    parts += [write_message(3, data) for data in families]
    return b"".join(parts)


def _of_family(labels: Labels, message: ImportedMessage) -> bytes:
    """Converts 2.0 metadata of a series to 1.0 metadata of its family."""
    return write_metadata(replace(read_metadata(message.data), family=metric_of(labels)))


def _read_series(data: bytes, start: int, stop: int, without: str, batch: ImportBatch) -> None:
    labels: dict[str, str] = {}
    samples: list[Sample] = []
    histograms: list[Histogram] = []
    usual = None
    for field in read_fields(data, start, stop):
        if field.number == 1:
            labels.update([read_label(data, field.start, field.stop)])
        elif field.number == 2:
            usual = None if samples else _usual(data[field.start - _TAG_AND_LENGTH : stop])
            if usual is not None:
                break
            samples.append(read_sample(data, field.start, field.stop))
        elif field.number == 4:
            histograms.append(read_histogram(data, field.start, field.stop))
    identity = canonical(labels, without)
    times, values = usual or (
        np.array([each.time for each in samples], np.int64),
        np.array([each.bits for each in samples], np.uint64),
    )
    if len(times):
        batch.series.append(ImportedSeries(identity, times, values))
    for each in histograms:
        message = ImportedMessage(OpaqueKind.HISTOGRAM, identity, each.time, each.data)
        batch.messages.append(message)


def _usual(data: bytes) -> tuple[Int64s, Bits] | None:
    """All samples at once if all have a value and a six-byte time, else None."""
    if len(data) % VALUED:
        return None
    words = words_of(data)
    heads, values, endings = (words[place::VALUED] for place in (0, 3, VALUED - WORD))
    is_usual = (heads & _HEAD == _USUAL_HEAD) & end_in_time(endings, TIME_TAG)
    if not is_usual.all():
        return None
    return times_in(endings), values.astype(np.uint64)


def _series(
    labels: Labels, times: Int64s, values: Bits, messages: Sequence[ImportedMessage]
) -> bytes:
    parts = [write_message(1, write_label(label)) for label in labels]
    parts += [
        write_message(2, write_bits(1, value) + write_number(2, time))
        for time, value in zip(times.tolist(), values.tolist(), strict=True)
    ]
    places = {OpaqueKind.EXEMPLAR: 3, OpaqueKind.HISTOGRAM: 4}
    parts += [write_message(places[each.kind], each.data) for each in messages]
    return b"".join(parts)


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
