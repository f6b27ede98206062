"""Reads the messages of remote write 2.0 field by field."""

from __future__ import annotations

from archive.remote_write.messages import (
    Symbols,
    pairs_of,
    read_exemplar_by_symbols,
    read_metadata_by_symbols,
    read_sample,
)
from archive.remote_write.native_histogram import read_histogram
from archive.remote_write.protobuf import Buffer, Field, expect, packed_varints, read_fields, signed
from archive.remote_write.request_accumulator import RequestAccumulator
from archive.remote_write.result import SeriesMessage
from archive.series.labels import RefusedError
from streamgauge.protobuf import LENGTH, VARINT

_LABELS, _SAMPLES, _HISTOGRAMS, _EXEMPLARS, _METADATA, _CREATED = range(1, 7)


def read_series(
    buffer: Buffer, start: int, stop: int, symbols: Symbols, accumulator: RequestAccumulator
) -> SeriesMessage:
    message = SeriesMessage()
    references: list[int] = []
    kinds: set[int] = set()  # of all messages, the refused ones included
    created = 0
    for field in read_fields(buffer, start, stop):
        if field.number == _LABELS:
            for reference in packed_varints(buffer, field, "the labels of a series"):
                # One pair over the limit is enough to refuse the series.
                if len(references) < 2 * (accumulator.limits.labels + 1):
                    references.append(reference)
        elif field.number == _CREATED:
            expect(field, VARINT, "the start of a series")
            created = signed(field.value)
        elif field.number in (_SAMPLES, _HISTOGRAMS, _EXEMPLARS, _METADATA):
            expect(field, LENGTH, "a part of a series")
            accumulator.count(1)
            kinds.add(field.number)
            _read_part(buffer, field, symbols, message)
    _finish(message, references, symbols, created)
    if {_SAMPLES, _HISTOGRAMS} <= kinds:
        message.fault = "both samples and histograms in one series"
    return message


def _read_part(buffer: Buffer, field: Field, symbols: Symbols, message: SeriesMessage) -> None:
    place = (field.start, field.stop)
    try:
        if field.number == _SAMPLES:
            message.samples.append(read_sample(buffer, *place))
        elif field.number == _HISTOGRAMS:
            message.histograms.append(read_histogram(buffer, *place))
        elif field.number == _EXEMPLARS:
            message.exemplars.append(read_exemplar_by_symbols(buffer, *place, symbols))
        else:
            message.metadata = read_metadata_by_symbols(buffer, *place, symbols)
    except RefusedError as error:
        message.refused.append(str(error))


def _finish(message: SeriesMessage, references: list[int], symbols: Symbols, created: int) -> None:
    try:
        message.labels.extend(pairs_of(references, symbols))
    except RefusedError as error:
        message.fault = str(error)
    # Senders do send series with only exemplars and metadata.
    if not message.parts and not message.refused and message.metadata is None:
        message.fault = "a series without samples"
    if created:  # where release candidates 1 to 3 had it
        message.samples = [
            sample if sample.start else sample._replace(start=created) for sample in message.samples
        ]
