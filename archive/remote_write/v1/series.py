"""Reads the messages of remote write 1.0 field by field."""

from __future__ import annotations

from archive.remote_write.label_reader import read_label
from archive.remote_write.messages import Metadata, read_exemplar, read_metadata, read_sample
from archive.remote_write.native_histogram import read_histogram
from archive.remote_write.protobuf import Buffer, Field, MalformedError, expect, read_fields
from archive.remote_write.request_accumulator import RequestAccumulator
from archive.remote_write.result import SeriesMessage
from archive.series.labels import RefusedError
from streamgauge.protobuf import LENGTH

SERIES = 1
METADATA = 3
_OF_VERSION_2 = (4, 5)
_LABELS, _SAMPLES, _EXEMPLARS, _HISTOGRAMS = 1, 2, 3, 4


def read_message(
    buffer: Buffer, number: int, start: int, stop: int, accumulator: RequestAccumulator
) -> SeriesMessage | Metadata | None:
    """None for an unknown field."""
    if number == SERIES:
        return _read_series(buffer, start, stop, accumulator)
    if number == METADATA:
        try:
            return read_metadata(buffer, start, stop)
        except RefusedError as error:
            accumulator.refuse(str(error), ())
            return None
    if number in _OF_VERSION_2:
        # It would decode as an empty request: a success that loses all samples.
        raise MalformedError("the body is a request of version 2.0, announced as 1.0")
    return None


def read_messages(
    buffer: Buffer, size: int, accumulator: RequestAccumulator
) -> list[SeriesMessage | Metadata]:
    """All messages of a request."""
    messages: list[SeriesMessage | Metadata] = []
    for field in read_fields(buffer, 0, size):
        if field.number in (SERIES, METADATA):
            expect(field, LENGTH, "a series or metadata")
        message = read_message(buffer, field.number, field.start, field.stop, accumulator)
        if message is not None:
            messages.append(message)
            accumulator.count_series(1)
    return messages


def _read_series(
    buffer: Buffer, start: int, stop: int, accumulator: RequestAccumulator
) -> SeriesMessage:
    message = SeriesMessage()
    for field in read_fields(buffer, start, stop):
        if field.number == _LABELS:
            _read_label(buffer, field, message, accumulator.limits.labels)
        elif field.number in (_SAMPLES, _EXEMPLARS, _HISTOGRAMS):
            expect(field, LENGTH, "a part of a series")
            accumulator.count(1)
            _read_part(buffer, field, message)
    return message


def _read_label(buffer: Buffer, field: Field, message: SeriesMessage, max_labels: int) -> None:
    expect(field, LENGTH, "a label")
    if len(message.labels) > max_labels:
        return  # one label over the limit is enough to refuse it
    try:
        message.labels.append(read_label(buffer, field.start, field.stop))
    except RefusedError as error:
        message.fault = str(error)


def _read_part(buffer: Buffer, field: Field, message: SeriesMessage) -> None:
    try:
        if field.number == _SAMPLES:
            message.samples.append(read_sample(buffer, field.start, field.stop))
        elif field.number == _EXEMPLARS:
            message.exemplars.append(read_exemplar(buffer, field.start, field.stop))
        else:
            message.histograms.append(read_histogram(buffer, field.start, field.stop))
    except RefusedError as error:
        message.refused.append(str(error))
