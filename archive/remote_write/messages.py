"""The small messages of remote write 1.0 and 2.0: label, sample, exemplar, metadata."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from archive.remote_write.label_reader import read_label
from archive.remote_write.protobuf import (
    Buffer,
    Field,
    double_bits,
    expect,
    packed_varints,
    read_fields,
    signed,
)
from archive.series.labels import Label, RefusedError, not_utf_8, read_text
from streamgauge.protobuf import FIXED64, LENGTH, VARINT, write_bits, write_message, write_number

Symbols = Sequence[str | None]
"""The symbol table of a 2.0 request; None for a symbol that is not UTF-8."""


class Sample(NamedTuple):
    time: int
    bits: int
    start: int  # 0: absent


class Exemplar(NamedTuple):
    """`data` is the message in its 1.0 form, which contains the labels."""

    time: int
    data: bytes


class Metadata(NamedTuple):
    """`data` is a 1.0 MetricMetadata; without a family in 2.0, where it belongs to a series."""

    family: str
    data: bytes


def read_sample(buffer: Buffer, start: int, stop: int) -> Sample:
    bits = time = begun = 0
    for field in read_fields(buffer, start, stop):
        if field.number == 1:
            expect(field, FIXED64, "the value of a sample")
            bits = double_bits(buffer, field.start)
        elif field.number == 2:
            expect(field, VARINT, "the time of a sample")
            time = signed(field.value)
        elif field.number == 3:
            expect(field, VARINT, "the start of a sample")
            begun = signed(field.value)
    return Sample(time, bits, begun)


def read_exemplar(buffer: Buffer, start: int, stop: int) -> Exemplar:
    """Of 1.0. Checks the whole message, so that the stored bytes are readable."""
    time = 0
    for field in read_fields(buffer, start, stop):
        if field.number == 1:
            expect(field, LENGTH, "a label of an exemplar")
            read_label(buffer, field.start, field.stop)
        elif field.number == 2:
            expect(field, FIXED64, "the value of an exemplar")
        elif field.number == 3:
            time = _exemplar_time(field)
    return Exemplar(time, bytes(buffer[start:stop]))


def read_exemplar_by_symbols(buffer: Buffer, start: int, stop: int, symbols: Symbols) -> Exemplar:
    """Of 2.0, rewritten in the 1.0 form."""
    references: list[int] = []
    bits = time = 0
    for field in read_fields(buffer, start, stop):
        if field.number == 1:
            references += packed_varints(buffer, field, "the labels of an exemplar")
        elif field.number == 2:
            expect(field, FIXED64, "the value of an exemplar")
            bits = double_bits(buffer, field.start)
        elif field.number == 3:
            time = _exemplar_time(field)
    labels = sorted(pairs_of(references, symbols))
    data = b"".join(write_message(1, write_label(label)) for label in labels)
    return Exemplar(time, data + write_bits(2, bits) + write_number(3, time))


def read_metadata(buffer: Buffer, start: int, stop: int) -> Metadata:
    """Of 1.0, where the message names its family."""
    family = ""
    for field in read_fields(buffer, start, stop):
        if field.number == 1:
            expect(field, VARINT, "the type in metadata")
        elif field.number in (2, 4, 5):
            expect(field, LENGTH, "a text in metadata")
            text = read_text(bytes(buffer[field.start : field.stop]))
            family = text if field.number == 2 else family
    return Metadata(family, bytes(buffer[start:stop]))


def read_metadata_by_symbols(
    buffer: Buffer, start: int, stop: int, symbols: Symbols
) -> Metadata | None:
    """Of 2.0, rewritten in the 1.0 form; None when it is empty."""
    kind = help_text = unit = 0
    for field in read_fields(buffer, start, stop):
        if field.number in (1, 3, 4):
            expect(field, VARINT, "metadata")
        if field.number == 1:
            kind = field.value
        elif field.number == 3:
            help_text = field.value
        elif field.number == 4:
            unit = field.value
    texts = [symbol(reference, symbols) if reference else "" for reference in (help_text, unit)]
    written = [write_message(4 + place, text.encode()) for place, text in enumerate(texts) if text]
    data = write_number(1, kind) + b"".join(written)
    return Metadata("", data) if data else None


def write_label(label: Label) -> bytes:
    return write_message(1, label[0].encode()) + write_message(2, label[1].encode())


def pairs_of(references: Sequence[int], symbols: Symbols) -> list[Label]:
    """Label names and values by their references into the symbol table."""
    if len(references) % 2:
        raise RefusedError("references of labels that are not in pairs")
    texts = [symbol(reference, symbols) for reference in references]
    return list(zip(texts[::2], texts[1::2], strict=True))


def symbol(reference: int, symbols: Symbols) -> str:
    if reference >= len(symbols):
        raise RefusedError("a reference to a symbol that the request does not have")
    text = symbols[reference]
    return not_utf_8() if text is None else text


def _exemplar_time(field: Field) -> int:
    expect(field, VARINT, "the time of an exemplar")
    return signed(field.value)
